// The lanes of the media tab: positions on one axis of time, and the lines and bars that are drawn on it.

import { streamPieces, type StreamPiece } from './pieces';
import type { PeaksAnswer } from '../answers';
import type { Stream } from '../../lib/types';

/** The time that is shown, and the width that it is drawn on. */
export interface Axis {
  from_us: number;
  until_us: number;
  width: number;
}

export function xOf(axis: Axis, us: number): number {
  const span = axis.until_us - axis.from_us;
  return span <= 0 ? 0 : ((us - axis.from_us) / span) * axis.width;
}

export function usAt(axis: Axis, x: number): number {
  const share = axis.width <= 0 ? 0 : Math.min(Math.max(x / axis.width, 0), 1);
  return Math.round(axis.from_us + share * (axis.until_us - axis.from_us));
}

/** From the first packet of any stream to the last, at least a second. */
export function wholeSpan(streams: Stream[], peaks: PeaksAnswer | null): { from_us: number; until_us: number } | null {
  const starts = [...streams.map((one) => one.first_us), ...(peaks?.tracks ?? []).map((one) => one.first_us)];
  const ends = [
    ...streams.map((one) => one.last_us),
    ...(peaks?.tracks ?? []).map((one) => one.first_us + one.seconds * 1e6),
  ];
  if (starts.length === 0) return null;
  const from_us = Math.min(...starts);
  return { from_us, until_us: Math.max(...ends, from_us + 1_000_000) };
}

const STEPS_S = [
  0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200,
];

export interface Tick {
  us: number;
  x: number;
}

/** Round times since `zero_us`, at least `apart` pixels from each other. */
export function ticks(axis: Axis, zero_us: number, apart = 90): { ticks: Tick[]; digits: number } {
  const span = (axis.until_us - axis.from_us) / 1e6;
  const least = (span * apart) / Math.max(axis.width, 1);
  const step = STEPS_S.find((one) => one >= least) ?? 86_400;
  const found: Tick[] = [];
  for (let at = Math.ceil((axis.from_us - zero_us) / 1e6 / step); found.length < 200; at += 1) {
    const us = Math.round(zero_us + at * step * 1e6);
    if (us > axis.until_us) break;
    found.push({ us, x: xOf(axis, us) });
  }
  return { ticks: found, digits: step >= 1 ? 0 : step >= 0.1 ? 1 : 2 };
}

export interface Box {
  x: number;
  width: number;
  /** The worst piece in it, where several share a pixel. */
  piece: StreamPiece;
}

/** One box for each piece that is on the axis; pieces narrower than a pixel are shown by the worst of them. */
export function boxes(stream: Stream, axis: Axis): Box[] {
  const found: Box[] = [];
  for (const piece of streamPieces(stream)) {
    if (piece.until_us <= axis.from_us || piece.from_us >= axis.until_us) continue;
    const from = Math.max(xOf(axis, piece.from_us), 0);
    const until = Math.min(xOf(axis, piece.until_us), axis.width);
    const last = found.at(-1);
    if (last && Math.floor(last.x) === Math.floor(from) && until - last.x < 1.5) {
      if (piece.missing_pct > last.piece.missing_pct) last.piece = piece;
      last.width = Math.max(until - last.x, 1);
    } else found.push({ x: from, width: Math.max(until - from, 1), piece });
  }
  return found;
}

/** The mean jitter of each piece as steps, with holes where nothing came. `top` is the value at the upper edge. */
export function jitterPath(stream: Stream, axis: Axis, height: number, top: number): string {
  let path = '';
  let pen = false;
  for (const piece of streamPieces(stream)) {
    if (!piece.interval || piece.interval.packets === 0) {
      pen = false;
      continue;
    }
    const y = tenth(height - Math.min(piece.interval.jitter_ms / top, 1) * height);
    path += `${pen ? 'L' : 'M'}${tenth(xOf(axis, piece.from_us))} ${y}H${tenth(xOf(axis, piece.until_us))}`;
    pen = true;
  }
  return path;
}

/** Bars of a share in percent, `top` being the value at the upper edge. */
export function barPath(found: Box[], height: number, top: number, value: (piece: StreamPiece) => number): string {
  return found
    .filter((box) => value(box.piece) > 0)
    .map(({ x, width, piece }) => {
      const tall = Math.max(Math.min(value(piece) / top, 1) * height, 2);
      return `M${tenth(x)} ${height}v${tenth(-tall)}h${tenth(Math.max(width - 0.5, 1))}v${tenth(tall)}z`;
    })
    .join('');
}

/** Marks that stay readable for most calls, and grow for the worst: the next of a few round values. */
export function roundTop(value: number, least: number): number {
  for (const one of [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000]) {
    if (one >= least && one >= value) return one;
  }
  return Math.ceil(value);
}

/** The waveform as one closed path around the middle, one column a pixel at most; within a span where one is given. */
export function wavePath(
  track: PeaksAnswer['tracks'][number],
  axis: Axis,
  height: number,
  within: { first_us: number; last_us: number } = { first_us: -Infinity, last_us: Infinity },
): string {
  const count = track.peaks.length;
  if (count === 0 || track.seconds <= 0) return '';
  const each_us = (track.seconds * 1e6) / count;
  const middle = height / 2;
  const columns: [number, number, number][] = [];
  const [from_us, until_us] = [Math.max(axis.from_us, within.first_us), Math.min(axis.until_us, within.last_us)];
  const first = Math.max(Math.floor((from_us - track.first_us) / each_us), 0);
  const last = Math.min(Math.ceil((until_us - track.first_us) / each_us), count);
  for (let at = first; at < last; at += 1) {
    const [low, high] = track.peaks[at] ?? [0, 0];
    const x = xOf(axis, track.first_us + (at + 0.5) * each_us);
    const before = columns.at(-1);
    if (before && Math.floor(before[0]) === Math.floor(x)) {
      before[1] = Math.min(before[1], low);
      before[2] = Math.max(before[2], high);
    } else columns.push([x, low, high]);
  }
  if (columns.length === 0) return '';
  const y = (value: number) => tenth(middle - Math.min(Math.max(value, -1), 1) * (middle - 1));
  const upper = columns.map(([x, , high]) => `${tenth(x)} ${y(high)}`).join('L');
  const lower = [...columns].reverse().map(([x, low]) => `${tenth(x)} ${y(low)}`).join('L');
  return `M${upper}L${lower}Z`;
}

function tenth(value: number): number {
  return Math.round(value * 10) / 10;
}

/** The piece in which a time lies. */
export function pieceAt(stream: Stream, us: number): StreamPiece | null {
  return streamPieces(stream).find((piece) => us >= piece.from_us && us <= piece.until_us) ?? null;
}

/** `12.5-30` in seconds since the start of the call; null where it is no span. */
export function parseZoom(text: string | null): { from_s: number; until_s: number } | null {
  const match = /^(-?\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(text ?? '');
  const [from_s, until_s] = [Number(match?.[1]), Number(match?.[2])];
  return match && until_s - from_s >= 0.05 ? { from_s, until_s } : null;
}

export function formatZoom(from_s: number, until_s: number): string {
  return `${Number(from_s.toFixed(2))}-${Number(until_s.toFixed(2))}`;
}
