import { describe, expect, it } from 'vitest';
import { ago } from './ago';

describe('how long ago', () => {
  it('is in the largest unit of which there is one', () => {
    const now = 1e15;
    // With or without full stops, by the version of ICU.
    const said = (seconds: number) => ago(now + seconds * 1e6, now).replaceAll('.', '');
    expect(said(-12)).toBe('12 sec ago');
    expect(said(-59.9)).toBe('59 sec ago');
    expect(said(-90)).toBe('1 min ago');
    expect(said(-7200)).toBe('2 hr ago');
    expect(said(3 * 86_400)).toBe('in 3 days');
  });
});
