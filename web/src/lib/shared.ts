// Requests that more than one page makes.

import { get } from './api';
import type { AlarmList, Api, Figures, KpiTable } from './types';

export type KpiQuery = Api['get']['/kpis']['query'];

export function kpis(query: KpiQuery, signal: AbortSignal): Promise<KpiTable> {
  return get('/kpis', { query, signal });
}

export function alarms(
  time: { from_us?: number; until_us?: number },
  signal: AbortSignal,
): Promise<AlarmList> {
  return get('/alarms', { query: time, signal });
}

/** A figure, where it is known. */
export function figureOf(figures: Figures, name: string): number | null {
  return figures[name]?.value ?? null;
}
