// What the page of retention asks the server.

import { get, put, remove } from '../../lib/api';
import { searchTime } from '../../lib/time';
import type { DeletionList, HoldList, KeepRule, Retention, Rule, RuleList } from '../../lib/types';

export function retention(signal: AbortSignal): Promise<Retention> {
  return get('/retention', { signal });
}

export function rules(signal: AbortSignal): Promise<RuleList> {
  return get('/rules', { signal });
}

/** Replaces all rules by these, if they are still of that version. */
export function setRules(version: string, list: KeepRule[]): Promise<RuleList> {
  return put('/rules', { body: { version, rules: list } });
}

export function deletions(signal: AbortSignal): Promise<DeletionList> {
  return get('/retention/deletions', { query: { limit: 100 }, signal });
}

export function holds(signal: AbortSignal): Promise<HoldList> {
  return get('/holds', { signal });
}

export function release(id: string, name: string): Promise<unknown> {
  return remove('/calls/{id}/holds/{case}', { path: { id, case: name } });
}

/** A search for the calls that were recorded as a rule has it, since the rules were read. Records do not name the rule. */
export function recordedAs(rule: Rule, sinceUs: number): string {
  const recorded = { nothing: 'none', everything: 'full' }[rule.keep] ?? rule.keep;
  return `recorded:${recorded} began>${searchTime(sinceUs)}`;
}
