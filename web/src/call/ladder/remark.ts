// Words on a ladder that are not a message's own.

import { t, tOr } from '../../i18n';
import { number, percent } from '../../lib/number';
import { clock, date, dateAndClock, evenSpan, span } from '../../lib/time';
import { shown } from '../../lib/wire';
import { cut } from '../wire';
import { bandLoss } from './strip';
import type { FailoverSign } from '../../lib/types';
import type { HostOutage } from './outages';
import type { MediaRow, OutageRow, Row } from './rows';

/** What stands on a line that is no message. */
export function remarkText(row: Row): string {
  if (row.kind === 'message') return '';
  if (row.kind === 'media') return mediaText(row);
  if (row.kind === 'outage') return outageText(row);
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

/** `192.0.2.1:5060/udp did not answer for 1.35 s` */
function outageText({ outage, ends }: OutageRow): string {
  const service = brief(outage.service);
  if (ends) return t('call.ladder.outage.again', { service });
  if (outage.kind === 'failover') return t('call.ladder.outage.failover', { service });
  const values = { service, span: spanWithUnit(outage.down_ms) };
  if (outage.kind === 'refusing') return t('call.ladder.outage.refusing', values);
  return outage.ended ? t('call.ladder.outage.unanswered', values) : t('call.ladder.outage.unanswered_open', values);
}

/** `850 ms`, `1.35 s`, `4:05 min`, `1:04:05 h` */
function spanWithUnit(ms: number): string {
  if (ms < 999.5) return span(ms);
  return evenSpan(ms, 2) + (ms < 59_950 ? '' : ms < 3_599_500 ? ' min' : ' h');
}

/** More signs than these say nothing new. */
const MOST_SIGNS = 4;

/** From when until when, why, and what shows it. `day_us` is of the day that need not be named. */
export function outageDetails(outage: HostOutage, zone: string, day_us: number): string[] {
  const day = date(day_us, zone);
  const at = (us: number) => (date(us, zone) === day ? clock(us, zone, 3) : dateAndClock(us, zone, 3));
  const times = { from: at(outage.from_us), until: at(outage.until_us) };
  const when = outage.ended ? t('call.ladder.outage.time', times) : t('call.ladder.outage.time_open', times);
  const causes = outage.causes.slice(0, MOST_SIGNS).map((cause) => brief(tOr(`call.ladder.cause.${cause}`, cause)));
  return [[when, causes.join(', ')].filter((part) => part !== '').join(': '), ...outage.signs.slice(0, MOST_SIGNS).map(signText)];
}

function signText(sign: FailoverSign): string {
  const { kind, count: n } = sign;
  const values = { address: brief(sign.address), from: brief(sign.from ?? '?'), to: brief(sign.to ?? '?') };
  switch (kind) {
    case 'arp_moved':
    case 'neighbour_moved':
    case 'source_moved':
    case 'address_conflict':
      return t(`call.ladder.sign.${kind}`, values);
    case 'invite_retried':
    case 'register_burst':
    case 'contact_lost':
      return t(`call.ladder.sign.${kind}`, { ...values, n });
    default:
      return brief(kind);
  }
}

const LONGEST = 80;

/** A name from the server, which has it from the wire. */
function brief(text: string): string {
  return cut(text, LONGEST);
}
