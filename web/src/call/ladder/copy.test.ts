import { describe, expect, it } from 'vitest';
import { answer, at, band, call, request, stream } from '../testing';
import { columnsOf, parseChoice, placesOf } from './columns';
import { asMermaid, asText, type Shown } from './copy';
import { asSvg, escaped } from './drawing';
import { pictureOf } from './picture';
import { rowsOf } from './rows';

const hosts = [1, 2, 3].map((host) => ({ address: `192.0.2.${host}`, name: host === 3 ? 'pbx' : null }));

function ladder(more: Partial<Shown> = {}, hostile = ''): Shown {
  const messages = [
    request('INVITE', 0, 1, 0, { retransmissions: 2, detail: [`PCMU${hostile}`] }),
    request('INVITE', 1, 2, 0.01),
    answer(180, 'INVITE', 2, 0, 1),
    answer(486, 'INVITE', 1, 1, 2, { line: `SIP/2.0 486 Busy${hostile}` }),
    request('BYE', 0, 2, 9),
    answer(200, 'BYE', 2, 0, 9.5),
  ];
  const columns = columnsOf(hosts, parseChoice(''));
  const places = placesOf(columns, hosts.length);
  const answered = { hosts, messages, media: [band(2, 0, 3, 8, { label: `PCMU${hostile}` })], reason: null };
  const digits = [{ digit: '5', source: 'info' as const, time_us: at(4) }];
  const { rows } = rowsOf(answered, [call({ dtmf: digits })], [stream(3, 8)], { sdp: 'brief', places, hiddenLegs: new Set() });
  const base = { from: 'start', start_us: at(0), mark_us: null, zone: 'UTC' } as const;
  const remark: Shown['remark'] = (row) =>
    row.kind === 'remark' ? `DTMF ${row.text}` : row.kind === 'media' ? row.band.label : '';
  return { columns, places, rows, base, legs: [], remark, ...more };
}

describe('a ladder as text', () => {
  it('is what is shown', () => {
    expect(asText(ladder()).trimEnd().split('\n')).toMatchInlineSnapshot(`
      [
        "                 192.0.2.1         192.0.2.2            pbx",
        "+0.000               │── INVITE x 3 ──▶│                 │",
        "                     │  PCMU           │                 │",
        "+0.010   10 ms       │                 │──── INVITE ────▶│",
        "+1.000  990 ms       │◀────────── 180 Ringing ───────────│",
        "+2.000  1.00 s       │                 │ ↺ 486 Busy      │",
        "+3.000  1.00 s       │◀══════════════ PCMU ══════════════│",
        "+4.000  1.00 s       │                 │                 │ ● DTMF 5",
        "+9.000  5.00 s       │────────────── BYE ───────────────▶│",
        "+9.500  500 ms       │◀────────── 200 OK (BYE) ──────────│",
      ]
    `);
  });
});

describe('a ladder as Mermaid', () => {
  it('has its participants and messages', () => {
    expect(asMermaid(ladder()).trimEnd().split('\n')).toMatchInlineSnapshot(`
      [
        "sequenceDiagram",
        "  participant h0 as 192.0.2.1",
        "  participant h1 as 192.0.2.2",
        "  participant h2 as pbx",
        "  h0->>h1: +0.000 INVITE x 3<br/>PCMU",
        "  h1->>h2: +0.010 INVITE",
        "  h2-->>h0: +1.000 180 Ringing",
        "  h1-->>h1: +2.000 486 Busy",
        "  h2-)h0: +3.000 PCMU",
        "  Note over h0,h2: +4.000 DTMF 5",
        "  h0->>h2: +9.000 BYE",
        "  h2-->>h0: +9.500 200 OK (BYE)",
      ]
    `);
  });

  it('lets no text end a statement or begin another', () => {
    const hostile = ';\n  h0->>h1: forged\n#quot;<script>%%{init}%%';
    const text = asMermaid(ladder({}, hostile));
    const plain = asMermaid(ladder());
    expect(text.split('\n').length).toBe(plain.split('\n').length);
    expect(text).not.toMatch(/<script|%%|#quot/);
    expect(text).not.toMatch(/;\s*h0/);
  });
});

describe('a ladder as a picture', () => {
  const text = { title: 'Call', heading: ['a', 'b'], times: (n: number) => `× ${n}` };

  it('has a column a host and every line', () => {
    const svg = asSvg(pictureOf(ladder(), 900, text));
    for (const part of ['192.0.2.1', 'pbx', 'INVITE  × 3', '180 Ringing', '200 OK (BYE)', 'DTMF 5', '+9.500']) {
      expect(svg).toContain(part);
    }
    expect(svg).not.toMatch(/var\(|style=|class=|currentColor|url\(/);
    // Literal colours everywhere: each shape is filled or stroked by a number.
    const shapes = svg.split('\n').filter((line) => /^<(rect|line|polygon|text) /.test(line));
    expect(shapes.length).toBeGreaterThan(30);
    for (const shape of shapes) expect(shape).toMatch(/(fill|stroke)="#[0-9a-f]{6}"/);
  });

  it('is as wide as it must be, and no arrow leaves it', () => {
    const drawing = pictureOf(ladder(), 200, text);
    for (const shape of drawing.shapes) {
      if (shape.kind !== 'line') continue;
      expect(Math.max(shape.x1, shape.x2)).toBeLessThanOrEqual(drawing.width);
      expect(Math.max(shape.y1, shape.y2)).toBeLessThanOrEqual(drawing.height);
      expect(Math.min(shape.x1, shape.x2)).toBeGreaterThanOrEqual(0);
    }
  });

  it('shows markup from the wire as text', () => {
    const hostile = '</text><script>alert(1)</script>\u202e\u0000\uffff';
    const tags = (svg: string) => svg.match(/<\w+/g)?.sort() ?? [];
    const [svg, plain] = [ladder({}, hostile), ladder()].map((one) => asSvg(pictureOf(one, 900, text))) as [string, string];
    expect(tags(svg)).toEqual(tags(plain));
    expect(svg).not.toMatch(/[\u0000\u202e\uffff]/);
    expect(escaped(`<&>"'`)).toBe('&lt;&amp;&gt;&quot;&#39;');
  });
});
