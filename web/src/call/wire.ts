// Text from the network in parts, so that a symbol that stands for an unseen character can be told from a character
// that was sent. What is unseen is decided in one place: `lib/wire.ts`.

import { shown } from '../lib/wire';

/** A part of a text: as it is, or a symbol that stands for a character that would not be seen. */
export interface Piece {
  text: string;
  /** What the symbol stands for, such as `U+202E right-to-left override`; null for ordinary text. */
  stands: string | null;
}

const NAMES: Record<number, string> = {
  0x00: 'null', 0x07: 'bell', 0x08: 'backspace', 0x09: 'tab', 0x0a: 'line feed', 0x0d: 'carriage return',
  0x1b: 'escape', 0x7f: 'delete', 0xad: 'soft hyphen', 0x061c: 'Arabic letter mark', 0x200b: 'zero width space',
  0x200c: 'zero width non-joiner', 0x200d: 'zero width joiner', 0x200e: 'left-to-right mark',
  0x200f: 'right-to-left mark', 0x2028: 'line separator', 0x2029: 'paragraph separator',
  0x202a: 'left-to-right embedding', 0x202b: 'right-to-left embedding', 0x202c: 'pop directional formatting',
  0x202d: 'left-to-right override', 0x202e: 'right-to-left override', 0x2060: 'word joiner',
  0x2066: 'left-to-right isolate', 0x2067: 'right-to-left isolate', 0x2068: 'first strong isolate',
  0x2069: 'pop directional isolate', 0xfeff: 'byte order mark',
};

/** `text` cut where characters would act or be invisible; each of these became a symbol. */
export function pieces(text: string): Piece[] {
  if (text === '') return [];
  if (shown(text) === text) return [{ text, stands: null }];
  const found: Piece[] = [];
  for (const character of text) {
    const symbol = shown(character);
    const last = found.at(-1);
    if (symbol !== character) found.push({ text: symbol, stands: nameOf(character.codePointAt(0) ?? 0) });
    else if (last && last.stands === null) last.text += character;
    else found.push({ text: character, stands: null });
  }
  return found;
}

function nameOf(code: number): string {
  const hex = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
  const name = NAMES[code];
  return name ? `${hex} ${name}` : hex;
}

/** `shown`, at most `most` characters (code points); where it was longer, the last of them is an ellipsis. */
export function cut(text: string, most: number): string {
  // A code point has at most two units: more of them need not be looked at.
  const letters = Array.from(shown(text.slice(0, most * 2 + 2)));
  return letters.length > most ? `${letters.slice(0, Math.max(most - 1, 0)).join('')}…` : letters.join('');
}

/** A line of a message, and how it ended. */
export interface WireLine {
  text: string;
  /** `''` after CR LF, which is as it should be; otherwise a symbol. */
  odd: string;
}

/** The lines of a message. A line that ends otherwise than with CR LF is marked; what follows the last is a line. */
export function lines(raw: string): WireLine[] {
  const found: WireLine[] = [];
  let from = 0;
  for (let at = raw.indexOf('\n'); at >= 0; at = raw.indexOf('\n', from)) {
    const proper = at > from && raw.charCodeAt(at - 1) === 13;
    found.push({ text: raw.slice(from, proper ? at - 1 : at), odd: proper ? '' : '\u240a' });
    from = at + 1;
  }
  if (from < raw.length) found.push({ text: raw.slice(from), odd: '' });
  return found;
}
