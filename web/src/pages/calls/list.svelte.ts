// The calls of a search, page by page. The last list is kept, so that Back finds it as it was,
// and the page of one call knows the calls beside it.

import { Answer } from '../../lib/answer.svelte';
import type { Call, CallPage, Coverage } from '../../lib/types';
import { calls as ask, type Search } from './queries';

export class CallList {
  calls = $state.raw<Call[]>([]);
  next = $state<string | null>(null);
  understood = $state('');
  coverage = $state.raw<Coverage | null>(null);
  first = new Answer<CallPage>();
  more = new Answer<CallPage>();
  /** How far the table was scrolled, and which row was chosen. */
  scroll = 0;
  chosen = $state(-1);

  constructor(readonly search: Search) {}

  async load(): Promise<void> {
    this.more.end();
    await this.first.load((signal) => this.page(null, signal));
  }

  /** The next page, where there is one and it is not on its way. */
  async loadMore(): Promise<void> {
    const cursor = this.next;
    if (cursor === null || this.more.waiting !== 'no' || this.more.problem) return;
    await this.more.load((signal) => this.page(cursor, signal));
  }

  end(): void {
    this.first.end();
    this.more.end();
  }

  /** Takes the page before anybody learns that it came: who then asks for the next one gets the next one. */
  private async page(cursor: string | null, signal: AbortSignal): Promise<CallPage> {
    const answer = await ask(this.search, cursor, signal);
    signal.throwIfAborted();
    if (cursor === null) this.calls = [];
    this.take(answer);
    return answer;
  }

  private take(answer: CallPage): void {
    const known = new Set(this.calls.map((call) => call.id));
    this.calls = [...this.calls, ...answer.calls.filter((call) => !known.has(call.id))];
    this.next = answer.next ?? null;
    this.understood = answer.understood;
    this.coverage = answer.coverage;
  }
}

let last: CallList | null = null;

/** The list of a search: the last one where it is the same and complete so far. */
export function listOf(search: Search): CallList {
  if (last && same(last.search, search) && last.first.value && !last.first.problem) return last;
  last = new CallList(search);
  return last;
}

function same(one: Search, other: Search): boolean {
  return one.q === other.q && one.sort === other.sort;
}

/** The calls before and behind a call in the list of a search; null at an end, or where it is not in the list. */
export async function neighbours(
  id: string,
  search: Search,
): Promise<{ previous: string | null; next: string | null }> {
  const list = listOf(search);
  if (!list.first.value) await list.load();
  const place = () => list.calls.findIndex((call) => call.id === id);
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const at = place();
    if ((at >= 0 && at < list.calls.length - 1) || list.next === null || list.more.problem) break;
    await list.loadMore();
  }
  const at = place();
  if (at < 0) return { previous: null, next: null };
  list.chosen = at;
  return { previous: list.calls[at - 1]?.id ?? null, next: list.calls[at + 1]?.id ?? null };
}

/** How far a link of a colleague is followed into a list. */
const MOST_PAGES = 10;
