import { describe, expect, it } from 'vitest';
import { shown } from './wire';

describe('text from the wire', () => {
  it('is shown as it is where it is harmless', () => {
    const text = 'Zoë "Ünal" <sip:+34600@example.com>;tag=<script>alert(1)</script> 你好 🎧';
    expect(shown(text)).toBe(text);
  });

  it('shows control characters', () => {
    expect(shown('a\0b\x1b[31m\r\n\t\x7f')).toBe('a␀b␛[31m␍␊␉␡');
    expect(shown('\x9b31m')).toBe('⟨U+009B⟩31m');
  });

  it('shows direction marks and what has no shape', () => {
    expect(shown('exe\u202Egnp')).toBe('exe⟨U+202E⟩gnp');
    expect(shown('\u2066a\u2069')).toBe('⟨U+2066⟩a⟨U+2069⟩');
    expect(shown('a\u200Bb\uFEFF')).toBe('a⟨U+200B⟩b⟨U+FEFF⟩');
    expect(shown('\u2028')).toBe('⟨U+2028⟩');
    expect(shown('\u3164\u{E0041}')).toBe('⟨U+3164⟩⟨U+E0041⟩');
    expect(shown('\ud800x')).toBe('⟨U+D800⟩x');
  });

  it('shows the same again unchanged', () => {
    const once = shown('a\u202E\0');
    expect(shown(once)).toBe(once);
  });
});
