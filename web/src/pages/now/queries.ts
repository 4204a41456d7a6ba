// What the first page asks the server, beside its events.

import { get } from '../../lib/api';
import { figureOf, kpis } from '../../lib/shared';
import type { KpiGroup, LiveCallList } from '../../lib/types';

export const HOUR_US = 3600e6;
export const WEEK_US = 7 * 24 * HOUR_US;

export interface Hour {
  /** The last hour, by minutes; the same hour a week ago. */
  now: Minute[];
  weekAgo: Minute[];
}

export interface Minute {
  at_us: number;
  attempts: number;
  answered: number | null;
}

/** Attempts and answers of the hour before a time, and of the same hour a week earlier. */
export async function hour(until: number, signal: AbortSignal): Promise<Hour> {
  const end = Math.floor(until / MINUTE_US) * MINUTE_US;
  const ask = async (shift: number) => {
    const query = { by: 'total' as const, from_us: end - HOUR_US - shift, until_us: end - shift, every: 'minute' as const, figures: 'answered' };
    return minutes((await kpis(query, signal)).groups, query.from_us, query.until_us);
  };
  const [now, weekAgo] = await Promise.all([ask(0), ask(WEEK_US)]);
  return { now, weekAgo };
}

/** A value for each minute: one without calls had none. */
export function minutes(groups: KpiGroup[], from: number, until: number): Minute[] {
  const found = new Map<number, Minute>();
  for (const group of groups) {
    for (const at of group.series) {
      const answered = figureOf(at.figures, 'answered');
      const before = found.get(at.at_us);
      found.set(at.at_us, {
        at_us: at.at_us,
        attempts: at.attempts + (before?.attempts ?? 0),
        answered: answered === null ? (before?.answered ?? null) : answered + (before?.answered ?? 0),
      });
    }
  }
  const all: Minute[] = [];
  for (let at = from; at < until; at += MINUTE_US) all.push(found.get(at) ?? { at_us: at, attempts: 0, answered: 0 });
  return all;
}

/** Trunks of the last hour, the worst first. */
export async function trunks(until: number, signal: AbortSignal): Promise<KpiGroup[]> {
  const answer = await kpis({ by: 'trunk', from_us: until - HOUR_US, until_us: until, figures: FIGURES }, signal);
  return worstFirst(answer.groups);
}

/** By the share of calls that the network did not bring to an end, where there are enough to tell; then by MOS. */
export function worstFirst(groups: KpiGroup[]): KpiGroup[] {
  const score = (group: KpiGroup) => {
    if (group.attempts < ENOUGH) return Infinity;
    const ner = figureOf(group.figures, 'ner') ?? 100;
    const mos = figureOf(group.figures, 'mos_p50') ?? 4.5;
    return ner + 20 * (Math.min(mos, 4.1) - 4.1);
  };
  return groups.toSorted((a, b) => score(a) - score(b) || b.attempts - a.attempts);
}

/** The latest calls that have not ended. */
export function callsUnderWay(signal: AbortSignal): Promise<LiveCallList> {
  return get('/live/calls', { query: { limit: SHOWN }, signal });
}

const FIGURES = 'asr,ner,pdd_ms_p50,mos_p50,mos_p5';
const MINUTE_US = 60e6;
/** Calls in progress that the page shows. */
const SHOWN = 50;
/** Attempts below which a ratio says little. */
const ENOUGH = 10;
