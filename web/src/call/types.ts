// What the API says of one call. Times `_us` are microseconds since 1970 UTC; what is not known is null.

/** A record of the kind `call`; `docs/manual/records.md` has the meaning of each field. */
export interface Call {
  id: string;
  call_id: string;
  protocol: string;
  transport: string;
  src: string;
  dst: string;
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
  joins: { call: string; reason: string; confidence: number; evidence: string }[];
  trunk_from: string | null;
  trunk_to: string | null;
  attestation: string | null;
  identity_status: string | null;
  state: string;
  final_code: number;
  final_reason: string | null;
  cause: number | null;
  released_by: string | null;
  invite_us: number | null;
  trying_us: number | null;
  ringing_us: number | null;
  answer_us: number | null;
  end_us: number | null;
  pdd_ms: number | null;
  duration_ms: number | null;
  messages: number;
  retransmissions: number;
  user_agent_caller: string | null;
  user_agent_callee: string | null;
  streams: string[];
  mos: number | null;
  mos_worst_interval: number | null;
  dtmf: { digit: string; source: string; time_us: number }[];
  capture_drops: number;
  recorded: string;
  recorded_packets: number | null;
  recorded_missing: number | null;
  recorded_empty: number | null;
  unmonitored_ms: number | null;
  notes: Note[];
}

export type Direction = 'caller_to_callee' | 'callee_to_caller';

export interface Note {
  code: string;
  direction: Direction | null;
  since_us: number | null;
  value: number | null;
  threshold: number | null;
  evidence: string;
}

/** Ten seconds of a stream. */
export interface Interval {
  start_us: number;
  packets: number;
  lost: number;
  jitter_ms: number;
  discarded: number;
  mos: number | null;
  mos_fixed50: number | null;
  mos_fixed200: number | null;
}

/** An RTCP report: fields of the other kinds are null. */
export interface Report {
  time_us: number;
  kind: 'receiver' | 'sender' | 'voip' | string;
  lost_pct: number | null;
  lost: number | null;
  jitter_ms: number | null;
  rtt_ms: number | null;
  sent_packets: number | null;
  discard_pct: number | null;
  r_factor: number | null;
  mos_lq: number | null;
  mos_cq: number | null;
}

export interface Stream {
  id: string;
  call: string | null;
  direction: Direction | null;
  src: string;
  dst: string;
  ssrc: number;
  payload_type: number;
  codec: string | null;
  clock_hz: number | null;
  ptime_ms: number | null;
  first_us: number;
  last_us: number;
  packets: number;
  unique: number;
  lost: number;
  duplicates: number;
  reordered: number;
  rate_bps: number | null;
  jitter_ms_mean: number | null;
  jitter_ms_max: number | null;
  delta_ms_max: number | null;
  loss_bursts: number;
  burst_len_mean: number | null;
  burst_len_max: number | null;
  burst_ratio: number | null;
  rtt_ms: number | null;
  rtt_source: string | null;
  rtcp_reports: number | null;
  rtcp_lost: number | null;
  rtcp_lost_pct_max: number | null;
  rtcp_jitter_ms_mean: number | null;
  rtcp_jitter_ms_max: number | null;
  rtcp_sent_packets: number | null;
  reports: Report[];
  xr_reports: number | null;
  xr_loss_pct: number | null;
  xr_discard_pct: number | null;
  xr_mos_lq: number | null;
  lost_at: string | null;
  lost_at_evidence: string | null;
  mos: number | null;
  r_factor: number | null;
  mos_basis: string | null;
  mos_cq: number | null;
  mos_cq_basis: string | null;
  mos_fixed50: number | null;
  mos_fixed200: number | null;
  intervals: Interval[];
  silence_pct: number | null;
  clipped_pct: number | null;
  notes: Note[];
}

/** Answer of `/calls/ID`. */
export interface CallAnswer {
  call: Call;
  legs: Call[];
  streams: Stream[];
  sentences: string[];
  /** It has not ended, and has no record yet. */
  in_progress: boolean;
  /** The cases for which it is on hold; none are told without the right. */
  holds: string[];
  packets: { kept: string; available: boolean; reason: string | null };
  rights: { signalling: boolean; listen: boolean; export: boolean; hold: boolean };
}

export interface Host {
  address: string;
  name: string | null;
}

/** A message of the ladder; `from` and `to` are places in the list of hosts, `leg` in that of legs. */
export interface Message {
  number: number;
  time_us: number;
  from: number;
  to: number;
  src: string;
  dst: string;
  leg: number;
  method: string | null;
  code: number | null;
  line: string;
  cseq: string;
  retransmissions: number;
  detail: string[];
  raw: string;
}

export interface Band {
  stream: string;
  from: number;
  to: number;
  first_us: number;
  last_us: number;
  lost_pct: number | null;
  label: string;
}

/** Answer of `/calls/ID/ladder`. */
export interface LadderAnswer {
  hosts: Host[];
  messages: Message[];
  media: Band[];
  reason: string | null;
}

/** Answer of `/calls/ID/peaks`: for each side, minimum and maximum (-1 to 1) of equal pieces of its time. */
export interface PeaksAnswer {
  tracks: { direction: Direction; first_us: number; seconds: number; peaks: [number, number][] }[];
  marks: Mark[];
}

export interface Mark {
  at_ms: number;
  /** It is somewhere within this time; null or absent for a moment. */
  span_ms?: number | null;
  kind: 'lost' | 'late' | 'silence' | string;
  direction: Direction | null;
}
