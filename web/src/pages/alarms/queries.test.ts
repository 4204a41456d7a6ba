import { describe, expect, it } from 'vitest';
import type { Alarm } from '../../lib/types';
import { evidence, inOrder } from './queries';

function alarm(id: string, severity: Alarm['severity'], raised_us: number, cleared_us: number | null): Alarm {
  return { id, severity, raised_us, cleared_us, calls: [] } as unknown as Alarm;
}

describe('alarms', () => {
  it('that stand come first, by severity, then the latest', () => {
    const all = [
      alarm('past', 'critical', 9, 10), alarm('info', 'info', 8, null), alarm('late', 'critical', 7, null),
      alarm('early', 'critical', 1, null), alarm('older', 'info', 2, 3),
    ];
    expect(inOrder(all).map((one) => one.id)).toEqual(['late', 'early', 'info', 'past', 'older']);
  });

  it('name the calls that show them', () => {
    const one = alarm('a', 'info', 1, null);
    expect(evidence(one)).toBeNull();
    expect(evidence({ ...one, calls: ['a@b'] })).toBe('callid:a@b');
    expect(evidence({ ...one, calls: ['a b', 'c'] })).toBe('callid:["a b",c]');
  });
});
