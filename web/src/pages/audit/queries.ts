// What the page of the audit log asks the server.

import { api } from '../../lib/api';

export interface Entry {
  number: number;
  time_us: number;
  who: string;
  role: string | null;
  action: string;
  what: string | null;
  from: string | null;
  reason: string | null;
}

export interface AuditAnswer {
  entries: Entry[];
  /** There are earlier ones. */
  more: boolean;
  /** Lines that cannot be read. */
  damaged: number;
  /** Whether the chain of hashes and its signatures hold, from first to last; null where that was not asked for. */
  verified: boolean | null;
  /** Where they do not, in words. */
  problem: string | null;
}

export interface AuditQuery {
  from_us: number;
  who: string;
  action: string;
  text: string;
  /** Only entries with a lower number. */
  before: number | null;
}

export function audit(query: AuditQuery, signal: AbortSignal): Promise<AuditAnswer> {
  // The whole chain is read once, not again for each further page.
  return api('/audit', { query: { ...query, limit: 200, verify: query.before === null }, signal });
}

export const ACTIONS = [
  'login', 'login_failed', 'logout', 'search', 'view', 'listen', 'export', 'hold', 'forget', 'change', 'people', 'audit',
] as const;

/** The id of a call that an entry is about, to link to it. */
export function callOf(entry: Entry): string | null {
  return /\b[0-9a-f]{32}\b/.exec(entry.what ?? '')?.[0] ?? null;
}
