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
