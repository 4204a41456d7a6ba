// The calls before and after this one in the list from which it was opened: the list's search and order are in the
// address of the call, so that whoever opens that address has the same neighbours.

import { api } from '../lib/api';

interface Page {
  calls: { id: string }[];
  next: string | null;
}

const LIMIT = 200;
const PAGES = 5;

let known: { list: string; ids: string[]; cursor: string | null; pages: number } | null = null;

/** The id of the call `by` places further. Null at the ends, and undefined where the call is not in the list's first. */
export async function neighbour(
  id: string,
  by: 1 | -1,
  q: string,
  sort: string,
  ask: typeof api = api,
): Promise<string | null | undefined> {
  const list = `${q}\n${sort}`;
  // An older list may lack what came since.
  if (known?.list !== list || !known.ids.includes(id)) known = { list, ids: [], cursor: null, pages: 0 };
  const lookedAt = known;
  for (;;) {
    const at = lookedAt.ids.indexOf(id);
    const ended = lookedAt.pages > 0 && lookedAt.cursor === null;
    const found = at < 0 ? undefined : lookedAt.ids[at + by];
    if (found !== undefined) return found;
    if (at >= 0 && (by < 0 || ended)) return null;
    if (ended || lookedAt.pages >= PAGES) return at < 0 ? undefined : null;
    const page = await ask<Page>('/calls', { query: { q, sort, limit: LIMIT, cursor: lookedAt.cursor } });
    lookedAt.ids.push(...page.calls.map((call) => call.id));
    lookedAt.cursor = page.next;
    lookedAt.pages += 1;
  }
}
