import { describe, expect, it } from 'vitest';
import { busiestFirst } from './queries';

describe('trunks', () => {
  it('are listed by their attempts, then by name', () => {
    const trunk = (name: string, attempts: number | null) => ({ name, attempts, addresses: [], asr: null, mos: null });
    const all = [trunk('b', 1), trunk('none', null), trunk('a', 1), trunk('busy', 9)];
    expect(busiestFirst(all).map((one) => one.name)).toEqual(['busy', 'a', 'b', 'none']);
  });
});
