// Times of a ladder's lines: from the start, from the line before, from a mark, or by the clock.

import { clock } from '../../lib/time';

export type TimesFrom = 'start' | 'before' | 'mark' | 'clock';

export const TIMES_FROM: readonly TimesFrom[] = ['start', 'before', 'mark', 'clock'];

/** `+1.250`, `-0.003`: seconds between two times, as sngrep and Wireshark write them. */
export function seconds(us: number): string {
  const ms = Math.round(Math.abs(us) / 1000);
  return `${us < 0 && ms > 0 ? '-' : '+'}${Math.floor(ms / 1000)}.${String(ms % 1000).padStart(3, '0')}`;
}

export interface TimeBase {
  from: TimesFrom;
  /** The first line of the call. */
  start_us: number;
  /** The line that was marked; null where none is. */
  mark_us: number | null;
  zone: string;
}

/** The time of a line as the reader chose it. `before_us` is the line before, null for the first. */
export function timeText(time_us: number, before_us: number | null, base: TimeBase): string {
  switch (base.from) {
    case 'clock':
      return clock(time_us, base.zone, 3);
    case 'before':
      return seconds(before_us === null ? 0 : time_us - before_us);
    case 'mark':
      return seconds(time_us - (base.mark_us ?? base.start_us));
    case 'start':
      return seconds(time_us - base.start_us);
  }
}

/** The time to the line before, short: `12 ms`, `4.21 s`, `2:05`; empty for the first line. */
export function differenceText(time_us: number, before_us: number | null): string {
  if (before_us === null) return '';
  const us = time_us - before_us;
  if (us < 0) return `-${differenceText(-us, 0)}`;
  if (us < 9_950) return `${(us / 1000).toFixed(1)} ms`;
  if (us < 999_500) return `${Math.round(us / 1000)} ms`;
  if (us < 59_950_000) return `${(us / 1e6).toFixed(us < 9_950_000 ? 2 : 1)} s`;
  const total = Math.round(us / 1e6);
  const [minutes, rest] = [Math.floor(total / 60), String(total % 60).padStart(2, '0')];
  if (minutes < 60) return `${minutes}:${rest}`;
  return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')}:${rest}`;
}

/** Seconds since the start of a call for people: `0:41`, `12:03`, `1:02:03`, with `digits` behind the point. */
export function position(ms: number, digits = 0): string {
  const sign = ms < 0 ? '-' : '';
  const unit = 10 ** digits;
  const total = Math.round((Math.abs(ms) / 1000) * unit) / unit;
  const hours = Math.floor(total / 3600);
  const minutes = Math.floor((total % 3600) / 60);
  const rest = (total % 60).toFixed(digits).padStart(digits > 0 ? digits + 3 : 2, '0');
  return hours > 0 ? `${sign}${hours}:${String(minutes).padStart(2, '0')}:${rest}` : `${sign}${minutes}:${rest}`;
}
