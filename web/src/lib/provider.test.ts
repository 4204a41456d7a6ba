import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

const opened = vi.fn();
vi.mock('./address.svelte', () => ({ go: opened }));

const { back, leave } = await import('./provider');

/** A browser at an address, which stores what it is told to. */
function at(path: string, search = ''): ReturnType<typeof vi.fn> {
  const assign = vi.fn();
  vi.stubGlobal('location', { pathname: path, search, assign });
  return assign;
}

beforeEach(() => {
  const stored = new Map<string, string>();
  vi.stubGlobal('sessionStorage', {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => stored.set(key, value),
    removeItem: (key: string) => stored.delete(key),
  });
  opened.mockClear();
});

afterEach(() => vi.unstubAllGlobals());

describe('the way to the identity provider and back', () => {
  it('ends at the address that was wanted, once', () => {
    const assign = at('/calls', '?q=0138');
    leave('https://id.example.org/authorize?x');
    expect(assign).toHaveBeenCalledWith('https://id.example.org/authorize?x');
    at('/');
    expect(back()).toBeNull();
    expect(opened).toHaveBeenCalledWith('/calls?q=0138', { replace: true });
    opened.mockClear();
    expect(back()).toBeNull();
    expect(opened).not.toHaveBeenCalled();
  });

  it('says why nobody is logged in, and leaves that out of the address', () => {
    at('/', '?login=not_permitted');
    expect(back()).toBe('not_permitted');
    expect(opened).toHaveBeenCalledWith('/', { replace: true });
  });

  it('touches no other page', () => {
    at('/users', '?login=state');
    expect(back()).toBeNull();
    expect(opened).not.toHaveBeenCalled();
  });

  it('leads to no other site', () => {
    for (const wanted of ['//evil.example', '/\\evil.example', 'https://evil.example', 'javascript:alert(1)']) {
      at('/');
      sessionStorage.setItem('ringtap.wanted', wanted);
      back();
      expect(opened, wanted).not.toHaveBeenCalled();
    }
  });
});
