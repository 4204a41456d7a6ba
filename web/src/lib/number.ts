// Numbers for people, in the language of the page.

import { language } from '../i18n';

const formats = new Map<string, Intl.NumberFormat>();

/** `1,204,331`; with `digits` behind the point where wanted. Unknown is an empty text. */
export function number(value: number | null | undefined, digits = 0): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '';
  const key = `${language()}/${digits}`;
  let format = formats.get(key);
  if (!format) {
    format = new Intl.NumberFormat(language(), { minimumFractionDigits: digits, maximumFractionDigits: digits });
    formats.set(key, format);
  }
  return format.format(value);
}

/** `75.0 %` */
export function percent(value: number | null | undefined, digits = 1): string {
  return value === null || value === undefined ? '' : `${number(value, digits)} %`;
}

/** Bytes in steps of 1024: `512 B`, `1.5 KiB`, `2.0 GiB`. */
export function bytes(value: number | null | undefined): string {
  return value === null || value === undefined ? '' : stepped(value, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB']);
}

/** A rate in steps of 1000: `80.4 kbit/s`. */
export function bitRate(bps: number | null | undefined): string {
  return bps === null || bps === undefined ? '' : stepped(bps, 1000, ['bit/s', 'kbit/s', 'Mbit/s', 'Gbit/s']);
}

function stepped(value: number, step: number, units: string[]): string {
  let unit = 0;
  while (value >= step && unit < units.length - 1) {
    value /= step;
    unit += 1;
  }
  return `${number(value, unit === 0 ? 0 : 1)} ${units[unit]}`;
}

export type Grade = 'good' | 'fair' | 'poor';

/** What a MOS means to whoever listens, by the bands of G.109: below 3.6 many are dissatisfied. */
export function grade(mos: number): Grade {
  return mos >= 4.03 ? 'good' : mos >= 3.6 ? 'fair' : 'poor';
}
