// What the API says, by its OpenAPI document: the types of `api-types`, which is generated, and a few that are made of them.
// Times `_us` are microseconds since 1970 UTC, spans `_ms`. What is not known is null, or not there.

import type { BTreeMap, Call, Problem as Answered, Stream } from './api-types';

export type * from './api-types';

/** A problem document (RFC 9457), or what the page makes of an answer that has none. */
export interface Problem extends Omit<Answered, 'detail'> {
  detail?: string;
  /** Of a 429: seconds to wait, by the header `Retry-After`. */
  retry_after?: number;
}

export type Direction = NonNullable<Stream['direction']>;

/** By name: the value, and how many calls, streams or registrations stand behind it. */
export type Figures = BTreeMap;

/** The first moment known of a call. */
export function began(call: Call): number {
  return call.invite_us ?? call.trying_us ?? call.ringing_us ?? call.answer_us ?? call.end_us ?? 0;
}
