import { describe, expect, it } from 'vitest';
import { columnOf, has, narrowed, pieceBefore, placeOf, pointedAt, quoted, replaced, termOf, terms, wider, without } from './search';

const texts = (q: string) => terms(q).map((term) => term.text);

describe('terms', () => {
  it('are cut at spaces outside of quotes and parentheses', () => {
    expect(texts('  0138 state:failed ')).toEqual(['0138', 'state:failed']);
    expect(texts('ua:"Yealink SIP" -codec:[PCMU, PCMA]')).toEqual(['ua:"Yealink SIP"', '-codec:[PCMU, PCMA]']);
    expect(texts('stream(codec:G729 loss>2) (a or b)')).toEqual(['stream(codec:G729 loss>2)', '(a or b)']);
    expect(texts(String.raw`reason:"not \"here" x`)).toEqual([String.raw`reason:"not \"here"`, 'x']);
    expect(texts('reason:"(" x')).toEqual(['reason:"("', 'x']);
  });

  it('survive what is not finished', () => {
    expect(texts('ua:"Yea')).toEqual(['ua:"Yea']);
    expect(texts('(a b')).toEqual(['(a b']);
    expect(texts(') a')).toEqual([')', 'a']);
    expect(texts('"a\\')).toEqual(['"a\\']);
    expect(texts('')).toEqual([]);
  });

  it('say where they are', () => {
    for (const term of terms('a  "b c" d')) expect('a  "b c" d'.slice(term.begin, term.end)).toBe(term.text);
  });
});

describe('a search', () => {
  it('is narrowed by a value', () => {
    expect(narrowed('', termOf('state', 'failed'))).toBe('state:failed');
    expect(narrowed('0138', termOf('ua', 'Yealink SIP', true))).toBe('0138 -ua:"Yealink SIP"');
    expect(narrowed('0138 state:failed', termOf('state', 'failed'))).toBe('0138 state:failed');
    expect(narrowed('-state:failed 0138', termOf('state', 'failed'))).toBe('0138 state:failed');
    expect(narrowed('a or b', 'state:failed')).toBe('(a or b) state:failed');
  });

  it('loses a term', () => {
    expect(without('0138 state:failed', 'state:failed')).toBe('0138');
    expect(without('0138 or state:failed', 'state:failed')).toBe('0138 or state:failed');
    expect(has('x state:failed', 'state:failed')).toBe(true);
    expect(has('x -state:failed', 'state:failed')).toBe(false);
  });

  it('takes another time', () => {
    expect(replaced('0138 began:-2h', 'began', 'began:a..b')).toBe('0138 began:a..b');
    expect(replaced('began>-2h began<-1h', 'began', 'began:a..b')).toBe('began:a..b');
    expect(replaced('a or began:-2h', 'began', 'began:a..b')).toBe('(a or began:-2h) began:a..b');
  });

  it('has wider ones', () => {
    expect(wider('a b c')).toEqual(['b c', 'a c', 'a b']);
    expect(wider('a')).toEqual([]);
    expect(wider('a or b')).toEqual([]);
  });
});

describe('values', () => {
  it('are quoted where they have to be', () => {
    expect(quoted('carrier-a')).toBe('carrier-a');
    expect(quoted('198.51.100.7')).toBe('198.51.100.7');
    expect(quoted('-x')).toBe('"-x"');
    expect(quoted('a:b')).toBe('"a:b"');
    expect(quoted('a*')).toBe('"a*"');
    expect(quoted('say "x" \\')).toBe(String.raw`"say \"x\" \\"`);
    expect(quoted('')).toBe('""');
  });

  it('stay one term', () => {
    for (const value of ['a b', 'a"b', '“x', 'a\\', '(', '[', 'or', '-']) {
      expect(texts(`x ${termOf('ua', value)} y`), value).toHaveLength(3);
    }
  });
});

describe('what a completion replaces', () => {
  const piece = (text: string) => text.slice(pieceBefore(text, text.length));

  it('is the term, or the last value of one', () => {
    expect(piece('0138 sta')).toBe('sta');
    expect(piece('0138 -sta')).toBe('sta');
    expect(piece('state:fa')).toBe('fa');
    expect(piece('state:[failed,ti')).toBe('ti');
    expect(piece('stream(codec:G7')).toBe('G7');
    expect(piece('ua:"a b" mo')).toBe('mo');
    expect(piece('x ')).toBe('');
    expect('state:failed x'.slice(pieceBefore('state:failed x', 8), 8)).toBe('fa');
  });
});

describe('columns', () => {
  it('count characters, not their halves', () => {
    expect(placeOf('🎧a:b', 2)).toBe(2);
    expect(columnOf('🎧a:b', 2)).toBe(2);
    expect(pointedAt('🎧 stat:x', 3, 4)).toEqual(['🎧 ', 'stat', ':x']);
    expect(pointedAt('ab', 9, 1)).toEqual(['ab', '', '']);
  });
});
