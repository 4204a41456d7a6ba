import { describe, expect, it } from 'vitest';
import type { Note } from '../../lib/types';
import { at, interval, stream } from '../testing';
import {
  boxes, formatZoom, jitterPath, parseZoom, pieceAt, roundTop, ticks, usAt, wavePath, wholeSpan, xOf,
} from './chart';
import { degradedSeconds, lossPct, missingPct, streamPieces, whyNoMos } from './pieces';

const axis = { from_us: at(0), until_us: at(100), width: 1000 };

describe('pieces of a stream', () => {
  it('cover all of its time, and the last is as long as it was', () => {
    const one = stream(5, 38, { intervals: [interval(5), interval(25, { lost: 50 }), interval(35)] });
    expect(streamPieces(one).map((piece) => [(piece.from_us - at(0)) / 1e6, (piece.until_us - at(0)) / 1e6, piece.kind])).toEqual([
      [5, 15, 'good'], [15, 25, 'nothing'], [25, 35, 'lost'], [35, 38, 'good'],
    ]);
    expect(streamPieces(stream(5, 5))).toEqual([]);
  });

  it('count late packets as missing', () => {
    expect(missingPct(interval(0, { packets: 90, lost: 10, discarded: 5 }))).toBe(15);
    expect(missingPct(interval(0, { packets: 0, lost: 0 }))).toBe(0);
  });

  it('add up to degraded seconds over streams', () => {
    const bad = stream(0, 15, { intervals: [interval(0, { lost: 5, packets: 495 }), interval(10)] });
    const late = stream(0, 20, { intervals: [interval(0, { discarded: 4 }), interval(10, { discarded: 5 })] });
    expect(degradedSeconds([bad, late])).toEqual({ seconds: 20, of: 35 });
    expect(degradedSeconds([])).toEqual({ seconds: 0, of: 0 });
  });

  it('say why they have no MOS', () => {
    const none = interval(0, { mos: null });
    expect(whyNoMos(stream(0, 9), interval(0))).toBeNull();
    expect(whyNoMos(stream(0, 9), null)).toBe('nothing');
    expect(whyNoMos(stream(0, 9), interval(0, { mos: null, packets: 0 }))).toBe('nothing');
    expect(whyNoMos(stream(0, 9), none)).toBe('too_few');
    expect(whyNoMos(stream(0, 9, { codec: null, mos: null }), none)).toBe('unknown_codec');
    expect(whyNoMos(stream(0, 9, { codec: 'H264', mos: null }), none)).toBe('no_model');
    const note = (code: Note['code']) => [{ code, direction: null, since_us: null, value: null, threshold: null, evidence: '' }];
    expect(whyNoMos(stream(0, 9, { mos: null, notes: note('encrypted') }), none)).toBe('encrypted');
    expect(whyNoMos(stream(0, 9, { mos: null, notes: note('fax') }), none)).toBe('fax');
  });

  it('know the loss of the whole', () => {
    expect(lossPct(stream(0, 1, { unique: 277, lost: 61 }))).toBeCloseTo(18.05, 2);
    expect(lossPct(stream(0, 1, { unique: 0, lost: 0 }))).toBe(0);
  });
});

describe('the axis', () => {
  it('turns times into places and back', () => {
    expect(xOf(axis, at(25))).toBe(250);
    expect(usAt(axis, 250)).toBe(at(25));
    expect([usAt(axis, -9), usAt(axis, 2000)]).toEqual([at(0), at(100)]);
    expect(xOf({ ...axis, until_us: axis.from_us }, at(3))).toBe(0);
  });

  it('has round times that do not run into each other', () => {
    expect(ticks(axis, at(-3)).ticks.map((tick) => (tick.us - at(-3)) / 1e6)).toEqual([10, 20, 30, 40, 50, 60, 70, 80, 90, 100]);
    expect(ticks({ ...axis, width: 200 }, at(0)).ticks.length).toBe(2);
    expect(ticks({ ...axis, until_us: at(0.5) }, at(0)).digits).toBe(2);
    expect(ticks({ ...axis, until_us: at(1e7) }, at(0)).ticks.length).toBeLessThanOrEqual(200);
  });

  it('spans every stream', () => {
    expect(wholeSpan([stream(3, 9), stream(1, 4)], null)).toEqual({ from_us: at(1), until_us: at(9) });
    expect(wholeSpan([stream(3, 3)], null)).toEqual({ from_us: at(3), until_us: at(4) });
    expect(wholeSpan([], null)).toBeNull();
  });

  it('is zoomed by the address', () => {
    expect(parseZoom('12.5-30')).toEqual({ from_s: 12.5, until_s: 30 });
    for (const wrong of [null, '', '5', '5-5', '9-3', 'a-b', '1-2-3']) expect(parseZoom(wrong), String(wrong)).toBeNull();
    expect(parseZoom(formatZoom(1.239, 4))).toEqual({ from_s: 1.24, until_s: 4 });
  });
});

describe('lines and bars', () => {
  it('show the worst of the pieces that share a pixel', () => {
    const intervals = Array.from({ length: 6_000 }, (_, index) => interval(index * 10, index === 3_001 ? { lost: 400 } : {}));
    const found = boxes(stream(0, 60_000, { intervals }), { from_us: at(0), until_us: at(60_000), width: 500 });
    expect(found.length).toBeLessThanOrEqual(1_000);
    expect(found.some((box) => box.piece.interval?.lost === 400)).toBe(true);
  });

  it('leave out what is not on the axis', () => {
    const one = stream(0, 40, { intervals: [0, 10, 20, 30].map((start) => interval(start)) });
    const found = boxes(one, { from_us: at(12), until_us: at(28), width: 160 });
    expect(found.map((box) => [box.x, box.width])).toEqual([[0, 80], [80, 80]]);
  });

  it('have a hole where nothing came', () => {
    const one = stream(0, 60, { intervals: [interval(0), interval(10), interval(40), interval(50)] });
    expect(jitterPath(one, axis, 20, 10).match(/M/g)).toHaveLength(2);
  });

  it('have a scale that is round', () => {
    expect([0, 3, 20, 21, 99_000].map((value) => roundTop(value, 10))).toEqual([10, 10, 20, 50, 99_000]);
  });

  it('find the piece under the pointer', () => {
    const one = stream(0, 20, { intervals: [interval(0), interval(10, { lost: 9 })] });
    expect(pieceAt(one, at(15))?.interval?.lost).toBe(9);
    expect(pieceAt(one, at(25))).toBeNull();
  });

  it('draw a waveform with a column a pixel', () => {
    const peaks = Array.from({ length: 2_000 }, (): [number, number] => [-0.5, 0.5]);
    const track = { direction: 'caller_to_callee' as const, first_us: at(0), seconds: 100, peaks };
    const path = wavePath(track, { ...axis, width: 100 }, 40);
    expect(path.match(/L/g)?.length).toBeLessThanOrEqual(200);
    expect(path.endsWith('Z')).toBe(true);
    const half = wavePath(track, { ...axis, width: 100 }, 40, { first_us: at(50), last_us: at(100) });
    expect(half.startsWith('M50')).toBe(true);
    expect(wavePath({ ...track, peaks: [] }, axis, 40)).toBe('');
    expect(wavePath(track, { from_us: at(500), until_us: at(600), width: 100 }, 40)).toBe('');
  });
});
