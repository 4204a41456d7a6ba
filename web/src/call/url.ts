// What the call page shows, read from the address and written to it.

import { address, setQuery, withQuery } from '../lib/address.svelte';
import { TIMES_FROM, type TimesFrom } from './ladder/times';
import type { SdpDepth } from './ladder/rows';

export const TABS = ['ladder', 'media', 'listen', 'messages', 'packets', 'history'] as const;
export type Tab = (typeof TABS)[number];

export type MessageView = 'parsed' | 'raw' | 'difference';
const VIEWS: readonly MessageView[] = ['parsed', 'raw', 'difference'];
const DEPTHS: readonly SdpDepth[] = ['none', 'brief', 'full'];

export function tab(): Tab {
  return oneOf(TABS, 'tab', 'ladder');
}

/** The address of the same call on another tab: what is chosen there stays. */
export function tabAddress(to: Tab): string {
  return address.path + withQuery(address.search, { tab: to === 'ladder' ? null : to });
}

export function openTab(to: Tab): void {
  setQuery({ tab: to === 'ladder' ? null : to });
}

/** Number of the selected message. */
export function message(): number | null {
  return whole('message');
}

export function mark(): number | null {
  return whole('mark');
}

export function times(): TimesFrom {
  return oneOf(TIMES_FROM, 'times', 'start');
}

export function sdp(): SdpDepth {
  return oneOf(DEPTHS, 'sdp', 'brief');
}

export function view(): MessageView {
  return oneOf(VIEWS, 'view', 'parsed');
}

export function text(name: string): string {
  return address.query.get(name) ?? '';
}

/** Places of legs that are hidden. */
export function hiddenLegs(): Set<number> {
  const found = text('legs').split(',').filter((part) => /^-\d+$/.test(part));
  return new Set(found.map((part) => -Number(part) - 1));
}

export function legsText(hidden: ReadonlySet<number>): string {
  return [...hidden].sort((a, b) => a - b).map((leg) => `-${leg + 1}`).join(',');
}

/** Where playing stands, in seconds since the start of the call. */
export function at(): number | null {
  const given = Number(address.query.get('at') ?? NaN);
  return Number.isFinite(given) ? given : null;
}

function whole(name: string): number | null {
  const given = address.query.get(name) ?? '';
  return /^\d{1,9}$/.test(given) ? Number(given) : null;
}

function oneOf<T extends string>(known: readonly T[], name: string, usual: T): T {
  const given = address.query.get(name);
  return known.find((one) => one === given) ?? usual;
}
