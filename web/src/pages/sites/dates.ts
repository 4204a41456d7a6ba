// Days as they are typed, and the moments at which they begin.

import { date, dateAndClock } from '../../lib/time';

/** When a day, `2026-01-01`, begins on the clocks of `zone`; null where nothing is typed. */
export function beginOf(day: string, zone: string): number | null {
  if (day === '') return null;
  const midnight = Date.parse(`${day}T00:00:00Z`) * 1000;
  // The clocks of the zone at a moment near by tell how far they are from UTC; again where they change on that day.
  const near = midnight - ahead(midnight, zone);
  return midnight - ahead(near, zone);
}

/** The day on which something begins, as it is typed; '' where it has no beginning. */
export function dayOf(us: number | null | undefined, zone: string): string {
  return typeof us === 'number' ? date(us, zone) : '';
}

/** A time without its clock where that says midnight. */
export function shortTime(us: number, zone: string): string {
  const isMidnight = us === beginOf(date(us, zone), zone);
  return isMidnight ? date(us, zone) : dateAndClock(us, zone);
}

/** By how many microseconds the clocks of `zone` are ahead of UTC. */
function ahead(us: number, zone: string): number {
  return Date.parse(`${dateAndClock(us, zone).replace(' ', 'T')}Z`) * 1000 - us;
}
