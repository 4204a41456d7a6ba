// A ladder as text, and as Mermaid: what is shown, for a ticket or a document.

import { shown } from '../../lib/wire';
import { labelOf } from './label';
import { differenceText, timeText, type TimeBase } from './times';
import type { Column } from './columns';
import type { Row } from './rows';

export interface Shown {
  /** Those that are not hidden, in their order. */
  columns: Column[];
  places: number[];
  rows: Row[];
  base: TimeBase;
  /** Names of the legs, empty where there is only one. */
  legs: string[];
  /** Text of a remark, in the reader's language. */
  remark: (row: Row) => string;
}

/** Distance of lifelines: enough for the longest label with an arrow. */
const NARROWEST = 16;
const WIDEST = 44;

export function asText(ladder: Shown): string {
  const { columns, rows, legs } = ladder;
  const labels = rows.map((row) => labelText(row, ladder));
  const titles = columns.map((column) => shown(column.title));
  // Remarks and outages stand beside the lifelines.
  const arrows = labels.filter((_, at) => !isBeside(rows[at]));
  const longest = Math.max(...arrows.map(width), ...titles.map(width), 0);
  const gap = Math.min(Math.max(longest + 6, NARROWEST), WIDEST);
  const times = rows.map((row, at) => timeText(row.time_us, rows[at - 1]?.time_us ?? null, ladder.base));
  const differences = rows.map((row, at) => differenceText(row.time_us, rows[at - 1]?.time_us ?? null));
  const [wide, wider] = [Math.max(...times.map(width), 0), Math.max(...differences.map(width), 0)];
  const before = (at: number) =>
    `${(times[at] ?? '').padStart(wide)}  ${(differences[at] ?? '').padStart(wider)}  ` +
    (legs.length > 0 ? `${legs[rows[at]?.leg ?? -1] ?? ' '} ` : '');
  const margin = wide + wider + 4 + (legs.length > 0 ? 2 : 0);
  const first = Math.ceil(width(titles[0] ?? '') / 2);
  const out = [heading(titles, margin, first, gap)];
  rows.forEach((row, at) => {
    const line = arrowLine(row, ladder.places, columns.length, gap, labels[at] ?? '', first);
    out.push((before(at) + line).trimEnd());
    for (const detail of row.below) {
      const bars = lifelines(columns.length, gap, first);
      const column = isBeside(row) ? columns.length - 1 : Math.min(...ends(row, ladder.places));
      const start = first + column * gap + (isBeside(row) ? 4 : 3);
      out.push((' '.repeat(margin) + overlay(bars, shown(detail), start)).trimEnd());
    }
  });
  return `${out.join('\n')}\n`;
}

function labelText(row: Row, ladder: Shown): string {
  if (row.kind === 'message') {
    const times = row.message.retransmissions + 1;
    return times > 1 ? `${labelOf(row.message)} x ${times}` : labelOf(row.message);
  }
  return ladder.remark(row);
}

/** Whether it is between no two hosts. */
function isBeside(row: Row | undefined): boolean {
  return row?.kind === 'remark' || row?.kind === 'outage';
}

function ends(row: Row, places: number[]): [number, number] {
  if (row.kind === 'remark' || row.kind === 'outage') return [0, 0];
  const { from, to } = row.kind === 'message' ? row.message : row.band;
  return [places[from] ?? 0, places[to] ?? 0];
}

function heading(titles: string[], margin: number, first: number, gap: number): string {
  let line = ' '.repeat(margin);
  titles.forEach((title, at) => {
    const begin = margin + first + at * gap - Math.floor(width(title) / 2);
    line = `${line}${' '.repeat(Math.max(begin - width(line), line.trim() === '' ? 0 : 1))}${title}`;
  });
  return line.trimEnd();
}

function lifelines(count: number, gap: number, first: number): string {
  return ' '.repeat(first) + Array.from({ length: count }, () => '│').join(' '.repeat(gap - 1));
}

function overlay(line: string, text: string, at: number): string {
  const letters = Array.from(line);
  const put = Array.from(text);
  while (letters.length < at) letters.push(' ');
  letters.splice(at, put.length, ...put);
  return letters.join('');
}

function arrowLine(row: Row, places: number[], count: number, gap: number, label: string, first: number): string {
  const bars = lifelines(count, gap, first);
  const mark = row.kind === 'outage' ? (row.ends ? '▲' : '▼') : '●';
  if (isBeside(row)) return overlay(bars, `${mark} ${label}`, first + (count - 1) * gap + 2);
  const [from, to] = ends(row, places);
  if (from === to) return overlay(bars, `↺ ${label}`, first + from * gap + 2);
  const [low, high] = [Math.min(from, to), Math.max(from, to)];
  const room = (high - low) * gap - 1;
  const fill = row.kind === 'media' ? '═' : '─';
  const letters = Array.from(label);
  const text = ` ${letters.length > room - 4 ? `${letters.slice(0, room - 5).join('')}…` : label} `;
  const spare = room - 1 - width(text);
  const body = fill.repeat(Math.floor(spare / 2)) + text + fill.repeat(spare - Math.floor(spare / 2));
  return overlay(bars, to > from ? `${body}▶` : `◀${body}`, first + low * gap + 1);
}

function width(text: string): number {
  return Array.from(text).length;
}

/** A sequence diagram in the language of Mermaid. */
export function asMermaid(ladder: Shown): string {
  const out = ['sequenceDiagram'];
  ladder.columns.forEach((column, at) => out.push(`  participant h${at} as ${mermaidText(column.title)}`));
  ladder.rows.forEach((row, at) => {
    const [from, to] = ends(row, ladder.places);
    const time = timeText(row.time_us, ladder.rows[at - 1]?.time_us ?? null, ladder.base);
    const leg = ladder.legs[row.leg];
    const label = mermaidText(`${leg ? `${leg} ` : ''}${labelText(row, ladder)}`);
    const details = row.below.map((line) => `<br/>${mermaidText(line)}`).join('');
    if (row.kind === 'remark' || row.kind === 'outage') {
      const over = `h0${ladder.columns.length > 1 ? `,h${ladder.columns.length - 1}` : ''}`;
      out.push(`  Note over ${over}: ${time} ${label}${details}`);
    } else {
      const arrow = row.kind === 'media' ? '-)' : row.message.code === null ? '->>' : '-->>';
      out.push(`  h${from}${arrow}h${to}: ${time} ${label}${details}`);
    }
  });
  return `${out.join('\n')}\n`;
}

/** Mermaid reads `;` and line ends as the end of a statement, `#` as the beginning of a code, `<` as markup. */
function mermaidText(text: string): string {
  const safe = shown(text).replace(/[#;<>&"%{}:]/g, (mark) => (mark === ':' ? mark : `#${mark.charCodeAt(0)};`));
  return /^end$/i.test(safe.trim()) ? `(${safe})` : safe;
}
