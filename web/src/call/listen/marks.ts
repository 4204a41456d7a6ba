// Marks of a recording: where packets were lost, came late, or silence was filled in.

import { streamPieces } from '../media/pieces';
import type { Mark, PeaksAnswer } from '../answers';
import type { Direction, Stream } from '../../lib/types';

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

/**
 * The marks of the recording. Where the server names no moments, those of the record's intervals: packets were lost,
 * or came too late, somewhere in these ten seconds; or nothing came at all.
 */
export function marksOf(peaks: PeaksAnswer, streams: Stream[], call: string): Mark[] {
  const start = soundStart(peaks);
  if (peaks.marks.length > 0 || start === null) return peaks.marks;
  const found: Mark[] = [];
  for (const stream of streams.filter((one) => one.call === call)) {
    for (const { from_us, until_us, interval } of streamPieces(stream)) {
      const put = (kind: string) => {
        const at_ms = (from_us - start) / 1000;
        found.push({ at_ms, span_ms: (until_us - from_us) / 1000, kind, direction: stream.direction });
      };
      if (!interval || interval.packets === 0) put('silence');
      else if (interval.lost > 0) put('lost');
      else if (interval.discarded > 0) put('late');
    }
  }
  return found.sort((a, b) => a.at_ms - b.at_ms);
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
  /** From its beginning to the end of its last mark; 0 for moments. */
  span_ms: number;
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
    if (group && mark.at_ms - group.at_ms < apart * ms_per_pixel) {
      group.count += 1;
      group.span_ms = Math.max(group.span_ms, mark.at_ms + (mark.span_ms ?? 0) - group.at_ms);
    } else {
      const one = { ...mark, span_ms: mark.span_ms ?? 0, count: 1 };
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
