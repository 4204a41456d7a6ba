// What the list does while it is idle, so that a click on one of its calls need wait for the call alone.

import { whenIdle } from '../../lib/idle';
import { preload } from '../../lib/routes';

/**
 * Loads the page of a call and rehearses it. The call itself is asked for by the click: the audit log says who looked.
 * Returns what ends it.
 */
export function prepareCall(): () => void {
  let isOver = false;
  let end = whenIdle(() => void load());

  async function load(): Promise<void> {
    await preload('call');
    // Where it cannot be loaded, the click says so.
    const rehearsal = await import('../../call/rehearsal').catch(() => null);
    if (rehearsal && !isOver) end = rehearsal.rehearse();
  }

  return () => {
    isOver = true;
    end();
  };
}
