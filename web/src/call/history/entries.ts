// Entries of the audit log that are about one call.

export interface Entry {
  number: number;
  time_us: number;
  who: string;
  action: string;
  what: string;
  from: string | null;
  reason: string | null;
}

export interface AuditAnswer {
  entries: Entry[];
  verified: boolean;
  problem: string | null;
}

/** Those that name the call, the newest first; a text that only contains the id does not. */
export function entriesOf(answer: AuditAnswer, id: string): Entry[] {
  const whole = new RegExp(`(^|[^0-9a-f])${id}([^0-9a-f]|$)`);
  return answer.entries.filter((entry) => whole.test(entry.what)).sort((a, b) => b.time_us - a.time_us);
}
