import { describe, expect, it } from 'vitest';
import { minutes, worstFirst } from './queries';
import type { KpiGroup } from '../../lib/types';

function group(name: string, attempts: number, ner: number | null, mos: number | null): KpiGroup {
  const figures = { ner: { value: ner, of: attempts }, mos_p50: { value: mos, of: attempts } };
  return { name, dimension: 'trunk_out', attempts, figures, series: [] };
}

describe('the last hour', () => {
  it('has every minute, and adds groups up', () => {
    const series = (at_us: number, attempts: number, answered: number | null) => ({
      at_us, until_us: at_us + 60e6, attempts, figures: { answered: { value: answered, of: attempts } },
    });
    const groups = [
      { ...group('a', 0, null, null), series: [series(60e6, 4, 2)] },
      { ...group('b', 0, null, null), series: [series(60e6, 2, 2), series(120e6, 1, null)] },
    ];
    expect(minutes(groups, 0, 180e6)).toEqual([
      { at_us: 0, attempts: 0, answered: 0 },
      { at_us: 60e6, attempts: 6, answered: 4 },
      { at_us: 120e6, attempts: 1, answered: null },
    ]);
  });
});

describe('worst trunks', () => {
  it('come first, where there are enough calls to tell', () => {
    const groups = [group('good', 500, 99, 4.3), group('few', 3, 0, 1), group('failing', 100, 60, 4.3), group('bad', 100, 98, 3.2)];
    expect(worstFirst(groups).map((one) => one.name)).toEqual(['failing', 'bad', 'good', 'few']);
  });
});
