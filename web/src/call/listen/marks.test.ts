import { describe, expect, it } from 'vitest';
import { at, interval, stream } from '../testing';
import { grouped, markPath, marksOf, nextMark, soundSeconds, soundStart } from './marks';
import type { Mark } from '../answers';
import type { Direction } from '../../lib/types';

const mark = (at_ms: number, kind = 'lost', direction: Direction = 'caller_to_callee'): Mark => ({ at_ms, kind, direction });

describe('marks', () => {
  it('are found one after the other, and the first after the last', () => {
    const marks = [mark(9_000), mark(1_000), mark(5_000, 'late', 'callee_to_caller')];
    const next = (at_ms: number, muted: Direction[] = []) => nextMark(marks, at_ms, new Set(muted))?.at_ms;
    expect([next(0), next(1_000), next(5_000), next(9_000)]).toEqual([1_000, 5_000, 9_000, 1_000]);
    // What is muted is not looked for.
    expect(next(1_000, ['callee_to_caller'])).toBe(9_000);
    expect(nextMark([], 0, new Set())).toBeNull();
  });

  it('that would lie over each other are one with a number', () => {
    const marks = [mark(0), mark(10), mark(20), mark(30, 'late'), mark(5_000)];
    expect(grouped(marks, 10).map((group) => [group.at_ms, group.kind, group.count])).toEqual([
      [0, 'lost', 3], [30, 'late', 1], [5_000, 'lost', 1],
    ]);
  });

  it('of each kind have a shape of their own', () => {
    const shapes = ['lost', 'late', 'silence', 'something else'].map(markPath);
    expect(new Set(shapes).size).toBe(4);
  });
});

describe('marks that the server does not name', () => {
  const track = { direction: 'caller_to_callee' as const, first_us: at(1), seconds: 50, peaks: [] };
  const intervals = [interval(1), interval(11, { lost: 3 }), interval(21, { discarded: 2 })];
  const streams = [stream(1, 45, { intervals }), stream(1, 45, { intervals, call: 'another leg' })];

  it('are the intervals of the record in which something was missing', () => {
    expect(marksOf({ tracks: [track], marks: [] }, streams, 'c').map((one) => [one.kind, one.at_ms, one.span_ms])).toEqual([
      ['lost', 10_000, 10_000], ['late', 20_000, 10_000], ['silence', 30_000, 14_000],
    ]);
  });

  it('are not made up where the server names some, or there is no sound', () => {
    const marks = [mark(5)];
    expect(marksOf({ tracks: [track], marks }, streams, 'c')).toBe(marks);
    expect(marksOf({ tracks: [], marks: [] }, streams, 'c')).toEqual([]);
  });
});

describe('a recording', () => {
  it('begins with the earlier track and ends with the later', () => {
    const track = (first: number, seconds: number) =>
      ({ direction: 'caller_to_callee' as const, first_us: at(first), seconds, peaks: [] });
    const peaks = { tracks: [track(2, 5), track(1, 3)], marks: [] };
    expect(soundStart(peaks)).toBe(at(1));
    expect(soundSeconds(peaks)).toBe(6);
    expect(soundStart({ tracks: [], marks: [] })).toBeNull();
    expect(soundSeconds({ tracks: [], marks: [] })).toBe(0);
  });
});
