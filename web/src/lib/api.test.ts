import { afterEach, describe, expect, it, vi } from 'vitest';
import { api, ApiError, apiUrl, asProblem, whenUnauthorised } from './api';
import { zone } from './zone.svelte';

function answers(body: unknown, init: ResponseInit & { type?: string } = {}): ReturnType<typeof vi.fn> {
  const headers = new Headers(init.headers);
  headers.set('Content-Type', init.type ?? 'application/json');
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const fetched = vi.fn(async () => new Response(init.status === 204 ? null : text, { ...init, headers }));
  vi.stubGlobal('fetch', fetched);
  return fetched;
}

async function problem(path = '/x', options = {}): Promise<ApiError['problem']> {
  const error = await api(path, options).then(() => null, (thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ApiError);
  return asProblem(error);
}

afterEach(() => {
  vi.unstubAllGlobals();
  whenUnauthorised(() => {});
});

describe('addresses', () => {
  it('leave out what is not given, and escape the rest', () => {
    expect(apiUrl('/a', { x: null, y: '', z: 0, w: 'a&b +c' })).toBe('/api/v1/a?z=0&w=a%26b+%2Bc');
    expect(apiUrl('/a')).toBe('/api/v1/a');
  });

  it('say in which zone a search is read', () => {
    expect(apiUrl('/calls', { q: '' })).toBe(`/api/v1/calls?zone=${encodeURIComponent(zone.name)}`);
  });
});

describe('a request', () => {
  it('gives what was answered', async () => {
    const fetched = answers({ a: 1 });
    expect(await api('/x')).toEqual({ a: 1 });
    expect(fetched.mock.calls[0]![1].headers).not.toHaveProperty('X-Ringtap');
  });

  it('that writes has the header that other pages cannot send', async () => {
    const fetched = answers('', { status: 204 });
    expect(await api('/x', { method: 'POST', body: { a: 1 } })).toBeUndefined();
    const init = fetched.mock.calls[0]![1];
    expect(init.headers).toMatchObject({ 'X-Ringtap': '1', 'Content-Type': 'application/json' });
    expect(init.body).toBe('{"a":1}');
  });

  it('that fails throws the problem', async () => {
    answers({ type: '/problems/query', title: 'T', status: 999, column: 3 }, { status: 400, type: 'application/problem+json' });
    expect(await problem()).toMatchObject({ type: '/problems/query', status: 400, column: 3 });
  });

  it('that fails without a problem, or with half of one, throws one all the same', async () => {
    answers('<html>', { status: 502, type: 'text/html' });
    expect(await problem()).toMatchObject({ status: 502 });
    answers('{"type":', { status: 500 });
    expect(await problem()).toMatchObject({ status: 500 });
    answers('null', { status: 500 });
    expect(await problem()).toMatchObject({ status: 500 });
  });

  it('says how long to wait', async () => {
    answers({}, { status: 429, headers: { 'Retry-After': '30' } });
    expect(await problem()).toMatchObject({ status: 429, retry_after: 30 });
  });

  it('says that nobody answers, or that the answer cannot be read', async () => {
    vi.stubGlobal('fetch', async () => Promise.reject(new TypeError('failed')));
    expect(await problem()).toMatchObject({ type: '/problems/unreachable', status: 0 });
    answers('{"a":');
    expect(await problem()).toMatchObject({ type: '/problems/unreadable' });
  });

  it('that is stopped throws that it was', async () => {
    vi.stubGlobal('fetch', async (_: string, init: RequestInit) => Promise.reject(init.signal!.reason));
    const controller = new AbortController();
    controller.abort();
    await expect(api('/x', { signal: controller.signal })).rejects.toHaveProperty('name', 'AbortError');
  });

  it('without a session ends it, but not where a password was wrong', async () => {
    const ended = vi.fn();
    whenUnauthorised(ended);
    answers({}, { status: 401 });
    await problem('/session', { method: 'POST', body: {} });
    expect(ended).not.toHaveBeenCalled();
    await problem('/calls');
    expect(ended).toHaveBeenCalledOnce();
  });
});
