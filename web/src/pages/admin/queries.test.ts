import { describe, expect, it } from 'vitest';
import { scopeOf, scopeText } from './queries';

describe('what somebody is limited to', () => {
  it('is written as lists', () => {
    expect(scopeOf('', '  ')).toEqual([]);
    expect(scopeOf('carrier-a, carrier-b', '')).toEqual([{ trunks: ['carrier-a', 'carrier-b'], numbers: null }]);
    expect(scopeOf('', '+4420*;+4421*')).toEqual([{ trunks: null, numbers: ['+4420*', '+4421*'] }]);
  });

  it('is shown in words', () => {
    expect(scopeText([])).toBe('');
    expect(scopeText(null)).toBe('');
    expect(scopeText([{ trunks: ['a'], numbers: ['+44*'] }, { trunks: ['b'], numbers: null }])).toBe('a, +44*; b');
  });
});
