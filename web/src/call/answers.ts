// Answers of the server about one call, made ready for the page.

import { api } from '../lib/api';
import type { CallAnswer, LadderAnswer, Message, PeaksAnswer } from './types';

function pathOf(id: string): string {
  return `/calls/${encodeURIComponent(id)}`;
}

export function callAnswer(id: string, signal: AbortSignal): Promise<CallAnswer> {
  return api(pathOf(id), { signal });
}

export async function ladderAnswer(id: string, signal: AbortSignal): Promise<LadderAnswer> {
  return completed(await api<LadderAnswer>(`${pathOf(id)}/ladder`, { signal }));
}

export type Kept = 'nothing' | 'signalling' | 'headers' | 'full';

/** Changes what is recorded from now on of a call in progress. */
export function changeRecording(id: string, change: { keep?: Kept; paused?: boolean }): Promise<void> {
  return api(`${pathOf(id)}/recording`, { method: 'PATCH', body: change });
}

export function holdFor(id: string, held: { case: string; reason: string }): Promise<void> {
  return api(`${pathOf(id)}/holds`, { method: 'POST', body: held });
}

export function releaseFrom(id: string, name: string): Promise<void> {
  return api(`${pathOf(id)}/holds/${encodeURIComponent(name)}`, { method: 'DELETE' });
}

/** Minimum and maximum of as many pieces as a wide screen has pixels. */
const POINTS = 2_000;

export function peaksAnswer(id: string, signal: AbortSignal): Promise<PeaksAnswer> {
  return api(`${pathOf(id)}/peaks`, { query: { points: POINTS }, signal });
}

/** A message without CSeq has null there, and one that is not shown in full has no text: its first line is left. */
export function completed(answer: LadderAnswer): LadderAnswer {
  const whole = (message: Message): Message => ({
    ...message,
    cseq: message.cseq ?? '',
    raw: message.raw ?? `${message.line}\r\n`,
  });
  return { ...answer, messages: answer.messages.map(whole) };
}
