// What the pages of trunks ask the server.

import { api } from '../../lib/api';
import { termOf } from '../../lib/search';
import { kpis } from '../../lib/shared';
import type { KpiGroup, Kpis } from '../../lib/types';
import { zone } from '../../lib/zone.svelte';

export interface Trunk {
  name: string;
  addresses: string[];
  attempts: number | null;
  asr: number | null;
  mos: number | null;
}

export function trunks(signal: AbortSignal): Promise<{ trunks: Trunk[] }> {
  return api('/trunks', { signal });
}

export interface TrunkDay {
  trunk: Trunk | null;
  kpis: Kpis;
  group: KpiGroup | null;
  codes: { value: string; calls: number }[];
}

/** A trunk, and how its last day went. */
export async function trunkDay(name: string, until: number, signal: AbortSignal): Promise<TrunkDay> {
  const from = until - DAY_US;
  const q = `${termOf('trunk', name)} began:-24h -state:completed`;
  const [all, day, failed] = await Promise.all([
    trunks(signal),
    kpis({ by: 'trunk', from_us: from, until_us: until, every: 'hour' }, signal),
    api<{ facets: Record<string, { value: string; calls: number }[]> }>('/calls/summary', {
      query: { q, facets: 'code', tz: zone.name },
      signal,
    }),
  ]);
  return {
    trunk: all.trunks.find((trunk) => trunk.name === name) ?? null,
    kpis: day,
    group: day.groups.find((group) => group.name === name) ?? null,
    codes: failed.facets['code'] ?? [],
  };
}

/** Those with the most attempts first. */
export function busiestFirst(all: Trunk[]): Trunk[] {
  return all.toSorted((a, b) => (b.attempts ?? 0) - (a.attempts ?? 0) || a.name.localeCompare(b.name));
}

export const DAY_US = 86_400e6;
