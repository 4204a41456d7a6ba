// Words on a ladder that are not a message's own.

import { t, tOr } from '../../i18n';
import { number, percent } from '../../lib/number';
import { span } from '../../lib/time';
import { shown } from '../../lib/wire';
import { bandLoss } from './strip';
import type { MediaRow, Row } from './rows';

/** What stands on a line that is no message. */
export function remarkText(row: Row): string {
  if (row.kind === 'message') return '';
  if (row.kind === 'media') return mediaText(row);
  if (row.code === 'dtmf') return t('call.ladder.dtmf', { digits: shown(row.text) });
  return shown(`${tOr(`call.note.${row.code}`, row.code)}: ${row.text}`);
}

/** Between which ports, how many packets, how long, and where more is. */
export function mediaTitle(row: MediaRow): string {
  const { band, stream } = row;
  const length = span((band.last_us - band.first_us) / 1000);
  const facts = stream
    ? `${shown(`${stream.src} → ${stream.dst}`)}, ${t('call.ladder.packets', { n: stream.packets })}, ${length}. `
    : `${length}. `;
  return facts + t('call.ladder.to_media');
}

/** `RTP PCMU, 18.0 % lost, MOS 1.83` */
function mediaText(row: MediaRow): string {
  const loss = bandLoss(row.band, row.stream);
  const parts = [shown(`RTP ${row.stream?.codec ?? row.band.label}`)];
  if (loss !== null && loss > 0) {
    parts.push(t('call.ladder.lost', { pct: percent(loss, loss < 1 ? 2 : 1) }));
  }
  const mos = row.stream?.mos ?? null;
  if (mos !== null) parts.push(`MOS ${number(mos, 2)}`);
  return parts.join(', ');
}
