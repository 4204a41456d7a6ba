import { describe, expect, it } from 'vitest';
import { en } from '../i18n/en';
import { isOfWarrants, match, routes } from './routes';

describe('routes', () => {
  it('open by path', () => {
    expect(match('/')?.route.name).toBe('now');
    expect(match('/calls')?.route.name).toBe('calls');
    expect(match('/calls/')?.route.name).toBe('calls');
    expect(match('/calls/0a1b')).toMatchObject({ route: { name: 'call' }, params: { id: '0a1b' } });
  });

  it('decode what stands in a path', () => {
    expect(match('/calls/a%2Fb')?.params).toEqual({ id: 'a/b' });
    expect(match('/calls/%E0%A4%A')).toBeNull();
  });

  it('know what is not there', () => {
    expect(match('/nothing')).toBeNull();
    expect(match('/calls/a/b')).toBeNull();
  });

  it('leave the pages of officers and auditors to them', () => {
    for (const path of ['/warrants', '/warrants/', '/warrants/3', '/warrants/nothing/here']) expect(isOfWarrants(path), path).toBe(true);
    for (const path of ['/', '/calls/warrants', '/warrantsx', '/audit']) expect(isOfWarrants(path), path).toBe(false);
  });

  it('have a title each', () => {
    for (const route of routes) expect(en).toHaveProperty([`page.${route.name}`]);
  });
});
