// What the pages of users ask the server: records of `ringtap users`.

import { api } from '../../lib/api';
import { termOf } from '../../lib/search';
import type { Coverage } from '../../lib/types';
import { zone } from '../../lib/zone.svelte';

export interface User {
  aor: string;
  display_name: string | null;
  contact: string | null;
  user_agent: string | null;
  address: string | null;
  registered_until_us: number | null;
  registrations: number;
  registrations_failed: number;
  calls_made: number;
  calls_made_answered: number;
  calls_made_rejected: number;
  calls_received: number;
  calls_received_answered: number;
  calls_received_rejected: number;
  messages_received: number;
  methods: { method: string; count: number }[];
  failures: { code: number; count: number }[];
  first_us: number;
  last_us: number;
}

export function users(q: string, signal: AbortSignal): Promise<{ users: User[]; coverage: Coverage | null }> {
  return api('/users', { query: { q, tz: zone.name }, signal });
}

/** One user; the answer may have the record itself, or in `user`. */
export async function user(aor: string, signal: AbortSignal): Promise<User> {
  const answer = await api<User | { user: User }>(`/users/${encodeURIComponent(aor)}`, { signal });
  return 'user' in answer ? answer.user : answer;
}

export type Registered = 'yes' | 'expired' | 'no';

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
