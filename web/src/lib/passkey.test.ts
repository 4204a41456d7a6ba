import { describe, expect, it } from 'vitest';
import { fromBase64Url, isAddress, toBase64Url } from './passkey';

describe('bytes', () => {
  it('travel in base64url and come back', () => {
    const bytes = Uint8Array.from([0xfb, 0xff, 0xbf, 0, 1]);
    expect(toBase64Url(bytes.buffer)).toBe('-_-_AAE');
    expect([...fromBase64Url('-_-_AAE')]).toEqual([...bytes]);
    for (let length = 0; length < 5; length++) {
      const some = new Uint8Array(length).fill(200);
      expect([...fromBase64Url(toBase64Url(some.buffer))]).toEqual([...some]);
    }
  });
});

describe('passkeys', () => {
  it('are for names, not for addresses', () => {
    for (const address of ['127.0.0.1', '192.0.2.7', '[::1]', '2001:db8::1']) expect(isAddress(address)).toBe(true);
    for (const name of ['localhost', 'tap.example.org', '1.example.org']) expect(isAddress(name)).toBe(false);
  });
});
