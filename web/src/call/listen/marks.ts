// Marks of a recording: where packets were lost, came late, or silence was filled in.

import type { Direction, Mark, PeaksAnswer } from '../types';

/** When the recording begins: both tracks are on one line of time. */
export function soundStart(peaks: PeaksAnswer): number | null {
  const starts = peaks.tracks.map((track) => track.first_us);
  return starts.length === 0 ? null : Math.min(...starts);
}

export function soundSeconds(peaks: PeaksAnswer): number {
  const start = soundStart(peaks);
  if (start === null) return 0;
  return Math.max(...peaks.tracks.map((track) => (track.first_us - start) / 1e6 + track.seconds));
}

/** The next mark behind a position, or the first where there is none behind it. Null where there are no marks. */
export function nextMark(marks: Mark[], at_ms: number, muted: ReadonlySet<Direction>): Mark | null {
  const heard = marks
    .filter((mark) => mark.direction === null || !muted.has(mark.direction))
    .sort((a, b) => a.at_ms - b.at_ms);
  // The mark that one has just jumped to is not the next.
  return heard.find((mark) => mark.at_ms > at_ms + 50) ?? heard[0] ?? null;
}

/** Before a mark one wants to hear what led to it. */
export const LEAD_MS = 500;

export interface MarkGroup {
  at_ms: number;
  kind: string;
  direction: Direction | null;
  count: number;
}

/** Marks of one kind and side that would be drawn over each other become one with their number. */
export function grouped(marks: Mark[], ms_per_pixel: number, apart = 9): MarkGroup[] {
  const found: MarkGroup[] = [];
  const last = new Map<string, MarkGroup>();
  for (const mark of [...marks].sort((a, b) => a.at_ms - b.at_ms)) {
    const key = `${mark.kind} ${mark.direction}`;
    const group = last.get(key);
    if (group && mark.at_ms - group.at_ms < apart * ms_per_pixel) group.count += 1;
    else {
      const one = { ...mark, count: 1 };
      found.push(one);
      last.set(key, one);
    }
  }
  return found;
}

/** The outline of a mark's shape in a box of 9 by 9: each kind has its own, so that colour is not needed. */
export function markPath(kind: string): string {
  switch (kind) {
    case 'lost':
      return 'M0 0H9L4.5 9Z';
    case 'late':
      return 'M4.5 0L9 4.5L4.5 9L0 4.5Z';
    case 'silence':
      return 'M0 3H9V6H0Z';
    default:
      return 'M4.5 1A3.5 3.5 0 1 0 4.5 8A3.5 3.5 0 1 0 4.5 1Z';
  }
}
