// Entries of the audit log that are about one call.

import type { AuditEntry, AuditPage } from '../../lib/types';

/** Those that name the call, the newest first; a text that only contains the id does not. */
export function entriesOf(answer: AuditPage, id: string): AuditEntry[] {
  const whole = new RegExp(`(^|[^0-9a-f])${id}([^0-9a-f]|$)`);
  return answer.entries.filter((entry) => whole.test(entry.what)).sort((a, b) => b.time_us - a.time_us);
}
