// What differs between two messages: header by header whatever their order, line by line in the body.

import { parse, type Header, type Parsed } from './sip';

/** A part of a line; `new` where the other line has something else. */
export interface Part {
  text: string;
  new: boolean;
}

export interface DifferenceLine {
  kind: 'same' | 'changed' | 'added' | 'removed';
  /** The line of the later message, or the removed one of the earlier. */
  parts: Part[];
  /** The line of the earlier message where it changed. */
  before: Part[] | null;
  /** It differs in every message of its kind (Via, CSeq, ...): rarely what one looks for. */
  usual: boolean;
}

const USUAL = new Set([
  'via', 'cseq', 'max-forwards', 'content-length', 'date', 'timestamp', 'record-route', 'authorization',
  'proxy-authorization', 'rseq', 'rack', 'x-call-id', 'route',
]);

export function differences(before: string, after: string): DifferenceLine[] {
  const [old, now] = [parse(before), parse(after)];
  return [
    lineOf(old.start, now.start, false),
    ...headerLines(old.headers, now.headers),
    ...bodyLines(old, now),
  ];
}

/** How many lines differ, without those that always do. */
export function count(lines: DifferenceLine[]): number {
  return lines.filter((line) => line.kind !== 'same' && !line.usual).length;
}

function lineOf(before: string, after: string, usual: boolean): DifferenceLine {
  if (before === after) return { kind: 'same', parts: [{ text: after, new: false }], before: null, usual: false };
  const [old, now] = changedParts(before, after);
  return { kind: 'changed', parts: now, before: old, usual };
}

function whole(kind: 'added' | 'removed', text: string, usual: boolean): DifferenceLine {
  return { kind, parts: [{ text, new: true }], before: null, usual };
}

/** Headers of one name are compared in their order; a removed one stands behind the last before it that is left. */
function headerLines(before: Header[], after: Header[]): DifferenceLine[] {
  const left = new Map<string, Header[]>();
  for (const header of before) left.set(header.key, [...(left.get(header.key) ?? []), header]);
  // Headers of one name that are the same in both are no change, even if one was put before them.
  const wanted = new Map<string, Header[]>();
  for (const header of after) wanted.set(header.key, [...(wanted.get(header.key) ?? []), header]);
  const pairs = new Map<Header, Header | null>();
  for (const [key, now] of wanted) {
    for (const [newer, older] of paired(left.get(key) ?? [], now)) pairs.set(newer, older);
  }
  const used = new Set([...pairs.values()]);
  const found: DifferenceLine[] = [];
  const gone = before.filter((header) => !used.has(header));
  for (const header of after) {
    const older = pairs.get(header) ?? null;
    const usual = USUAL.has(header.key);
    const text = `${header.name}: ${header.value}`;
    // A header that is only written in its short form is the same.
    found.push(older ? lineOf(`${header.name}: ${older.value}`, text, usual) : whole('added', text, usual));
  }
  for (const header of gone) found.push(whole('removed', `${header.name}: ${header.value}`, USUAL.has(header.key)));
  return found;
}

/** Proxies put theirs before those of others, so the last ones belong together. */
const PREPENDED = new Set(['via', 'record-route']);

/** Pairs of headers of one name: equal ones first, then the rest in their order. */
function paired(before: Header[], after: Header[]): [Header, Header | null][] {
  const free = [...before];
  const pairs = new Map<Header, Header>();
  const take = (header: Header, at: number) => {
    const older = at < 0 ? undefined : free.splice(at, 1)[0];
    if (older) pairs.set(header, older);
  };
  for (const header of after) take(header, free.findIndex((one) => one.value === header.value));
  const rest = after.filter((header) => !pairs.has(header));
  if (PREPENDED.has(after[0]?.key ?? '')) rest.reverse().forEach((header) => take(header, free.length - 1));
  else rest.forEach((header) => take(header, free.length > 0 ? 0 : -1));
  return after.map((header) => [header, pairs.get(header) ?? null]);
}

function bodyLines(old: Parsed, now: Parsed): DifferenceLine[] {
  const found: DifferenceLine[] = [];
  const steps = aligned(old.body, now.body);
  for (let at = 0; at < steps.length; at += 1) {
    const [before, after] = steps[at] ?? [null, null];
    const next = steps[at + 1];
    const usual = (before ?? after ?? '').startsWith('o=');
    if (before !== null && after !== null) found.push(lineOf(before, after, usual));
    else if (before !== null && next && next[0] === null && next[1] !== null && alike(before, next[1])) {
      found.push(lineOf(before, next[1], usual));
      at += 1;
    } else if (before !== null) found.push(whole('removed', before, false));
    else if (after !== null) found.push(whole('added', after, false));
  }
  return found;
}

/** Lines of SDP of one type (`m=`, `a=rtpmap:`) are a change of the same thing. */
function alike(before: string, after: string): boolean {
  const nameOf = (line: string) => /^\w=(?:[\w-]+:)?/.exec(line)?.[0] ?? line.slice(0, 8);
  return nameOf(before) === nameOf(after);
}

type Step = [string | null, string | null];

/** Bodies with more lines are compared without looking for lines that moved. */
const MOST = 1_000;

/** Pairs of equal lines (longest common subsequence), and between them the lines of one side alone. */
export function aligned(before: string[], after: string[]): Step[] {
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head += 1;
  let tail = 0;
  while (
    tail < before.length - head &&
    tail < after.length - head &&
    before[before.length - 1 - tail] === after[after.length - 1 - tail]
  ) tail += 1;
  const same = (line: string): Step => [line, line];
  return [
    ...before.slice(0, head).map(same),
    ...middle(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
    ...before.slice(before.length - tail).map(same),
  ];
}

function middle(before: string[], after: string[]): Step[] {
  if (before.length > MOST || after.length > MOST) {
    return [...before.map((line): Step => [line, null]), ...after.map((line): Step => [null, line])];
  }
  const wide = after.length + 1;
  // lengths[i * wide + j]: of the longest common subsequence of before[i..] and after[j..].
  const lengths = new Uint16Array((before.length + 1) * wide);
  for (let i = before.length - 1; i >= 0; i -= 1) {
    for (let j = after.length - 1; j >= 0; j -= 1) {
      const [right = 0, below = 0] = [lengths[i * wide + j + 1], lengths[(i + 1) * wide + j]];
      const both = (lengths[(i + 1) * wide + j + 1] ?? 0) + 1;
      lengths[i * wide + j] = before[i] === after[j] ? both : Math.max(right, below);
    }
  }
  return walk(before, after, lengths, wide);
}

function walk(before: string[], after: string[], lengths: Uint16Array, wide: number): Step[] {
  const steps: Step[] = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    const [old, now] = [before[i], after[j]];
    if (old !== undefined && old === now) {
      steps.push([old, now]);
      i += 1;
      j += 1;
    } else if (
      old !== undefined &&
      (now === undefined || (lengths[(i + 1) * wide + j] ?? 0) >= (lengths[i * wide + j + 1] ?? 0))
    ) {
      steps.push([old, null]);
      i += 1;
    } else {
      steps.push([null, now ?? null]);
      j += 1;
    }
  }
  return steps;
}

/** Both lines in parts: words that only one of them has are new. */
export function changedParts(before: string, after: string): [Part[], Part[]] {
  const words = (text: string) => text.match(/[\p{L}\p{N}]+|\s+|[^\p{L}\p{N}\s]/gu) ?? [];
  const old: Part[] = [];
  const now: Part[] = [];
  for (const [one, other] of aligned(words(before), words(after))) {
    if (one !== null) put(old, one, other === null);
    if (other !== null) put(now, other, one === null);
  }
  return [old, now];
}

function put(parts: Part[], text: string, isNew: boolean): void {
  const last = parts.at(-1);
  if (last && last.new === isNew) last.text += text;
  else parts.push({ text, new: isNew });
}
