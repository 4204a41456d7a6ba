import { beforeAll, describe, expect, it, vi } from 'vitest';

let withQuery: typeof import('./address.svelte').withQuery;

beforeAll(async () => {
  vi.stubGlobal('location', { pathname: '/', search: '' });
  ({ withQuery } = await import('./address.svelte'));
});

describe('the address', () => {
  it('changes by parameters, and keeps the others', () => {
    expect(withQuery('?q=a+b&sort=-mos', { sort: null, cols: 'began,from' })).toBe('?q=a+b&cols=began,from');
    expect(withQuery('?q=a', { q: '' })).toBe('');
    expect(withQuery('', { q: 'state:failed' })).toBe('?q=state:failed');
  });

  it('keeps every text as it was', () => {
    for (const text of ['a&b=c', '100 %', 'ua:"Yealink + x"', '%3A', 'é🎧', '#?/\\', '\n']) {
      expect(new URLSearchParams(withQuery('?x=1', { q: text })).get('q'), text).toBe(text);
    }
  });
});
