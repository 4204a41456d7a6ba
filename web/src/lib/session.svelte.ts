// Who is at the page, and what they may do.

import { ApiError, get, post, remove, asProblem, whenUnauthorised } from './api';
import { logInByPasskey } from './passkey';
import { back, leave } from './provider';
import type { About, Problem, Right, Session } from './types';

class Present {
  /** Undefined until the server has said whether there is a session; null where there is none. */
  session = $state<Session | null | undefined>(undefined);
  about = $state<About | null>(null);
  problem = $state<Problem | null>(null);
  /** Why the identity provider, from which the browser comes back, has let nobody in. */
  refused = $state<string | null>(null);
  /** Paths of the server's API, by its own document; null where it does not publish one. */
  paths = $state.raw<Set<string> | null>(null);
  /** Whether anybody has asked who is logged in. */
  hasBegun = false;

  may(right: Right): boolean {
    return this.session?.rights.includes(right) ?? false;
  }

  /** Whether the server has this part of the API, such as `/calls/{id}`. True where it does not say. */
  has(path: string): boolean {
    return this.paths === null || this.paths.has(path);
  }

  async begin(): Promise<void> {
    this.hasBegun = true;
    this.problem = null;
    this.refused = back() ?? this.refused;
    try {
      this.session = await get('/session');
      if (!this.session.must_change_password) void this.look();
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) this.session = null;
      else this.problem = asProblem(error);
    }
  }

  async logIn(name: string, password: string, code: string): Promise<void> {
    const body = code === '' ? { name, password } : { name, password, code };
    this.session = await post('/session', { body });
    void this.look();
  }

  /** Throws what the browser throws where the person does not want to. */
  async logInByPasskey(): Promise<void> {
    this.session = await logInByPasskey();
    void this.look();
  }

  /** Leaves the page for the identity provider, which sends the browser back. */
  async logInByProvider(): Promise<void> {
    leave((await post('/session/provider/begin')).location);
  }

  /** The server ends all sessions of the person and begins a new one. */
  async changePassword(name: string, password: string, code: string, new_password: string): Promise<void> {
    const body = { name, password, new_password, ...(code === '' ? {} : { code }) };
    this.session = await post('/session', { body });
    void this.look();
  }

  async logOut(): Promise<void> {
    if (!this.session?.by_provider) {
      await remove('/session');
      this.session = null;
      return;
    }
    const { location: away } = await post('/session/provider/end');
    this.session = null;
    if (away) location.assign(away);
  }

  private async look(): Promise<void> {
    const [about, document] = await Promise.all([get('/about').catch(() => null), openApi()]);
    this.about = about;
    this.paths = document;
  }
}

export const present = new Present();

whenUnauthorised(() => {
  if (present.session) present.session = null;
});

async function openApi(): Promise<Set<string> | null> {
  try {
    const response = await fetch('/openapi.json', { headers: { Accept: 'application/json' } });
    if (!response.ok) return null;
    const document = (await response.json()) as { paths?: Record<string, unknown> };
    if (!document.paths) return null;
    return new Set(Object.keys(document.paths).map((path) => path.replace(/^\/api\/v1/, '')));
  } catch {
    return null;
  }
}
