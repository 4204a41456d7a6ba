// What stands on an arrow.

import { shown } from '../../lib/wire';
import { parseCSeq } from '../sip';
import type { Message } from '../answers';

/** `INVITE`, `180 Ringing`, `200 OK (BYE)`, as the ladder of the terminal has it. */
export function labelOf(message: Message): string {
  if (message.code === null) return shown(message.method ?? message.line);
  const phrase = /^\S+\s+\d+\s*(.*)$/.exec(message.line)?.[1] ?? '';
  const { method } = parseCSeq(message.cseq);
  const text = phrase.startsWith(`${message.code}`) ? phrase : `${message.code} ${phrase}`.trim();
  return shown(method === '' || method === 'INVITE' ? text : `${text} (${method})`);
}

export type State = 'request' | 'provisional' | 'success' | 'redirect' | 'failure' | 'challenge';

/** What an answer means; a challenge that is then answered is no failure (401, 407). */
export function stateOf(message: Message): State {
  const { code } = message;
  if (code === null) return 'request';
  if (code < 200) return 'provisional';
  if (code < 300) return 'success';
  if (code < 400) return 'redirect';
  return code === 401 || code === 407 ? 'challenge' : 'failure';
}
