import { describe, expect, it } from 'vitest';
import { callOf, containing, type Entry } from './queries';

const entry = (action: string, what: string | null, reason: string | null): Entry => ({
  number: 1, time_us: 1, who: 'ana', action, what, from: '192.0.2.1', reason,
});

describe('entries', () => {
  const all = [entry('listen', 'call x', 'Ticket 4711'), entry('search', 'number:0138', null)];

  it('are found by a text in them', () => {
    expect(containing(all, ' ticket ')).toEqual([all[0]]);
    expect(containing(all, 'SEARCH')).toEqual([all[1]]);
    expect(containing(all, '')).toBe(all);
    expect(containing(all, 'nothing')).toEqual([]);
  });

  it('name the call that they are about', () => {
    const id = '0f3c5b1e9d2a4c6f8e7b0a1d2c3e4f50';
    expect(callOf(entry('view', `call ${id}`, null))).toBe(id);
    expect(callOf(all[1]!)).toBeNull();
    expect(callOf(entry('view', null, null))).toBeNull();
  });
});
