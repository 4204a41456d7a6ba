// Which messages belong together, and which earlier message one is to be compared with.

import { parse, parseCSeq, tagOf, valueOf } from './sip';
import type { Message } from './answers';

/**
 * What messages of one transaction have in common, on every hop that they pass: Call-ID, number and method of CSeq,
 * and the tag of From, since both sides of a dialog number their own requests (RFC 3261 section 12.2.1.1). ACK and
 * CANCEL have the number of their INVITE and are shown with it.
 */
export function transactionKey(message: Message): string {
  const { number, method } = parseCSeq(message.cseq);
  if (number === null) return `alone ${message.number}`;
  const family = method === 'ACK' || method === 'CANCEL' ? 'INVITE' : method;
  // The head is enough, and the bodies of 5,000 messages need not be read.
  const { headers } = parse(headOf(message.raw));
  const callId = valueOf(headers, 'call-id') ?? `leg ${message.leg}`;
  const tag = tagOf(valueOf(headers, 'from') ?? '');
  return `${callId}\n${number} ${family}\n${tag}`;
}

function headOf(raw: string): string {
  const end = raw.search(/\r?\n\r?\n/);
  return end < 0 ? raw : raw.slice(0, end);
}

/** The key of each message, computed once. */
export function transactionsOf(messages: Message[]): string[] {
  return messages.map(transactionKey);
}

/** What a message is: `INVITE`, or `200 INVITE` for an answer. */
export function kindOf(message: Message): string {
  const { method } = parseCSeq(message.cseq);
  return message.code === null ? (message.method ?? method) : `${message.code} ${method}`;
}

export interface Comparisons {
  /** The one before of its kind: same way between the same hosts of the same leg. */
  before: Message | null;
  /** The same message on the hop before: it came to the host that sent this one. */
  hop: Message | null;
}

/** Longest time for which a host forwards a message; beyond that, it is another one. */
const FORWARDED_US = 5_000_000;

/** The messages that `messages[at]` can be compared with. */
export function comparisonsOf(messages: Message[], at: number): Comparisons {
  const message = messages[at];
  if (!message) return { before: null, hop: null };
  const kind = kindOf(message);
  let before: Message | null = null;
  let hop: Message | null = null;
  for (let index = at - 1; index >= 0 && !(before && hop); index -= 1) {
    const one = messages[index];
    if (!one || kindOf(one) !== kind) continue;
    const { leg, from, to } = one;
    if (!before && leg === message.leg && from === message.from && to === message.to) before = one;
    const forwarded = to === message.from && from !== message.to && message.time_us - one.time_us < FORWARDED_US;
    if (!hop && forwarded) hop = one;
  }
  return { before, hop };
}
