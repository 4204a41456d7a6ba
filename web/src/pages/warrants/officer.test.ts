import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { whenUnauthorised } from '../../lib/api';
import { officer } from './officer.svelte';
import { warrant } from './queries';

const SESSION = { name: 'ana', role: 'officer', must_change: false, idle_s: 600 };

function answers(body: unknown, status = 200): ReturnType<typeof vi.fn> {
  const type = status === 200 ? 'application/json' : 'application/problem+json';
  const fetched = vi.fn(async () => new Response(JSON.stringify(body), { status, headers: { 'Content-Type': type } }));
  vi.stubGlobal('fetch', fetched);
  return fetched;
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  officer.leave(false);
  vi.useRealTimers();
  vi.unstubAllGlobals();
  whenUnauthorised(() => {});
});

describe('an officer', () => {
  it('who does nothing sees nothing any more, and who looks goes on', async () => {
    answers(SESSION);
    await officer.logIn('ana', 'correct horse battery');
    officer.why = 'a look';
    vi.advanceTimersByTime(599_000);
    expect(officer.isOfficer).toBe(true);
    answers({ number: 1 });
    await warrant(1, 'a look', new AbortController().signal);
    vi.advanceTimersByTime(599_000);
    expect(officer.session?.name).toBe('ana');
    vi.advanceTimersByTime(1_000);
    expect([officer.session, officer.why, officer.hasEnded]).toEqual([null, '', true]);
  });

  it('whose session has ended is told apart from whoever is logged in to the console', async () => {
    const unauthorised = vi.fn();
    whenUnauthorised(unauthorised);
    answers(SESSION);
    await officer.logIn('ana', 'correct horse battery');
    answers({ type: '/problems/officer-login', title: 'x', status: 401 }, 401);
    await expect(warrant(1, 'a look', new AbortController().signal)).rejects.toThrow();
    expect([officer.session, officer.hasEnded]).toEqual([null, true]);
    expect(unauthorised).not.toHaveBeenCalled();
  });

  it('gives reasons and passphrases in bodies, never in addresses', async () => {
    const fetched = answers(SESSION);
    await officer.logIn('ana', 'correct horse battery');
    answers({ number: 1 });
    const looked = vi.mocked(fetch);
    await warrant(1, 'complaint 12', new AbortController().signal);
    expect(fetched.mock.calls[0]?.[0]).toBe('/api/v1/warrants/session');
    expect(looked.mock.calls[0]?.[0]).toBe('/api/v1/warrants/1/show');
    expect(looked.mock.calls[0]?.[1]).toMatchObject({ method: 'POST', body: '{"why":"complaint 12"}' });
  });

  it('is hidden at once by the logout, whatever the server answers', async () => {
    answers(SESSION);
    await officer.logIn('ana', 'correct horse battery');
    answers({ type: 'about:blank', title: 'x', status: 503 }, 503);
    await expect(officer.logOut()).rejects.toThrow();
    expect([officer.session, officer.hasEnded]).toEqual([null, false]);
  });
});
