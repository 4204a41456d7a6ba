// Requests that more than one page makes.

import { api } from './api';
import type { Alarm, Kpis } from './types';

export interface KpiQuery {
  /** Groups: `trunk`, `codec`, `device`, ...; none: all calls together. */
  by: string | null;
  from_us: number;
  until_us: number;
  every: 'minute' | 'hour' | 'day';
}

export function kpis(query: KpiQuery, signal: AbortSignal): Promise<Kpis> {
  return api('/kpis', { query: { ...query }, signal });
}

export function alarms(
  time: { from_us?: number; until_us?: number },
  signal: AbortSignal,
): Promise<{ alarms: Alarm[]; standing: number }> {
  return api('/alarms', { query: time, signal });
}
