import { afterEach, describe, expect, it, vi } from 'vitest';
import { answer, at, band, call, failover, outage, request, sign, stream } from '../testing';
import { columnsOf } from './columns';
import { asMermaid, asText, type Shown } from './copy';
import { asSvg } from './drawing';
import { addressOf, availabilityAnswer, MOST_OUTAGES, outagesOf, spanOf, type Availability } from './outages';
import { besideOf, geometry } from './geometry';
import { pictureOf } from './picture';
import { outageDetails, remarkText } from './remark';
import { ARROW, heightAt, OUTAGE_LINE, outageSpans, rowsOf, spanWithin, type Row } from './rows';
import type { CallDetails } from '../../lib/types';

const hosts = [1, 2, 3].map((host) => ({ address: `192.0.2.${host}`, name: null }));
const PROXY = '192.0.2.2:5060';
const messages = [
  request('INVITE', 0, 1, 0, { retransmissions: 2 }),
  answer(100, 'INVITE', 1, 0, 3),
  request('INVITE', 1, 2, 3.1),
  answer(200, 'INVITE', 1, 0, 4),
  request('BYE', 0, 1, 10),
];
const ladder = { hosts, messages, media: [], reason: null };
const span = { from_us: at(0), until_us: at(10) };
const places = [0, 1, 2];
const of = (found: Partial<Availability>) => outagesOf({ failovers: [], outages: [], complete: true, ...found }, hosts, span).outages;

function rowsWith(found: Partial<Availability>, options: { places?: number[]; hiddenLegs?: Set<number> } = {}) {
  return rowsOf(ladder, [], [], { sdp: 'none', places, hiddenLegs: new Set(), outages: of(found), ...options });
}

/** `▼` and `▲` where outages begin and end, messages by their method or code. */
function order(rows: Row[]): string {
  return rows.map((row) => {
    if (row.kind === 'outage') return row.ends ? '▲' : '▼';
    return row.kind === 'message' ? (row.message.method ?? row.message.code) : row.kind;
  }).join(' ');
}

const details = (more: Partial<CallDetails> = {}) =>
  ({ legs: [call({ invite_us: at(0), end_us: at(10) })], streams: [], in_progress: false, ...more }) as unknown as CallDetails;

describe('an outage on the ladder', () => {
  it('stands between the messages of its time', () => {
    expect(order(rowsWith({ outages: [outage(PROXY, 1, 2.5)] }).rows)).toBe('INVITE ▼ ▲ 100 INVITE 200 BYE');
    expect(order(rowsWith({ outages: [outage(PROXY, 2, 5)] }).rows)).toBe('INVITE ▼ 100 INVITE 200 ▲ BYE');
    expect(order(rowsWith({ outages: [] }).rows)).toBe('INVITE 100 INVITE 200 BYE');
  });

  it('begins before the request that waits for it, and ends before the answer that ends it', () => {
    expect(order(rowsWith({ outages: [outage(PROXY, 0, 3)] }).rows)).toBe('▼ INVITE ▲ 100 INVITE 200 BYE');
  });

  it('may have begun before the call, and end after it', () => {
    expect(order(rowsWith({ outages: [outage(PROXY, -3600, 2)] }).rows)).toBe('▼ INVITE ▲ 100 INVITE 200 BYE');
    expect(order(rowsWith({ outages: [outage(PROXY, 9, 60)] }).rows)).toBe('INVITE 100 INVITE 200 ▼ BYE');
    expect(order(rowsWith({ outages: [outage(PROXY, -1, 60)] }).rows)).toBe('▼ INVITE 100 INVITE 200 BYE');
    // Its end was not seen: it is known until four seconds after it began.
    expect(order(rowsWith({ outages: [outage(PROXY, 9, null)] }).rows)).toBe('INVITE 100 INVITE 200 ▼ BYE');
    expect(order(rowsWith({ outages: [outage(PROXY, 1, null)] }).rows)).toBe('INVITE ▼ 100 INVITE 200 BYE');
  });

  it('is none of another time, or of another host', () => {
    expect(of({ outages: [outage(PROXY, -5, -0.5), outage(PROXY, 10.5, 11), outage(PROXY, -9, null)] })).toEqual([]);
    expect(of({ outages: [outage('192.0.2.20:5060', 1, 2), outage('192.0.2.9:5060', 1, 2), outage('[2001:db8::2]:5060', 1, 2)] })).toEqual([]);
    expect(of({ failovers: [failover([], { services: ['192.0.2.22'], evidence: [sign('arp_moved', '192.0.2.22', 1)], from_us: at(1) })] })).toEqual([]);
    // A moment that it shares with the call is enough.
    expect(of({ outages: [outage(PROXY, -5, 0), outage(PROXY, 10, 11)] })).toHaveLength(2);
  });

  it('goes with its host where that is hidden, not with a leg', () => {
    const outages = [outage(PROXY, 1, 2)];
    expect(order(rowsWith({ outages }, { places: [0, -1, 1] }).rows)).toBe('');
    expect(order(rowsWith({ outages }, { hiddenLegs: new Set([0]) }).rows)).toBe('▼ ▲');
  });

  it('has the cause of its failover, and the signs of its own address', () => {
    const one = outage(PROXY, 1, 2.5);
    const other = outage('192.0.2.3:5060', 1.1, 2);
    const evidence = [sign('arp_moved', '192.0.2.2', 2.4), sign('arp_moved', '192.0.2.3', 2)];
    const both = failover([one, other], { causes: ['proxy_lost', 'pbx_lost'], evidence, services: ['192.0.2.2', '192.0.2.2:5060/udp', '192.0.2.3:5060/udp'] });
    const found = of({ outages: [other, one], failovers: [both] });
    expect(found.map(({ service, causes, signs, from_us }) => [service, causes.join(), signs.length, from_us])).toEqual([
      ['192.0.2.2:5060/udp', 'proxy_lost,pbx_lost', 1, at(1)], ['192.0.2.3:5060/udp', 'proxy_lost,pbx_lost', 1, at(1.1)],
    ]);
    expect(outageDetails(found[0]!, 'UTC', at(0))).toEqual([
      '08:00:01.000 to 08:00:02.500: proxy lost, PBX lost',
      'ARP: 192.0.2.2 moved from 02:00:00:00:00:01 to 02:00:00:00:00:02',
    ]);
  });

  it('says what it was, in words and with units', () => {
    const words = (one: ReturnType<typeof outage>) => rowsWith({ outages: [one] }).rows.filter((row) => row.kind === 'outage').map(remarkText);
    expect(words(outage(PROXY, 1, 2.352))).toEqual(['192.0.2.2:5060/udp did not answer for 1.35 s', '192.0.2.2:5060/udp answers again']);
    expect(words(outage(PROXY, 1, 1.6))[0]).toContain('for 600 ms');
    expect(words(outage(PROXY, -300, 5))[0]).toContain('for 5:05 min');
    expect(words(outage(PROXY, -7300, 5))[0]).toContain('for 2:01:45 h');
    expect(words(outage(PROXY, 1, null))).toEqual(['192.0.2.2:5060/udp did not answer for 4.00 s or longer']);
    expect(words(outage(PROXY, 1, 2, { kind: 'refusing' }))[0]).toContain('refused');
    const [open] = of({ outages: [outage(PROXY, -86_000, null, { last_us: at(5) })] });
    expect(outageDetails(open!, 'UTC', at(0))).toEqual(['from 2025-12-31 08:06:40.000, known until 08:00:05.000, its end was not seen']);
  });
});

describe('a failover without an outage of a host', () => {
  it('is there when its address moved, was claimed twice, or its calls went elsewhere', () => {
    const moved = failover([], { id: 'm', causes: ['address_moved'], services: ['192.0.2.2'], from_us: at(2), until_us: at(2), evidence: [sign('arp_moved', '192.0.2.2', 2)] });
    const retried = failover([], {
      id: 'r', causes: ['pbx_lost'], services: [], from_us: at(4), until_us: at(4),
      evidence: [sign('invite_retried', '192.0.2.3', 4, { from: '192.0.2.3:5060', to: '192.0.2.9:5060', count: 3 })],
    });
    const found = of({ failovers: [moved, retried] });
    expect(found.map(({ kind, service, causes }) => [kind, service, ...causes])).toEqual([
      ['failover', '192.0.2.2', 'address_moved'], ['failover', '192.0.2.3', 'pbx_lost'],
    ]);
    expect(outageDetails(found[1]!, 'UTC', at(0))[1]).toBe('3 INVITEs were sent to 192.0.2.9:5060, since 192.0.2.3:5060 did not accept them');
    const { rows } = rowsOf(ladder, [], [], { sdp: 'none', places, hiddenLegs: new Set(), outages: found });
    expect(order(rows)).toBe('INVITE ▼ 100 INVITE ▼ 200 BYE');
    expect(remarkText(rows[1]!)).toBe('Failover of 192.0.2.2');
  });

  it('is none of a host that was merely asked much, nor once more where the outage is there', () => {
    const one = outage(PROXY, 1, 2);
    const burst = failover([outage('192.0.2.9:5060', 1, 2)], { evidence: [sign('register_burst', '192.0.2.2', 2), sign('contact_lost', '192.0.2.2', 2)] });
    expect(of({ failovers: [burst] })).toEqual([]);
    const lost = failover([one], { services: ['192.0.2.2', '192.0.2.2:5060/udp'], evidence: [sign('arp_moved', '192.0.2.2', 2)] });
    expect(of({ failovers: [lost], outages: [one] }).map((found) => found.kind)).toEqual(['unanswered']);
    // Its outage is over before the call, however long the failover goes on elsewhere.
    const early = outage(PROXY, -3, -2);
    expect(of({ failovers: [failover([early], { until_us: at(5) })], outages: [early] })).toEqual([]);
    // The list of outages was cut: what the failover itself knows is shown.
    expect(of({ failovers: [lost] }).map(({ kind, service }) => [kind, service])).toEqual([['failover', '192.0.2.2']]);
  });
});

describe('many outages', () => {
  it('are drawn up to a ceiling, and the rest is counted', () => {
    const outages = Array.from({ length: 1_000 }, (_, n) => outage(PROXY, 1 + n / 500, 1.5 + n / 500, { id: `o${n}` }));
    const found = outagesOf({ failovers: [], outages: outages.toReversed(), complete: false }, hosts, span);
    expect([found.outages.length, found.left_out]).toEqual([MOST_OUTAGES, 1_000 - MOST_OUTAGES]);
    expect(found.outages.map((one) => one.from_us)).toEqual(outages.slice(0, MOST_OUTAGES).map((one) => one.from_us));
  });

  it('of one failover have no more signs than can be read', () => {
    const one = outage(PROXY, 1, 2);
    const evidence = Array.from({ length: 50 }, (_, n) => sign('arp_moved', '192.0.2.2', 1 + n / 50));
    const [found] = of({ outages: [one], failovers: [failover([one], { evidence })] });
    expect(outageDetails(found!, 'UTC', at(0))).toHaveLength(5);
  });
});

describe('the lifeline of a host', () => {
  const spans = (outages: Availability['outages'], shown = places) => {
    const made = rowsWith({ outages }, { places: shown });
    return { ...made, spans: outageSpans(made.rows, made.height, shown) };
  };

  it('is marked from the line where its outage begins to where it ends', () => {
    const { rows, spans: found } = spans([outage(PROXY, 1, 2.5)]);
    const line = (index: number) => rows[index]!.top + OUTAGE_LINE;
    expect(found).toEqual([{ place: 1, first: 1, last: 2, from: line(1), until: line(2) }]);
    expect(rows.map((row) => spanWithin(found[0]!, row))).toEqual([
      null, { y: OUTAGE_LINE, height: rows[1]!.height - OUTAGE_LINE }, { y: 0, height: OUTAGE_LINE }, null, null, null, null,
    ]);
  });

  it('is marked to the end of the ladder, or until when the outage is known', () => {
    const late = spans([outage(PROXY, 9, 60)]);
    expect(late.spans[0]?.until).toBe(late.height);
    const open = spans([outage(PROXY, 3.5, null)]);
    expect(open.spans[0]?.until).toBe(heightAt(open.rows, at(7.5)));
    expect(open.spans[0]!.until).toBeGreaterThan(open.rows.find((row) => row.kind === 'message' && row.message.code === 200)!.top + ARROW);
  });

  it('is marked once where outages overlap, and for each host apart', () => {
    const { rows, spans: found } = spans([outage(PROXY, 1, 5), outage('192.0.2.2:5061', 2, 3.05), outage('192.0.2.3:5060', 2, 9)]);
    expect(order(rows)).toBe('INVITE ▼ ▼ ▼ 100 ▲ INVITE 200 ▲ ▲ BYE');
    expect(found.map(({ place, first, last }) => [place, first, last])).toEqual([[1, 1, 8], [2, 3, 9]]);
    // Both hosts in one column.
    expect(spans([outage(PROXY, 1, 5), outage('192.0.2.3:5060', 2, 9)], [0, 1, 1]).spans.map((one) => one.place)).toEqual([1]);
  });
});

describe('the words of an outage', () => {
  it('stand beside the lifeline that is marked, and over it only where there is no room', () => {
    const wide = geometry({ width: 1068, columns: 3, legs: false, clock: false });
    const area = wide.width - wide.gutter;
    for (const place of [0, 1, 2]) {
      const { left, width } = besideOf(place, wide);
      expect(left >= 0 && left + width <= area).toBe(true);
      expect(left > wide.x(place) || left + width < wide.x(place)).toBe(true);
    }
    expect([0, 2].map((place) => besideOf(place, wide).align)).toEqual(['start', 'end']);
    const narrow = geometry({ width: 340, columns: 2, legs: false, clock: false });
    expect(besideOf(1, narrow)).toEqual({ left: 0, width: narrow.width - narrow.gutter, align: 'middle' });
  });
});

describe('what is copied and saved', () => {
  const HOSTILE = '\n"><script>alert(1)</script>;\u202e%%{init}%%';
  const drawn = (cause = 'proxy_lost'): Shown => {
    const one = outage(PROXY, 1, 2.5);
    const outages = of({ outages: [one], failovers: [failover([one], { causes: [cause], evidence: [sign('arp_moved', '192.0.2.2', 2, { from: cause })] })] });
    const made = rowsOf(ladder, [], [], {
      sdp: 'none', places, hiddenLegs: new Set(), outages, details: (found) => outageDetails(found, 'UTC', at(0)),
    });
    const base = { from: 'start', start_us: at(0), mark_us: null, zone: 'UTC' } as const;
    return { columns: columnsOf(hosts, []), places, rows: made.rows, base, legs: [], remark: remarkText };
  };

  it('has the outage, too', () => {
    expect(asText(drawn()).split('\n').slice(1, 6)).toMatchInlineSnapshot(`
      [
        " +0.000               │─ INVITE x 3 ─▶│               │",
        " +1.000  1.00 s       │               │               │ ▼ 192.0.2.2:5060/udp did not answer for 1.50 s",
        "                      │               │               │   08:00:01.000 to 08:00:02.500: proxy lost",
        "                      │               │               │   ARP: 192.0.2.2 moved from proxy_lost to 02:00:00:00:00:02",
        " +2.500  1.50 s       │               │               │ ▲ 192.0.2.2:5060/udp answers again",
      ]
    `);
    expect(asMermaid(drawn())).toContain('Note over h0,h2: +1.000 192.0.2.2:5060/udp did not answer for 1.50 s<br/>08:00:01.000 to 08:00:02.500: proxy lost');
    const svg = asSvg(pictureOf(drawn(), 900, { title: 'Call', heading: [], times: String }));
    for (const part of ['did not answer for 1.50 s', 'answers again', 'proxy lost', 'ARP: 192.0.2.2 moved']) expect(svg).toContain(part);
  });

  it('has hostile names as text', () => {
    expect(outageDetails(of({ outages: [outage(PROXY, 1, 2)], failovers: [failover([outage(PROXY, 1, 2)], { causes: [HOSTILE] })] })[0]!, 'UTC', at(0))[0])
      .toBe('08:00:01.000 to 08:00:02.000: ␊"><script>alert(1)</script>;⟨U+202E⟩%%{init}%%');
    expect(asText(drawn(HOSTILE)).split('\n')).toHaveLength(asText(drawn()).split('\n').length);
    expect(asMermaid(drawn(HOSTILE))).not.toMatch(/<script|%%/);
    const text = { title: 'Call', heading: [], times: String };
    const tags = (svg: string) => svg.match(/<\w+/g)?.sort();
    expect(tags(asSvg(pictureOf(drawn(HOSTILE), 900, text)))).toEqual(tags(asSvg(pictureOf(drawn(), 900, text))));
    // However long they are.
    expect(outageDetails(of({ failovers: [failover([], { services: [`192.0.2.2`], causes: ['x'.repeat(10_000)] })] })[0]!, 'UTC', at(0))[0]!.length).toBeLessThan(200);
  });
});

describe('what is asked', () => {
  afterEach(() => vi.unstubAllGlobals());
  const server = (status: number, body: object = {}) => {
    const asked: URL[] = [];
    vi.stubGlobal('fetch', (url: string) => {
      asked.push(new URL(url, 'http://x'));
      return Promise.resolve(new Response(JSON.stringify(body), { status, headers: { 'Content-Type': 'application/json' } }));
    });
    return asked;
  };
  const ask = (more: Partial<CallDetails> = {}) => availabilityAnswer(details(more), new AbortController().signal);

  it('is what began in the day before the call or in its time', async () => {
    const asked = server(200, { failovers: [], outages: [], complete: true });
    expect(await ask()).toEqual({ failovers: [], outages: [], complete: true });
    expect(asked.map((url) => url.pathname).sort()).toEqual(['/api/v1/availability/failovers', '/api/v1/availability/outages']);
    for (const { searchParams } of asked) {
      expect(Number(searchParams.get('from_us'))).toBe(at(-86_400));
      expect(Number(searchParams.get('until_us'))).toBeGreaterThan(at(10));
    }
  });

  it('has no end while the call goes on', async () => {
    const asked = server(200, { failovers: [], outages: [], complete: true });
    await ask({ in_progress: true });
    expect(asked.every((url) => !url.searchParams.has('until_us'))).toBe(true);
  });

  it('is nothing to who may not see it, or where the server has none; other failures are told', async () => {
    for (const status of [403, 404]) {
      server(status);
      expect(await ask()).toEqual({ failovers: [], outages: [], complete: true });
    }
    server(500);
    await expect(ask()).rejects.toThrow();
  });

  it('is nothing of a call of which no time is known', async () => {
    const asked = server(500);
    expect((await ask({ legs: [call()] })).outages).toEqual([]);
    expect(asked).toEqual([]);
  });

  it('spans all legs, streams and messages', () => {
    const legs = [call({ invite_us: at(5), end_us: at(6) }), call({ invite_us: at(1) })];
    const streams = [stream(2, 40)];
    expect(spanOf(details({ legs, streams }), null)).toEqual({ from_us: at(1), until_us: at(40) });
    expect(spanOf(details({ legs, streams }), { ...ladder, media: [band(0, 1, 2, 50)] })).toEqual({ from_us: at(0), until_us: at(50) });
    expect(spanOf(details({ legs, in_progress: true }), null).until_us).toBe(Infinity);
  });

  it('knows the address of a service', () => {
    expect(['192.0.2.1:5060/udp', '192.0.2.1', '192.0.2.1:5060', '[2001:db8::1]:5060/tcp', '2001:db8::1', '', ':', '[', 'a/b/c'].map(addressOf)).toEqual([
      '192.0.2.1', '192.0.2.1', '192.0.2.1', '2001:db8::1', '2001:db8::1', '', '', '[', 'a',
    ]);
  });
});
