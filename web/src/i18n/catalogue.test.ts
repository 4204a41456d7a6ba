import { describe, expect, it } from 'vitest';
import { preferred, t, tOr, use, type Text } from '.';
import { en } from './en';
import { es } from './es';

const code: Record<string, string> = import.meta.glob(['../**/*.{ts,svelte}', '!../**/*.test.ts', '!../i18n/**'], {
  query: '?raw',
  import: 'default',
  eager: true,
});
const texts: Record<string, string> = import.meta.glob('./{en,es}/*.ts', { query: '?raw', import: 'default', eager: true });
const english: Record<string, Text> = en;
const spanish: Record<string, Text> = es;

describe('catalogues', () => {
  it('have the same keys', () => {
    expect(Object.keys(spanish).sort()).toEqual(Object.keys(english).sort());
  });

  it('have the same values in each text', () => {
    for (const [key, text] of Object.entries(english)) {
      expect(values(spanish[key]!), key).toEqual(values(text));
    }
  });

  it('leave no text empty, and have the same forms', () => {
    for (const [key, text] of Object.entries(english)) {
      const other = spanish[key]!;
      expect(typeof other, key).toBe(typeof text);
      for (const form of [...forms(text), ...forms(other)]) expect(form.trim(), key).not.toBe('');
    }
  });

  it('name each key once', () => {
    for (const language of ['en', 'es']) {
      const seen = new Set<string>();
      for (const [file, text] of Object.entries(texts)) {
        if (!file.startsWith(`./${language}/`)) continue;
        for (const [, key] of text.matchAll(/^ {2}'([^']+)':/gm)) {
          expect(seen.has(key!), `${language}: ${key}`).toBe(false);
          seen.add(key!);
        }
      }
      expect(seen.size).toBe(Object.keys(english).length);
    }
  });

  it('have every key that the code uses, and none that it does not', () => {
    const { whole, beginnings } = used();
    const missing = [...whole].filter((key) => !(key in english));
    expect(missing).toEqual([]);
    const idle = Object.keys(english).filter(
      (key) => !whole.has(key) && ![...beginnings].some((beginning) => key.startsWith(beginning)),
    );
    expect(idle).toEqual([]);
  });
});

describe('texts', () => {
  it('take values and the form of the number', () => {
    expect(t('login.locked', { n: 1200 })).toBe('Too many attempts. Try again in 1,200 s.');
    use('es', es);
    expect(t('login.locked', { n: 12000 })).toContain('12.000');
    use('en', en);
  });

  it('fall back where a key comes from elsewhere', () => {
    expect(tOr('role.engineer', 'x')).toBe('engineer');
    expect(tOr('role.<b>', '<b>')).toBe('<b>');
  });

  it('are in the first language that there is', () => {
    expect(preferred(['fr-FR', 'es-419', 'en'])).toBe('es');
    expect(preferred([null, 'fr'])).toBe('en');
  });
});

function forms(text: Text): string[] {
  return typeof text === 'string' ? [text] : Object.values(text);
}

function values(text: Text): string[] {
  return [...new Set(forms(text).flatMap((form) => form.match(/\{\w+\}/g) ?? []))].sort();
}

/** Keys in the code: `t('a.b')` whole, and the beginning of those made at run time: t(`a.${b}`). */
function used(): { whole: Set<string>; beginnings: Set<string> } {
  const whole = new Set<string>();
  const beginnings = new Set<string>();
  for (const text of Object.values(code)) {
    for (const [, key] of text.matchAll(/\bt(?:Or)?\(\s*'([^']+)'/g)) whole.add(key!);
    for (const [, key] of text.matchAll(/\bt(?:Or)?\(\s*`([^`$]+)\$\{/g)) beginnings.add(key!);
    for (const [, key] of text.matchAll(/\/\* text \*\/ '([^']+)'/g)) whole.add(key!);
  }
  return { whole, beginnings };
}
