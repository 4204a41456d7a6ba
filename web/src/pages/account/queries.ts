// What the page of one's own account asks the server.

import { api } from '../../lib/api';
import type { Right } from '../../lib/types';

export interface Token {
  person: string;
  name: string;
  rights: string[];
  created_us: number;
  expires_us: number;
  used_us: number | null;
}

/** One's own. */
export function tokens(signal: AbortSignal): Promise<{ tokens: Token[] }> {
  return api('/tokens', { signal });
}

/** The text of the token is told nowhere else. */
export function makeToken(body: { name: string; rights: string[]; days: number }): Promise<{ token: string }> {
  return api('/tokens', { method: 'POST', body });
}

export function revokeToken(name: string): Promise<unknown> {
  return api(`/tokens/${encodeURIComponent(name)}`, { method: 'DELETE' });
}

export const RIGHTS: Right[] = [
  'search', 'signalling', 'numbers', 'listen', 'export', 'hold', 'rules', 'administer', 'audit',
];
