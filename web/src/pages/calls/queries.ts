// What the page of calls asks the server.

import { api, apiUrl } from '../../lib/api';
import type { Call, CallPageAnswer, Coverage, Problem } from '../../lib/types';

export interface Field {
  name: string;
  kind: string;
  unit: string | null;
  about: string;
  example: string;
  /** The names that its values can have. */
  values: { name: string; about: string }[];
  sortable: boolean;
}

export interface Summary {
  calls: number;
  answered: number;
  asr: number | null;
  ner: number | null;
  acd_ms: number | null;
  pdd_ms_median: number | null;
  mos: { from: number; until: number; calls: number }[];
  time: { from_us: number; until_us: number; calls: number; bad: number }[];
  facets: Record<string, { value: string; calls: number }[]>;
  coverage: Coverage;
}

export interface Completion {
  text: string;
  about: string;
  /** Where it replaces the text: characters from 1. Without it, the piece before the cursor. */
  column?: number;
  length?: number;
}

export interface Suggestion {
  completions: Completion[];
  understood: string | null;
  error: Problem | null;
}

export interface Explanation {
  marked: number;
  others: number;
  lines: {
    field: string;
    value: string;
    also: { field: string; value: string; q: string } | null;
    /** Values that nearly the same calls have. */
    same: { field: string; value: string; q: string }[];
    marked: number;
    others: number;
    marked_pct: number;
    others_pct: number;
    significance: number;
    sentence: string;
    q: string;
  }[];
  text: string;
  claims: boolean;
  coverage: Coverage;
}

/** A search, and what it is read with: clock times are those of the zone in which times are shown. */
export interface Search {
  q: string;
  sort: string;
}

export const NEWEST_FIRST = '-began';
const PAGE = 200;
/** In another order than that of time there is one page. */
const SORTED_PAGE = 1000;

export function calls(search: Search, cursor: string | null, signal: AbortSignal): Promise<CallPageAnswer> {
  const { q, sort } = search;
  return api('/calls', { query: { q, sort, cursor, limit: sort === NEWEST_FIRST ? PAGE : SORTED_PAGE }, signal });
}

/** Whether anything matches at all. */
export async function matches(q: string, signal: AbortSignal): Promise<boolean> {
  const answer = await api<{ calls: Call[] }>('/calls', { query: { q, limit: 1 }, signal });
  return answer.calls.length > 0;
}

export function summary(q: string, facets: string[], signal: AbortSignal): Promise<Summary> {
  return api('/calls/summary', { query: { q, facets: facets.join(',') }, signal });
}

export function suggest(q: string, at: number, signal: AbortSignal): Promise<Suggestion> {
  return api('/calls/suggest', { query: { q, at }, signal });
}

export function fields(signal: AbortSignal): Promise<Field[]> {
  return api('/fields', { signal });
}

export function why(q: string, signal: AbortSignal): Promise<Explanation> {
  return api('/why', { query: { q }, signal });
}

/** A file has the calls by time, whatever the order of the list. */
export function exportUrl(search: Search, format: 'csv' | 'jsonl'): string {
  return apiUrl('/calls/export', { q: search.q, format });
}
