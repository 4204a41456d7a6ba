// What the page of people and tokens asks the server.

import { get, patch, post, remove } from '../../lib/api';
import type { Limit, NewPerson, PersonChanges, PersonList, Role } from '../../lib/types';

export const ROLES: Role[] = ['viewer', 'engineer', 'quality', 'auditor', 'officer', 'administrator'];

export function people(signal: AbortSignal): Promise<PersonList> {
  return get('/people', { signal });
}

/** The password has to be changed at the first log-in. */
export function addPerson(body: NewPerson): Promise<unknown> {
  return post('/people', { body });
}

export function changePerson(name: string, body: PersonChanges): Promise<unknown> {
  return patch('/people/{name}', { path: { name }, body });
}

/** For somebody who has lost the phone: the login asks for no code any more. */
export function removeTotpOf(name: string): Promise<unknown> {
  return remove('/people/{name}/totp', { path: { name } });
}

/** For somebody who has lost the device. */
export function removePasskeysOf(name: string): Promise<unknown> {
  return remove('/people/{name}/passkeys', { path: { name } });
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
