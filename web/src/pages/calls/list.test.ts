import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Call } from '../../lib/types';
import { CallList, listOf, neighbours } from './list.svelte';
import { NEWEST_FIRST } from './queries';

/** A server with so many calls, which arrive in pages of `size`; more arrive at the front while one reads. */
function serve(ids: string[], size: number): { asked: string[] } {
  const asked: string[] = [];
  vi.stubGlobal('fetch', async (url: string) => {
    asked.push(url);
    const cursor = new URL(url, 'http://x').searchParams.get('cursor');
    const from = cursor === null ? 0 : ids.indexOf(cursor) + 1;
    const calls = ids.slice(from, from + size).map((id) => ({ id }) as Call);
    const isMore = from + size < ids.length;
    const coverage = { complete: !isMore, reason: isMore ? 'more' : null };
    const body = { calls, next: isMore ? calls.at(-1)!.id : null, understood: 'all calls', coverage, took_ms: 1 };
    return new Response(JSON.stringify(body), { headers: { 'Content-Type': 'application/json' } });
  });
  return { asked };
}

afterEach(() => {
  vi.unstubAllGlobals();
});

describe('a list of calls', () => {
  it('is read page by page, and has each call once', async () => {
    const ids = ['a', 'b', 'c', 'd', 'e'];
    const { asked } = serve(ids, 2);
    const list = new CallList({ q: 'x', sort: NEWEST_FIRST });
    await list.load();
    expect(list.calls.map((call) => call.id)).toEqual(['a', 'b']);
    await Promise.all([list.loadMore(), list.loadMore()]);
    await list.loadMore();
    await list.loadMore();
    expect(list.calls.map((call) => call.id)).toEqual(ids);
    expect(list.next).toBeNull();
    expect(asked).toHaveLength(3);
  });

  it('keeps what it has where a page fails', async () => {
    serve(['a', 'b', 'c'], 2);
    const list = new CallList({ q: '', sort: NEWEST_FIRST });
    await list.load();
    vi.stubGlobal('fetch', async () => new Response('', { status: 503 }));
    await list.loadMore();
    expect(list.calls).toHaveLength(2);
    expect(list.more.problem).toMatchObject({ status: 503 });
  });

  it('is kept for Back, until another is asked for', async () => {
    serve(['a'], 2);
    const list = listOf({ q: 'one', sort: NEWEST_FIRST });
    await list.load();
    expect(listOf({ q: 'one', sort: NEWEST_FIRST })).toBe(list);
    expect(listOf({ q: 'two', sort: NEWEST_FIRST })).not.toBe(list);
    expect(listOf({ q: 'one', sort: NEWEST_FIRST })).not.toBe(list);
  });

  it('knows the calls beside one, on the next page too', async () => {
    serve(['a', 'b', 'c', 'd'], 2);
    const search = { q: 'beside', sort: NEWEST_FIRST };
    expect(await neighbours('a', search)).toEqual({ previous: null, next: 'b' });
    expect(await neighbours('b', search)).toEqual({ previous: 'a', next: 'c' });
    expect(await neighbours('d', search)).toEqual({ previous: 'c', next: null });
    expect(await neighbours('z', search)).toEqual({ previous: null, next: null });
  });
});
