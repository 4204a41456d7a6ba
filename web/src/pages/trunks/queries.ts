// What the pages of trunks ask the server: the KPIs by trunk.

import { get } from '../../lib/api';
import { termOf } from '../../lib/search';
import { kpis } from '../../lib/shared';
import type { FacetValue, KpiGroup, KpiTable } from '../../lib/types';

export interface Trunk {
  name: string;
  /** What came from it, and what went to it. */
  in: KpiGroup | null;
  out: KpiGroup | null;
}

/** The trunks of the day before a time. */
export async function trunks(until: number, signal: AbortSignal): Promise<Trunk[]> {
  const answer = await kpis({ by: 'trunk', from_us: until - DAY_US, until_us: until, figures: 'asr,ner,mos_p50' }, signal);
  return byName(answer.groups);
}

export interface TrunkDay {
  trunk: Trunk | null;
  definitions: KpiTable['definitions'];
  codes: FacetValue[];
}

/** A trunk, and how its last day went. */
export async function trunkDay(name: string, until: number, signal: AbortSignal): Promise<TrunkDay> {
  const [day, failed] = await Promise.all([
    kpis({ by: 'trunk', from_us: until - DAY_US, until_us: until, every: 'hour' }, signal),
    get('/calls/summary', { query: { q: failures(name), facets: 'code' }, signal }),
  ]);
  return {
    trunk: byName(day.groups).find((trunk) => trunk.name === name) ?? null,
    definitions: day.definitions,
    codes: failed.facets['code'] ?? [],
  };
}

/** A search for the calls of the last day that failed there. */
export function failures(name: string): string {
  return `${termOf('trunk', name)} began:-24h state:[failed,timeout]`;
}

/** Each trunk with its two directions, the busiest first. */
export function byName(groups: KpiGroup[]): Trunk[] {
  const found = new Map<string, Trunk>();
  for (const group of groups) {
    const trunk = found.get(group.name) ?? { name: group.name, in: null, out: null };
    if (group.dimension === 'trunk_in') trunk.in = group;
    else trunk.out = group;
    found.set(group.name, trunk);
  }
  return [...found.values()].toSorted((a, b) => attempts(b) - attempts(a) || a.name.localeCompare(b.name));
}

export function attempts(trunk: Trunk): number {
  return (trunk.in?.attempts ?? 0) + (trunk.out?.attempts ?? 0);
}

export const DAY_US = 86_400e6;
