import { describe, expect, it } from 'vitest';
import type { api } from '../lib/api';
import { neighbour } from './neighbours';

/** A server with `count` calls in pages of `size`. */
function server(count: number, size: number) {
  let asked = 0;
  const ask = async (_path: string, options?: { query?: Record<string, unknown> }) => {
    asked += 1;
    const from = Number(options?.query?.['cursor'] ?? 0);
    const calls = Array.from({ length: Math.min(size, count - from) }, (_, at) => ({ id: `c${from + at}` }));
    return { calls, next: from + size < count ? String(from + size) : null };
  };
  return { ask: ask as typeof api, asked: () => asked };
}

describe('neighbours', () => {
  it('are those of the list, over its pages', async () => {
    const { ask, asked } = server(7, 3);
    const of = (id: string, by: 1 | -1) => neighbour(id, by, 'one', '', ask);
    expect(await of('c1', 1)).toBe('c2');
    expect(await of('c2', 1)).toBe('c3');
    expect(await of('c3', -1)).toBe('c2');
    expect(asked()).toBe(2);
    expect(await of('c0', -1)).toBeNull();
    expect(await of('c6', 1)).toBeNull();
    expect(asked()).toBe(2 + 3);
  });

  it('are not known of a call that is not in the list', async () => {
    expect(await neighbour('elsewhere', 1, 'two', '', server(7, 3).ask)).toBeUndefined();
    const { ask, asked } = server(100_000, 10);
    expect(await neighbour('c99999', 1, 'three', '', ask)).toBeUndefined();
    expect(asked()).toBe(5);
  });

  it('are looked for anew in another list', async () => {
    const { ask, asked } = server(3, 3);
    await neighbour('c0', 1, 'four', '', ask);
    await neighbour('c0', 1, 'four', '-mos', ask);
    expect(asked()).toBe(2);
  });
});
