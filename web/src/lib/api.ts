// The client of the API: JSON in and out, problems (RFC 9457) as errors, every request can be stopped. Paths, parameters and
// answers have the types of the server's own OpenAPI document.

import type { Api, Problem } from './types';
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

/** What a request is given: what the server wants, by the OpenAPI document, and nothing that it does not know. */
type Given<R extends Operation> = Part<'path', R['path']> &
  Part<'query', R['query']> &
  ([R['body']] extends [never] ? { body?: undefined } : { body: R['body'] }) & { signal?: AbortSignal };

/** Requests of a method that are answered by JSON or by nothing. */
type Asked<M extends keyof Api> = {
  [P in keyof Api[M] as Answered<Api[M][P]> extends true ? P : never]: Api[M][P] extends Operation ? Api[M][P] : never;
};

type Files = Api['get'];
type Operation = { path: object; query: object; body: unknown; answer: unknown };
type Answered<R> = R extends { answer: infer A } ? ([A] extends [never] ? false : true) : false;
type Part<Name extends string, T> = [keyof T] extends [never]
  ? { [N in Name]?: undefined }
  : {} extends T
    ? { [N in Name]?: T }
    : { [N in Name]: T };
/** An argument, which may be left out where nothing in it is required. */
type Argument<T> = {} extends T ? [given?: T] : [given: T];

/** Asks. Throws `ApiError`, or the signal's `AbortError`. A search is read in the zone in which times are shown. */
export function get<P extends keyof Asked<'get'>>(
  path: P,
  ...[given]: Argument<Given<Asked<'get'>[P]>>
): Promise<Asked<'get'>[P]['answer']> {
  return send('GET', path, given);
}

export function post<P extends keyof Asked<'post'>>(
  path: P,
  ...[given]: Argument<Given<Asked<'post'>[P]>>
): Promise<Asked<'post'>[P]['answer']> {
  return send('POST', path, given);
}

export function patch<P extends keyof Asked<'patch'>>(
  path: P,
  ...[given]: Argument<Given<Asked<'patch'>[P]>>
): Promise<Asked<'patch'>[P]['answer']> {
  return send('PATCH', path, given);
}

export function put<P extends keyof Asked<'put'>>(
  path: P,
  ...[given]: Argument<Given<Asked<'put'>[P]>>
): Promise<Asked<'put'>[P]['answer']> {
  return send('PUT', path, given);
}

export function remove<P extends keyof Asked<'delete'>>(
  path: P,
  ...[given]: Argument<Given<Asked<'delete'>[P]>>
): Promise<Asked<'delete'>[P]['answer']> {
  return send('DELETE', path, given);
}

/** The address of what is asked by `GET`, such as a file: to be linked or listened to. */
export function apiUrl<P extends keyof Files>(
  path: P,
  ...[given]: Argument<Part<'path', Files[P]['path']> & Part<'query', Files[P]['query']>>
): string {
  return addressOf(path, given);
}

/** The parts of a request when its types have done their work. */
interface Parts {
  path?: object | undefined;
  query?: object | undefined;
  body?: unknown;
  signal?: AbortSignal;
}

function addressOf(path: string, { path: segments = {}, query = {} }: Parts = {}): string {
  const named = new Map<string, unknown>(Object.entries(segments));
  const whole = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(named.get(name))));
  const params = new URLSearchParams();
  const zoned = 'q' in query ? { ...query, zone: zone.name } : query;
  for (const [name, value] of Object.entries(zoned)) {
    if (value !== null && value !== undefined && value !== '') params.set(name, String(value));
  }
  const text = params.toString();
  return BASE + whole + (text === '' ? '' : `?${text}`);
}

async function send<T>(method: string, path: string, given: Parts = {}): Promise<T> {
  const { body, signal } = given;
  const headers: Record<string, string> = { Accept: 'application/json' };
  if (method !== 'GET') headers['X-Ringtap'] = '1';
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  let response: Response;
  try {
    response = await fetch(addressOf(path, given), {
      method,
      headers,
      credentials: 'same-origin',
      body: body === undefined ? null : JSON.stringify(body),
      signal: signal ?? null,
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError({ type: '/problems/unreachable', title: 'unreachable', status: 0 });
  }
  if (!response.ok) {
    const problem = await problemOf(response);
    // A password that is wrong says nothing of the session.
    const isLogin = path.startsWith('/session') && path !== '/session/provider/end' && method === 'POST';
    if (problem.type === '/problems/officer-login') officerGone();
    else if (response.status === 401 && !isLogin && problem.type !== '/problems/password') unauthorised();
    throw new ApiError(problem);
  }
  if (response.status === 204) return undefined as T;
  try {
    return (await response.json()) as T;
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError({ type: '/problems/unreadable', title: 'unreadable', status: response.status });
  }
}

/** Asks for what is read as it comes, such as events. Throws as the others do. */
export async function openStream<P extends keyof Files>(
  path: P,
  given: Part<'path', Files[P]['path']> & Part<'query', Files[P]['query']>,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array>> {
  const response = await fetch(addressOf(path, given), { credentials: 'same-origin', signal });
  if (!response.ok || !response.body) {
    const problem = await problemOf(response);
    if (response.status === 401) unauthorised();
    throw new ApiError(problem);
  }
  return response.body;
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
let officerGone: () => void = () => {};

/** What happens when the session has ended. Set once. */
export function whenUnauthorised(action: () => void): void {
  unauthorised = action;
}

/** What happens when the session of an officer or an auditor has ended: it is another than that of the console. */
export function whenOfficerGone(action: () => void): void {
  officerGone = action;
}
