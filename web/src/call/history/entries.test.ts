import { describe, expect, it } from 'vitest';
import { entriesOf } from './entries';
import type { AuditEntry } from '../../lib/types';

const entry = (number: number, what: string): AuditEntry =>
  ({ number, time_us: number, who: 'ana', action: 'view', what, from: '192.0.2.1', reason: null });

describe('the history of a call', () => {
  it('has the entries that name it, the newest first', () => {
    const id = 'ab12'.repeat(8);
    const entries = [entry(1, `call ${id}`), entry(2, `call ${'0'.repeat(32)}`), entry(3, `${id}/sound.wav`), entry(4, `${id}f`)];
    expect(entriesOf({ entries, more: false, damaged: 0, verified: true, problem: null }, id).map((one) => one.number)).toEqual([3, 1]);
  });
});
