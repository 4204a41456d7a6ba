// What is shown, into files and onto the clipboard.

import { asSvg, LARGEST_SIDE, paint, type Drawing } from './drawing';

export function save(name: string, data: Blob): void {
  const address = URL.createObjectURL(data);
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  // The browser has taken what it needs once the click is done.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

export function saveSvg(name: string, drawing: Drawing): void {
  save(name, new Blob([asSvg(drawing)], { type: 'image/svg+xml' }));
}

/** Two pixels for each of the drawing's, fewer where a canvas cannot be so large. */
export function pngScale(drawing: Drawing): number {
  return Math.min(2, LARGEST_SIDE / drawing.height, LARGEST_SIDE / drawing.width);
}

/** Below this, letters cannot be read: such a ladder is saved as SVG. */
export const READABLE = 0.75;

export async function savePng(name: string, drawing: Drawing): Promise<void> {
  const scale = pngScale(drawing);
  const canvas = document.createElement('canvas');
  canvas.width = Math.ceil(drawing.width * scale);
  canvas.height = Math.ceil(drawing.height * scale);
  const context = canvas.getContext('2d');
  if (!context) throw new Error('This browser gives no canvas of that size: save the ladder as SVG');
  paint(drawing, context, scale);
  const data = await new Promise<Blob | null>((done) => canvas.toBlob(done, 'image/png'));
  if (!data) throw new Error('This browser could not write the picture: save the ladder as SVG');
  save(name, data);
}
