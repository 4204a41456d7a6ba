// Texts of the page in the viewer's language. English is in the first load; another language is loaded before the page
// is drawn. Catalogues are split by page only so that two people can write at once; keys are one space.

import { en } from './en';

/** `{ one, other }` by the rules of the language for the number `n`. */
export type Text = string | { one: string; other: string };
export type Key = keyof typeof en;
export type Catalogue = Record<Key, Text>;
export type Values = Record<string, string | number>;

export const LANGUAGES = ['en', 'es'] as const;
export type Language = (typeof LANGUAGES)[number];

let chosen: Language = 'en';
let catalogue: Catalogue = en;
let plurals = new Intl.PluralRules('en');
let numbers = new Intl.NumberFormat('en');

const STORED = 'ringtap.language';

/** The language that texts are in. */
export function language(): Language {
  return chosen;
}

/** Loads the catalogue of the viewer's language. Called once, before anything is drawn. */
export async function begin(): Promise<void> {
  const wanted = preferred([stored(), ...navigator.languages]);
  if (wanted !== 'en') use(wanted, (await import('./es')).es);
  document.documentElement.lang = chosen;
}

export function use(language: Language, texts: Catalogue): void {
  chosen = language;
  catalogue = texts;
  plurals = new Intl.PluralRules(language);
  numbers = new Intl.NumberFormat(language);
}

/** The first of these languages that there is a catalogue of. */
export function preferred(wanted: readonly (string | null)[]): Language {
  for (const name of wanted) {
    const found = LANGUAGES.find((language) => name?.toLowerCase().split('-')[0] === language);
    if (found) return found;
  }
  return 'en';
}

/** Remembers another language and draws the page anew. */
export function choose(language: Language): void {
  try {
    localStorage.setItem(STORED, language);
  } catch {
    // A browser that stores nothing keeps its own language.
  }
  location.reload();
}

/** The text of a key, with `{name}` replaced by values. Numbers are written as the language writes them. */
export function t(key: Key, values: Values = {}): string {
  return fill(catalogue[key], values);
}

/** The same for a key made of parts that come from elsewhere: `fallback` where the catalogue has no such key. */
export function tOr(key: string, fallback: string, values: Values = {}): string {
  return Object.hasOwn(catalogue, key) ? fill(catalogue[key as Key], values) : fallback;
}

function fill(text: Text, values: Values): string {
  const n = values['n'];
  const form = typeof text === 'string' ? text : text[plural(typeof n === 'number' ? n : 0)];
  return form.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = values[name];
    return value === undefined ? whole : typeof value === 'number' ? numbers.format(value) : value;
  });
}

function plural(n: number): 'one' | 'other' {
  return plurals.select(n) === 'one' ? 'one' : 'other';
}

function stored(): string | null {
  try {
    return localStorage.getItem(STORED);
  } catch {
    return null;
  }
}
