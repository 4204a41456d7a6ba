// Which page an address opens. Pages are loaded when they are first opened.

import type { Component } from 'svelte';
import type { Right } from './types';

export interface Route {
  /** Also the key of its title: `page.NAME`. */
  name: 'now' | 'calls' | 'call' | 'problems' | 'quality' | 'users' | 'user' | 'sites' | 'trunks' | 'trunk' | 'alarms' | 'retention' | 'sensors' | 'audit' | 'admin' | 'account';
  /** `:name` stands for one segment. */
  path: string;
  load: () => Promise<{ default: Component<any> }>;
  /** Path of the API that it needs; a server that does not have it gets no link to the page. */
  needs: string;
  /** Stands in the navigation. */
  linked: boolean;
  /** Whoever lacks this right gets no link to it. */
  right: Right | null;
}

export const routes: Route[] = [
  page('now', '/', () => import('../pages/now/NowPage.svelte'), '/live'),
  page('calls', '/calls', () => import('../pages/calls/CallsPage.svelte'), '/calls', 'search'),
  page('problems', '/problems', () => import('../pages/problems/ProblemsPage.svelte'), '/calls/summary', 'search'),
  page('alarms', '/alarms', () => import('../pages/alarms/AlarmsPage.svelte'), '/alarms'),
  page('quality', '/quality', () => import('../pages/quality/QualityPage.svelte'), '/kpis'),
  page('trunks', '/trunks', () => import('../pages/trunks/TrunksPage.svelte'), '/kpis'),
  page('users', '/users', () => import('../pages/users/UsersPage.svelte'), '/users'),
  page('sites', '/sites', () => import('../pages/sites/SitesPage.svelte'), '/sites', 'search'),
  page('retention', '/retention', () => import('../pages/retention/RetentionPage.svelte'), '/retention', 'search'),
  page('sensors', '/sensors', () => import('../pages/sensors/SensorsPage.svelte'), '/sensors', 'search'),
  page('audit', '/audit', () => import('../pages/audit/AuditPage.svelte'), '/audit', 'audit'),
  page('admin', '/admin', () => import('../pages/admin/AdminPage.svelte'), '/people', 'administer'),
  part('call', '/calls/:id', () => import('../call/CallPage.svelte'), '/calls/{id}'),
  part('trunk', '/trunks/:name', () => import('../pages/trunks/TrunkPage.svelte'), '/kpis'),
  part('user', '/users/:aor', () => import('../pages/users/UserPage.svelte'), '/users'),
  part('account', '/account', () => import('../pages/account/AccountPage.svelte'), '/tokens'),
];

/** The route of a path and the values of its `:names`, or null where there is no such page. */
export function match(path: string): { route: Route; params: Record<string, string> } | null {
  for (const route of routes) {
    const params = matched(route.path, path);
    if (params) return { route, params };
  }
  return null;
}

/** Loads the code of a page that is likely to be opened next, so that the click on its link need not wait for it. */
export async function preload(name: Route['name']): Promise<void> {
  // Where this fails, the click tries again and says why.
  await routes.find((route) => route.name === name)?.load().catch(() => {});
}

function matched(pattern: string, path: string): Record<string, string> | null {
  const wanted = segments(pattern);
  const given = segments(path);
  if (wanted.length !== given.length) return null;
  const params: Record<string, string> = {};
  for (const [index, segment] of wanted.entries()) {
    const value = given[index] ?? '';
    if (!segment.startsWith(':')) {
      if (segment !== value) return null;
      continue;
    }
    try {
      params[segment.slice(1)] = decodeURIComponent(value);
    } catch {
      return null;
    }
  }
  return params;
}

function segments(path: string): string[] {
  return path.split('/').filter((segment) => segment !== '');
}

function page(name: Route['name'], path: string, load: Route['load'], needs: string, right: Right | null = null): Route {
  return { name, path, load: () => noted(name, load), needs, right, linked: true };
}

function part(name: Route['name'], path: string, load: Route['load'], needs: string): Route {
  return { name, path, load: () => noted(name, load), needs, right: null, linked: false };
}

const loaded = new Map<Route['name'], Component<any>>();

/** Remembers the page of a route when its code has been loaded. */
async function noted(name: Route['name'], load: Route['load']): Promise<{ default: Component<any> }> {
  const module = await load();
  loaded.set(name, module.default);
  return module;
}

/** The page of a route whose code has been loaded: it can be drawn without an empty frame before it. */
export function loadedPage(name: Route['name']): Component<any> | null {
  return loaded.get(name) ?? null;
}

/** Whether an address is of the pages of officers and auditors, who have a session of their own. */
export function isOfWarrants(path: string): boolean {
  return segments(path)[0] === 'warrants';
}
