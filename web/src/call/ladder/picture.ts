// The ladder as it is shown, as a drawing for SVG and PNG: the same columns, lines, times and details.

import { cut } from '../wire';
import { arrowOf, besideOf, geometry, type Geometry } from './geometry';
import { labelOf, stateOf } from './label';
import { barsOf, OUTAGE_LINE, outageSpans, placesHit, type MediaRow, type MessageRow, type OutageRow, type Row } from './rows';
import { bandLoss, barPieces, reportPlaces, strength, stripOf } from './strip';
import { differenceText, timeText } from './times';
import type { Shown } from './copy';
import type { Drawing, Shape } from './drawing';

const PAPER = '#ffffff';
const INK = '#1b1f24';
const DIM = '#5c646d';
const RULE = '#c8ced5';
const COLOURS = {
  request: INK,
  provisional: DIM,
  success: '#157a3c',
  redirect: '#9a6100',
  challenge: '#9a6100',
  failure: '#c0262d',
} as const;
const MEDIA = '#3a6ea5';
const LOST = '#c0262d';

const PAD = 16;
const HEAD = 44;
/** Width of a character of the sizes used here, for cutting labels. */
const LETTER = 6.6;

export interface PictureText {
  title: string;
  /** Lines below the title: what it shows. */
  heading: string[];
  /** `x 3`, in the reader's language. */
  times: (n: number) => string;
}

/** `width` is that of the sheet on the screen: columns stand as far apart as there. */
export function pictureOf(ladder: Shown, width: number, text: PictureText): Drawing {
  const count = ladder.columns.length;
  const clock = ladder.base.from === 'clock';
  const shape = geometry({ width, columns: count, legs: ladder.legs.length > 0, clock });
  const top = PAD + 22 + text.heading.length * 18 + HEAD;
  const last = ladder.rows.at(-1);
  const height = top + (last ? last.top + last.height : 0) + PAD;
  const shapes: Shape[] = [{ kind: 'rect', x: 0, y: 0, width: shape.width + 2 * PAD, height, fill: PAPER }];
  shapes.push(line(PAD, PAD + 14, text.title, INK, 'start', 14, true));
  text.heading.forEach((one, at) =>
    shapes.push(line(PAD, PAD + 34 + at * 18, cut(one, Math.floor(shape.width / LETTER)), DIM, 'start', 12)));
  const left = PAD + shape.gutter;
  columnShapes(shapes, ladder, shape, left, top, height);
  outageSpans(ladder.rows, last ? last.top + last.height : 0, ladder.places).forEach(({ place, from, until }) =>
    shapes.push({ kind: 'rect', x: left + shape.x(place) - 5, y: top + from, width: 10, height: until - from, fill: LOST, opacity: 0.4 }));
  barShapes(shapes, ladder, shape, left, top);
  ladder.rows.forEach((row, at) => {
    timeShapes(shapes, ladder, at, shape, top);
    rowShapes(shapes, row, ladder, shape, left, top, text);
  });
  return { width: shape.width + 2 * PAD, height, title: text.title, shapes };
}

function line(
  x: number,
  y: number,
  text: string,
  fill: string,
  anchor: 'start' | 'middle' | 'end',
  size: number,
  bold = false,
): Shape {
  return { kind: 'text', x, y, text, fill, anchor, size, bold };
}

function columnShapes(shapes: Shape[], ladder: Shown, shape: Geometry, left: number, top: number, end: number): void {
  ladder.columns.forEach((column, at) => {
    const x = left + shape.x(at);
    const most = Math.floor(Math.min(shape.gap, shape.side * 2) / LETTER);
    shapes.push(line(x, top - 24, cut(column.title, most), INK, 'middle', 12, true));
    const below = column.title === column.addresses[0] ? '' : column.addresses.join(' ');
    if (below) shapes.push(line(x, top - 10, cut(below, most), DIM, 'middle', 11));
    shapes.push({ kind: 'line', x1: x, y1: top - 4, x2: x, y2: end - PAD / 2, stroke: RULE, width: 1 });
  });
}

function timeShapes(shapes: Shape[], ladder: Shown, at: number, shape: Geometry, top: number): void {
  const row = ladder.rows[at];
  if (!row) return;
  const before = ladder.rows[at - 1]?.time_us ?? null;
  const y = top + row.top + 20;
  const text = timeText(row.time_us, before, ladder.base);
  shapes.push({ ...line(PAD + shape.time - 8, y, text, INK, 'end', 11), mono: true } as Shape);
  if (shape.difference > 0) {
    const x = PAD + shape.time + shape.difference - 8;
    shapes.push({ ...line(x, y, differenceText(row.time_us, before), DIM, 'end', 11), mono: true } as Shape);
  }
  const leg = ladder.legs[row.leg];
  if (shape.leg > 0 && leg) shapes.push(line(PAD + shape.gutter - 12, y, leg, DIM, 'middle', 11, true));
}

function rowShapes(
  shapes: Shape[],
  row: Row,
  ladder: Shown,
  shape: Geometry,
  left: number,
  top: number,
  text: PictureText,
): void {
  const y = top + row.top;
  if (row.kind === 'remark') {
    const x = left + shape.x((ladder.columns.length - 1) / 2);
    const words = `● ${ladder.remark(row)}`;
    shapes.push(clearing(x, y + 17, words), line(x, y + 17, words, INK, 'middle', 11));
  } else if (row.kind === 'outage') outageShapes(shapes, row, ladder, shape, left, y);
  else if (row.kind === 'media') mediaShapes(shapes, row, ladder, shape, left, y);
  else messageShapes(shapes, row, ladder, shape, left, y, text);
}

function outageShapes(shapes: Shape[], row: OutageRow, ladder: Shown, shape: Geometry, left: number, y: number): void {
  const beside = besideOf(placesHit(row.outage, ladder.places)[0] ?? 0, shape);
  const most = Math.max(Math.floor(beside.width / LETTER), 8);
  const at = y + OUTAGE_LINE;
  shapes.push({ kind: 'line', x1: left, y1: at, x2: PAD + shape.width, y2: at, stroke: LOST, width: 1, dashes: '2 3' });
  const say = (words: string, base: number, fill: string, size: number, bold: boolean) => {
    const text = cut(words, most);
    const half = letters(text) / 2;
    const middle = left + beside.left + { start: half, middle: beside.width / 2, end: beside.width - half }[beside.align];
    const x = { start: left + beside.left, middle, end: left + beside.left + beside.width }[beside.align];
    shapes.push(clearing(middle, base, text), line(x, base, text, fill, beside.align, size, bold));
  };
  say(`${row.ends ? '▲' : '▼'} ${ladder.remark(row)}`, y + 16, LOST, 12, true);
  row.below.forEach((detail, index) => say(detail, y + 33 + index * 15, DIM, 11, false));
}

function messageShapes(
  shapes: Shape[],
  row: MessageRow,
  ladder: Shown,
  shape: Geometry,
  left: number,
  y: number,
  text: PictureText,
): void {
  const { message } = row;
  const colour = COLOURS[stateOf(message)];
  const arrow = arrowOf(ladder.places[message.from] ?? 0, ladder.places[message.to] ?? 0, shape, ladder.columns.length);
  const sent = message.retransmissions + 1;
  const label = labelOf(message) + (sent > 1 ? `  ${text.times(sent)}` : '');
  arrowShapes(shapes, arrow, left, y + 25, colour, sent > 1 ? '5 3' : null);
  const middle = left + arrow.label.left + (arrow.turn ? 0 : arrow.label.width / 2);
  const cutLabel = cut(label, Math.max(Math.floor(arrow.label.width / LETTER), 4));
  shapes.push(clearing(arrow.turn ? middle + letters(cutLabel) / 2 : middle, y + 18, cutLabel));
  shapes.push(line(middle, y + 18, cutLabel, colour, arrow.turn ? 'start' : 'middle', 12));
  row.below.forEach((detail, at) => {
    const most = Math.max(Math.floor((shape.width - shape.gutter - arrow.label.left) / LETTER), 8);
    const x = left + arrow.label.left + 6;
    shapes.push({ ...line(x, y + 42 + at * 15, cut(detail, most), DIM, 'start', 10.5), mono: true } as Shape);
  });
}

function letters(text: string): number {
  return Array.from(text).length * LETTER;
}

/** Paper behind a label that stands across a lifeline. */
function clearing(middle: number, base: number, text: string): Shape {
  const width = letters(text) + 6;
  return { kind: 'rect', x: middle - width / 2, y: base - 12, width, height: 15, fill: PAPER };
}

function arrowShapes(
  shapes: Shape[],
  arrow: ReturnType<typeof arrowOf>,
  left: number,
  y: number,
  stroke: string,
  dashes: string | null,
): void {
  const [x1, x2] = [left + arrow.from, left + arrow.to];
  const piece = (a: number, b: number, c: number, d: number): Shape =>
    ({ kind: 'line', x1: a, y1: b, x2: c, y2: d, stroke, width: 1.4, ...(dashes ? { dashes } : {}) });
  if (arrow.turn) {
    const out = x1 + 20 * arrow.way;
    shapes.push(piece(x1, y - 10, out, y - 10), piece(out, y - 10, out, y), piece(out, y, x1, y));
    shapes.push(head(x1, y, -arrow.way as 1 | -1, stroke));
    return;
  }
  shapes.push(piece(x1, y, x2 - 6 * arrow.way, y), head(x2, y, arrow.way, stroke));
}

function head(x: number, y: number, way: 1 | -1, fill: string): Shape {
  return { kind: 'area', points: [[x, y], [x - 8 * way, y - 4], [x - 8 * way, y + 4]], fill };
}

function mediaShapes(shapes: Shape[], row: MediaRow, ladder: Shown, shape: Geometry, left: number, y: number): void {
  const { band, stream } = row;
  const arrow = arrowOf(ladder.places[band.from] ?? 0, ladder.places[band.to] ?? 0, shape, ladder.columns.length);
  const label = cut(ladder.remark(row), Math.max(Math.floor(arrow.label.width / LETTER), 4));
  const centre = left + arrow.label.left + arrow.label.width / 2;
  if (arrow.turn) {
    shapes.push(line(left + arrow.label.left, y + 18, label, MEDIA, 'start', 11));
    return;
  }
  const from = left + Math.min(arrow.from, arrow.to) + 10;
  const width = Math.abs(arrow.to - arrow.from) - 20;
  shapes.push({ kind: 'rect', x: from, y: y + 22, width, height: 6, fill: MEDIA, opacity: 0.35 });
  for (const piece of stripOf(band, stream)) {
    const [x, wide] = [from + piece.from * width, Math.max((piece.until - piece.from) * width, 1)];
    if (piece.kind === 'lost') {
      const opacity = strength(piece.missing_pct);
      shapes.push({ kind: 'rect', x, y: y + 22, width: wide, height: 6, fill: LOST, opacity });
    } else if (piece.kind === 'nothing') hatch(shapes, x, y + 22, wide, 6);
  }
  for (const at of reportPlaces(band, stream?.reports ?? [])) {
    const x = from + at * width;
    shapes.push({ kind: 'line', x1: x, y1: y + 20, x2: x, y2: y + 30, stroke: INK, width: 1 });
  }
  shapes.push(head(left + arrow.to - arrow.way, y + 25, arrow.way, MEDIA));
  const colour = (bandLoss(band, stream) ?? 0) >= 1 ? LOST : MEDIA;
  shapes.push(clearing(centre, y + 17, label), line(centre, y + 17, label, colour, 'middle', 11));
}

function hatch(shapes: Shape[], x: number, y: number, width: number, height: number): void {
  shapes.push({ kind: 'rect', x, y, width, height, fill: PAPER });
  for (let at = 0; at < width; at += 4) {
    const to = Math.min(x + at + height, x + width);
    shapes.push({ kind: 'line', x1: x + at, y1: y + height, x2: to, y2: y, stroke: DIM, width: 0.8 });
  }
}

function barShapes(shapes: Shape[], ladder: Shown, shape: Geometry, left: number, top: number): void {
  const { rows } = ladder;
  for (const bar of barsOf(rows, ladder.places)) {
    const x = left + shape.x(bar.place) + bar.side * (4 + bar.rank * 5) - 1.5;
    for (let at = bar.first; at <= bar.last; at += 1) {
      const row = rows[at];
      if (!row) continue;
      for (const piece of barPieces(bar, row, rows[at - 1]?.time_us ?? null, rows[at + 1]?.time_us ?? null)) {
        const [y, height] = [top + row.top + piece.y, piece.height];
        if (piece.kind === 'nothing') hatch(shapes, x, y, 3, height);
        else shapes.push({ kind: 'rect', x, y, width: 3, height, fill: piece.kind === 'lost' ? LOST : MEDIA });
      }
    }
  }
}
