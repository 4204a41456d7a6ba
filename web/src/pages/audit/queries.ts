// What the page of the audit log asks the server.

import { get } from '../../lib/api';
import type { Action, AuditEntry, AuditPage } from '../../lib/types';

export interface AuditQuery {
  from_us: number;
  who: string;
  action: Action | null;
  text: string;
  /** Only entries with a lower number. */
  before: number | null;
}

export function audit(query: AuditQuery, signal: AbortSignal): Promise<AuditPage> {
  // The whole chain is read once, not again for each further page.
  return get('/audit', { query: { ...query, limit: 200, verify: query.before === null }, signal });
}

export const ACTIONS: Action[] = [
  'login', 'login_failed', 'logout', 'search', 'view', 'listen', 'export', 'hold', 'forget', 'change', 'people', 'audit', 'refused', 'recovered',
];

/** The id of a call that an entry is about, to link to it. */
export function callOf(entry: AuditEntry): string | null {
  return /\b[0-9a-f]{32}\b/.exec(entry.what)?.[0] ?? null;
}
