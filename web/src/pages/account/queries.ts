// What the page of one's own account asks the server.

import { get, post, remove } from '../../lib/api';
import type { MadeToken, NewToken, Right, TokenList } from '../../lib/types';

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
