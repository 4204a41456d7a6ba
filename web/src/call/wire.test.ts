import { describe, expect, it } from 'vitest';
import { cut, lines, pieces } from './wire';

describe('hostile text', () => {
  it('is shown with symbols that can be told from what was sent', () => {
    expect(pieces('a\u202eb\u0000')).toEqual([
      { text: 'a', stands: null },
      { text: '⟨U+202E⟩', stands: 'U+202E right-to-left override' },
      { text: 'b', stands: null },
      { text: '␀', stands: 'U+0000 null' },
    ]);
    // The symbol itself was sent here: it stands for nothing.
    expect(pieces('␀')).toEqual([{ text: '␀', stands: null }]);
    expect(pieces('')).toEqual([]);
  });

  it('has no piece that a browser would act on, whatever was sent', () => {
    let random = 1;
    const next = () => (random = (random * 48_271) % 0x7fffffff);
    for (let round = 0; round < 200; round += 1) {
      const text = Array.from({ length: 20 }, () => String.fromCodePoint(next() % 0x3000)).join('');
      const seen = pieces(text).map((piece) => piece.text).join('');
      expect(seen).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
      expect(cut(text, 8)).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    }
  });

  it('is cut by characters, not by their units', () => {
    expect(cut('abcdef', 6)).toBe('abcdef');
    expect(cut('abcdefg', 6)).toBe('abcde…');
    expect(cut('😀😀😀', 3)).toBe('😀😀😀');
    expect(cut('😀😀😀😀', 3)).toBe('😀😀…');
    expect(cut('x'.repeat(100_000), 4)).toBe('xxx…');
  });
});

describe('lines of a message', () => {
  it('are marked where they end otherwise than with CR LF', () => {
    expect(lines('a\r\nb\nc')).toEqual([
      { text: 'a', odd: '' },
      { text: 'b', odd: '␊' },
      { text: 'c', odd: '' },
    ]);
    expect(lines('a\r\r\n\r\n').map((line) => line.text)).toEqual(['a\r', '']);
    expect(lines('')).toEqual([]);
  });
});
