// What the page of problems asks the server: what went wrong in a time, and of each kind of problem when and where.

import { termOf } from '../../lib/search';
import type { CallSummary } from '../../lib/types';
import { summary } from '../calls/queries';
import { groupsOf, SPANS, type Detail, type Group, type Span } from './view';

/** Fields by which a problem may lie in one place. */
export const PLACES = ['trunk_from', 'trunk_to', 'codec', 'ua', 'ip'] as const;

export interface Overview {
  all: CallSummary;
  groups: Group[];
}

/** All calls of a time, and the groups of those with a problem, the largest first. */
export async function overview(span: Span, signal: AbortSignal): Promise<Overview> {
  const began = `began:-${span}`;
  const [all, failed] = await Promise.all([
    summary(began, ['note', ...PLACES], signal),
    summary(`state:[failed,timeout] ${began}`, ['code', 'state'], signal),
  ]);
  return { all, groups: groupsOf(all, failed) };
}

/** When the calls of a group began, in twice the time; and in the time itself, what they have in common. */
export async function detail(group: Group, span: Span, signal: AbortSignal): Promise<Detail> {
  const before = await summary(`${group.term} began:-${SPANS[span].twice}`, [], signal);
  const here = await summary(`${group.term} began:-${span}`, [...PLACES], signal);
  return { bars: before.time, calls: here.calls, facets: here.facets, complete: before.coverage.complete && here.coverage.complete };
}

/** A search for the calls of a group, or for those of them that lie in one place. */
export function callsOf(group: Group, span: Span, place?: { field: string; value: string }): string {
  return [group.term, `began:-${span}`, ...(place ? [termOf(place.field, place.value)] : [])].join(' ');
}
