import { describe, expect, it } from 'vitest';
import {
  columnsOf, formatChoice, merged, moved, parseChoice, placesOf, renamed, shownOrHidden, split,
} from './columns';
import type { LadderHost } from '../../lib/types';

const hosts: LadderHost[] = ['192.0.2.1', '192.0.2.2', '2001:db8::1', '192.0.2.4'].map((address, at) => ({
  address,
  name: at === 3 ? 'carrier' : null,
}));

const titles = (text: string) => columnsOf(hosts, parseChoice(text)).map((column) => column.title);

describe('columns', () => {
  it('are the hosts as they were seen, where nothing was chosen', () => {
    expect(titles('')).toEqual(['192.0.2.1', '192.0.2.2', '2001:db8::1', 'carrier']);
    expect(formatChoice(columnsOf(hosts, []), hosts)).toBe('');
  });

  it('can be moved, merged, named and hidden, and all of it is in the address', () => {
    let columns = columnsOf(hosts, []);
    columns = moved(columns, 3, -1);
    columns = merged(columns, 1, 0, hosts);
    columns = renamed(columns, 0, 'my, own+SBC=1 %', hosts);
    columns = shownOrHidden(columns, 2, true);
    const text = formatChoice(columns, hosts);
    expect(columnsOf(hosts, parseChoice(text))).toEqual(columns);
    expect(new URLSearchParams(`hosts=${encodeURIComponent(text)}`).get('hosts')).toBe(text);
    expect(columns.map((column) => column.title)).toEqual(['my, own+SBC=1 %', 'carrier', '2001:db8::1']);
    expect(placesOf(columns, hosts.length)).toEqual([0, 0, -1, 1]);
    expect(split(columns, 0, hosts).map((column) => column.title)).toEqual(['192.0.2.1', '192.0.2.2', 'carrier', '2001:db8::1']);
  });

  it('that the address names and the call does not have are left out; new ones follow', () => {
    expect(titles('203.0.113.9=gone,192.0.2.2')).toEqual(['192.0.2.2', '192.0.2.1', '2001:db8::1', 'carrier']);
    expect(titles('192.0.2.1,192.0.2.1,+,-,=x,%E0%A4')).toHaveLength(4);
    expect(titles('192.0.2.1=%E0%A4')[0]).toBe('%E0%A4');
  });

  it('stay where they are at the edges', () => {
    const columns = columnsOf(hosts, []);
    expect(moved(columns, 0, -1)).toBe(columns);
    expect(merged(columns, 2, 2, hosts)).toBe(columns);
  });

  it('of a host that is listed twice are two', () => {
    const twice = [...hosts, { address: '192.0.2.1', name: null }];
    const columns = columnsOf(twice, parseChoice('-192.0.2.1'));
    expect(placesOf(columns, twice.length)).toEqual([-1, 0, 1, 2, 3]);
  });
});
