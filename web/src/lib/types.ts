// What the API answers, by docs/manual/records.md and the API's own document. Times `_us` are microseconds since 1970
// UTC, spans `_ms`. Null is unknown.

export type Right =
  | 'search'
  | 'signalling'
  | 'numbers'
  | 'listen'
  | 'export'
  | 'hold'
  | 'rules'
  | 'administer'
  | 'audit';

export interface Session {
  user: string;
  role: string;
  rights: Right[];
  /** Calls that it is limited to; empty for all. */
  scope: { trunks: string[] | null; numbers: string[] | null }[];
  /** A password has to be chosen before anything else. */
  must_change_password: boolean;
}

export interface About {
  version: string;
  sensor: string | null;
  zone: string | null;
  now_us: number;
  records: { days: number; first_us?: number | null; last_us?: number | null };
  spool: boolean;
  live: boolean;
}

/** RFC 9457, with what this API adds. */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail?: string | null;
  /** Of a search: where it cannot be read, in characters from 1. */
  column?: number | null;
  length?: number | null;
  remedy?: string | null;
  /** Of a 403: the right that is lacking. */
  right?: string | null;
  code_wanted?: boolean;
  /** Of a 429: seconds to wait. */
  retry_after?: number | null;
}

export interface Coverage {
  complete: boolean;
  /** `more`: there are further pages; `time`: the time limit of a query was reached. */
  reason: 'more' | 'time' | null;
  days: number;
  days_searched: number;
  from_us: number | null;
  until_us: number | null;
  looked_at: number;
}

export type CallState =
  | 'interrupted'
  | 'completed'
  | 'active'
  | 'failed'
  | 'redirected'
  | 'cancelled'
  | 'timeout'
  | 'ringing'
  | 'trying';

export interface Note {
  code: string;
  [evidence: string]: unknown;
}

export interface Call {
  type: 'call';
  id: string;
  call_id: string;
  protocol: string;
  transport: string | null;
  src: string | null;
  dst: string | null;
  from_user: string | null;
  from_host: string | null;
  from_display: string | null;
  to_user: string | null;
  to_host: string | null;
  ruri_user: string | null;
  ruri_host: string | null;
  asserted_identity: string | null;
  diverted_to: string[];
  conversation: string | null;
  trunk_from: string | null;
  trunk_to: string | null;
  attestation: string | null;
  state: CallState;
  final_code: number | null;
  final_reason: string | null;
  cause: number | null;
  released_by: 'caller' | 'callee' | 'network' | null;
  invite_us: number | null;
  trying_us: number | null;
  ringing_us: number | null;
  answer_us: number | null;
  end_us: number | null;
  pdd_ms: number | null;
  duration_ms: number | null;
  sdd_ms: number | null;
  messages: number;
  retransmissions: number;
  user_agent_caller: string | null;
  user_agent_callee: string | null;
  streams: string[];
  mos: number | null;
  mos_worst_interval: number | null;
  capture_drops: number | null;
  recorded: string | null;
  notes: Note[];
  [field: string]: unknown;
}

/** The first moment known of a call. */
export function began(call: Call): number {
  return call.invite_us ?? call.trying_us ?? call.ringing_us ?? call.answer_us ?? call.end_us ?? 0;
}

export interface CallPageAnswer {
  calls: Call[];
  next: string | null;
  understood: string;
  coverage: Coverage;
  /** Calls that match but that this session may not see. */
  hidden?: number;
  took_ms: number;
}

/** An event of `/live`: how things are this second. Without a daemon there is nothing but `lacking`. */
export interface LiveNow {
  now_us?: number;
  since_us?: number;
  calls?: { active: number; ringing?: number; total_started: number };
  attempts_per_s?: number | null;
  answers_per_s?: number | null;
  packets_per_s?: number | null;
  bytes_per_s?: number | null;
  streams?: number;
  mos?: { from: number; until: number; streams: number }[];
  /** Packets and records lost since the start, by place, in the order in which a packet comes there. */
  drops?: Record<string, number>;
  /** What full tables refused or gave up, by counter. */
  refused?: Record<string, number>;
  workers?: { source: string; packets: number; ring_pct: number; cpu_ms: number; ended: boolean; silent_ms: number }[];
  store?: { ok: boolean; written: number; waiting: number; outbox: number; dropped: number };
  spool?: { ok: boolean; bytes: number; far_bytes: number; free_pct: number | null; far_lost: boolean; failures: number; held: number } | null;
  /** Seconds by which the clock has stepped; 0 where it is trusted. */
  clock_step_s?: number;
  timestamps?: string;
  cpu_pct?: number | null;
  resident_bytes?: number | null;
  /** Why nothing is there, in a sentence. */
  lacking: string | null;
}

export interface Alarm {
  type: 'alarm';
  id: string;
  rule: string;
  severity: 'info' | 'warning' | 'critical';
  per: string;
  subject: string;
  figure: string;
  value: number | null;
  worst: number | null;
  threshold: number;
  behind: number;
  text: string;
  raised_us: number;
  last_us: number;
  cleared_us: number | null;
  calls: string[];
  acknowledged_us: number | null;
  acknowledged_by: string | null;
  comment: string | null;
  silenced_until_us: number | null;
}

export interface Definition {
  name: string;
  unit: string | null;
  text: string;
}

/** By name: the value, and how many calls, streams or registrations stand behind it. */
export type Figures = Record<string, { value: number | null; of: number }>;

export interface KpiGroup {
  name: string;
  /** `trunk_in` and `trunk_out` tell apart what came from a trunk and what went to it. */
  dimension: string;
  attempts: number;
  figures: Figures;
  series: { at_us: number; until_us: number; attempts: number; figures: Figures }[];
}

export interface Kpis {
  definitions: Definition[];
  groups: KpiGroup[];
}
