// Plays a call in progress: pieces of sound come as events, Web Audio plays one behind the other. An audio element would
// keep seconds of it back before it plays.

import { ApiError, openStream } from '../../lib/api';
import { EventReader, pieceOf, startOf, type Piece } from './live';
import type { Heard, Problem } from '../../lib/types';
import type { Side } from './player.svelte';

/** Why it has ended: a name of the catalogue below `call.hear.end`. */
export interface End {
  reason: string;
  detail: string;
}

export class LivePlayer {
  /** Asked to listen, until it ends. */
  listening = $state(false);
  /** What is recorded of the call now; empty before the first event. */
  state = $state('');
  /** Seconds between the wire and the ear. */
  delay = $state<number | null>(null);
  lacking = $state<string[]>([]);
  end = $state<End | null>(null);
  problem = $state<Problem | null>(null);
  sides = $state<[Side, Side]>([
    { direction: 'caller_to_callee', muted: false, level: 1 },
    { direction: 'callee_to_caller', muted: false, level: 1 },
  ]);
  /** Samples that were played, for tests. */
  played = 0;

  private context: AudioContext | null = null;
  private gains: GainNode[] = [];
  private next = 0;
  private stopping: AbortController | null = null;

  constructor(private readonly id: string) {}

  /** Listens until the call ends, or `close`. Web Audio may only begin when somebody presses something. */
  async listen(): Promise<void> {
    if (this.listening) return;
    const stopping = (this.stopping = new AbortController());
    [this.listening, this.state, this.delay, this.end, this.problem] = [true, '', null, null, null];
    this.open();
    try {
      const body = await openStream('/calls/{id}/sound.live', { path: { id: this.id } }, stopping.signal);
      await this.read(body.getReader());
      this.end ??= { reason: 'lost', detail: '' };
    } catch (error) {
      if (stopping.signal.aborted) return;
      if (error instanceof ApiError) this.problem = error.problem;
      else this.end = { reason: 'lost', detail: '' };
    } finally {
      if (this.stopping === stopping) this.listening = false;
    }
  }

  private async read(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
    const [events, text] = [new EventReader(), new TextDecoder()];
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      for (const event of events.push(text.decode(part.value, { stream: true }))) this.take(event);
    }
  }

  private take(data: string): void {
    const heard = JSON.parse(data) as Heard;
    if (heard.end) {
      this.end = { reason: heard.end.reason, detail: heard.end.detail ?? '' };
      return;
    }
    this.state = heard.state;
    this.lacking = heard.lacking;
    this.play(pieceOf(heard));
  }

  private open(): void {
    if (this.context) return;
    const context = new AudioContext({ latencyHint: 'interactive' });
    // Each side has a level of its own, the caller on the left.
    this.gains = this.sides.map((_, channel) => {
      const [gain, panner] = [context.createGain(), context.createStereoPanner()];
      panner.pan.value = channel === 0 ? -1 : 1;
      gain.connect(panner).connect(context.destination);
      return gain;
    });
    this.context = context;
    this.apply();
  }

  private play({ sides, rate, delay }: Piece): void {
    const context = this.context;
    const count = sides[0].length;
    if (!context || count === 0) return;
    const at = startOf(this.next, context.currentTime);
    if (at === null) return;
    sides.forEach((samples, channel) => {
      const gain = this.gains[channel];
      if (!gain) return;
      const buffer = context.createBuffer(1, count, rate);
      buffer.copyToChannel(samples, 0);
      const source = context.createBufferSource();
      source.buffer = buffer;
      source.connect(gain);
      source.start(at);
    });
    this.next = at + count / rate;
    this.played += count;
    this.delay = delay === null ? null : delay + (this.next - context.currentTime);
  }

  /** Levels as they are set. */
  apply(): void {
    this.sides.forEach((side, channel) => {
      const gain = this.gains[channel]?.gain;
      if (gain && this.context) gain.setTargetAtTime(side.muted ? 0 : side.level, this.context.currentTime, 0.01);
    });
  }

  close(): void {
    this.stopping?.abort();
    this.stopping = null;
    this.listening = false;
    void this.context?.close();
    [this.context, this.gains, this.next] = [null, [], 0];
  }
}
