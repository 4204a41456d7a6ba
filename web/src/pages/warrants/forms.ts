// What is typed into the forms of warrants, read.

import { dateAndClock } from '../../lib/time';

/** When the clocks of `zone` say `2026-01-01T15:04`; null where nothing is typed. */
export function momentOf(typed: string, zone: string): number | null {
  if (typed === '') return null;
  const utc = Date.parse(`${typed}Z`) * 1000;
  if (Number.isNaN(utc)) return null;
  // The clocks of the zone at a moment near by tell how far they are from UTC; again where they change in between.
  const near = utc - ahead(utc, zone);
  return utc - ahead(near, zone);
}

function ahead(us: number, zone: string): number {
  return Date.parse(`${dateAndClock(us, zone).replace(' ', 'T')}Z`) * 1000 - us;
}

/** Lines of a text, without empty ones, and where each begins in it. */
export function linesOf(text: string): { text: string; line: number; start: number }[] {
  let start = 0;
  return text.split('\n').flatMap((line, index) => {
    const found = { text: line, line: index + 1, start };
    start += line.length + 1;
    return line.trim() === '' ? [] : [found];
  });
}

/** How many digits of a hash are typed by whoever approves what it stands for. */
export const DIGITS = 8;

/** Whether what is typed is the beginning of the hash. */
export function isBeginning(typed: string, hash: string): boolean {
  const digits = typed.trim().toLowerCase();
  return digits.length >= DIGITS && hash.startsWith(digits);
}

/** A hash in groups of eight digits, for people. */
export function grouped(hash: string): string {
  return hash.replace(/(.{8})(?=.)/g, '$1 ');
}
