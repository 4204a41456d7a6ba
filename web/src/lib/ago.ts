// How long ago, for people: `12 min ago`, with the time itself beside it or on hover.

import { language } from '../i18n';

const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['second', 1],
  ['minute', 60],
  ['hour', 3600],
  ['day', 86_400],
  ['month', 30 * 86_400],
  ['year', 365 * 86_400],
];

/** `us` as seen from `nowUs`: in the largest unit of which there is at least one, 90 s as minutes. */
export function ago(us: number, nowUs: number): string {
  const seconds = (us - nowUs) / 1e6;
  const [unit, size] = UNITS.findLast(([, size]) => Math.abs(seconds) >= size) ?? UNITS[0]!;
  const format = new Intl.RelativeTimeFormat(language(), { style: 'short', numeric: 'always' });
  return format.format(Math.trunc(seconds / size), unit);
}
