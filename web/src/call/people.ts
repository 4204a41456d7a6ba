// Parties and legs of a call, in words.

import type { Call } from '../lib/types';

/** The number, or what there is of a party. */
export function caller(call: Call): string {
  return call.from_user ?? call.from_host ?? call.asserted_identity ?? '?';
}

export function callee(call: Call): string {
  return call.ruri_user ?? call.to_user ?? call.to_host ?? call.ruri_host ?? '?';
}

/** `"Ana" <1001@example.com>` */
export function party(display: string | null, user: string | null, host: string | null): string {
  const uri = user !== null && host !== null ? `${user}@${host}` : (user ?? host ?? '');
  return display ? `"${display}"${uri ? ` <${uri}>` : ''}` : uri;
}

/** `A`, `B`, ... `Z`, `A1`: the same letters as on the ladder. */
export function legName(at: number): string {
  const letter = String.fromCharCode(65 + (at % 26));
  return at < 26 ? letter : `${letter}${Math.floor(at / 26)}`;
}

/** When the call begins: times of every tab are counted from here. */
export function startOf(call: Call, firsts: number[]): number {
  const known = [call.invite_us, call.trying_us, call.ringing_us, call.answer_us, call.end_us, ...firsts];
  const times = known.filter((one): one is number => one !== null);
  return call.invite_us ?? (times.length > 0 ? Math.min(...times) : 0);
}
