// What came from the wire is text, and hostile: it never becomes markup, and characters that change how a line reads
// (control characters, direction marks, characters without a shape) are shown as what they are.

/** Text as it may be shown: each such character becomes a visible symbol, such as ␀, ␛ or ⟨U+202E⟩. */
export function shown(text: string): string {
  return text.replace(UNSEEN, symbol);
}

function symbol(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  if (code === 0x7f) return '␡';
  return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
}

// Cc, Cf (direction marks, zero width), Zl, Zp, lone surrogates, and what is wide but empty: Hangul fillers, the
// Mongolian separator, blank Braille; and tags and variation selectors beyond the first sixteen.
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\u115F\u1160\u3164\uFFA0\u2800\u{E0100}-\u{E01EF}]/gu;
