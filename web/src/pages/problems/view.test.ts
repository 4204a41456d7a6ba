import { describe, expect, it } from 'vitest';
import type { CallSummary } from '../../lib/types';
import { before, courseOf, groupsOf, placesOf, spanOf, type Bar } from './view';

const HOUR = 3600e6;
const NOW = 1_000 * HOUR;
const DAY = 24 * HOUR;

/** Calls so many hours ago, each of an hour's bar. */
function ago(...hours: number[]): Bar[] {
  return hours.map((hour) => ({ from_us: NOW - hour * HOUR, until_us: NOW - (hour - 1) * HOUR, calls: 2 }));
}

function summary(calls: number, facets: CallSummary['facets']): CallSummary {
  return { calls, facets } as CallSummary;
}

describe('groups', () => {
  it('are of what is a fault: not of busy lines, and not of remarks', () => {
    const all = summary(100, { note: [{ value: 'loss', calls: 9 }, { value: 'hold', calls: 30 }, { value: 'encrypted', calls: 40 }, { value: 'one_way', calls: 2 }] });
    const failed = summary(12, { code: [{ value: '503', calls: 5 }, { value: '486', calls: 6 }, { value: '0', calls: 1 }], state: [{ value: 'failed', calls: 11 }, { value: 'timeout', calls: 1 }] });
    expect(groupsOf(all, failed).map((group) => [group.term, group.calls])).toEqual([
      ['note:loss', 9], ['state:[failed,timeout] code:503', 5], ['note:one_way', 2], ['state:timeout', 1],
    ]);
    expect(groupsOf(summary(0, {}), summary(0, {}))).toEqual([]);
  });
});

describe('the course of a problem', () => {
  it('is new, ongoing, quiet or back again', () => {
    expect(courseOf(ago(3, 2, 1), DAY, NOW)).toBe('new');
    expect(courseOf(ago(40, 30, 22, 14, 5, 1), DAY, NOW)).toBe('ongoing');
    expect(courseOf(ago(40, 30, 20, 10), DAY, NOW)).toBe('quiet');
    expect(courseOf(ago(47, 46, 2), DAY, NOW)).toBe('back');
    expect(courseOf([], DAY, NOW)).toBe('quiet');
  });

  it('is told from calls, not from bars that have none', () => {
    const empty = ago(47, 46).map((bar) => ({ ...bar, calls: 0 }));
    expect(courseOf([...empty, ...ago(2)], DAY, NOW)).toBe('new');
  });

  it('has a count of the time before', () => {
    expect(before(ago(47, 25, 24, 1), DAY, NOW)).toBe(4);
  });
});

describe('where a problem lies', () => {
  const all = summary(1000, { trunk_to: [{ value: 'a', calls: 500 }, { value: 'b', calls: 500 }], ua: [{ value: 'x', calls: 990 }] });

  it('is where most of its calls and few of the others are', () => {
    const detail = { bars: [], calls: 40, complete: true, facets: { trunk_to: [{ value: 'a', calls: 39 }, { value: 'b', calls: 1 }], ua: [{ value: 'x', calls: 40 }] } };
    const places = placesOf(detail, all, ['trunk_to', 'ua']);
    expect(places.map((place) => [place.field, place.value, Math.round(place.part), Math.round(place.usual)])).toEqual([['trunk_to', 'a', 98, 48]]);
  });

  it('is not told of a handful of calls, nor where all calls are alike', () => {
    expect(placesOf({ bars: [], calls: 3, complete: true, facets: { trunk_to: [{ value: 'a', calls: 3 }] } }, all, ['trunk_to'])).toEqual([]);
    const every = summary(40, { trunk_to: [{ value: 'a', calls: 40 }] });
    expect(placesOf({ bars: [], calls: 40, complete: true, facets: { trunk_to: [{ value: 'a', calls: 40 }] } }, every, ['trunk_to'])).toEqual([]);
  });
});

describe('the time', () => {
  it('is one of those that can be chosen', () => {
    expect([spanOf('7d'), spanOf(null), spanOf('toString')]).toEqual(['7d', '24h', '24h']);
  });
});
