// What is said about a stream beside its chart.

import { t, tOr } from '../../i18n';
import { number, percent } from '../../lib/number';
import { position } from '../ladder/times';
import { degradedSeconds, lossPct, missingPct, whyNoMos, type StreamPiece } from './pieces';
import type { RtcpReport, Stream } from '../../lib/types';

/** `2.4 %`; small losses are not rounded to nothing. */
export function sharePct(pct: number): string {
  return percent(pct, pct === 0 ? 0 : pct < 1 ? 2 : 1);
}

/** Where packets were lost, in a word or two; null where nothing was lost. */
export function lostAt(stream: Stream): string | null {
  return stream.lost_at === null ? null : tOr(`call.media.lost_at.${stream.lost_at}`, stream.lost_at);
}

/** `6.7 s of 6.7 s (100.0 %)` */
export function degradedText(streams: Stream[]): string {
  const { seconds, of } = degradedSeconds(streams);
  const pct = of === 0 ? 0 : (seconds * 100) / of;
  return t('call.media.degraded_value', {
    seconds: number(seconds, 1),
    of: number(of, 1),
    pct: sharePct(pct),
  });
}

/** The figures of the piece under the pointer, in words. */
export function pieceText(stream: Stream, piece: StreamPiece, zero_us: number): string {
  const from = position((piece.from_us - zero_us) / 1000, 1);
  const until = position((piece.until_us - zero_us) / 1000, 1);
  const span = `${from} - ${until}`;
  const { interval } = piece;
  if (!interval) return `${span}: ${t('call.media.no_mos.nothing')}`;
  const lost = t('call.media.piece', {
    lost: interval.lost,
    of: interval.packets + interval.lost,
    pct: sharePct(missingPct(interval)),
    late: interval.discarded,
    jitter: number(interval.jitter_ms, 1),
  });
  const why = whyNoMos(stream, interval);
  const mos = why === null ? `MOS ${number(interval.mos, 2)}` : t(`call.media.no_mos.${why}`);
  return `${span}: ${lost}, ${mos}`;
}

/** The last report of the far end before a time, and what it said. */
export function reportBefore(stream: Stream, us: number): RtcpReport | null {
  let found: RtcpReport | null = null;
  for (const report of stream.reports) {
    if (report.kind !== 'sender' && report.time_us <= us) found = report;
  }
  return found;
}

export function reportText(report: RtcpReport): string {
  const parts = [report.kind === 'voip' ? t('call.media.far_voip') : t('call.media.far')];
  if (report.lost_pct !== null) parts.push(t('call.ladder.lost', { pct: sharePct(report.lost_pct) }));
  if (report.discard_pct !== null) parts.push(t('call.media.far_discard', { pct: sharePct(report.discard_pct) }));
  if (report.jitter_ms !== null) parts.push(t('call.media.far_jitter', { ms: number(report.jitter_ms, 1) }));
  if (report.rtt_ms !== null) parts.push(t('call.media.far_rtt', { ms: number(report.rtt_ms, 0) }));
  if (report.mos_lq !== null) parts.push(`MOS ${number(report.mos_lq, 2)}`);
  return parts.join(', ').replace(', ', ' ');
}

/** What stands beside the chart: name, value, and what it is made of. */
export interface Figure {
  name: string;
  value: string;
  about?: string;
  state?: 'good' | 'fair' | 'poor';
}

export function figuresOf(stream: Stream): Figure[] {
  const loss = lossPct(stream);
  const late = stream.intervals.reduce((sum, interval) => sum + interval.discarded, 0);
  const figures: Figure[] = [
    {
      name: t('call.media.loss'),
      value: t('call.media.loss_value', { lost: stream.lost, of: stream.unique + stream.lost, pct: sharePct(loss) }),
      ...(stream.loss_bursts > 0
        ? { about: t('call.media.bursts', { n: stream.loss_bursts, mean: number(stream.burst_len_mean, 1), max: number(stream.burst_len_max) }) }
        : {}),
      ...(loss >= 3 ? { state: 'poor' as const } : loss >= 1 ? { state: 'fair' as const } : {}),
    },
    { name: t('call.media.late'), value: number(late), about: t('call.media.late_about') },
  ];
  if (stream.jitter_ms_mean !== null) {
    figures.push({
      name: t('call.media.jitter'),
      value: t('call.media.jitter_value', { mean: number(stream.jitter_ms_mean, 1), max: number(stream.jitter_ms_max, 1) }),
      about: t('call.media.jitter_about'),
    });
  }
  figures.push(...mosFigures(stream), {
    name: t('call.media.degraded'),
    value: degradedText([stream]),
    about: t('call.media.degraded_about'),
  });
  if (stream.delta_ms_max !== null && stream.delta_ms_max >= 200) {
    figures.push({ name: t('call.media.longest'), value: `${number(stream.delta_ms_max, 0)} ms` });
  }
  if (stream.rtt_ms !== null) {
    const source = tOr(`call.media.rtt_${stream.rtt_source ?? ''}`, '');
    figures.push({ name: t('call.media.rtt'), value: `${number(stream.rtt_ms, 0)} ms`, about: source });
  }
  return [...figures, ...farFigures(stream)];
}

function mosFigures(stream: Stream): Figure[] {
  if (stream.mos === null) {
    const why = whyNoMos(stream, { packets: stream.packets, mos: null } as never);
    return [{ name: 'MOS', value: why === null ? '' : t(`call.media.no_mos.${why}`) }];
  }
  const grade = stream.mos >= 4.03 ? 'good' : stream.mos >= 3.6 ? 'fair' : 'poor';
  const buffers = [stream.mos_fixed50, stream.mos_fixed200].map((mos) => (mos === null ? '-' : number(mos, 2)));
  return [{
    name: 'MOS',
    value: number(stream.mos, 2),
    about: t('call.media.mos_about', { basis: stream.mos_basis ?? '', fixed50: buffers[0] ?? '', fixed200: buffers[1] ?? '' }),
    state: grade,
  }];
}

/** What the receiver said of this stream over RTCP. */
function farFigures(stream: Stream): Figure[] {
  if (!stream.rtcp_reports) return [];
  const parts: string[] = [];
  if (stream.rtcp_lost !== null) parts.push(t('call.media.far_lost', { n: stream.rtcp_lost }));
  if (stream.rtcp_lost_pct_max !== null) parts.push(t('call.media.far_worst', { pct: sharePct(stream.rtcp_lost_pct_max) }));
  if (stream.rtcp_jitter_ms_mean !== null) {
    parts.push(t('call.media.far_jitter', { ms: number(stream.rtcp_jitter_ms_mean, 1) }));
  }
  if (stream.xr_mos_lq !== null) parts.push(`MOS ${number(stream.xr_mos_lq, 2)}`);
  return [{
    name: t('call.media.far'),
    value: parts.join(', '),
    about: t('call.media.reports', { n: stream.rtcp_reports }),
  }];
}
