import { expect, it } from 'vitest';
import { free, remedy, wrong } from './words';

const fault = { code: 'lost', subject: 'ring', count: 1234, detail: '1234 lost at ring just now', remedy: 'set a larger ring' };

it('says what is wrong and what to do in its own words', () => {
  expect(wrong(fault)).toBe('1,234 lost just now: ring of the kernel');
  expect(remedy(fault)).toContain('[capture] ring');
  expect(wrong({ ...fault, code: 'clock', subject: null, count: -40 })).toContain('stepped by -40 s');
  expect(wrong({ ...fault, code: 'disk', subject: 'records', count: null })).toBe('The disk of the records is full.');
});

it('says what it does not know in the words of the server, and shows what came from elsewhere as text', () => {
  expect(wrong({ ...fault, code: 'new', detail: 'something else' })).toBe('something else');
  expect(remedy({ ...fault, subject: 'elsewhere' })).toBe('set a larger ring');
  expect(remedy({ ...fault, code: 'new' })).toBe('set a larger ring');
  expect(wrong({ ...fault, code: 'worker', subject: 'eth\u202e0' })).not.toContain('\u202e');
});

it('says what is free of a disk', () => {
  expect(free({ name: 'spool', total_bytes: 2 ** 40, free_bytes: 2 ** 39 })).toBe('512.0 GiB of 1.0 TiB are free (50.0 %)');
  expect(free({ name: 'spool', total_bytes: 0, free_bytes: 0 })).toContain('(0.0 %)');
});
