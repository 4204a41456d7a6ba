import { describe, expect, it } from 'vitest';
import { EventReader, pieceOf, startOf } from './live';

describe('a call in progress', () => {
  it('is read in whatever pieces its events come', () => {
    const text = 'event: sound\ndata: {"a":1}\n\n: still there\n\nevent: sound\ndata: {"b":2}\n\n';
    for (const size of [1, 3, 7, text.length]) {
      const reader = new EventReader();
      const events: string[] = [];
      for (let at = 0; at < text.length; at += size) events.push(...reader.push(text.slice(at, at + size)));
      expect(events).toEqual(['{"a":1}', '{"b":2}']);
    }
  });

  it('has the caller and the callee in turn', () => {
    const bytes = new Uint8Array(new Int16Array([16_384, -32_768, -16_384, 0]).buffer);
    const samples = btoa(String.fromCharCode(...bytes));
    const piece = pieceOf({ state: 'recorded', delay_ms: 900, rate: 8000, samples, lacking: [] });
    expect([...piece.sides[0]]).toEqual([0.5, -0.5]);
    expect([...piece.sides[1]]).toEqual([-1, 0]);
    expect([piece.delay, piece.rate]).toEqual([0.9, 8000]);
  });

  it('plays one piece behind the other, begins anew after a gap, and leaves out what is too old', () => {
    expect(startOf(0, 5)).toBe(5.2);
    expect(startOf(5.3, 5)).toBe(5.3);
    expect(startOf(6, 5)).toBeNull();
  });
});
