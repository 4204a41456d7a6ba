import { describe, expect, it } from 'vitest';
import type { KpiGroup } from '../../lib/types';
import { attempts, byName, failures } from './queries';

const group = (name: string, dimension: string, attempts: number): KpiGroup => ({
  name, dimension, attempts, figures: {}, series: [],
});

describe('trunks', () => {
  it('have two directions, and the busiest comes first', () => {
    const groups = [
      group('b', 'trunk_in', 1), group('a', 'trunk_out', 1), group('busy', 'trunk_in', 2), group('busy', 'trunk_out', 9),
    ];
    const all = byName(groups);
    expect(all.map((trunk) => trunk.name)).toEqual(['busy', 'a', 'b']);
    expect(all.map(attempts)).toEqual([11, 1, 1]);
    expect(all[0]).toMatchObject({ in: { attempts: 2 }, out: { attempts: 9 } });
    expect(all[1]!.in).toBeNull();
  });

  it('have failures that a search finds', () => {
    expect(failures('to Lyon')).toBe('trunk:"to Lyon" began:-24h state:[failed,timeout]');
  });
});
