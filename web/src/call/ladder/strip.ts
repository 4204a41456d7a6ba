// A stream as a strip of its time: where it was heard, where packets were lost, where nothing came.

import { lossPct, streamPieces } from '../media/pieces';
import { ARROW, type Bar, type Row } from './rows';
import type { LadderMedia, RtcpReport, Stream } from '../../lib/types';

export interface StripPiece {
  /** 0 is the first packet, 1 the last. */
  from: number;
  until: number;
  kind: 'good' | 'lost' | 'nothing';
  missing_pct: number;
}

export function stripOf(band: LadderMedia, stream: Stream | null): StripPiece[] {
  const length = band.last_us - band.first_us;
  if (!stream || stream.intervals.length === 0 || length <= 0) {
    const missing_pct = band.lost_pct ?? 0;
    return [{ from: 0, until: 1, kind: missing_pct >= 1 ? 'lost' : 'good', missing_pct }];
  }
  const share = (us: number) => Math.min(Math.max((us - band.first_us) / length, 0), 1);
  const found: StripPiece[] = [];
  for (const piece of streamPieces(stream)) {
    const [from, until] = [share(piece.from_us), share(piece.until_us)];
    const last = found.at(-1);
    // Neighbours that look the same are one.
    if (last && last.kind === piece.kind && last.missing_pct === piece.missing_pct) last.until = until;
    else if (until > from) found.push({ from, until, kind: piece.kind, missing_pct: piece.missing_pct });
  }
  return found;
}

/** How strongly a loss is drawn: 1 % is visible, from 20 % on it is full. */
export function strength(missing_pct: number): number {
  return Math.min(0.35 + (0.65 * missing_pct) / 20, 1);
}

/** What a piece of the vertical bar is in the time from one line of the ladder to the next: the worst in it. */
export function kindBetween(stream: Stream | null, band: LadderMedia, from_us: number, until_us: number): StripPiece['kind'] {
  if (!stream || stream.intervals.length === 0) return (band.lost_pct ?? 0) >= 1 ? 'lost' : 'good';
  const inside = streamPieces(stream).filter((piece) => piece.from_us < until_us && piece.until_us > from_us);
  if (inside.some((piece) => piece.kind === 'lost')) return 'lost';
  return inside.length > 0 && inside.every((piece) => piece.kind === 'nothing') ? 'nothing' : 'good';
}

export interface BarPiece {
  /** From the top of the row. */
  y: number;
  height: number;
  kind: StripPiece['kind'];
}

/**
 * The pieces of a bar within one row: above the row's arrow it is what flowed since the row before, below it what
 * flows until the next.
 */
export function barPieces(bar: Bar, row: Row, before_us: number | null, next_us: number | null): BarPiece[] {
  const { band, stream } = bar.row;
  const [from, until] = [Math.max(bar.from - row.top, 0), Math.min(bar.until - row.top, row.height)];
  const above = { y: from, end: Math.min(until, ARROW), from_us: before_us ?? row.time_us, until_us: row.time_us };
  const below = { y: Math.max(from, ARROW), end: until, from_us: row.time_us, until_us: next_us ?? band.last_us };
  return [above, below]
    .filter((half) => half.end > half.y)
    .map((half) => ({
      y: half.y,
      height: half.end - half.y,
      kind: kindBetween(stream, band, half.from_us, half.until_us),
    }));
}

/** The pieces of all bars within one row, one path for each kind: far fewer elements than one for each piece. */
export function barPaths(
  bars: Bar[],
  row: Row,
  before_us: number | null,
  next_us: number | null,
  x: (place: number) => number,
): { kind: StripPiece['kind']; d: string }[] {
  const paths = new Map<StripPiece['kind'], string>();
  for (const bar of bars) {
    const left = x(bar.place) + bar.side * (4 + bar.rank * 5) - 1.5;
    for (const { y, height, kind } of barPieces(bar, row, before_us, next_us)) {
      paths.set(kind, `${paths.get(kind) ?? ''}M${left} ${y}h3v${height}h-3z`);
    }
  }
  return [...paths].map(([kind, d]) => ({ kind, d }));
}

/** Where RTCP reports about it stand on the strip, 0 to 1. */
export function reportPlaces(band: LadderMedia, reports: RtcpReport[]): number[] {
  const length = band.last_us - band.first_us;
  if (length <= 0) return [];
  return reports.map((report) => (report.time_us - band.first_us) / length).filter((at) => at >= 0 && at <= 1);
}

/** Loss of a band in percent: of the stream's own record where it is there. */
export function bandLoss(band: LadderMedia, stream: Stream | null): number | null {
  return stream ? lossPct(stream) : band.lost_pct;
}
