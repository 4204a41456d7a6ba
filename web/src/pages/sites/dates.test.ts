import { expect, it } from 'vitest';
import { beginOf, dayOf, shortTime } from './dates';

const at = (text: string) => Date.parse(text) * 1000;

it('a day begins on the clocks of the zone, also where they change on that day', () => {
  expect(beginOf('2026-11-24', 'UTC')).toBe(at('2026-11-24T00:00:00Z'));
  expect(beginOf('2026-11-24', 'Europe/Madrid')).toBe(at('2026-11-23T23:00:00Z'));
  expect(beginOf('2026-03-29', 'Europe/Madrid')).toBe(at('2026-03-28T23:00:00Z'));
  expect(beginOf('2026-03-30', 'Europe/Madrid')).toBe(at('2026-03-29T22:00:00Z'));
  expect(beginOf('2026-10-25', 'Europe/Madrid')).toBe(at('2026-10-24T22:00:00Z'));
  expect(beginOf('2026-10-26', 'Europe/Madrid')).toBe(at('2026-10-25T23:00:00Z'));
  expect(beginOf('2026-07-01', 'America/St_Johns')).toBe(at('2026-07-01T02:30:00Z'));
  expect(beginOf('', 'UTC')).toBe(null);
});

it('a moment is its day, with the time where that is not midnight', () => {
  const begin = at('2026-11-23T23:00:00Z');
  expect([dayOf(begin, 'Europe/Madrid'), dayOf(null, 'UTC'), dayOf(undefined, 'UTC')]).toEqual(['2026-11-24', '', '']);
  expect(shortTime(begin, 'Europe/Madrid')).toBe('2026-11-24');
  expect(shortTime(begin, 'UTC')).toBe('2026-11-23 23:00:00');
});
