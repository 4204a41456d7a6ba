import { describe, expect, it } from 'vitest';
import { browserOf } from './browser';

describe('a browser', () => {
  it('is told in two words', () => {
    const chrome = 'AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36';
    for (const [agent, told] of [
      ['Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', 'Firefox, Linux'],
      [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${chrome}`, 'Chrome, Windows'],
      [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${chrome} Edg/142.0.0.0`, 'Edge, Windows'],
      ['Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1', 'Safari, iPhone'],
      ['Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Safari/605.1.15', 'Safari, macOS'],
      [`Mozilla/5.0 (Linux; Android 15) ${chrome}`, 'Chrome, Android'],
    ] as const) {
      expect(browserOf(agent)).toBe(told);
    }
  });

  it('may be a program, or say nothing', () => {
    expect(browserOf('curl/8.5.0')).toBe('curl/8.5.0');
    expect(browserOf('')).toBe('');
    expect(browserOf('x'.repeat(200))).toHaveLength(40);
  });
});
