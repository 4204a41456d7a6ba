// The address bar is the state: what a view shows is read from here and written here, so that Back goes back and a
// colleague who opens the same address sees the same.

class Address {
  path = $state(location.pathname);
  search = $state(location.search);
  query = $derived(new URLSearchParams(this.search));

  read(): void {
    this.path = location.pathname;
    this.search = location.search;
  }
}

export const address = new Address();

/** Opens an address of this page, such as `/calls?q=0138`. `replace` leaves no entry to go back to. */
export function go(to: string, options: { replace?: boolean } = {}): void {
  if (to === location.pathname + location.search) return;
  const path = location.pathname;
  if (options.replace) history.replaceState(history.state, '', to);
  else history.pushState(null, '', to);
  address.read();
  if (path !== location.pathname) scrollTo(0, 0);
}

/** Changes some parameters of the present address; null and '' remove one. */
export function setQuery(
  changes: Record<string, string | number | null>,
  options: { replace?: boolean } = {},
): void {
  go(address.path + withQuery(address.search, changes), options);
}

/** `search` with some parameters changed: `''` or beginning with `?`. */
export function withQuery(search: string, changes: Record<string, string | number | null>): string {
  const query = new URLSearchParams(search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === '') query.delete(name);
    else query.set(name, String(value));
  }
  const text = query.toString().replaceAll('%3A', ':').replaceAll('%2C', ',');
  return text === '' ? '' : `?${text}`;
}

/** Follows links of this page without loading it anew. Called once. */
export function followLinks(): void {
  addEventListener('popstate', () => address.read());
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = (event.target as Element | null)?.closest('a');
    if (!link || link.target || link.hasAttribute('download')) return;
    if (link.origin !== location.origin || link.pathname.startsWith('/api/')) return;
    if (link.hash && link.pathname === location.pathname && link.search === location.search) return;
    event.preventDefault();
    go(link.pathname + link.search);
  });
}
