import { describe, expect, it } from 'vitest';
import { answer, at, band, call, interval, request, SDP, sip, stream } from '../testing';
import { ARROW, barsOf, detailsOf, heightAt, LINE, ROW, rowAt, rowsOf, visibleRows, type RowOptions } from './rows';
import { barPaths, barPieces, kindBetween, reportPlaces, stripOf } from './strip';

const options: RowOptions = { sdp: 'none', places: [0, 1, 2], hiddenLegs: new Set() };
const hosts = [1, 2, 3].map((host) => ({ address: `192.0.2.${host}`, name: null }));
const messages = [request('INVITE', 0, 1, 0), answer(200, 'INVITE', 1, 0, 1), request('BYE', 0, 1, 30)];
const ladder = { hosts, messages, media: [band(0, 1, 1, 29)], reason: null };

describe('rows', () => {
  it('are messages, streams and digits in order of time', () => {
    const digits = ['1', '2'].map((digit, index) => ({ digit, source: 'rfc4733' as const, time_us: at(5 + index) }));
    const notes = ([
      { code: 'hold', since_us: at(10) }, { code: 'loss', since_us: at(11) }, { code: 'hold', since_us: null },
    ] as const).map((note) => ({ ...note, direction: null, value: null, threshold: null, evidence: 'x' }));
    const { rows, height } = rowsOf(ladder, [call({ dtmf: digits, notes })], [stream(1, 29)], options);
    // Messages stand before streams of the same moment; digits with nothing between them are one line.
    expect(rows.map((row) => (row.kind === 'remark' ? `${row.code} ${row.text}` : row.kind))).toEqual([
      'message', 'message', 'media', 'dtmf 1 2', 'hold x', 'message',
    ]);
    expect(height).toBe(rows.reduce((sum, row) => sum + row.height, 0));
  });

  it('leave out hidden hosts and legs, and say how many', () => {
    const hidden = rowsOf(ladder, [call()], [stream(1, 29)], { ...options, places: [0, -1, 1] });
    expect([hidden.rows.length, hidden.left_out]).toEqual([0, 3]);
    const legs = rowsOf(ladder, [call()], [stream(1, 29)], { ...options, hiddenLegs: new Set([0]) });
    expect([legs.rows.length, legs.left_out]).toEqual([0, 3]);
  });

  it('have as much of the session description as was asked for', () => {
    const raw = sip('INVITE sip:2@y SIP/2.0', { 'Content-Type': 'application/sdp' }, SDP);
    const offer = request('INVITE', 0, 1, 0, { raw });
    expect(detailsOf(offer, 'none')).toEqual([]);
    expect(detailsOf(offer, 'brief')).toEqual(['audio 192.0.2.1:4000 PCMU telephone-event']);
    expect(detailsOf({ ...offer, detail: ['server'] }, 'brief')).toEqual(['server']);
    expect(detailsOf(offer, 'full')).toEqual(SDP);
    // A reason is no session description: it is always there.
    const bye = request('BYE', 0, 1, 0, { detail: ['Reason: Q.850 16'] });
    for (const sdp of ['none', 'brief', 'full'] as const) expect(detailsOf(bye, sdp)).toEqual(bye.detail);
    const { rows } = rowsOf({ ...ladder, messages: [offer], media: [] }, [], [], { ...options, sdp: 'full' });
    expect(rows[0]?.height).toBe(ROW + SDP.length * LINE);
  });
});

describe('what is drawn of many rows', () => {
  const many = Array.from({ length: 5_000 }, (_, index) => request('OPTIONS', 0, 1, index));
  const { rows } = rowsOf({ ...ladder, messages: many, media: [] }, [], [], options);

  it('is what can be seen, and a few on either side', () => {
    expect(visibleRows(rows, 0, 340, 0)).toEqual([0, 11]);
    expect(visibleRows(rows, 2_500 * ROW, 340, 8)).toEqual([2_492, 2_519]);
    expect(visibleRows(rows, 5_000 * ROW, 340, 8)).toEqual([4_991, 5_000]);
    expect(visibleRows([], 0, 340)).toEqual([0, 0]);
  });

  it('is found by its place', () => {
    for (const index of [0, 1, 777, 4_999]) expect(rowAt(rows, index * ROW + 3)).toBe(index);
    expect(rowAt(rows, -5)).toBe(0);
  });
});

describe('bars beside lifelines', () => {
  it('cover the rows of their time, and stand beside each other', () => {
    const media = [band(0, 1, 1, 29), band(0, 1, 2, 12), band(1, 0, 2, 29), band(0, 2, 12, 20)];
    const more = [...messages, request('INFO', 0, 1, 13)].sort((a, b) => a.time_us - b.time_us);
    const { rows } = rowsOf({ ...ladder, messages: more, media }, [], [], options);
    const bars = barsOf(rows, options.places);
    const top = (index: number) => (rows[index]?.top ?? 0) + ARROW;
    expect(bars.map((bar) => [bar.place, bar.side, bar.rank, bar.from])).toEqual([
      [0, 1, 0, top(2)], [0, 1, 1, top(3)], [1, -1, 0, top(4)], [0, 1, 2, top(5)],
    ]);
    // The second ends together with the line that begins at its end, the third 16 of 17 seconds after the INFO.
    expect(bars[1]?.until).toBe(top(5));
    expect(bars[2]?.until).toBeCloseTo(top(6) + (16 / 17) * (top(7) - top(6)));
  });

  it('end where the last row is, at the latest', () => {
    const { rows } = rowsOf({ ...ladder, media: [band(0, 1, 1, 99)] }, [], [], options);
    expect(heightAt(rows, at(99))).toBe((rows.at(-1)?.top ?? 0) + ARROW);
    expect(heightAt([], at(1))).toBe(0);
  });
});

describe('a strip', () => {
  const intervals = [interval(0), interval(10, { lost: 100 }), interval(30, { packets: 0, lost: 4 })];
  const one = stream(0, 40, { intervals });
  const whole = band(0, 1, 0, 40);

  it('is red where packets were lost and hatched where nothing came', () => {
    expect(stripOf(whole, one).map((piece) => [piece.kind, piece.from, piece.until])).toEqual([
      ['good', 0, 0.25], ['lost', 0.25, 0.5], ['nothing', 0.5, 0.75], ['nothing', 0.75, 1],
    ]);
    expect(kindBetween(one, whole, at(0), at(9))).toBe('good');
    expect(kindBetween(one, whole, at(9), at(11))).toBe('lost');
    expect(kindBetween(one, whole, at(21), at(22))).toBe('nothing');
  });

  it('turned upright is what flowed above and below the arrow of a row', () => {
    const three = [request('INVITE', 0, 1, 0), request('INFO', 0, 1, 12), request('BYE', 0, 1, 40)];
    const { rows } = rowsOf({ ...ladder, messages: three, media: [whole] }, [], [one], options);
    const [bar] = barsOf(rows, options.places);
    const kinds = rows.map((row, index) => barPieces(bar!, row, rows[index - 1]?.time_us ?? null, rows[index + 1]?.time_us ?? null)
      .map((piece) => piece.kind));
    // The stream begins with the INVITE; until the INFO a loss began, and it went on behind it.
    expect(kinds).toEqual([[], ['lost'], ['lost', 'lost'], ['lost']]);
    const pieces = barPieces(bar!, rows[2]!, at(0), at(40));
    expect(pieces.map((piece) => [piece.y, piece.height])).toEqual([[0, ARROW], [ARROW, ROW - ARROW]]);
    const d = `M102.5 0h3v${ARROW}h-3zM102.5 ${ARROW}h3v${ROW - ARROW}h-3z`;
    expect(barPaths([bar!], rows[2]!, at(0), at(40), () => 100)).toEqual([{ kind: 'lost', d }]);
  });

  it('knows the whole alone where there is no record of the stream', () => {
    expect(stripOf(band(0, 1, 0, 40, { lost_pct: 3 }), null)).toEqual([{ from: 0, until: 1, kind: 'lost', missing_pct: 3 }]);
    expect(stripOf(band(0, 1, 5, 5), one)).toHaveLength(1);
  });

  it('has reports in their place, and none of another time', () => {
    const reports = [-5, 10, 50].map((seconds) => ({ time_us: at(seconds) }) as never);
    expect(reportPlaces(whole, reports)).toEqual([0.25]);
  });
});
