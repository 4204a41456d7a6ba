// The call that is rehearsed: of its values, those that are drawn.

import type { LadderAnswer, Message } from '../answers';
import type { Call, CallDetails, Interval, LadderMedia, Stream } from '../../lib/types';

const SECONDS = 60;
const HOSTS = ['192.0.2.1', '192.0.2.2', '192.0.2.3'];

function us(seconds: number): number {
  return seconds * 1e6;
}

const messages: Message[] = ['INVITE', '180 Ringing', '200 OK', 'ACK', 'INVITE', '200 OK', 'ACK', 'BYE', '200 OK'].flatMap((line, at) =>
  [0, 1].map((leg) => message(line, leg, at * 2 + leg)),
);

function message(line: string, leg: number, at: number): Message {
  const code = Number.parseInt(line, 10) || null;
  const [from, to] = code === null ? [leg, leg + 1] : [leg + 1, leg];
  const method = code === null ? line : null;
  return {
    number: at + 1, time_us: us(at * 3), from, to, src: `${HOSTS[from]}:5060`, dst: `${HOSTS[to]}:5060`, leg, method, code,
    label: line, line: code === null ? `${line} sip:0@192.0.2.2 SIP/2.0` : `SIP/2.0 ${line}`, cseq: `1 ${method ?? 'INVITE'}`,
    retransmissions: at % 7 === 5 ? 1 : 0, detail: at % 3 === 0 ? ['audio 192.0.2.1:4000 PCMU'] : [], raw: '',
  };
}

const intervals = Array.from({ length: 6 }, (_, at) => ({
  start_us: us(at * 10), packets: 490, lost: at, jitter_ms: 1 + at, discarded: 1, mos: 4.4 - at / 4, mos_fixed50: 4, mos_fixed200: 4,
})) as Interval[];

const streams = Array.from({ length: 4 }, (_, at) => ({
  id: `${at}`, call: `${at % 2}`, direction: at % 2 === 0 ? 'caller_to_callee' : 'callee_to_caller', src: '192.0.2.1:4000', dst: '192.0.2.2:4000',
  codec: 'PCMU', payload_type: 0, clock_hz: 8000, first_us: us(7), last_us: us(SECONDS), packets: 2950, unique: 2950, lost: 15,
  loss_bursts: 2, burst_len_mean: 1, burst_len_max: 2, jitter_ms_mean: 2, jitter_ms_max: 6, mos: 4, mos_fixed50: 4, mos_fixed200: 4,
  mos_basis: '', rtt_ms: null, delta_ms_max: 40, rtcp_reports: 0, lost_at: null, lost_at_evidence: '', intervals, reports: [], notes: [],
})) as unknown as Stream[];

const media: LadderMedia[] = streams.map((stream, at) => ({
  stream: stream.id, from: at % 2, to: 1 - (at % 2), first_us: us(7 + at), last_us: stream.last_us, lost_pct: 0.5, label: 'PCMU',
}));

const calls = [0, 1].map((leg) => ({
  id: `${leg}`, call_id: '', protocol: 'sip', transport: 'udp', src: HOSTS[leg], dst: HOSTS[leg + 1], state: 'completed', from_user: '0', from_host: '',
  to_user: '0', to_host: '', ruri_user: '0', ruri_host: '', diverted_to: [], invite_us: us(0), trying_us: null, ringing_us: us(1), answer_us: us(2),
  end_us: us(SECONDS), pdd_ms: 1, duration_ms: SECONDS * 1000, final_code: 200, final_reason: 'OK', released_by: 'caller', cause: null, mos: 4,
  mos_worst_interval: 3, messages: messages.length, retransmissions: 1, capture_drops: 0, dtmf: [], joins: [], notes: [],
})) as unknown as Call[];

export const ladder: LadderAnswer = {
  hosts: HOSTS.map((address) => ({ address })), messages, media, reason: null,
} as unknown as LadderAnswer;

export const details: CallDetails = {
  call: calls[0], legs: calls, streams, sentences: [''], in_progress: false, rights: { listen: false, hold: false }, packets: { available: false, reason: '' },
} as unknown as CallDetails;
