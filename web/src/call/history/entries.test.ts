import { describe, expect, it } from 'vitest';
import { entriesOf, type Entry } from './entries';

const entry = (number: number, what: string): Entry =>
  ({ number, time_us: number, who: 'ana', action: 'view', what, from: null, reason: null });

describe('the history of a call', () => {
  it('has the entries that name it, the newest first', () => {
    const id = 'ab12'.repeat(8);
    const entries = [entry(1, `call ${id}`), entry(2, `call ${'0'.repeat(32)}`), entry(3, `${id}/sound.wav`), entry(4, `${id}f`)];
    expect(entriesOf({ entries, verified: true, problem: null }, id).map((one) => one.number)).toEqual([3, 1]);
  });
});
