// What the pages of users ask the server: records of `ringtap users`.

import { get } from '../../lib/api';
import { termOf } from '../../lib/search';
import type { User, UserList } from '../../lib/types';

/** Users seen in a time, the last seen first. `number`: a number or user name, with `*` for any characters. */
export function users(number: string, from_us: number, signal: AbortSignal): Promise<UserList> {
  return get('/users', { query: { number, from_us }, signal });
}

/**
 * One user; null where it was not seen in that time. Whoever may not see numbers has a token in the place of the address:
 * nothing can be searched by it, so it is looked for among all.
 */
export async function user(aor: string, from_us: number, byNumber: boolean, signal: AbortSignal): Promise<User | null> {
  const answer = byNumber
    ? await users(aor.split('@')[0] ?? '', from_us, signal)
    : await get('/users', { query: { from_us, limit: MOST }, signal });
  return answer.users.find((one) => one.aor === aor) ?? null;
}

/** Users that have a text in their address of record, device, contact or address, in any case of letters. */
export function containing(all: User[], text: string): User[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') return all;
  return all.filter((one) =>
    [one.aor, one.display_name, one.user_agent, one.contact, one.address].some((part) => part?.toLowerCase().includes(wanted)),
  );
}

export type Registered = 'yes' | 'expired' | 'no';

/** Most users of an answer. */
const MOST = 5000;

/** How far back users are counted, in days. */
export const DAYS = [1, 7, 30] as const;

/** The beginning of so many days before now. */
export function since(days: number): number {
  return Math.floor(Date.now() / 60_000) * 60e6 - days * 86_400e6;
}

/** Whether a user is registered at a time. */
export function registered(one: Pick<User, 'registered_until_us' | 'registrations'>, now: number): Registered {
  if (one.registered_until_us === null) return 'no';
  return one.registered_until_us >= now ? 'yes' : 'expired';
}

/** The host of an address `ip:port` or `[v6]:port`. */
export function hostOf(address: string): string {
  return /^\[(.*)\]:\d+$/.exec(address)?.[1] ?? address.replace(/:\d+$/, '');
}

/** A search for the calls of a user. */
export function callsOf(aor: string): string {
  return termOf('uri', aor);
}
