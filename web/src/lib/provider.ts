// The way to the identity provider and back: it leads over other pages, so the address that somebody wanted to see waits in
// the browser.

import { go } from './address.svelte';

const WANTED = 'ringtap.wanted';

/** Goes to the identity provider. */
export function leave(to: string): void {
  try {
    sessionStorage.setItem(WANTED, location.pathname + location.search);
  } catch {
    // A browser that stores nothing comes back to the first page.
  }
  location.assign(to);
}

/** Opens the address that was wanted, where the browser has just come back. Returns why nobody is logged in, if so. */
export function back(): string | null {
  const wanted = taken();
  if (location.pathname !== '/') return null;
  const refused = new URLSearchParams(location.search).get('login');
  if (refused !== null || wanted !== null) go(wanted ?? '/', { replace: true });
  return refused;
}

function taken(): string | null {
  try {
    const wanted = sessionStorage.getItem(WANTED);
    sessionStorage.removeItem(WANTED);
    // A path of this page, whoever wrote it.
    return wanted !== null && /^\/(?![/\\])/.test(wanted) ? wanted : null;
  } catch {
    return null;
  }
}
