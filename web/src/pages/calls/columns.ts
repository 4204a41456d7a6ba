// Columns of the table of calls.

import { t, tOr } from '../../i18n';
import { number, grade } from '../../lib/number';
import { dateAndClock, evenSpan } from '../../lib/time';
import { began, type Call } from '../../lib/types';
import { shown } from '../../lib/wire';

export interface Column {
  name: ColumnName;
  /** Field of the search language that it is sorted by. */
  sort: string | null;
  width: number;
  isNumber?: boolean;
  /** It came from the wire. */
  isWire?: boolean;
}

const COLUMNS = {
  began: column('began', 174),
  from: wire(142),
  to: wire(142),
  state: plain(150),
  pdd: figure('pdd', 74),
  ring: figure(null, 74),
  dur: figure('dur', 78),
  mos: figure('mos', 62),
  mosworst: figure('mosworst', 70),
  notes: plain(200),
  trunk_from: wire(126),
  trunk_to: wire(126),
  hangup: plain(80),
  ua_caller: wire(190),
  ua_callee: wire(190),
  src: wire(150),
  dst: wire(150),
  cause: figure(null, 64),
  retrans: figure('retrans', 72),
  messages: figure(null, 76),
  drops: figure('drops', 72),
  recorded: plain(90),
  attest: plain(70),
  callid: wire(260),
} satisfies Record<string, Shape>;

export type ColumnName = keyof typeof COLUMNS;

export const ALL = Object.keys(COLUMNS) as ColumnName[];
export const USUAL: ColumnName[] = [
  'began', 'from', 'to', 'state', 'pdd', 'dur', 'mos', 'mosworst', 'notes', 'trunk_from', 'trunk_to',
];

/** The columns that an address names, in its order; the usual ones where it names none. */
export function columnsOf(text: string | null): Column[] {
  const named = (text ?? '').split(',').filter((name): name is ColumnName => Object.hasOwn(COLUMNS, name));
  const names = named.length > 0 ? [...new Set(named)] : USUAL;
  return names.map((name) => ({ name, ...COLUMNS[name] }));
}

/** How an address names them; null for the usual ones. */
export function textOf(names: ColumnName[]): string | null {
  const text = names.join(',');
  return text === USUAL.join(',') || text === '' ? null : text;
}

export interface Cell {
  text: string;
  /** What is shown when the pointer rests on it. */
  title?: string;
  /** A state: shape and colour. */
  mark?: 'good' | 'fair' | 'poor' | 'soft';
}

/** What stands in a cell. */
export function cell(call: Call, name: ColumnName, zone: string): Cell {
  switch (name) {
    case 'began':
      return { text: dateAndClock(began(call), zone), title: dateAndClock(began(call), zone, 6) };
    case 'from':
      return party(call.from_user, call.from_host, call.from_display);
    case 'to':
      return party(call.to_user, call.to_host, null);
    case 'state':
      return state(call);
    case 'pdd':
      return { text: evenSpan(call.pdd_ms, 2) };
    case 'ring':
      return { text: evenSpan(ringing(call)) };
    case 'dur':
      return { text: evenSpan(call.duration_ms) };
    case 'mos':
      return mos(call.mos);
    case 'mosworst':
      return mos(call.mos_worst_interval);
    case 'notes':
      return notes(call);
    case 'trunk_from':
      return { text: shown(call.trunk_from ?? '') };
    case 'trunk_to':
      return { text: shown(call.trunk_to ?? '') };
    case 'hangup':
      return { text: call.released_by ? tOr(`calls.hangup.${call.released_by}`, call.released_by) : '' };
    case 'ua_caller':
      return { text: shown(call.user_agent_caller ?? '') };
    case 'ua_callee':
      return { text: shown(call.user_agent_callee ?? '') };
    case 'src':
      return { text: shown(call.src ?? '') };
    case 'dst':
      return { text: shown(call.dst ?? '') };
    case 'cause':
      return { text: number(call.cause) };
    case 'retrans':
      return { text: call.retransmissions ? number(call.retransmissions) : '' };
    case 'messages':
      return { text: number(call.messages) };
    case 'drops':
      return call.capture_drops ? { text: number(call.capture_drops), mark: 'fair' } : { text: '' };
    case 'recorded':
      return { text: call.recorded && call.recorded !== 'none' ? tOr(`calls.recorded.${call.recorded}`, call.recorded) : '' };
    case 'attest':
      return { text: call.attestation ?? '' };
    case 'callid':
      return { text: shown(call.call_id) };
  }
}

/** A shape for each state, so that it is not told by colour alone. */
const SHAPES: Record<string, string> = {
  completed: '✓', active: '▸', failed: '✕', redirected: '↪', cancelled: '○', timeout: '⧖', ringing: '…', trying: '…', interrupted: '╱',
};

function state(call: Call): Cell {
  const word = tOr(`calls.state.${call.state}`, call.state);
  const isBad = call.state === 'failed' || call.state === 'timeout';
  const code = call.final_code && call.final_code >= 300 && call.state !== 'cancelled' ? ` ${call.final_code}` : '';
  const reason = shown([call.final_code || '', call.final_reason ?? ''].filter(Boolean).join(' '));
  return {
    text: `${SHAPES[call.state] ?? '·'} ${word}${code}`,
    title: reason,
    ...(isBad ? { mark: 'poor' as const } : call.state === 'completed' ? {} : { mark: 'soft' as const }),
  };
}

function party(user: string | null, host: string | null, display: string | null): Cell {
  const address = shown([user, host].filter(Boolean).join('@'));
  return { text: shown(user ?? host ?? ''), title: display ? `${shown(display)} <${address}>` : address };
}

function mos(value: number | null): Cell {
  if (value === null) return { text: '' };
  const word = grade(value);
  return { text: number(value, 2), ...(word === 'good' ? {} : { mark: word }) };
}

function notes(call: Call): Cell {
  const words = [...new Set(call.notes.map((note) => tOr(`note.${note.code}`, note.code)))];
  const evidence = call.notes.map((note) => `${tOr(`note.${note.code}`, note.code)}: ${String(note['evidence'] ?? '')}`);
  return { text: shown(words.join(', ')), title: shown(evidence.join('; ')) };
}

function ringing(call: Call): number | null {
  const end = call.answer_us ?? call.end_us;
  return call.ringing_us === null || end === null ? null : (end - call.ringing_us) / 1000;
}

/** The heading of a column, and what it means. */
export function heading(name: ColumnName): { text: string; about: string } {
  return { text: t(`calls.column.${name}`), about: tOr(`calls.column_about.${name}`, '') };
}

/** Who called whom, for whoever hears a row. */
export function rowName(call: Call, zone: string): string {
  return `${cell(call, 'from', zone).text} → ${cell(call, 'to', zone).text}`;
}

interface Shape {
  sort: string | null;
  width: number;
  isNumber?: boolean;
  isWire?: boolean;
}

function column(sort: string | null, width: number): Shape {
  return { sort, width };
}

function plain(width: number): Shape {
  return { sort: null, width };
}

function wire(width: number): Shape {
  return { sort: null, width, isWire: true };
}

function figure(sort: string | null, width: number): Shape {
  return { sort, width, isNumber: true };
}
