// Editing the text of a search without understanding it: the server reads it, the page only adds and removes terms.

/** A term of a search that stands beside the others, not within parentheses. */
export interface Term {
  text: string;
  /** Places in the text, as of `String.slice`. */
  begin: number;
  end: number;
}

const QUOTES = '"“”„';
const OPENING = '([';
const CLOSING = ')]';

/** The terms of a search in order, `or` and `not` among them. */
export function terms(q: string): Term[] {
  const found: Term[] = [];
  let begin = -1;
  let depth = 0;
  let isQuoted = false;
  for (let at = 0; at <= q.length; at += 1) {
    const c = q[at] ?? ' ';
    const ends = at === q.length || (!isQuoted && depth <= 0 && /\s/.test(c));
    if (ends) {
      if (begin >= 0) found.push({ text: q.slice(begin, at), begin, end: at });
      begin = -1;
      depth = 0;
      continue;
    }
    if (begin < 0) begin = at;
    if (isQuoted && c === '\\' && at + 1 < q.length) at += 1;
    else if (QUOTES.includes(c)) isQuoted = !isQuoted;
    else if (isQuoted) continue;
    else if (OPENING.includes(c)) depth += 1;
    else if (CLOSING.includes(c)) depth -= 1;
  }
  return found;
}

/** `value` as the search language reads it back: in quotes where it has to be. */
export function quoted(value: string): string {
  if (/^[\p{L}\p{N}_.@+/#%][\p{L}\p{N}_.@+/#%-]*$/u.test(value)) return value;
  return `"${value.replace(/[\\"“”„]/g, (c) => `\\${c}`)}"`;
}

/** The term that calls with this value of a field satisfy, or with `leaveOut` those without it. */
export function termOf(field: string, value: string, leaveOut = false): string {
  return `${leaveOut ? '-' : ''}${field}:${quoted(value)}`;
}

/** Whether the search has this term. */
export function has(q: string, term: string): boolean {
  return terms(q).some((other) => other.text === term);
}

/** The search with one more term, which all of its calls have to satisfy. What contradicts it is taken out. */
export function narrowed(q: string, term: string): string {
  const opposite = term.startsWith('-') ? term.slice(1) : `-${term}`;
  const rest = without(q, opposite).trim();
  if (has(rest, term)) return rest;
  if (rest === '') return term;
  return `${joinsByOr(rest) ? `(${rest})` : rest} ${term}`;
}

/** The search without a term, where it has it. */
export function without(q: string, term: string): string {
  if (joinsByOr(q)) return q;
  return terms(q)
    .filter((other) => other.text !== term)
    .map((other) => other.text)
    .join(' ');
}

/** The search with other conditions on a field: those that it has go, `wanted` comes. */
export function replaced(q: string, field: string, wanted: string): string {
  const isOfField = new RegExp(`^-?${field}[:<>=]`, 'i');
  const rest = joinsByOr(q)
    ? q
    : terms(q)
        .filter((term) => !isOfField.test(term.text))
        .map((term) => term.text)
        .join(' ');
  return narrowed(rest, wanted);
}

/** Searches that ask for one thing less, for when nothing was found. */
export function wider(q: string): string[] {
  const all = terms(q);
  if (joinsByOr(q) || all.length < 2) return [];
  return all.map((_, left) =>
    all
      .filter((_, index) => index !== left)
      .map((term) => term.text)
      .join(' '),
  );
}

function joinsByOr(q: string): boolean {
  return terms(q).some((term) => /^(or|not|and)$/i.test(term.text));
}

/** Where the piece begins that a completion replaces: the term before the caret, or of `field:a,b` the last value. */
export function pieceBefore(text: string, caret: number): number {
  const term = /(?:^|[\s()])-*((?:"[^"]*"|[^\s()"])*)$/.exec(text.slice(0, caret))?.[1] ?? '';
  const value = /[:=](.*)$/.exec(term)?.[1];
  const piece = value === undefined ? term : (/[^[,]*$/.exec(value)?.[0] ?? '');
  return caret - piece.length;
}

/** The place in a text, as of `String.slice`, of a column: characters from 1. */
export function placeOf(text: string, column: number): number {
  return [...text].slice(0, Math.max(0, column - 1)).join('').length;
}

/** The column, characters from 1, of a place in a text. */
export function columnOf(text: string, place: number): number {
  return [...text.slice(0, place)].length + 1;
}

/** The text in three pieces: before the mistake, the mistake, behind it. */
export function pointedAt(text: string, column: number, length: number): [string, string, string] {
  const characters = [...text];
  const begin = Math.min(Math.max(0, column - 1), characters.length);
  const end = Math.min(characters.length, begin + Math.max(1, length));
  return [
    characters.slice(0, begin).join(''),
    characters.slice(begin, end).join(''),
    characters.slice(end).join(''),
  ];
}
