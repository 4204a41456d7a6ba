// What the page of calls asks the server.

import { apiUrl, get, patch, post, remove } from '../../lib/api';
import type { CallPage, CallSummary, NewSearch, SavedSearch, SavedSearchList, SearchChange, SearchField, Suggestions, Why } from '../../lib/types';

/** A search, and what it is read with: clock times are those of the zone in which times are shown. */
export interface Search {
  q: string;
  sort: string;
}

export const NEWEST_FIRST = '-began';
const PAGE = 200;
/** In another order than that of time there is one page. */
const SORTED_PAGE = 1000;

export function calls(search: Search, cursor: string | null, signal: AbortSignal): Promise<CallPage> {
  const { q, sort } = search;
  return get('/calls', { query: { q, sort, cursor, limit: sort === NEWEST_FIRST ? PAGE : SORTED_PAGE }, signal });
}

/** Whether anything matches at all. */
export async function matches(q: string, signal: AbortSignal): Promise<boolean> {
  const answer = await get('/calls', { query: { q, limit: 1 }, signal });
  return answer.calls.length > 0;
}

export function summary(q: string, facets: string[], signal: AbortSignal): Promise<CallSummary> {
  return get('/calls/summary', { query: { q, facets: facets.join(',') }, signal });
}

export function suggest(q: string, at: number, signal: AbortSignal): Promise<Suggestions> {
  return get('/calls/suggest', { query: { q, at }, signal });
}

export function fields(signal: AbortSignal): Promise<SearchField[]> {
  return get('/fields', { signal });
}

export function why(q: string, signal: AbortSignal): Promise<Why> {
  return get('/why', { query: { q }, signal });
}

/** A file has the calls by time, whatever the order of the list. */
export function exportUrl(search: Search, format: 'csv' | 'jsonl' | 'parquet'): string {
  return apiUrl('/calls/export', { query: { q: search.q, format } });
}

export function savedSearches(signal: AbortSignal): Promise<SavedSearchList> {
  return get('/searches', { signal });
}

export function saveSearch(body: NewSearch): Promise<SavedSearch> {
  return post('/searches', { body });
}

export function changeSearch(number: number, body: SearchChange): Promise<SavedSearch> {
  return patch('/searches/{number}', { path: { number }, body });
}

export function removeSearch(number: number): Promise<void> {
  return remove('/searches/{number}', { path: { number } });
}
