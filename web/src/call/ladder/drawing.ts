// A drawing of a few kinds of shapes, written as SVG or painted on a canvas. Colours are literal, so that any viewer
// shows it; texts are escaped here and nowhere else.

import { shown } from '../../lib/wire';

export type Shape =
  | { kind: 'rect'; x: number; y: number; width: number; height: number; fill: string; opacity?: number }
  | { kind: 'line'; x1: number; y1: number; x2: number; y2: number; stroke: string; width: number; dashes?: string }
  | { kind: 'area'; points: [number, number][]; fill: string }
  | {
      kind: 'text';
      x: number;
      y: number;
      text: string;
      fill: string;
      anchor: 'start' | 'middle' | 'end';
      size: number;
      bold?: boolean;
      mono?: boolean;
    };

export interface Drawing {
  width: number;
  height: number;
  title: string;
  shapes: Shape[];
}

const SANS = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', sans-serif";
const MONO = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace";

export function asSvg(drawing: Drawing): string {
  const { width, height, title, shapes } = drawing;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
    `<title>${escaped(title)}</title>`,
    ...shapes.map(element),
    '</svg>',
    '',
  ].join('\n');
}

function element(shape: Shape): string {
  switch (shape.kind) {
    case 'rect': {
      const { x, y, width, height, fill, opacity } = shape;
      const see = opacity === undefined ? '' : ` fill-opacity="${short(opacity)}"`;
      return `<rect x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}" ` +
        `fill="${fill}"${see}/>`;
    }
    case 'line': {
      const { x1, y1, x2, y2, stroke, width, dashes } = shape;
      const dashed = dashes ? ` stroke-dasharray="${dashes}"` : '';
      return `<line x1="${short(x1)}" y1="${short(y1)}" x2="${short(x2)}" y2="${short(y2)}" stroke="${stroke}" ` +
        `stroke-width="${width}"${dashed}/>`;
    }
    case 'area':
      return `<polygon points="${shape.points.map((at) => at.map(short).join(',')).join(' ')}" fill="${shape.fill}"/>`;
    case 'text': {
      const { x, y, text, fill, anchor, size, bold, mono } = shape;
      const weight = bold ? ' font-weight="600"' : '';
      return `<text x="${short(x)}" y="${short(y)}" fill="${fill}" text-anchor="${anchor}" font-size="${size}"` +
        `${weight} font-family="${mono ? MONO : SANS}" xml:space="preserve">${escaped(text)}</text>`;
    }
  }
}

function short(value: number): string {
  return String(Math.round(value * 10) / 10);
}

/** Text for XML 1.0, which has no place for most control characters at all, not even escaped. */
export function escaped(text: string): string {
  return shown(text)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
    .replace(/[\ufffe\uffff]/g, '\ufffd');
}

/** What a canvas can hold in every browser, in pixels of one side. */
export const LARGEST_SIDE = 16_384;

/** Paints the drawing, `scale` pixels for each of its units, cut at the height that a canvas can hold. */
export function paint(drawing: Drawing, context: CanvasRenderingContext2D, scale: number): void {
  context.scale(scale, scale);
  for (const shape of drawing.shapes) paintOne(shape, context);
}

function paintOne(shape: Shape, context: CanvasRenderingContext2D): void {
  switch (shape.kind) {
    case 'rect':
      context.globalAlpha = shape.opacity ?? 1;
      context.fillStyle = shape.fill;
      context.fillRect(shape.x, shape.y, shape.width, shape.height);
      context.globalAlpha = 1;
      return;
    case 'line':
      context.strokeStyle = shape.stroke;
      context.lineWidth = shape.width;
      context.setLineDash(shape.dashes?.split(' ').map(Number) ?? []);
      context.beginPath();
      context.moveTo(shape.x1, shape.y1);
      context.lineTo(shape.x2, shape.y2);
      context.stroke();
      return;
    case 'area':
      context.fillStyle = shape.fill;
      context.beginPath();
      shape.points.forEach(([x, y]) => context.lineTo(x, y));
      context.fill();
      return;
    case 'text':
      context.fillStyle = shape.fill;
      context.font = `${shape.bold ? '600 ' : ''}${shape.size}px ${shape.mono ? MONO : SANS}`;
      context.textAlign = shape.anchor === 'middle' ? 'center' : shape.anchor;
      context.fillText(shown(shape.text), shape.x, shape.y);
  }
}
