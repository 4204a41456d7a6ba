// What the pages of warrants ask the server. Each look has a reason, which the register records before anything is shown.

import { post } from '../../lib/api';
import type { ActList, ActQuery, EnteredWarrant, NewExtension, NewOfficer, NewWarrant, OfficerList, Proposed, Verification, VerifiedRegister, WarrantList, WarrantQuery, WarrantRecord } from '../../lib/types';
import { officer } from './officer.svelte';

export function warrants(body: WarrantQuery, signal: AbortSignal): Promise<WarrantList> {
  return officer.active(post('/warrants/list', { body, signal }));
}

export function warrant(number: number, why: string, signal: AbortSignal): Promise<WarrantRecord> {
  return officer.active(post('/warrants/{number}/show', { path: { number }, body: { why }, signal }));
}

export function enter(body: NewWarrant): Promise<EnteredWarrant> {
  return officer.active(post('/warrants', { body }));
}

export function approve(number: number, hash: string): Promise<void> {
  return officer.active(post('/warrants/{number}/approve', { path: { number }, body: { hash } }));
}

export function extend(number: number, body: NewExtension): Promise<void> {
  return officer.active(post('/warrants/{number}/extend', { path: { number }, body }));
}

export function withdraw(number: number, why: string): Promise<void> {
  return officer.active(post('/warrants/{number}/withdraw', { path: { number }, body: { why } }));
}

export function note(number: number, text: string): Promise<void> {
  return officer.active(post('/warrants/{number}/notes', { path: { number }, body: { text } }));
}

export function acts(body: ActQuery, signal: AbortSignal): Promise<ActList> {
  return officer.active(post('/warrants/acts', { body, signal }));
}

export function verify(body: Verification, signal: AbortSignal): Promise<VerifiedRegister> {
  return officer.active(post('/warrants/verify', { body, signal }));
}

export function people(why: string, signal: AbortSignal): Promise<OfficerList> {
  return officer.active(post('/warrants/people/list', { body: { why }, signal }));
}

export function addPerson(body: NewOfficer): Promise<Proposed> {
  return officer.active(post('/warrants/people', { body }));
}

export function disablePerson(name: string): Promise<Proposed> {
  return officer.active(post('/warrants/people/disable', { body: { name } }));
}

export function confirmPerson(number: number): Promise<void> {
  return officer.active(post('/warrants/people/proposals/{number}/confirm', { path: { number } }));
}
