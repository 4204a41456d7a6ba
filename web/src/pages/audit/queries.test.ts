import { describe, expect, it } from 'vitest';
import { callOf } from './queries';
import type { AuditEntry } from '../../lib/types';

describe('an entry', () => {
  it('names the call that it is about', () => {
    const entry = (what: string) => ({ number: 1, time_us: 1, who: 'ana', role: null, action: 'view', what, from: '192.0.2.1', reason: null }) satisfies AuditEntry;
    const id = '0f3c5b1e9d2a4c6f8e7b0a1d2c3e4f50';
    expect(callOf(entry(`call ${id}`))).toBe(id);
    expect(callOf(entry('number:0138'))).toBeNull();
    expect(callOf(entry(''))).toBeNull();
  });
});
