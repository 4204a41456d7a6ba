// Groups of calls that went wrong in the same way, and what is said of each: whether it is new, and where it lies.

import type { CallSummary } from '../../lib/types';

/** Times that can be chosen, and twice each as the search language writes it. */
export const SPANS = {
  '1h': { us: 3600e6, twice: '2h' },
  '24h': { us: 24 * 3600e6, twice: '48h' },
  '7d': { us: 7 * 86_400e6, twice: '14d' },
} as const;
export type Span = keyof typeof SPANS;

export function spanOf(text: string | null): Span {
  return text !== null && Object.hasOwn(SPANS, text) ? (text as Span) : '24h';
}

export type Kind = 'note' | 'code' | 'timeout';

export interface Group {
  kind: Kind;
  /** The code of the note, or the final code of SIP. */
  value: string;
  /** As a search names it. */
  term: string;
  /** Calls of it in the time. */
  calls: number;
}

export interface Bar {
  from_us: number;
  until_us: number;
  calls: number;
}

export interface Detail {
  /** Of twice the time. */
  bars: Bar[];
  calls: number;
  facets: CallSummary['facets'];
  complete: boolean;
}

/** Notes that say that somebody heard badly or nothing, or that a call did not come about as it should. The others remark. */
const BAD_NOTES = new Set([
  'one_way', 'no_audio', 'loss', 'low_mos', 'late_packets', 'long_gap', 'clipped', 'silent', 'slow_set_up', 'no_ack', 'short_call', 'late_media', 'codecs_differ', 'payload_types_differ',
  'session_expired', 'bad_identity', 'direction_not_captured',
]);

/** What a callee or caller does, and no fault: NER (E.425) counts these as effective. A challenge is none either. */
const EFFECTIVE = new Set(['0', '401', '407', '480', '486', '487', '600', '603']);

/** The groups, the largest first. `all`: every call of the time with its notes; `failed`: those that failed, with their codes. */
export function groupsOf(all: CallSummary, failed: CallSummary): Group[] {
  const notes = (all.facets['note'] ?? []).filter((one) => BAD_NOTES.has(one.value));
  const codes = (failed.facets['code'] ?? []).filter((one) => /^\d+$/.test(one.value) && !EFFECTIVE.has(one.value));
  const timeouts = (failed.facets['state'] ?? []).filter((one) => one.value === 'timeout');
  const groups: Group[] = [
    ...notes.map(({ value, calls }) => ({ kind: 'note' as const, value, term: `note:${value}`, calls })),
    ...codes.map(({ value, calls }) => ({ kind: 'code' as const, value, term: `state:[failed,timeout] code:${value}`, calls })),
    ...timeouts.map(({ value, calls }) => ({ kind: 'timeout' as const, value, term: 'state:timeout', calls })),
  ];
  return groups.filter((group) => group.calls > 0).toSorted((a, b) => b.calls - a.calls || a.term.localeCompare(b.term));
}

export type Course = 'new' | 'ongoing' | 'quiet' | 'back';

/**
 * How a problem goes on, from when its calls began in twice the time `us` before `now`: `quiet` where there was none in
 * the last quarter of the time; `new` where there was none before it; `back` where more than half of the time was
 * without any in between; `ongoing` otherwise.
 */
export function courseOf(bars: Bar[], us: number, now: number): Course {
  const found = bars.filter((bar) => bar.calls > 0).toSorted((a, b) => a.from_us - b.from_us);
  const first = found[0];
  const last = found.at(-1);
  if (!first || !last || last.until_us <= now - us / 4) return 'quiet';
  if (first.until_us > now - us) return 'new';
  const pauses = found.slice(1).map((bar, at) => bar.from_us - found[at]!.until_us);
  return pauses.some((pause) => pause > us / 2) ? 'back' : 'ongoing';
}

/** Calls in the time before the one that is shown. A bar across its beginning counts where most of it lies. */
export function before(bars: Bar[], us: number, now: number): number {
  return bars.filter((bar) => (bar.from_us + bar.until_us) / 2 < now - us).reduce((sum, bar) => sum + bar.calls, 0);
}

export interface Place {
  field: string;
  value: string;
  /** Shares in percent: of the group, and of all calls of the time. */
  part: number;
  usual: number;
}

/**
 * Where a problem lies: values that most calls of the group have, and clearly fewer of the others. A hint, drawn from
 * counts alone; *Why these?* tests it.
 */
export function placesOf(detail: Detail, all: CallSummary, fields: readonly string[]): Place[] {
  if (detail.calls < FEWEST) return [];
  const found = fields.flatMap((field) => {
    const usual = new Map((all.facets[field] ?? []).map((one) => [one.value, one.calls]));
    return (detail.facets[field] ?? []).map(({ value, calls }) => {
      const others = Math.max(0, (usual.get(value) ?? calls) - calls);
      const rest = Math.max(0, all.calls - detail.calls);
      return { field, value, part: (100 * calls) / detail.calls, usual: rest === 0 ? 100 : (100 * others) / rest };
    });
  });
  return found
    .filter((place) => place.value !== '(others)' && place.part >= MOST && place.part - place.usual >= CLEARLY)
    .toSorted((a, b) => b.part - b.usual - (a.part - a.usual))
    .slice(0, 3);
}

/** Of fewer calls nothing is said. */
const FEWEST = 5;
const MOST = 60;
const CLEARLY = 30;
