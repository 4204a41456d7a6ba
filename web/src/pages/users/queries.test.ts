import { describe, expect, it } from 'vitest';
import { containing, hostOf, registered } from './queries';
import type { User } from '../../lib/types';

describe('users', () => {
  it('are registered until their binding expires', () => {
    const user = (registered_until_us: number | null) => ({ registered_until_us, registrations: 1 });
    expect(registered(user(null), 5)).toBe('no');
    expect(registered(user(5), 5)).toBe('yes');
    expect(registered(user(4), 5)).toBe('expired');
  });

  it('are found by a text in what they are', () => {
    const all = [{ aor: 'a@x', user_agent: 'Yealink' }, { aor: 'b@x', user_agent: null }] as User[];
    expect(containing(all, ' yealink ')).toEqual([all[0]]);
    expect(containing(all, 'B@')).toEqual([all[1]]);
    expect(containing(all, '')).toBe(all);
  });

  it('have a host in their address', () => {
    expect(hostOf('192.0.2.1:5060')).toBe('192.0.2.1');
    expect(hostOf('[2001:db8::1]:5060')).toBe('2001:db8::1');
  });
});
