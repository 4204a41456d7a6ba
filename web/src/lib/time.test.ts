import { describe, expect, it } from 'vitest';
import { clock, date, dateAndClock, evenSpan, offset, searchTime, span } from './time';

const us = Date.UTC(2026, 6, 1, 22, 4, 5) * 1000 + 123_456;

describe('times', () => {
  it('are shown in the zone', () => {
    expect(date(us, 'UTC')).toBe('2026-07-01');
    expect(date(us, 'Europe/Madrid')).toBe('2026-07-02');
    expect(clock(us, 'Europe/Madrid')).toBe('00:04:05');
    expect(clock(us, 'UTC', 3)).toBe('22:04:05.123');
    expect(clock(us, 'UTC', -1)).toBe('22:04');
    expect(dateAndClock(us, 'America/St_Johns', 6)).toBe('2026-07-01 19:34:05.123456');
  });

  it('say how far the zone is from UTC', () => {
    expect(offset(us, 'UTC')).toBe('UTC');
    expect(offset(us, 'Europe/Madrid')).toBe('UTC+2');
    expect(offset(us, 'America/St_Johns')).toBe('UTC-2:30');
  });

  it('are written so that a search finds the same', () => {
    expect(searchTime(us)).toBe('2026-07-01T22:04:05.123Z');
    expect(searchTime(us - 123_456)).toBe('2026-07-01T22:04:05Z');
  });

  it('have lengths as people say them', () => {
    expect(span(null)).toBe('');
    expect(span(85.4)).toBe('85 ms');
    expect(span(4211)).toBe('4.2 s');
    expect(span(59_949)).toBe('59.9 s');
    expect(span(59_950)).toBe('1:00');
    expect(span(723_000)).toBe('12:03');
    expect(span(3_845_000)).toBe('1:04:05');
    expect([null, 85.4, 4211, 59_950].map((ms) => evenSpan(ms, 2))).toEqual(['', '0.09 s', '4.21 s', '1:00']);
  });
});
