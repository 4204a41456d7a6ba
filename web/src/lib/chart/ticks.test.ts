import { describe, expect, it } from 'vitest';
import { timeTicks } from './ticks';

const at = (text: string) => Date.parse(text) * 1000;
const labels = (from: string, until: string, most: number, zone = 'UTC') =>
  timeTicks(at(from), at(until), most, zone).map((tick) => tick.label);

describe('ticks of time', () => {
  it('are at whole steps of the clock', () => {
    expect(labels('2026-01-01T08:03:10Z', '2026-01-01T08:11:00Z', 5)).toEqual([
      '01-01 08:04', '08:06', '08:08', '08:10',
    ]);
    expect(labels('2026-01-01T08:00:00Z', '2026-01-01T20:00:00Z', 4)).toEqual([
      '01-01 09:00', '12:00', '15:00', '18:00',
    ]);
  });

  it('are at whole hours of the zone', () => {
    expect(labels('2026-01-01T08:00:00Z', '2026-01-01T14:00:00Z', 6, 'Asia/Kolkata')).toEqual([
      '01-01 14:00', '15:00', '16:00', '17:00', '18:00', '19:00',
    ]);
  });

  it('name the day where it changes', () => {
    expect(labels('2026-01-01T20:00:00Z', '2026-01-02T04:00:00Z', 4)).toEqual([
      '01-01 20:00', '22:00', '01-02 00:00', '02:00',
    ]);
    expect(labels('2026-01-01T00:00:00Z', '2026-01-05T00:00:00Z', 5)).toEqual(['01-01', '01-02', '01-03', '01-04']);
  });

  it('stay at midnight when clocks change', () => {
    const days = timeTicks(at('2026-03-27T23:00:00Z'), at('2026-03-31T22:00:00Z'), 5, 'Europe/Madrid');
    expect(days.map((tick) => new Date(tick.us / 1000).toISOString().slice(0, 16))).toEqual([
      '2026-03-27T23:00', '2026-03-28T23:00', '2026-03-29T22:00', '2026-03-30T22:00',
    ]);
  });

  it('are few, and none of nothing', () => {
    expect(timeTicks(5, 5, 5, 'UTC')).toEqual([]);
    for (const span of [1, 7, 61, 4000, 90_000, 3e6, 4e7, 4e8]) {
      const ticks = timeTicks(1e15, 1e15 + span * 1e6, 6, 'Europe/Madrid');
      expect(ticks.length, String(span)).toBeLessThanOrEqual(7);
    }
  });
});
