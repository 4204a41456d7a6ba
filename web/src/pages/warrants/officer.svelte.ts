// The officer or auditor who is at the pages of warrants: somebody of the register, not of the console. Nothing of the
// register is in the address, but numbers of warrants, and nothing of it is in what a browser stores.

import { ApiError, asProblem, get, post, remove, whenOfficerGone } from '../../lib/api';
import type { OfficerSession, Problem } from '../../lib/types';

class PresentOfficer {
  /** Undefined until the server has said whether there is a session; null where there is none. */
  session = $state.raw<OfficerSession | null | undefined>(undefined);
  problem = $state.raw<Problem | null>(null);
  /** The session has ended by itself. */
  hasEnded = $state(false);
  /** The reason that was given last. */
  why = $state('');

  private idle: ReturnType<typeof setTimeout> | undefined;

  get isOfficer(): boolean {
    return this.session?.role === 'officer';
  }

  async begin(): Promise<void> {
    this.problem = null;
    try {
      this.welcome(await get('/warrants/session'));
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) this.session = null;
      else this.problem = asProblem(error);
    }
  }

  async logIn(name: string, passphrase: string): Promise<void> {
    this.welcome(await post('/warrants/session', { body: { name, passphrase } }));
  }

  /** The server ends all other sessions of the person. */
  async changePassphrase(present: string, passphrase: string): Promise<void> {
    this.welcome(await post('/warrants/session/passphrase', { body: { present, passphrase } }));
  }

  async logOut(): Promise<void> {
    try {
      await remove('/warrants/session');
    } finally {
      // Whatever the server answers, nothing is shown any more.
      this.leave(false);
    }
  }

  /** Waits for an answer to something that the person does: from then on nobody is idle. */
  async active<T>(answer: Promise<T>): Promise<T> {
    const value = await answer;
    this.stay();
    return value;
  }

  /** What was on the page is gone from its memory with the components that had it. */
  leave(hasEnded: boolean): void {
    clearTimeout(this.idle);
    this.session = null;
    this.why = '';
    this.hasEnded = hasEnded;
  }

  private welcome(session: OfficerSession): void {
    this.session = session;
    this.hasEnded = false;
    this.stay();
  }

  /** The page hides what it shows when the session has ended at the server. */
  private stay(): void {
    clearTimeout(this.idle);
    const seconds = this.session?.idle_s;
    if (seconds !== undefined) this.idle = setTimeout(() => this.leave(true), seconds * 1000);
  }
}

export const officer = new PresentOfficer();

whenOfficerGone(() => {
  if (officer.session) officer.leave(true);
});
