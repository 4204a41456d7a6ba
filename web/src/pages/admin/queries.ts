// What the page of people and tokens asks the server.

import { api } from '../../lib/api';

export const ROLES = ['viewer', 'engineer', 'quality', 'auditor', 'officer', 'administrator'] as const;
export type Role = (typeof ROLES)[number];

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

export interface PersonChange {
  role?: string;
  disabled?: boolean;
  /** Another first password: it has to be changed at the next log-in. */
  password?: string;
  /** Both or none: empty lists do not limit. */
  trunks?: string[];
  numbers?: string[];
}

export function people(signal: AbortSignal): Promise<{ people: Person[] }> {
  return api('/people', { signal });
}

/** The password has to be changed at the first log-in. */
export function addPerson(body: {
  name: string;
  role: string;
  password: string;
  trunks: string[];
  numbers: string[];
}): Promise<unknown> {
  return api('/people', { method: 'POST', body });
}

export function changePerson(name: string, body: PersonChange): Promise<unknown> {
  return api(`/people/${encodeURIComponent(name)}`, { method: 'PATCH', body });
}

/** A list as people write it: words with commas or spaces between them. */
export function listOf(text: string): string[] {
  return text.split(/[\s,;]+/).filter((word) => word !== '');
}

/** A first password: 20 letters and digits that are not mistaken for each other, 100 bits. */
export function makePassword(): string {
  const letters = [...crypto.getRandomValues(new Uint8Array(20))].map((byte) => LETTERS[byte % LETTERS.length]);
  return letters.join('').replace(/(.{5})(?=.)/g, '$1-');
}

/** 32 of them, so that each is as likely. */
const LETTERS = 'abcdefghijkmnpqrstuvwxyz23456789';

/** What somebody is limited to, in words; an empty text where there is no limit. */
export function scopeText(scope: Limit[] | null | undefined): string {
  const texts = (scope ?? []).map((limit) => [...(limit.trunks ?? []), ...(limit.numbers ?? [])].join(', '));
  return texts.filter((text) => text !== '').join('; ');
}
