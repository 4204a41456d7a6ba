// An answer of the server on its way: what is shown while it is not there, and what becomes of it.
//
// Nothing is shown for 300 ms; then the shape of what will come; after 2 s what is being done, and a way to stop it.

import { untrack } from 'svelte';
import { asProblem, isAbort } from './api';
import type { Problem } from './types';

export type Waiting = 'no' | 'quiet' | 'shape' | 'words';

const SHAPE_AFTER_MS = 300;
const WORDS_AFTER_MS = 2000;

export class Answer<T> {
  /** The last answer. While another is on its way it is still that of the request before. */
  value = $state.raw<T | null>(null);
  problem = $state.raw<Problem | null>(null);
  waiting = $state<Waiting>('no');
  /** The viewer stopped it. */
  stopped = $state(false);

  private running: AbortController | null = null;
  private timers: ReturnType<typeof setTimeout>[] = [];

  /**
   * Asks; a request under way is stopped. Where `keep` is false, the answer before is forgotten at once. An effect that
   * calls this depends on what `ask` reads before it first waits, not on the answer.
   */
  async load(ask: (signal: AbortSignal) => Promise<T>, keep = false): Promise<void> {
    const controller = untrack(() => this.begin(keep));
    try {
      const value = await ask(controller.signal);
      if (this.running !== controller) return;
      this.value = value;
      this.problem = null;
    } catch (error) {
      if (this.running !== controller || isAbort(error)) return;
      this.problem = asProblem(error);
    }
    this.end();
  }

  private begin(keep: boolean): AbortController {
    this.end();
    const controller = new AbortController();
    this.running = controller;
    this.stopped = false;
    this.waiting = 'quiet';
    if (!keep) {
      this.value = null;
      this.problem = null;
    }
    this.timers = [
      setTimeout(() => (this.waiting = 'shape'), SHAPE_AFTER_MS),
      setTimeout(() => (this.waiting = 'words'), WORDS_AFTER_MS),
    ];
    return controller;
  }

  /** The viewer does not want to wait longer. */
  stop(): void {
    if (!this.running) return;
    this.end();
    this.stopped = true;
  }

  /** Ends the request under way, if there is one: `$effect(() => () => answer.end())`. */
  end(): void {
    const running = this.running;
    this.running = null;
    this.timers.forEach(clearTimeout);
    this.timers = [];
    this.waiting = 'no';
    running?.abort();
  }
}
