import { describe, expect, it } from 'vitest';
import { hostOf, registered } from './queries';

describe('users', () => {
  it('are registered until their binding expires', () => {
    const user = (registered_until_us: number | null) => ({ registered_until_us, registrations: 1 });
    expect(registered(user(null), 5)).toBe('no');
    expect(registered(user(5), 5)).toBe('yes');
    expect(registered(user(4), 5)).toBe('expired');
  });

  it('have a host in their address', () => {
    expect(hostOf('192.0.2.1:5060')).toBe('192.0.2.1');
    expect(hostOf('[2001:db8::1]:5060')).toBe('2001:db8::1');
  });
});
