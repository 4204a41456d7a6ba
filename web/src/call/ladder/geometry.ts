// Where the columns of a ladder stand, on the screen and in its pictures.

export interface Geometry {
  /** Width of the column with times. */
  time: number;
  /** Width of the column with differences; 0 where there is no room for it. */
  difference: number;
  /** Width of the column with the letters of legs; 0 where there is one leg. */
  leg: number;
  /** Where the lifelines' area begins. */
  gutter: number;
  /** Distance of two lifelines. */
  gap: number;
  /** From the edges of the area to the outer lifelines. */
  side: number;
  /** Of all. */
  width: number;
  /** Horizontal position of a column's lifeline within the area. */
  x: (place: number) => number;
}

export interface Room {
  width: number;
  columns: number;
  legs: boolean;
  /** Times by the clock are longer. */
  clock: boolean;
}

const NARROW = 640;
const NARROWEST_GAP = 116;
const NARROW_GAP = 136;
const WIDEST_GAP = 440;

export function geometry({ width, columns, legs, clock }: Room): Geometry {
  const narrow = width < NARROW;
  const time = clock ? 96 : narrow ? 60 : 78;
  const difference = narrow ? 0 : 68;
  const leg = legs ? 24 : 0;
  const gutter = time + difference + leg;
  const side = narrow ? 58 : 84;
  const least = narrow ? NARROWEST_GAP : NARROW_GAP;
  const spaces = Math.max(columns - 1, 1);
  const gap = Math.min(Math.max((width - gutter - 2 * side) / spaces, least), WIDEST_GAP);
  const needed = gutter + 2 * side + gap * Math.max(columns - 1, 0);
  const x = (place: number) => side + place * gap;
  return { time, difference, leg, gutter, gap, side, width: Math.max(needed, width), x };
}

/** An arrow from one column to another, or back to the same one. */
export interface Arrow {
  from: number;
  to: number;
  /** 1 points right. */
  way: 1 | -1;
  /** It begins and ends at the same lifeline. */
  turn: boolean;
  /** Where the label may stand. */
  label: { left: number; width: number };
}

const TURN_LABEL = 200;

export function arrowOf(from: number, to: number, shape: Geometry, columns: number): Arrow {
  const [x1, x2] = [shape.x(from), shape.x(to)];
  if (from === to) {
    // At the last lifeline there is room on the left.
    const way = from > 0 && from === columns - 1 ? -1 : 1;
    const width = Math.max(Math.min(columns > 1 ? shape.gap - 36 : TURN_LABEL, TURN_LABEL), 60);
    const left = way > 0 ? x1 + 28 : x1 - 28 - width;
    return { from: x1, to: x1, way, turn: true, label: { left, width } };
  }
  const way = x2 > x1 ? 1 : -1;
  const left = Math.min(x1, x2) + 8;
  return { from: x1, to: x2, way, turn: false, label: { left, width: Math.abs(x2 - x1) - 16 } };
}

/** Where the words about a host stand: beside its lifeline where there is room, otherwise across all of the area. */
export interface Beside {
  left: number;
  width: number;
  align: 'start' | 'middle' | 'end';
}

const WORDS = 420;
const BESIDE = 10;

export function besideOf(place: number, shape: Geometry): Beside {
  const area = shape.width - shape.gutter;
  const x = shape.x(place);
  const room = Math.max(x, area - x) - BESIDE;
  if (room < WORDS) return { left: 0, width: area, align: 'middle' };
  return x >= area / 2 ? { left: 0, width: room, align: 'end' } : { left: x + BESIDE, width: room, align: 'start' };
}
