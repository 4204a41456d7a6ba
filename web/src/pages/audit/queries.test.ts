import { describe, expect, it } from 'vitest';
import { callOf, type Entry } from './queries';

describe('an entry', () => {
  it('names the call that it is about', () => {
    const entry = (what: string | null) => ({ number: 1, time_us: 1, who: 'ana', role: null, action: 'view', what, from: null, reason: null }) satisfies Entry;
    const id = '0f3c5b1e9d2a4c6f8e7b0a1d2c3e4f50';
    expect(callOf(entry(`call ${id}`))).toBe(id);
    expect(callOf(entry('number:0138'))).toBeNull();
    expect(callOf(entry(null))).toBeNull();
  });
});
