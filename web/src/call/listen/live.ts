// What the server sends of a call in progress: events, and in them samples of both sides.

import type { Heard } from '../../lib/types';

/** A piece of sound, ready for Web Audio. */
export interface Piece {
  /** Seconds since its last sample was on the wire; null where the server cannot tell. */
  delay: number | null;
  rate: number;
  /** The caller's samples and the callee's, as many, -1 to 1. */
  sides: [Float32Array<ArrayBuffer>, Float32Array<ArrayBuffer>];
}

/** Reads the data of server-sent events out of text that comes in any pieces. */
export class EventReader {
  private rest = '';

  push(text: string): string[] {
    const blocks = (this.rest + text).split('\n\n');
    this.rest = blocks.pop() ?? '';
    const lines = blocks.map((block) => block.split('\n').filter((line) => line.startsWith('data:')));
    return lines.map((data) => data.map((line) => line.slice(5).trim()).join('\n')).filter((data) => data !== '');
  }
}

/** The samples in an event. */
export function pieceOf(heard: Heard): Piece {
  const bytes = Uint8Array.from(atob(heard.samples), (character) => character.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  const count = Math.floor(bytes.length / 4);
  const sides: Piece['sides'] = [new Float32Array(count), new Float32Array(count)];
  sides.forEach((side, channel) => {
    for (let at = 0; at < count; at += 1) side[at] = view.getInt16(4 * at + 2 * channel, true) / 32_768;
  });
  return {
    delay: typeof heard.delay_ms === 'number' ? heard.delay_ms / 1000 : null,
    rate: heard.rate,
    sides,
  };
}

/** Between what came and what is heard, so that a late piece is no gap. */
const AHEAD = 0.2;
/** More than this waits: the page was asleep. What is old is left out. */
const MOST = 0.8;

/**
 * When a piece begins to play, by the clock of the output: behind the one before, or a little later than now where that has
 * passed. `null`: it is left out.
 */
export function startOf(next: number, now: number): number | null {
  if (next < now + 0.01) return now + AHEAD;
  return next > now + MOST ? null : next;
}
