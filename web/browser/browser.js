// Chromium for the tests: a window for each of them, and what the page must never do while it is open.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { chromium } from 'playwright-core';

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
const AXE = readFileSync('node_modules/axe-core/axe.min.js', 'utf8');
export const WIDE = { width: 1280, height: 800 };
export const PHONE = { width: 360, height: 740 };

/** Why these tests cannot run here; false where they can. */
export function lacking() {
  if (!existsSync(CHROMIUM)) return `${CHROMIUM} is missing`;
  if (!existsSync('dist/index.html')) return 'dist is missing: npm run build';
  return process.env.RINGTAP ? false : 'RINGTAP names no program';
}

export function launch() {
  return chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--autoplay-policy=no-user-gesture-required'] });
}

/** A window. Its `complaints` are what the page wrote to the console or threw, and what it asked of other hosts. */
export async function open(browser, base, options = {}) {
  const { cookies = [], ...rest } = options;
  const context = await browser.newContext({ viewport: WIDE, timezoneId: 'Europe/Madrid', locale: 'en-GB', reducedMotion: 'reduce', ...rest });
  await context.addCookies(cookies);
  if (process.env.PAGE === 'dist') await context.route(`${base}/**`, fromDist);
  await context.addInitScript(() => {
    window.violations = [];
    addEventListener('securitypolicyviolation', (event) => window.violations.push(`${event.violatedDirective}: ${event.blockedURI} ${event.sample}`));
  });
  const page = await context.newPage();
  page.setDefaultTimeout(90_000);
  page.complaints = [];
  page.on('console', (message) => {
    const isAnswer = message.text().startsWith('Failed to load resource');
    if (['error', 'warning'].includes(message.type()) && !isAnswer) page.complaints.push(`${page.url()}: ${message.text()}`);
  });
  page.on('pageerror', (error) => page.complaints.push(`${page.url()}: ${error.stack}`));
  page.asked = new Set();
  for (const end of ['requestfinished', 'requestfailed']) page.on(end, (request) => page.asked.delete(request));
  page.on('request', (request) => {
    // Events and sound come for as long as somebody looks or listens.
    if (!/\/api\/v1\/live$|sound\.wav$/.test(request.url())) page.asked.add(request);
    if (!/^(blob|data):/.test(request.url()) && !request.url().startsWith(base)) page.complaints.push(`asked ${request.url()}`);
  });
  page.on('dialog', (dialog) => {
    page.complaints.push(`a dialogue: ${dialog.message()}`);
    void dialog.dismiss();
  });
  return page;
}

/** Opens an address and waits until nothing on it waits any more. */
export async function visit(page, address) {
  await page.goto(address);
  await settled(page);
}

/** The same without loading the page anew, as a link of the page does it. */
export async function turn(page, path) {
  await page.evaluate((path) => {
    history.pushState(null, '', path);
    dispatchEvent(new PopStateEvent('popstate'));
  }, path);
  await settled(page);
}

/** The rows of calls that are drawn. */
export function rows(page) {
  return page.getByRole('region', { name: 'Calls found' }).locator('tbody tr:not(.space)');
}

export async function settled(page) {
  await page.locator('h1, main .problem, [role=alert], p.none').first().waitFor({ state: 'attached' });
  const end = Date.now() + 60_000;
  for (let still = 0; still < 3; ) {
    if (Date.now() > end) throw new Error(`${page.url()} still waits for ${[...page.asked].map((request) => request.url())}`);
    await page.waitForTimeout(50);
    still = page.asked.size === 0 ? still + 1 : 0;
  }
  await page.waitForFunction(() => !document.querySelector('[aria-busy=true], div.shape, .bars, .skeleton, .old'));
}

/** What is wrong with how a page looks and reads, whatever is on it. */
export async function faults(page) {
  return page.evaluate(() => {
    const found = [];
    const wide = document.documentElement.scrollWidth - innerWidth;
    if (wide > 0) {
      const widest = [...document.querySelectorAll('main *')].filter((one) => one.getBoundingClientRect().right > innerWidth + 1 && !one.closest('.scroll, [role=region]'));
      found.push(`${wide} px too wide: ${widest.slice(0, 3).map((one) => one.outerHTML.slice(0, 120)).join(' | ')}`);
    }
    const text = document.body.innerText;
    for (const [, wrong] of text.matchAll(/(\{\w+\}|\bundefined\b|\bNaN\b|\[object \w+\]|\bInvalid Date\b)/g)) found.push(`“${wrong}” in the text`);
    found.push(...(window.violations ?? []));
    return found;
  });
}

/** What axe reports; with `rules`, of these alone. */
export async function axe(page, rules) {
  // As a file of its own would be: the policy of the page lets nothing inline run, so the debugger brings it.
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(AXE);
  const violations = await page.evaluate(async (rules) => {
    const options = rules ? { runOnly: { type: 'rule', values: rules } } : {};
    return (await window.axe.run(document, { ...options, resultTypes: ['violations'] })).violations.map((one) => ({
      id: one.id, help: one.help, nodes: one.nodes.slice(0, 4).map((node) => `${node.html.slice(0, 160).replace(/\b[0-9a-f]{32}\b/g, 'ID')}  ${node.failureSummary?.split('\n')[1]?.trim() ?? ''}`),
    }));
  }, rules);
  return violations.flatMap((one) => one.nodes.map((node) => `axe ${one.id}: ${one.help}: ${node}`));
}

/** Fails where the page complained. */
export function quiet(page) {
  assert.deepEqual(page.complaints, []);
}

const TYPES = { html: 'text/html; charset=utf-8', js: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8', svg: 'image/svg+xml' };

/** With PAGE=dist, for work on the page: its files come from `dist` and not out of the program, with the headers of the program. */
async function fromDist(route) {
  const { pathname } = new URL(route.request().url());
  if (pathname.startsWith('/api/') || pathname === '/login/callback' || pathname === '/openapi.json') return route.fallback();
  const file = `dist${pathname}`;
  const isFile = existsSync(file) && statSync(file).isFile();
  if (!isFile && /\.\w+$/.test(pathname)) return route.fallback();
  // A connection that the server has closed meanwhile is made anew.
  const response = await route.fetch().catch(() => route.fetch());
  const path = isFile ? file : 'dist/index.html';
  const headers = { ...response.headers(), 'content-type': TYPES[path.split('.').pop()] ?? 'text/plain' };
  delete headers['content-length'];
  return route.fulfill({ status: 200, headers, body: readFileSync(path) });
}
