// Where an axis of time has its marks: at whole minutes, hours or days of the zone, as many as there is room for.

import { clock, date, moment } from '../time';

export interface Tick {
  us: number;
  label: string;
}

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const STEPS = [
  1, 2, 5, 10, 15, 30,
  MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE,
  HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR,
  DAY, 2 * DAY, 7 * DAY, 14 * DAY, 28 * DAY, 84 * DAY,
];

/** At most `most` ticks between two times, with `day` before a clock time where the day changes. */
export function timeTicks(from: number, until: number, most: number, zone: string): Tick[] {
  if (!(until > from) || most < 1) return [];
  const least = (until - from) / 1e6 / most;
  const step = STEPS.find((seconds) => seconds >= least) ?? Math.ceil(least / DAY / 364) * 364 * DAY;
  const ticks: Tick[] = [];
  let at = first(from, step, zone);
  let day = '';
  while (at < until && ticks.length < 2 * most + 2) {
    if (at >= from) {
      const today = date(at, zone);
      const time = clock(at, zone, step < MINUTE ? 0 : -1);
      const isNew = today !== day;
      day = today;
      const short = today.slice(5);
      ticks.push({ us: at, label: step >= DAY ? short : isNew ? `${short} ${time}` : time });
    }
    at = next(at, step, zone);
  }
  return ticks;
}

/** The last whole step at or before a time. */
function first(us: number, step: number, zone: string): number {
  const at = moment(us, zone);
  const seconds = at.hour * HOUR + at.minute * MINUTE + at.second;
  const inDay = step >= DAY ? seconds : seconds % step;
  return us - at.micro - inDay * 1e6;
}

/** The next one; where clocks change in between, again at a whole step of the clock. */
function next(us: number, step: number, zone: string): number {
  const there = us + step * 1e6;
  if (step < HOUR) return there;
  const wanted = step >= DAY ? 0 : (moment(us, zone).hour + step / HOUR) % 24;
  const difference = moment(there, zone).hour - wanted;
  if (difference === 0) return there;
  const hours = difference > 12 ? difference - 24 : difference < -12 ? difference + 24 : difference;
  return Math.abs(hours) > 1 ? there : there - hours * HOUR * 1e6;
}
