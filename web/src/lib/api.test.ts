import { afterEach, describe, expect, it, vi } from 'vitest';
import { ApiError, apiUrl, asProblem, get, post, whenUnauthorised } from './api';
import { zone } from './zone.svelte';

function answers(body: unknown, init: ResponseInit & { type?: string } = {}): ReturnType<typeof vi.fn> {
  const headers = new Headers(init.headers);
  headers.set('Content-Type', init.type ?? 'application/json');
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const fetched = vi.fn(async () => new Response(init.status === 204 ? null : text, { ...init, headers }));
  vi.stubGlobal('fetch', fetched);
  return fetched;
}

async function problem(request: () => Promise<unknown> = () => get('/calls')): Promise<ApiError['problem']> {
  const error = await request().then(() => null, (thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ApiError);
  return asProblem(error);
}

afterEach(() => {
  vi.unstubAllGlobals();
  whenUnauthorised(() => {});
});

describe('addresses', () => {
  it('leave out what is not given, and escape the rest', () => {
    expect(apiUrl('/audit', { query: { who: null, text: '', from_us: 0, before: undefined } })).toBe('/api/v1/audit?from_us=0');
    expect(apiUrl('/users', { query: { number: 'a&b +c' } })).toBe('/api/v1/users?number=a%26b+%2Bc');
    expect(apiUrl('/live')).toBe('/api/v1/live');
  });

  it('name what they are about, whatever it is called', () => {
    expect(apiUrl('/users/{aor}', { path: { aor: '../a b?c' } })).toBe('/api/v1/users/..%2Fa%20b%3Fc');
  });

  it('say in which zone a search is read', () => {
    expect(apiUrl('/calls', { query: { q: '' } })).toBe(`/api/v1/calls?zone=${encodeURIComponent(zone.name)}`);
  });
});

describe('the types of requests', () => {
  it('are those of the server: what it does not know is an error of the check', () => {
    // Never run. `npm run check` fails where one of these lines has no mistake, or another has one.
    const requests = () => [
      get('/calls', { query: { q: 'state:failed', limit: 5 } }),
      // @ts-expect-error no such parameter
      get('/calls', { query: { query: 'state:failed' } }),
      // @ts-expect-error another type
      get('/calls', { query: { limit: 'all' } }),
      // @ts-expect-error no such value
      get('/kpis', { query: { by: 'weekday' } }),
      // @ts-expect-error one that is required is missing
      get('/why', { query: { base: '' } }),
      // @ts-expect-error this path takes no parameters
      get('/about', { query: { q: '' } }),
      // @ts-expect-error no such path
      get('/call'),
      // @ts-expect-error it does not say which call
      get('/calls/{id}'),
      // @ts-expect-error a file is not read as JSON
      get('/calls/{id}/sound.wav', { path: { id: '' } }),
      // @ts-expect-error nothing is posted there
      post('/calls'),
      // @ts-expect-error the password is missing
      post('/session', { body: { name: 'ana' } }),
    ];
    expect(requests).toBeTypeOf('function');
  });
});

describe('a request', () => {
  it('gives what was answered', async () => {
    const fetched = answers({ user: 'ana' });
    expect(await get('/session')).toEqual({ user: 'ana' });
    expect(fetched.mock.calls[0]![1].headers).not.toHaveProperty('X-Ringtap');
  });

  it('that writes has the header that other pages cannot send', async () => {
    const fetched = answers('', { status: 204 });
    expect(await post('/calls/{id}/holds', { path: { id: 'ab' }, body: { case: 'a' } })).toBeUndefined();
    expect(fetched.mock.calls[0]![0]).toBe('/api/v1/calls/ab/holds');
    const init = fetched.mock.calls[0]![1];
    expect(init.headers).toMatchObject({ 'X-Ringtap': '1', 'Content-Type': 'application/json' });
    expect(init.body).toBe('{"case":"a"}');
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
    await expect(get('/calls', { signal: controller.signal })).rejects.toHaveProperty('name', 'AbortError');
  });

  it('without a session ends it, but not where a password was wrong', async () => {
    const ended = vi.fn();
    whenUnauthorised(ended);
    answers({}, { status: 401 });
    await problem(() => post('/session', { body: { name: 'ana', password: 'wrong' } }));
    expect(ended).not.toHaveBeenCalled();
    await problem();
    expect(ended).toHaveBeenCalledOnce();
  });
});
