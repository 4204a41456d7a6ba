import { describe, expect, it } from 'vitest';
import { listOf, makePassword, scopeText } from './queries';

describe('what somebody is limited to', () => {
  it('is written as lists', () => {
    expect(listOf('  ')).toEqual([]);
    expect(listOf('carrier-a, carrier-b;+4420*')).toEqual(['carrier-a', 'carrier-b', '+4420*']);
  });

  it('is shown in words', () => {
    expect(scopeText([])).toBe('');
    expect(scopeText(null)).toBe('');
    expect(scopeText([{ trunks: ['a'], numbers: ['+44*'] }, { trunks: ['b'], numbers: null }])).toBe('a, +44*; b');
  });
});

describe('a first password', () => {
  it('is long, and another each time', () => {
    const made = new Set(Array.from({ length: 100 }, () => makePassword()));
    expect(made.size).toBe(100);
    // Of 32 letters, none is left out in 2,000 but once in 10^26.
    expect(new Set([...made].join('').replaceAll('-', '')).size).toBe(32);
    for (const password of made) expect(password).toMatch(/^[a-z2-9]{5}(-[a-z2-9]{5}){3}$/);
  });
});
