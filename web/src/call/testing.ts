// Messages, calls and streams for tests.

import type { Message } from './answers';
import type { Call, Failover, FailoverSign, Interval, LadderMedia, Outage, Stream } from '../lib/types';

const START = 1_767_254_400_000_000;

export function at(seconds: number): number {
  return START + Math.round(seconds * 1e6);
}

export function sip(start: string, headers: Record<string, string>, body: string[] = []): string {
  const all = { 'Call-ID': 'a@192.0.2.1', From: '<sip:1@x>;tag=f', To: '<sip:2@y>', ...headers };
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return [start, ...head, '', ...body].join('\r\n') + (body.length > 0 ? '\r\n' : '\r\n');
}

export const SDP = [
  'v=0',
  'o=- 1 1 IN IP4 192.0.2.1',
  's=-',
  'c=IN IP4 192.0.2.1',
  't=0 0',
  'm=audio 4000 RTP/AVP 0 96',
  'a=rtpmap:96 telephone-event/8000',
];

let numbers = 0;

/** `request('INVITE', 0, 1, 0.5)`: from host 0 to host 1, half a second after the start. */
export function request(method: string, from: number, to: number, seconds: number, more: Partial<Message> = {}): Message {
  const cseq = more.cseq ?? `1 ${method}`;
  const line = `${method} sip:2@y SIP/2.0`;
  return message({ method, line, cseq, raw: sip(line, { CSeq: cseq }), ...more }, from, to, seconds);
}

export function answer(code: number, of: string, from: number, to: number, seconds: number, more: Partial<Message> = {}): Message {
  const line = `SIP/2.0 ${code} ${{ 100: 'Trying', 180: 'Ringing', 200: 'OK', 486: 'Busy Here' }[code] ?? 'X'}`;
  const cseq = more.cseq ?? `1 ${of}`;
  return message({ code, line, cseq, raw: sip(line, { CSeq: cseq }), ...more }, from, to, seconds);
}

function message(given: Partial<Message>, from: number, to: number, seconds: number): Message {
  numbers += 1;
  return {
    number: numbers,
    time_us: at(seconds),
    from,
    to,
    src: `192.0.2.${from + 1}:5060`,
    dst: `192.0.2.${to + 1}:5060`,
    leg: 0,
    method: null,
    code: null,
    label: '',
    line: '',
    cseq: '',
    retransmissions: 0,
    detail: [],
    raw: '',
    ...given,
  };
}

export function interval(start: number, more: Partial<Interval> = {}): Interval {
  return {
    start_us: at(start),
    packets: 500,
    lost: 0,
    jitter_ms: 1,
    discarded: 0,
    mos: 4.4,
    mos_fixed50: 4.4,
    mos_fixed200: 4.4,
    ...more,
  };
}

export function stream(from: number, until: number, more: Partial<Stream> = {}): Stream {
  const found: Partial<Stream> = {
    id: 's',
    call: 'c',
    direction: 'caller_to_callee',
    src: '192.0.2.1:4000',
    dst: '192.0.2.2:4000',
    codec: 'PCMU',
    first_us: at(from),
    last_us: at(until),
    packets: 1000,
    unique: 1000,
    lost: 0,
    mos: 4.4,
    intervals: [],
    reports: [],
    notes: [],
    ...more,
  };
  return found as Stream;
}

export function band(from: number, to: number, first: number, last: number, more: Partial<LadderMedia> = {}): LadderMedia {
  return { stream: 's', from, to, first_us: at(first), last_us: at(last), lost_pct: 0, label: 'PCMU', ...more };
}

export function call(more: Partial<Call> = {}): Call {
  return { id: 'c', call_id: 'a@192.0.2.1', answer_us: null, end_us: null, dtmf: [], notes: [], ...more } as Call;
}

/** `outage('192.0.2.2:5060', 1, 2.5)`: from one second after the start to the first answer, null where none was seen. */
export function outage(service: string, from: number, until: number | null, more: Partial<Outage> = {}): Outage {
  const found: Partial<Outage> = {
    id: `${service} ${from}`,
    service,
    transport: 'udp',
    role: 'monitored',
    kind: 'unanswered',
    from_us: at(from),
    first_answer_us: until === null ? null : at(until),
    last_us: at(until ?? from + 4),
    down_ms: ((until ?? from + 4) - from) * 1000,
    ...more,
  };
  return found as Outage;
}

/** The failover that these outages are, or one without any. */
export function failover(outages: Outage[], more: Partial<Failover> = {}): Failover {
  const found: Partial<Failover> = {
    type: 'failover',
    id: 'f',
    from_us: outages[0]?.from_us ?? at(0),
    until_us: outages[0]?.first_answer_us ?? null,
    down_ms: outages[0]?.down_ms ?? 0,
    causes: ['proxy_lost'],
    services: outages.map((one) => `${one.service}/${one.transport}`),
    outages: outages.map((one) => one.id),
    evidence: [],
    ...more,
  };
  return found as Failover;
}

export function sign(kind: FailoverSign['kind'], address: string, seconds: number, more: Partial<FailoverSign> = {}): FailoverSign {
  return {
    kind, address, first_us: at(seconds), last_us: at(seconds), count: 1, from: '02:00:00:00:00:01', to: '02:00:00:00:00:02', ...more,
  };
}
