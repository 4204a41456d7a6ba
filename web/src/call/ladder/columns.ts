// The columns of a ladder: hosts, of which the reader may merge, hide, name and reorder some. The choice is a
// parameter of the address: `hosts=192.0.2.1+192.0.2.5=SBC,-192.0.2.9` are one column of two hosts named SBC, and a
// hidden one; hosts that are not named follow in the order in which they were seen.

import type { LadderHost } from '../../lib/types';

export interface Column {
  /** Places in the list of hosts. */
  hosts: number[];
  addresses: string[];
  /** Chosen by the reader, or given by the configuration; otherwise the first address. */
  title: string;
  /** The reader's own name. */
  name: string | null;
  hidden: boolean;
}

export interface Choice {
  addresses: string[];
  name: string | null;
  hidden: boolean;
}

export function parseChoice(text: string): Choice[] {
  return text
    .split(',')
    .filter((item) => item !== '')
    .map((item) => {
      const hidden = item.startsWith('-');
      const [list = '', name] = item.slice(hidden ? 1 : 0).split('=');
      return { addresses: list.split('+').filter((one) => one !== ''), name: name ? unescape(name) : null, hidden };
    })
    .filter((choice) => choice.addresses.length > 0);
}

/** The parameter's text, empty where nothing differs from how the call was seen. */
export function formatChoice(columns: Column[], hosts: LadderHost[]): string {
  const plain = columns.every(
    ({ hosts: [host], addresses, name, hidden }, at) => host === at && addresses.length === 1 && !name && !hidden,
  );
  if (plain && columns.length === hosts.length) return '';
  return columns
    .map(({ addresses, name, hidden }) =>
      `${hidden ? '-' : ''}${addresses.join('+')}${name ? `=${escape(name)}` : ''}`)
    .join(',');
}

function escape(name: string): string {
  return name.replace(/[%,+=]/g, (mark) => encodeURIComponent(mark));
}

function unescape(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** All columns in their order, hidden ones included. */
export function columnsOf(hosts: LadderHost[], choices: Choice[]): Column[] {
  const free = new Map<string, number>();
  // The same address twice is one host that sends to itself: the first gets the choice, the other stays.
  hosts.forEach((host, at) => {
    if (!free.has(host.address)) free.set(host.address, at);
  });
  const columns: Column[] = [];
  const used = new Set<number>();
  for (const { addresses, name, hidden } of choices) {
    const found: number[] = [];
    for (const address of addresses) {
      const at = free.get(address);
      if (at === undefined || used.has(at)) continue;
      used.add(at);
      found.push(at);
    }
    if (found.length > 0) columns.push(column(hosts, found, name, hidden));
  }
  hosts.forEach((_, at) => {
    if (!used.has(at)) columns.push(column(hosts, [at], null, false));
  });
  return columns;
}

function column(hosts: LadderHost[], members: number[], name: string | null, hidden: boolean): Column {
  const named = members.map((at) => hosts[at]?.name).find((one) => one) ?? null;
  const addresses = members.map((at) => hosts[at]?.address ?? '');
  return { hosts: members, addresses, name, title: name ?? named ?? addresses[0] ?? '', hidden };
}

/** For each host the place of its column among those that are shown, -1 if it is hidden. */
export function placesOf(columns: Column[], hosts: number): number[] {
  const places = new Array<number>(hosts).fill(-1);
  columns
    .filter((one) => !one.hidden)
    .forEach((one, at) => one.hosts.forEach((host) => (places[host] = at)));
  return places;
}

/** The column at `at` one place further left (-1) or right (1). */
export function moved(columns: Column[], at: number, by: -1 | 1): Column[] {
  const to = at + by;
  const [one, other] = [columns[at], columns[to]];
  if (!one || !other) return columns;
  const list = [...columns];
  list[at] = other;
  list[to] = one;
  return list;
}

/** The column at `at` made one with the one at `into`. */
export function merged(columns: Column[], at: number, into: number, hosts: LadderHost[]): Column[] {
  const [one, other] = [columns[at], columns[into]];
  if (!one || !other || at === into) return columns;
  const both = column(hosts, [...other.hosts, ...one.hosts], other.name ?? one.name, other.hidden);
  return columns.map((column) => (column === other ? both : column)).filter((column) => column !== one);
}

/** The column at `at` as one for each of its hosts. */
export function split(columns: Column[], at: number, hosts: LadderHost[]): Column[] {
  return columns.flatMap((one, place) =>
    place === at ? one.hosts.map((host) => column(hosts, [host], null, one.hidden)) : [one]);
}

export function renamed(columns: Column[], at: number, name: string, hosts: LadderHost[]): Column[] {
  return columns.map((one, place) =>
    place === at ? column(hosts, one.hosts, name.trim() || null, one.hidden) : one);
}

export function shownOrHidden(columns: Column[], at: number, hidden: boolean): Column[] {
  return columns.map((one, place) => (place === at ? { ...one, hidden } : one));
}
