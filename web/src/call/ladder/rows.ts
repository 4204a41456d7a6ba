// The lines of a ladder in order of time: messages, streams, digits, remarks and outages.

import { sdpBrief, sdpOf, parse } from '../sip';
import type { LadderAnswer, Message } from '../answers';
import type { HostOutage } from './outages';
import type { Call, LadderMedia, Stream } from '../../lib/types';

export type SdpDepth = 'none' | 'brief' | 'full';

interface Common {
  time_us: number;
  /** Place of the leg, -1 where it is of none. */
  leg: number;
  top: number;
  height: number;
  /** Lines below the arrow. */
  below: string[];
}

export interface MessageRow extends Common {
  kind: 'message';
  message: Message;
}

export interface MediaRow extends Common {
  kind: 'media';
  band: LadderMedia;
  stream: Stream | null;
}

export interface RemarkRow extends Common {
  kind: 'remark';
  text: string;
  /** `dtmf`, or the code of a note. */
  code: string;
}

export interface OutageRow extends Common {
  kind: 'outage';
  outage: HostOutage;
  /** The line of its end; otherwise of its beginning. */
  ends: boolean;
}

export type Row = MessageRow | MediaRow | RemarkRow | OutageRow;

export interface RowOptions {
  sdp: SdpDepth;
  /** Column of each host, -1 where it is hidden. */
  places: number[];
  hiddenLegs: ReadonlySet<number>;
  /** Outages of hosts of the ladder, and what stands below the line of each. */
  outages?: HostOutage[];
  details?: (outage: HostOutage) => string[];
}

export const ROW = 34;
export const LINE = 15;
/** More lines of one session description are not drawn; the message itself has them. */
const MOST_LINES = 60;

/** Notes that happen at a moment of the call, rather than being a judgement of the whole. */
const MOMENTS = new Set(['hold', 'transfer']);

export interface Rows {
  rows: Row[];
  /** Height of all. */
  height: number;
  /** Messages that are not among them since a host or a leg is hidden. */
  left_out: number;
}

export function rowsOf(answer: LadderAnswer, legs: Call[], streams: Stream[], options: RowOptions): Rows {
  const { places, hiddenLegs } = options;
  const shown = (from: number, to: number) => (places[from] ?? -1) >= 0 && (places[to] ?? -1) >= 0;
  const rows: Row[] = [];
  let left_out = 0;
  // Before messages of the same time: an outage begins with a request that waits, and ends with an answer.
  for (const outage of options.outages ?? []) {
    if (placesHit(outage, places).length > 0) rows.push(...outageRows(outage, options.details?.(outage) ?? [], answer));
  }
  for (const message of answer.messages) {
    if (!shown(message.from, message.to) || hiddenLegs.has(message.leg)) left_out += 1;
    else rows.push(messageRow(message, options.sdp));
  }
  const byId = new Map(streams.map((stream) => [stream.id, stream]));
  for (const band of answer.media) {
    const stream = byId.get(band.stream) ?? null;
    const leg = legs.findIndex((call) => call.id === stream?.call);
    if (shown(band.from, band.to) && !hiddenLegs.has(leg)) {
      rows.push({ kind: 'media', band, stream, time_us: band.first_us, leg, top: 0, height: ROW, below: [] });
    }
  }
  legs.forEach((call, leg) => {
    if (!hiddenLegs.has(leg)) rows.push(...remarks(call, leg));
  });
  // Stable: lines of the same time stay in the order of capture, outages first, then messages.
  rows.sort((a, b) => a.time_us - b.time_us);
  const folded = digitsFolded(rows);
  let top = 0;
  for (const row of folded) {
    row.top = top;
    top += row.height;
  }
  return { rows: folded, height: top, left_out };
}

function messageRow(message: Message, sdp: SdpDepth): MessageRow {
  const below = detailsOf(message, sdp);
  const height = ROW + below.length * LINE;
  return { kind: 'message', message, time_us: message.time_us, leg: message.leg, top: 0, height, below };
}

/** What stands below the arrow. */
export function detailsOf(message: Message, sdp: SdpDepth): string[] {
  const has = mayHaveSdp(message.raw);
  if (sdp === 'none') return has ? [] : message.detail;
  if (sdp === 'brief' || !has) return message.detail.length > 0 || !has ? message.detail : briefOf(message.raw);
  const lines = sdpOf(parse(message.raw));
  return lines.length > MOST_LINES ? [...lines.slice(0, MOST_LINES), '…'] : lines;
}

function briefOf(raw: string): string[] {
  return sdpBrief(sdpOf(parse(raw)));
}

function mayHaveSdp(raw: string): boolean {
  return /\nm=/.test(raw);
}

function remarks(call: Call, leg: number): RemarkRow[] {
  const row = (time_us: number, text: string, code: string): RemarkRow =>
    ({ kind: 'remark', text, code, time_us, leg, top: 0, height: ROW - 8, below: [] });
  return [
    ...call.dtmf.map((digit) => row(digit.time_us, digit.digit, 'dtmf')),
    ...call.notes.flatMap((note) =>
      note.since_us !== null && MOMENTS.has(note.code) ? [row(note.since_us, note.evidence, note.code)] : []),
  ];
}

/** Where an outage begins, and where it ends if that was seen and there are lines after. */
function outageRows(outage: HostOutage, details: string[], { messages, media }: LadderAnswer): OutageRow[] {
  const row = (time_us: number, ends: boolean, below: string[]): OutageRow =>
    ({ kind: 'outage', outage, ends, time_us, leg: -1, top: 0, height: ROW - 8 + below.length * LINE, below });
  const begins = row(outage.from_us, false, details);
  const goesOn = outage.kind === 'failover' || !outage.ended;
  const last = Math.max(messages.at(-1)?.time_us ?? 0, ...media.map((band) => band.last_us));
  return goesOn || outage.until_us > last ? [begins] : [begins, row(outage.until_us, true, [])];
}

/** Columns of the hosts of an outage, each once. */
export function placesHit(outage: HostOutage, places: number[]): number[] {
  return [...new Set(outage.hosts.map((host) => places[host] ?? -1))].filter((place) => place >= 0);
}

/** Digits with nothing between them are one line. */
function digitsFolded(rows: Row[]): Row[] {
  const folded: Row[] = [];
  for (const row of rows) {
    const last = folded.at(-1);
    const digits = row.kind === 'remark' && row.code === 'dtmf' && last?.kind === 'remark' && last.code === 'dtmf';
    if (digits && last.leg === row.leg) last.text += ` ${row.text}`;
    else folded.push(row);
  }
  return folded;
}

/** Place of the row that covers `y`, or the nearest. */
export function rowAt(rows: Row[], y: number): number {
  let low = 0;
  let high = rows.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((rows[middle]?.top ?? 0) <= y) low = middle;
    else high = middle - 1;
  }
  return Math.max(low, 0);
}

/** Places of the first row and behind the last one of those that are seen from `top` on, with some on either side. */
export function visibleRows(rows: Row[], top: number, height: number, spare = 8): [number, number] {
  if (rows.length === 0) return [0, 0];
  const first = Math.max(rowAt(rows, top) - spare, 0);
  const last = Math.min(rowAt(rows, top + height) + spare + 1, rows.length);
  return [first, last];
}

/** Where the arrow of a row lies, from its top. */
export const ARROW = 25;

/** A bar beside the lifeline of a stream's sender, over the time in which it flowed. */
export interface Bar {
  place: number;
  /** Towards the receiver: 1 is right. */
  side: 1 | -1;
  /** How many other bars are nearer to the lifeline. */
  rank: number;
  stream: string;
  /** Rows that it begins and ends in. */
  first: number;
  last: number;
  /** Where it begins and ends, from the top of all rows. */
  from: number;
  until: number;
  row: MediaRow;
}

export function barsOf(rows: Row[], places: number[]): Bar[] {
  const bars: Bar[] = [];
  rows.forEach((row, first) => {
    if (row.kind !== 'media') return;
    const [place, to] = [places[row.band.from] ?? 0, places[row.band.to] ?? 0];
    const side = to >= place ? 1 : -1;
    const until = heightAt(rows, row.band.last_us);
    const last = rowAt(rows, until);
    const taken = bars.filter((bar) => bar.place === place && bar.side === side && bar.last >= first);
    let rank = 0;
    while (taken.some((bar) => bar.rank === rank)) rank += 1;
    bars.push({ place, side, rank, stream: row.band.stream, first, last, from: row.top + ARROW, until, row });
  });
  return bars;
}

/** Where the line of an outage lies, from the top of its row. */
export const OUTAGE_LINE = 12;

/** A piece of a lifeline in which its host was out of service. */
export interface OutageSpan {
  place: number;
  /** Rows that it begins and ends in. */
  first: number;
  last: number;
  /** Where it begins and ends, from the top of all rows. */
  from: number;
  until: number;
}

/** Those of each lifeline, in order. Outages of one host that overlap are one. */
export function outageSpans(rows: Row[], height: number, places: number[]): OutageSpan[] {
  const ends = new Map(
    rows.flatMap((row) => (row.kind === 'outage' && row.ends ? [[row.outage, row.top + OUTAGE_LINE] as const] : [])),
  );
  const last = rows.at(-1)?.time_us ?? 0;
  const spans: OutageSpan[] = [];
  for (const row of rows) {
    if (row.kind !== 'outage' || row.ends) continue;
    const { outage } = row;
    const from = row.top + OUTAGE_LINE;
    const until = ends.get(outage) ?? (outage.until_us > last ? height : Math.max(heightAt(rows, outage.until_us), from));
    for (const place of placesHit(outage, places)) {
      const before = spans.findLast((span) => span.place === place);
      if (before && before.until >= from) before.until = Math.max(before.until, until);
      else spans.push({ place, first: 0, last: 0, from, until });
    }
  }
  return spans.map((span) => ({ ...span, first: rowAt(rows, span.from), last: rowAt(rows, span.until) }));
}

/** The part of it within a row, from the row's top; null where it has none. */
export function spanWithin(span: OutageSpan, row: Row): { y: number; height: number } | null {
  const y = Math.max(span.from - row.top, 0);
  const height = Math.min(span.until - row.top, row.height) - y;
  return height > 0 ? { y, height } : null;
}

/** Where a time lies between the rows: in proportion between the one before it and the one behind it. */
export function heightAt(rows: Row[], time_us: number): number {
  let low = 0;
  let high = rows.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((rows[middle]?.time_us ?? 0) <= time_us) low = middle;
    else high = middle - 1;
  }
  const [before, after] = [rows[low], rows[low + 1]];
  if (!before) return 0;
  const top = before.top + ARROW;
  if (!after || after.time_us <= before.time_us) return top;
  const share = Math.min(Math.max((time_us - before.time_us) / (after.time_us - before.time_us), 0), 1);
  return top + share * (after.top + ARROW - top);
}
