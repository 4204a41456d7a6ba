import { expect, it } from 'vitest';
import { also, conditions, days, listed, outlook, pairsOf, space } from './words';

const category = { category: 'media', bytes: 10, segments: 1, oldest_us: 1, age_ms: null, size_bytes: null, bytes_per_day: 5, next_us: null, next_by: null };
const spool = {
  recording: true, categories: [category], disk_bytes: 2 ** 40, free_bytes: 2 ** 39, low_bytes: 2 ** 30, high_bytes: 2 ** 31,
  short_at_us: null, has_tier: false, tier_after_ms: null, tier_lost: false,
};
const DAY_US = 86_400e6;

it('spans are in the unit that people configured', () => {
  expect(days(90 * 86_400_000)).toBe('90 days');
  expect(days(36 * 3_600_000)).toBe('36 hours');
  expect(days(90_000)).toBe('2 minutes');
});

it('what the disk does next is said', () => {
  expect(outlook(spool, 0)).toContain('does not get short of space');
  expect(outlook({ ...spool, categories: [{ ...category, bytes_per_day: null }] }, 0)).toContain('Too little');
  expect(outlook({ ...spool, short_at_us: 3 * DAY_US }, 0)).toMatch(/in 3 days.*deleted before their age/);
  expect(outlook({ ...spool, short_at_us: 3 * DAY_US, has_tier: true }, 0)).toContain('move');
  expect(outlook({ ...spool, short_at_us: 5 }, 5)).toContain('is short of space now');
  expect(outlook({ ...spool, recording: false, short_at_us: 5 }, 9)).toContain('stopped');
  expect(space(spool)).toBe('512.0 GiB of 1.0 TiB are free (50.0 %); 1.0 GiB have to stay free.');
});

it('a rule that is being written reads as one in effect', () => {
  expect(conditions(pairsOf({ keep: 'full' }))).toBe('any call');
  const rule = { keep: 'full' as const, number: ['112', '113'], caller: ['1'], codec: ['G729'], answered: true, mos_below: 3.5, share: '1%' };
  expect(conditions(pairsOf(rule))).toBe(
    'the caller is in a list of one number, a party is in a list of 2 numbers, codec G729, answered, MOS below 3.5, 1% of the calls',
  );
  expect(also({ mask_dtmf: true, may_pause: true })).toBe('digits hidden, may be paused');
  expect(also({})).toBe('');
});

it('lists are read as people type them', () => {
  expect(listed(' +49 30 *, 112;113\n\n')).toEqual(['+49 30 *', '112', '113']);
  expect(listed(' , ')).toEqual([]);
});
