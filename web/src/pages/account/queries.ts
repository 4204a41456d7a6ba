// What the page of one's own account asks the server.

import { get, post, remove } from '../../lib/api';
import type {
  MadeToken, NewPasskey, NewToken, OwnPassword, OwnSessions, Passkey, PasskeyList, PasskeyOptions, Person, Right, TokenList, TotpSecret,
} from '../../lib/types';

export function account(signal: AbortSignal): Promise<Person> {
  return get('/account', { signal });
}

/** What is changed of how one logs in needs the password again, and a code where there is one. */
export function beginTotp(body: OwnPassword): Promise<TotpSecret> {
  return post('/account/totp', { body });
}

/** Recovery codes, which are told nowhere else. */
export async function confirmTotp(code: string): Promise<string[]> {
  return (await post('/account/totp/confirm', { body: { code } })).recovery_codes;
}

export async function renewCodes(body: OwnPassword): Promise<string[]> {
  return (await post('/account/recovery-codes', { body })).recovery_codes;
}

export function removeTotp(body: OwnPassword): Promise<unknown> {
  return post('/account/totp/remove', { body });
}

export function passkeys(signal: AbortSignal): Promise<PasskeyList> {
  return get('/account/passkeys', { signal });
}

export function beginPasskey(body: OwnPassword): Promise<PasskeyOptions> {
  return post('/account/passkeys/begin', { body });
}

export function addPasskey(body: NewPasskey): Promise<Passkey> {
  return post('/account/passkeys', { body });
}

export function removePasskey(number: number, body: OwnPassword): Promise<unknown> {
  return post('/account/passkeys/{number}/remove', { path: { number }, body });
}

export function sessions(signal: AbortSignal): Promise<OwnSessions> {
  return get('/account/sessions', { signal });
}

export function endSession(number: number): Promise<unknown> {
  return remove('/account/sessions/{number}', { path: { number } });
}

export function endOtherSessions(): Promise<unknown> {
  return remove('/account/sessions');
}

/** One's own. */
export function tokens(signal: AbortSignal): Promise<TokenList> {
  return get('/tokens', { signal });
}

/** The text of the token is told nowhere else. */
export function makeToken(body: NewToken): Promise<MadeToken> {
  return post('/tokens', { body });
}

export function revokeToken(name: string): Promise<unknown> {
  return remove('/tokens/{name}', { path: { name } });
}

export const RIGHTS: Right[] = [
  'search', 'signalling', 'numbers', 'listen', 'export', 'hold', 'rules', 'administer', 'audit',
];
