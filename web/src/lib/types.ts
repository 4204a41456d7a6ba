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
  trunks: string[] | null;
}

export interface About {
  version: string;
  sensor: string | null;
  zone: string | null;
  now_us: number;
  records: { days: number; first_us: number | null; last_us: number | null };
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
  hidden: number;
  took_ms: number;
}

/** An event of `/live`: how things are this second. */
export interface LiveNow {
  now_us: number;
  calls: { active: number; ringing: number; total_started: number };
  attempts_per_s: number;
  answers_per_s: number;
  packets_per_s: number;
  bytes_per_s: number;
  streams: number;
  mos: { from: number; until: number; streams: number }[];
  /** Packets lost since the start, by place: `nic`, `ring`, `worker`, `tables`, `reassembly`, `store`, `spool`. */
  drops: Record<string, number>;
  clock: string | null;
  cpu_pct: number | null;
  resident_bytes: number | null;
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

export type Figures = Record<string, number | null>;

export interface KpiGroup {
  name: string;
  attempts: number;
  figures: Figures;
  series: { at_us: number; attempts: number; figures: Figures }[];
}

export interface Kpis {
  definitions: Definition[];
  groups: KpiGroup[];
  coverage: Coverage;
}
