// A stream cut into the pieces of its record, and what each piece is worth.

import type { Interval, Stream } from '../../lib/types';

/** Length of an interval of a record. */
export const INTERVAL_US = 10_000_000;
/** From this share of its packets on, a piece counts as degraded. */
export const DEGRADED_PCT = 1;

export interface StreamPiece {
  from_us: number;
  until_us: number;
  /** Null where nothing came. */
  interval: Interval | null;
  kind: 'good' | 'lost' | 'nothing';
  /** Share of its packets that were lost or came too late for the adaptive jitter buffer. */
  missing_pct: number;
}

/** Lost and discarded, of those that were sent, in percent. */
export function missingPct(interval: Interval): number {
  const sent = interval.packets + interval.lost;
  return sent === 0 ? 0 : Math.min(((interval.lost + interval.discarded) * 100) / sent, 100);
}

const known = new WeakMap<Stream, StreamPiece[]>();

/** All pieces of a stream from its first packet to its last; the last one may be shorter. */
export function streamPieces(stream: Stream): StreamPiece[] {
  let found = known.get(stream);
  if (!found) {
    found = cutUp(stream);
    known.set(stream, found);
  }
  return found;
}

function cutUp(stream: Stream): StreamPiece[] {
  const found: StreamPiece[] = [];
  let at = stream.first_us;
  const end = Math.max(stream.last_us, stream.first_us);
  for (const interval of stream.intervals) {
    if (interval.start_us > at) found.push(nothing(at, Math.min(interval.start_us, end)));
    // An interval of loss alone may stand behind the last packet.
    const until = Math.max(Math.min(interval.start_us + INTERVAL_US, end), interval.start_us);
    const missing_pct = missingPct(interval);
    const kind = interval.packets === 0 ? 'nothing' : missing_pct >= DEGRADED_PCT ? 'lost' : 'good';
    found.push({ from_us: interval.start_us, until_us: until, interval, kind, missing_pct });
    at = until;
  }
  if (at < end) found.push(nothing(at, end));
  return found.filter((piece) => piece.until_us > piece.from_us || piece.interval !== null);
}

function nothing(from_us: number, until_us: number): StreamPiece {
  return { from_us, until_us, interval: null, kind: 'nothing', missing_pct: 0 };
}

export interface Degraded {
  seconds: number;
  of: number;
}

/**
 * Seconds in pieces with at least `DEGRADED_PCT` of the packets lost or too late, of those in which packets came or
 * were lost. It adds up over streams and calls, and needs no model.
 */
export function degradedSeconds(streams: Stream[]): Degraded {
  const total = { seconds: 0, of: 0 };
  for (const piece of streams.flatMap(streamPieces)) {
    if (!piece.interval) continue;
    const seconds = (piece.until_us - piece.from_us) / 1e6;
    total.of += seconds;
    if (piece.missing_pct >= DEGRADED_PCT) total.seconds += seconds;
  }
  return total;
}

export function lossPct(stream: Stream): number {
  const sent = stream.unique + stream.lost;
  return sent === 0 ? 0 : (stream.lost * 100) / sent;
}

/** Why an interval has no MOS: a key of the catalogue, below `call.media.no_mos`. */
export type NoMos = 'nothing' | 'unknown_codec' | 'fax' | 'encrypted' | 'no_model' | 'too_few';

export function whyNoMos(stream: Stream, interval: Interval | null): NoMos | null {
  if (!interval) return 'nothing';
  if (interval.mos !== null) return null;
  if (interval.packets === 0) return 'nothing';
  if (stream.codec === null) return 'unknown_codec';
  if (stream.notes.some((note) => note.code === 'fax')) return 'fax';
  if (stream.mos !== null) return 'too_few';
  if (stream.notes.some((note) => note.code === 'encrypted')) return 'encrypted';
  return 'no_model';
}

