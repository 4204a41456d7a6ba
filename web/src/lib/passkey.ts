// Passkeys: what the server and the browser say to each other. Bytes travel in base64url.

import { post } from './api';
import type { NewPasskey, PasskeyOptions, Session } from './types';

/** Whether the browser can have passkeys for this page: it has them for names, not for addresses. */
export function canUsePasskeys(hostname = location.hostname): boolean {
  return typeof PublicKeyCredential !== 'undefined' && isSecureContext && !isAddress(hostname);
}

export function isAddress(hostname: string): boolean {
  return hostname.includes(':') || hostname.startsWith('[') || /^\d{1,3}(\.\d{1,3}){3}$/.test(hostname);
}

export function toBase64Url(bytes: ArrayBuffer): string {
  const text = btoa(String.fromCharCode(...new Uint8Array(bytes)));
  return text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

export function fromBase64Url(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (letter) => letter.charCodeAt(0));
}

/** Has the browser make a passkey. Throws `NotAllowedError` where the person did not want to. */
export async function makePasskey(options: PasskeyOptions): Promise<Omit<NewPasskey, 'name'>> {
  const made = (await navigator.credentials.create({
    publicKey: {
      challenge: fromBase64Url(options.challenge),
      rp: { id: options.site, name: `ringtap ${options.site}` },
      user: { id: fromBase64Url(options.user_handle), name: options.user, displayName: options.user },
      pubKeyCredParams: options.algorithms.map((alg) => ({ type: 'public-key', alg })),
      excludeCredentials: options.known.map((id) => ({ type: 'public-key', id: fromBase64Url(id) })),
      authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
      attestation: 'none',
      timeout: TIMEOUT_MS,
    },
  })) as PublicKeyCredential;
  const response = made.response as AuthenticatorAttestationResponse;
  return {
    client_data: toBase64Url(response.clientDataJSON),
    authenticator_data: toBase64Url(response.getAuthenticatorData()),
  };
}

/** Logs in by a passkey that the person chooses. Throws `NotAllowedError` where the person did not want to. */
export async function logInByPasskey(): Promise<Session> {
  const { challenge, site } = await post('/session/passkey/begin');
  const given = (await navigator.credentials.get({
    publicKey: { challenge: fromBase64Url(challenge), rpId: site, userVerification: 'required', timeout: TIMEOUT_MS },
  })) as PublicKeyCredential;
  const response = given.response as AuthenticatorAssertionResponse;
  const body = {
    credential: toBase64Url(given.rawId),
    client_data: toBase64Url(response.clientDataJSON),
    authenticator_data: toBase64Url(response.authenticatorData),
    signature: toBase64Url(response.signature),
    user_handle: toBase64Url(response.userHandle ?? new ArrayBuffer(0)),
  };
  return post('/session/passkey', { body });
}

/** The person closed the browser's question, or it took too long. */
export function isUnwanted(error: unknown): boolean {
  return error instanceof DOMException && (error.name === 'NotAllowedError' || error.name === 'AbortError');
}

/** The authenticator has a passkey for this account already. */
export function isKnownAlready(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'InvalidStateError';
}

/** A challenge of the server is valid for 5 minutes. */
const TIMEOUT_MS = 240_000;
