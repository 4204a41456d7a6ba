import { describe, expect, it } from 'vitest';
import { at } from '../testing';
import { differenceText, position, seconds, timeText, type TimesFrom } from './times';

describe('times of a ladder', () => {
  it('are seconds with three places', () => {
    expect(seconds(0)).toBe('+0.000');
    expect(seconds(61_850_400)).toBe('+61.850');
    expect(seconds(-3_000)).toBe('-0.003');
    expect(seconds(-400)).toBe('+0.000');
    expect(seconds(999_999)).toBe('+1.000');
  });

  it('count from what the reader chose', () => {
    const text = (from: TimesFrom, mark_us: number | null = null) =>
      timeText(at(5), at(4.5), { from, start_us: at(0), mark_us, zone: 'UTC' });
    expect(text('start')).toBe('+5.000');
    expect(text('before')).toBe('+0.500');
    expect(text('mark', at(7))).toBe('-2.000');
    expect(text('mark')).toBe('+5.000');
    expect(text('clock')).toBe('08:00:05.000');
    expect(timeText(at(5), null, { from: 'before', start_us: at(0), mark_us: null, zone: 'UTC' })).toBe('+0.000');
  });

  it('have differences as people say them', () => {
    const text = (us: number) => differenceText(us, 0);
    expect([0, 1_949, 12_300, 999_400, 999_600, 4_210_000, 61_000_000, 3_725_000_000].map(text)).toEqual([
      '0.0 ms', '1.9 ms', '12 ms', '999 ms', '1.00 s', '4.21 s', '1:01', '1:02:05',
    ]);
    expect(text(-2_000)).toBe('-2.0 ms');
    expect(differenceText(5, null)).toBe('');
  });

  it('have positions as a clock', () => {
    expect([0, 41_000, 723_400, 3_723_000].map((ms) => position(ms))).toEqual(['0:00', '0:41', '12:03', '1:02:03']);
    expect(position(59_960, 1)).toBe('1:00.0');
    expect(position(5_250, 2)).toBe('0:05.25');
    expect(position(-1_500, 1)).toBe('-0:01.5');
  });
});
