import { describe, expect, it } from 'vitest';
import { grouped, isBeginning, linesOf, momentOf } from './forms';

describe('forms of warrants', () => {
  it('read times on the clocks of the zone, where these change as well', () => {
    expect(momentOf('', 'UTC')).toBeNull();
    expect(momentOf('tomorrow', 'UTC')).toBeNull();
    expect(momentOf('2026-12-01T10:30', 'UTC')).toBe(Date.parse('2026-12-01T10:30Z') * 1000);
    expect(momentOf('2026-12-01T10:30', 'Europe/Madrid')).toBe(Date.parse('2026-12-01T09:30Z') * 1000);
    expect(momentOf('2026-03-29T03:30', 'Europe/Madrid')).toBe(Date.parse('2026-03-29T01:30Z') * 1000);
    expect(momentOf('2026-03-29T01:30', 'Europe/Madrid')).toBe(Date.parse('2026-03-29T00:30Z') * 1000);
  });

  it('find the targets among lines, and where each begins', () => {
    expect(linesOf('a\n\n  b \n')).toEqual([{ text: 'a', line: 1, start: 0 }, { text: '  b ', line: 3, start: 3 }]);
    expect(linesOf(' \n')).toEqual([]);
  });

  it('take no fewer than eight digits of the very hash', () => {
    const hash = '41d5c0b1f3a7e296'.repeat(4);
    expect(isBeginning(' 41D5C0B1 ', hash)).toBe(true);
    expect(isBeginning(hash, hash)).toBe(true);
    for (const wrong of ['', '41d5c0b', '41d5c0b2', `${hash}0`]) expect(isBeginning(wrong, hash), wrong).toBe(false);
    expect(grouped('0123456789abcdef')).toBe('01234567 89abcdef');
  });
});
