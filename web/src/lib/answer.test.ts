import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Answer } from './answer.svelte';
import { ApiError } from './api';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A question that is answered when told so. */
function question<T>(): { ask: (signal: AbortSignal) => Promise<T>; answer: (value: T) => void; signals: AbortSignal[] } {
  const signals: AbortSignal[] = [];
  let answer: (value: T) => void = () => {};
  const ask = (signal: AbortSignal) =>
    new Promise<T>((resolve, reject) => {
      signals.push(signal);
      answer = resolve;
      signal.addEventListener('abort', () => reject(signal.reason));
    });
  return { ask, answer: (value) => answer(value), signals };
}

describe('an answer', () => {
  it('shows nothing at first, then its shape, then words', async () => {
    const answer = new Answer<number>();
    const { ask, answer: say } = question<number>();
    const done = answer.load(ask);
    expect(answer.waiting).toBe('quiet');
    vi.advanceTimersByTime(299);
    expect(answer.waiting).toBe('quiet');
    vi.advanceTimersByTime(1);
    expect(answer.waiting).toBe('shape');
    vi.advanceTimersByTime(1700);
    expect(answer.waiting).toBe('words');
    say(5);
    await done;
    expect([answer.waiting, answer.value]).toEqual(['no', 5]);
  });

  it('that is stopped says so, and ends the request', async () => {
    const answer = new Answer<number>();
    const { ask, signals } = question<number>();
    const done = answer.load(ask);
    answer.stop();
    await done;
    expect([answer.stopped, answer.waiting, answer.problem]).toEqual([true, 'no', null]);
    expect(signals[0]!.aborted).toBe(true);
  });

  it('is that of the last question, however late the one before comes', async () => {
    const answer = new Answer<number>();
    let late: (value: number) => void = () => {};
    const first = answer.load(() => new Promise<number>((resolve) => (late = resolve)));
    await answer.load(async () => 2);
    late(1);
    await first;
    expect(answer.value).toBe(2);
  });

  it('stays in sight while it is asked for again, where it is to be kept', async () => {
    const answer = new Answer<number>();
    await answer.load(async () => 1);
    void answer.load(() => new Promise(() => {}), true);
    expect(answer.value).toBe(1);
    void answer.load(() => new Promise(() => {}));
    expect(answer.value).toBeNull();
    answer.end();
  });

  it('has the problem where there is one', async () => {
    const answer = new Answer<number>();
    await answer.load(async () => Promise.reject(new ApiError({ type: 't', title: 'T', status: 403 })));
    expect(answer.problem).toMatchObject({ status: 403 });
    await answer.load(async () => Promise.reject(new Error('a mistake of the page')));
    expect(answer.problem).toMatchObject({ type: '/problems/page', detail: 'a mistake of the page' });
    await answer.load(async () => 1);
    expect(answer.problem).toBeNull();
  });
});
