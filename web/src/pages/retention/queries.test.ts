import { expect, it } from 'vitest';
import { recordedAs } from './queries';

it('a search for what a rule recorded', () => {
  const rule = { name: 'bad calls', keep: 'full', conditions: [], mask_dtmf: false, may_pause: true, calls: 7, written: null };
  expect(recordedAs(rule, 1_767_279_845_000_000)).toBe('recorded:full began>2026-01-01T15:04:05Z');
  expect(recordedAs({ ...rule, keep: 'nothing' }, 1_767_279_845_000_000)).toBe('recorded:none began>2026-01-01T15:04:05Z');
});
