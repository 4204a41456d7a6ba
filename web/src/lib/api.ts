// The client of the API: JSON in and out, problems (RFC 9457) as errors, every request can be stopped.

import type { Problem } from './types';
import { zone } from './zone.svelte';

const BASE = '/api/v1';

export class ApiError extends Error {
  constructor(readonly problem: Problem) {
    super(problem.detail ?? problem.title);
    this.name = 'ApiError';
  }

  get status(): number {
    return this.problem.status;
  }
}

export type Query = Record<string, string | number | boolean | null | undefined>;

export interface Options {
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  query?: Query;
  body?: unknown;
  signal?: AbortSignal;
}

/**
 * The address of a request, to be linked or fetched. `path` begins with `/`; its segments are escaped already. A search
 * is read in the zone in which times are shown.
 */
export function apiUrl(path: string, query: Query = {}): string {
  const params = new URLSearchParams();
  const zoned = 'q' in query ? { ...query, zone: zone.name } : query;
  for (const [name, value] of Object.entries(zoned)) {
    if (value !== null && value !== undefined && value !== '') params.set(name, String(value));
  }
  const text = params.toString();
  return BASE + path + (text === '' ? '' : `?${text}`);
}

/** Sends a request. Throws `ApiError`, or the signal's `AbortError`. Answers undefined to a 204. */
export async function api<T>(path: string, options: Options = {}): Promise<T> {
  const method = options.method ?? 'GET';
  const headers: Record<string, string> = { Accept: 'application/json' };
  if (method !== 'GET') headers['X-Ringtap'] = '1';
  if (options.body !== undefined) headers['Content-Type'] = 'application/json';
  let response: Response;
  try {
    response = await fetch(apiUrl(path, options.query), {
      method,
      headers,
      credentials: 'same-origin',
      body: options.body === undefined ? null : JSON.stringify(options.body),
      signal: options.signal ?? null,
    });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new ApiError({ type: '/problems/unreachable', title: 'unreachable', status: 0 });
  }
  // A password that is wrong says nothing of the session.
  if (response.status === 401 && !(path === '/session' && method === 'POST')) unauthorised();
  if (!response.ok) throw new ApiError(await problemOf(response));
  if (response.status === 204) return undefined as T;
  try {
    return (await response.json()) as T;
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new ApiError({ type: '/problems/unreadable', title: 'unreadable', status: response.status });
  }
}

/** What a failed answer says of itself, whether or not it is a problem document. */
export async function problemOf(response: Response): Promise<Problem> {
  const bare: Problem = { type: 'about:blank', title: response.statusText, status: response.status };
  const retry = Number(response.headers.get('Retry-After'));
  if (Number.isFinite(retry) && retry > 0) bare.retry_after = retry;
  if (!/\bjson\b/.test(response.headers.get('Content-Type') ?? '')) return bare;
  try {
    const given: unknown = await response.json();
    if (typeof given !== 'object' || given === null) return bare;
    return { ...bare, ...given, status: response.status };
  } catch {
    return bare;
  }
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}

/** The problem behind anything that was thrown. */
export function asProblem(error: unknown): Problem {
  if (error instanceof ApiError) return error.problem;
  const detail = error instanceof Error ? error.message : String(error);
  return { type: '/problems/page', title: 'page', status: 0, detail };
}

let unauthorised: () => void = () => {};

/** What happens when the session has ended. Set once. */
export function whenUnauthorised(action: () => void): void {
  unauthorised = action;
}
