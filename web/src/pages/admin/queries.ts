// What the page of people and tokens asks the server.

import { api } from '../../lib/api';
import type { Right } from '../../lib/types';

export const ROLES = ['viewer', 'engineer', 'quality', 'auditor', 'officer', 'administrator'] as const;
export type Role = (typeof ROLES)[number];

export const RIGHTS: Right[] = [
  'search', 'signalling', 'numbers', 'listen', 'export', 'hold', 'rules', 'administer', 'audit',
];

/** Calls that somebody is limited to: all limits hold; in each, one of the trunks and one of the numbers. */
export interface Limit {
  trunks: string[] | null;
  numbers: string[] | null;
}

export interface Person {
  name: string;
  role: string;
  scope: Limit[];
  disabled: boolean;
  must_change: boolean;
  totp: boolean;
  created_us: number | null;
  last_login_us: number | null;
}

export interface Token {
  person: string;
  name: string;
  rights: string[];
  scope: Limit[];
  created_us: number;
  expires_us: number;
  used_us: number | null;
}

export interface PersonChange {
  role?: string;
  scope?: Limit[];
  disabled?: boolean;
  password?: string;
}

export function people(signal: AbortSignal): Promise<{ people: Person[] }> {
  return api('/people', { signal });
}

/** The password of the answer, where the server made one, is told nowhere else. */
export function addPerson(
  body: { name: string; role: string; scope: Limit[]; password?: string },
): Promise<{ password?: string }> {
  return api('/people', { method: 'POST', body });
}

export function changePerson(name: string, body: PersonChange): Promise<unknown> {
  return api(`/people/${encodeURIComponent(name)}`, { method: 'PATCH', body });
}

export function removePerson(name: string): Promise<unknown> {
  return api(`/people/${encodeURIComponent(name)}`, { method: 'DELETE' });
}

export function tokens(signal: AbortSignal): Promise<{ tokens: Token[] }> {
  return api('/tokens', { signal });
}

/** The text of the token is told nowhere else. */
export function makeToken(body: { name: string; rights: string[]; expires_us: number }): Promise<{ token: string }> {
  return api('/tokens', { method: 'POST', body });
}

export function revokeToken(token: Token): Promise<unknown> {
  return api('/tokens', { method: 'DELETE', query: { person: token.person, name: token.name } });
}

/** A list as people write it: words with commas or spaces between them. */
export function listOf(text: string): string[] {
  return text.split(/[\s,;]+/).filter((word) => word !== '');
}

/** What somebody is limited to, from two lists: nothing in either is no limit. */
export function scopeOf(trunks: string, numbers: string): Limit[] {
  const limit = { trunks: listOf(trunks), numbers: listOf(numbers) };
  if (limit.trunks.length === 0 && limit.numbers.length === 0) return [];
  const orNull = (list: string[]) => (list.length > 0 ? list : null);
  return [{ trunks: orNull(limit.trunks), numbers: orNull(limit.numbers) }];
}

/** The same in words; an empty text where there is no limit. */
export function scopeText(scope: Limit[] | null | undefined): string {
  const texts = (scope ?? []).map((limit) => [...(limit.trunks ?? []), ...(limit.numbers ?? [])].join(', '));
  return texts.filter((text) => text !== '').join('; ');
}
