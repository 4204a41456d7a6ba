// What the page of the audit log asks the server.

import { api } from '../../lib/api';

export interface Entry {
  number: number;
  time_us: number;
  who: string;
  action: string;
  what: string | null;
  from: string | null;
  reason: string | null;
}

export interface AuditAnswer {
  entries: Entry[];
  /** The chain of hashes and its signatures hold. */
  verified: boolean;
  /** Where they do not, in words. */
  problem: string | null;
}

export function audit(from_us: number, until_us: number, who: string, signal: AbortSignal): Promise<AuditAnswer> {
  return api('/audit', { query: { from_us, until_us, who }, signal });
}

/** Entries whose action, subject, origin or reason has the text, in any case of letters. */
export function containing(entries: Entry[], text: string): Entry[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') return entries;
  return entries.filter((entry) =>
    [entry.action, entry.what, entry.from, entry.reason].some((part) => part?.toLowerCase().includes(wanted)),
  );
}

/** The id of a call that an entry is about, to link to it. */
export function callOf(entry: Entry): string | null {
  return /\b[0-9a-f]{32}\b/.exec(entry.what ?? '')?.[0] ?? null;
}
