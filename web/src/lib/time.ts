// Times for people. What goes in is microseconds since 1970 UTC, or milliseconds of a span.

export interface Moment {
  year: number;
  month: number;
  day: number;
  hour: number;
  minute: number;
  second: number;
  micro: number;
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** The parts of a time on the clocks of `zone`. */
export function moment(us: number, zone: string): Moment {
  let format = formats.get(zone);
  if (!format) {
    format = new Intl.DateTimeFormat('en-GB', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
    formats.set(zone, format);
  }
  const ms = Math.floor(us / 1000);
  const parts: Record<string, number> = {};
  for (const part of format.formatToParts(ms)) parts[part.type] = Number(part.value);
  return {
    year: parts['year'] ?? 0,
    month: parts['month'] ?? 0,
    day: parts['day'] ?? 0,
    hour: parts['hour'] ?? 0,
    minute: parts['minute'] ?? 0,
    second: parts['second'] ?? 0,
    micro: us - Math.floor(us / 1e6) * 1e6,
  };
}

/** `2026-01-01` */
export function date(us: number, zone: string): string {
  const at = moment(us, zone);
  return `${at.year}-${two(at.month)}-${two(at.day)}`;
}

/** `15:04`, or with `digits` `15:04:05`, `15:04:05.123` and so on: -1 leaves the seconds out. */
export function clock(us: number, zone: string, digits = 0): string {
  const at = moment(us, zone);
  const minutes = `${two(at.hour)}:${two(at.minute)}`;
  if (digits < 0) return minutes;
  const seconds = `${minutes}:${two(at.second)}`;
  if (digits === 0) return seconds;
  return `${seconds}.${String(Math.floor(at.micro)).padStart(6, '0').slice(0, digits)}`;
}

/** `2026-01-01 15:04:05` */
export function dateAndClock(us: number, zone: string, digits = 0): string {
  return `${date(us, zone)} ${clock(us, zone, digits)}`;
}

/** How far `zone` is from UTC at that time: `UTC`, `UTC+1`, `UTC-3:30`. */
export function offset(us: number, zone: string): string {
  const at = moment(us, zone);
  const there = Date.UTC(at.year, at.month - 1, at.day, at.hour, at.minute, at.second);
  const minutes = Math.round((there - Math.floor(us / 1e6) * 1000) / 60000);
  if (minutes === 0) return 'UTC';
  const size = Math.abs(minutes);
  const rest = size % 60 === 0 ? '' : `:${two(size % 60)}`;
  return `UTC${minutes < 0 ? '-' : '+'}${Math.floor(size / 60)}${rest}`;
}

/** A time as the search language reads it, without loss: `2026-01-01T15:04:05Z`. */
export function searchTime(us: number): string {
  const iso = new Date(Math.floor(us / 1000)).toISOString();
  return iso.endsWith('.000Z') ? iso.replace('.000Z', 'Z') : iso;
}

/** A span in milliseconds: `0.4 s`, `12.3 s`, `4:05`, `1:04:05`; `85 ms` where it is short. */
export function span(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return '';
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}:${two(seconds % 60)}`;
  return `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(seconds % 60)}`;
}

/** The same for a column of them, which lines up: seconds with `digits` behind the point, then `4:05`. */
export function evenSpan(ms: number | null | undefined, digits = 1): string {
  if (ms === null || ms === undefined) return '';
  return ms < 59_950 ? `${(ms / 1000).toFixed(digits)} s` : span(ms);
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}
