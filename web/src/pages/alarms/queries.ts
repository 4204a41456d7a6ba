// What the page of alarms asks the server.

import { post } from '../../lib/api';
import { quoted } from '../../lib/search';
import type { Alarm } from '../../lib/types';

export function acknowledge(id: string, comment: string): Promise<unknown> {
  return post('/alarms/{id}/acknowledge', { path: { id }, body: { comment } });
}

/** Nobody is told of alarms of that rule and subject for so long; 0 seconds end a silence. */
export function silence(alarm: Alarm, seconds: number, comment: string): Promise<unknown> {
  const { rule, subject } = alarm;
  return post('/alarms/silence', { body: { rule, subject, seconds, comment } });
}

/** Those that stand first, the most severe of them first; then the others, the latest first. */
export function inOrder(alarms: Alarm[]): Alarm[] {
  const rank = (alarm: Alarm) => (alarm.cleared_us === null ? SEVERITIES.indexOf(alarm.severity) : SEVERITIES.length);
  return alarms.toSorted((a, b) => rank(a) - rank(b) || b.raised_us - a.raised_us);
}

/** A search for the calls that show an alarm; null where it names none. */
export function evidence(alarm: Alarm): string | null {
  if (alarm.calls.length === 0) return null;
  const ids = alarm.calls.map(quoted).join(',');
  return alarm.calls.length === 1 ? `callid:${ids}` : `callid:[${ids}]`;
}

/** How long an alarm can be silenced, in hours; 0 ends a silence. */
export const HOURS = [1, 4, 8, 24, 72, 0] as const;

const SEVERITIES = ['critical', 'warning', 'info'];
