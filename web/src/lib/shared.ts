// Requests that more than one page makes.

import { api } from './api';
import type { Alarm, Figures, Kpis } from './types';

export interface KpiQuery {
  /** Groups: `trunk`, `codec`, `device`, ...; `total`: all calls together. */
  by: string;
  from_us: number;
  until_us: number;
  /** Length of a step of the series; without it there is none. */
  every?: 'minute' | 'hour' | 'day';
  /** Figures wanted, with commas; all without it. */
  figures?: string;
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

/** A figure, where it is known. */
export function figureOf(figures: Figures, name: string): number | null {
  return figures[name]?.value ?? null;
}
