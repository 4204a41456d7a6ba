// What the page of sites asks the server.

import { get, patch, post, remove } from '../../lib/api';
import type { NewSite, Site, SiteChange, SiteList } from '../../lib/types';

export function sites(signal: AbortSignal): Promise<SiteList> {
  return get('/sites', { signal });
}

export function addSite(body: NewSite): Promise<Site> {
  return post('/sites', { body });
}

export function changeSite(number: number, body: SiteChange): Promise<Site> {
  return patch('/sites/{number}', { path: { number }, body });
}

export function removeSite(number: number): Promise<void> {
  return remove('/sites/{number}', { path: { number } });
}
