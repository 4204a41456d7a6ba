// Answers of the server about one call, made ready for the page.

import { get, patch, post, remove } from '../lib/api';
import type { CallDetails, Direction, Kept, Ladder, LadderMessage, Waveform } from '../lib/types';

/** A message of the ladder. One without CSeq has an empty one, and one that is not shown in full its first line as `raw`. */
export interface Message extends LadderMessage {
  method: string | null;
  code: number | null;
  cseq: string;
  raw: string;
}

export interface LadderAnswer extends Omit<Ladder, 'messages'> {
  messages: Message[];
}

/** The waveform of one side: minimum and maximum (-1 to 1) of equal pieces of its time. */
export interface Track {
  direction: Direction;
  first_us: number;
  seconds: number;
  peaks: [number, number][];
}

/** Where packets are missing in the sound. */
export interface Mark {
  at_ms: number;
  /** It is somewhere within this time; not there for a moment. */
  span_ms?: number;
  kind: string;
  direction: Direction | null;
}

export interface PeaksAnswer {
  tracks: Track[];
  marks: Mark[];
}

export function callAnswer(id: string, signal: AbortSignal): Promise<CallDetails> {
  return get('/calls/{id}', { path: { id }, signal });
}

export async function ladderAnswer(id: string, signal: AbortSignal): Promise<LadderAnswer> {
  return completed(await get('/calls/{id}/ladder', { path: { id }, signal }));
}

/** Changes what is recorded from now on of a call in progress. */
export function changeRecording(id: string, change: { keep?: Kept; paused?: boolean }): Promise<void> {
  return patch('/calls/{id}/recording', { path: { id }, body: change });
}

export function holdFor(id: string, held: { case: string; reason: string }): Promise<void> {
  return post('/calls/{id}/holds', { path: { id }, body: held });
}

export function releaseFrom(id: string, name: string): Promise<void> {
  return remove('/calls/{id}/holds/{case}', { path: { id, case: name } });
}

/** Minimum and maximum of as many pieces as a wide screen has pixels. */
const POINTS = 2_000;

export async function peaksAnswer(id: string, signal: AbortSignal): Promise<PeaksAnswer> {
  return timed(await get('/calls/{id}/peaks', { path: { id }, query: { points: POINTS }, signal }));
}

export function completed(answer: Ladder): LadderAnswer {
  const whole = (message: LadderMessage): Message => ({
    ...message,
    method: message.method ?? null,
    code: message.code ?? null,
    cseq: message.cseq ?? '',
    raw: message.raw ?? `${message.line}\r\n`,
  });
  return { ...answer, messages: answer.messages.map(whole) };
}

/** Tracks that have a time; a side without sound has none. */
export function timed(answer: Waveform): PeaksAnswer {
  const tracks: Track[] = [];
  for (const { direction, first_us, seconds, peaks } of answer.tracks) {
    if (typeof first_us !== 'number' || typeof seconds !== 'number') continue;
    tracks.push({ direction: sideOf(direction) ?? 'caller_to_callee', first_us, seconds, peaks: peaks.map(([low = 0, high = 0]) => [low, high]) });
  }
  return { tracks, marks: answer.marks.map(({ at_ms, kind, direction }) => ({ at_ms, kind, direction: sideOf(direction) })) };
}

function sideOf(direction: string): Direction | null {
  return direction === 'caller_to_callee' || direction === 'callee_to_caller' ? direction : null;
}
