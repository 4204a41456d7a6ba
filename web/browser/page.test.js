// The page in Chromium, over the mock: `npm run test:browser`, with RINGTAP naming the program. Skips where there is no
// Chromium, and says so.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { after, before, beforeEach, describe, it } from 'node:test';
import { chromium } from 'playwright-core';

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
const PORT = Number(process.env.PORT ?? 8455);
const BASE = `http://127.0.0.1:${PORT}`;
const lacking = !existsSync(CHROMIUM) ? `${CHROMIUM} is missing` : !existsSync('dist/index.html') ? 'dist is missing: npm run build' : !process.env.RINGTAP ? 'RINGTAP names no program' : false;

let server;
let browser;
let page;
/** What the page wrote to the console or threw, and requests to other hosts: none of these may be. */
let complaints;

before(async () => {
  if (lacking) return;
  server = spawn('node', ['mock/server.js'], { env: { ...process.env, PORT: String(PORT), MOCK_HOURS: '12' }, stdio: ['ignore', 'pipe', 'inherit'] });
  await new Promise((resolve, reject) => {
    server.stdout.once('data', resolve);
    server.once('exit', () => reject(new Error('the mock ended')));
  });
  browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
}, { timeout: 60_000 });

after(async () => {
  await browser?.close();
  server?.kill();
});

beforeEach(async () => {
  if (lacking) return;
  await page?.context().close();
  await open({});
});

async function open(options) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, timezoneId: 'Europe/Madrid', locale: 'en-GB', ...options });
  page = await context.newPage();
  page.setDefaultTimeout(15_000);
  complaints = [];
  page.on('console', (message) => {
    const isAnswer = message.text().startsWith('Failed to load resource');
    if (['error', 'warning'].includes(message.type()) && !isAnswer) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error.stack)));
  page.on('request', (request) => {
    if (!request.url().startsWith(BASE)) complaints.push(`asked ${request.url()}`);
  });
}

async function logIn(name = 'ana', path = '/calls') {
  await page.goto(BASE + path);
  await page.request.delete(`${BASE}/api/v1/session`);
  await page.reload();
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Password').fill('secret');
  await page.getByRole('button', { name: 'Log in' }).click();
}

function query() {
  return Object.fromEntries(new URL(page.url()).searchParams);
}

const rows = () => page.locator('tbody tr:not(.space)');

describe('the page', { skip: lacking, timeout: 300_000 }, () => {
  it('lets in, asks for a code, and says what is wrong', async () => {
    await logIn('wrong');
    await page.getByRole('alert').filter({ hasText: 'is wrong' }).waitFor();
    await page.getByLabel('Name').fill('code');
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByLabel('Code').fill('000000');
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('alert').filter({ hasText: 'code is wrong' }).waitFor();
    await page.getByLabel('Code').fill('123456');
    await page.getByRole('button', { name: 'Log in' }).click();
    await rows().first().waitFor();
    assert.deepEqual(complaints, []);
  });

  it('says how long somebody is locked out', async () => {
    await logIn('locked');
    await page.getByRole('alert').filter({ hasText: '30 s' }).waitFor();
  });

  it('opens the address that was asked for once somebody has logged in', async () => {
    await logIn('ana', '/calls?q=state:failed');
    await page.getByText('calls state:failed', { exact: true }).waitFor();
    assert.deepEqual(query(), { q: 'state:failed' });
  });

  it('asks for a password of one’s own first', async () => {
    await logIn('new');
    await page.getByRole('heading', { name: 'Choose a password' }).waitFor();
    assert.equal(await page.getByRole('navigation').count(), 0);
    await page.getByLabel('Present password').fill('secret');
    await page.getByLabel('New password', { exact: true }).fill('one');
    await page.getByLabel('New password again').fill('other');
    await page.getByRole('button', { name: 'Change' }).click();
    await page.getByRole('alert').filter({ hasText: 'not the same' }).waitFor();
    await page.getByLabel('New password again').fill('one');
    await page.getByRole('button', { name: 'Change' }).click();
    await rows().first().waitFor();
  });

  it('searches by keyboard alone, opens a call and comes back to its row', async () => {
    await logIn();
    await rows().first().waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('state:fa');
    await page.getByRole('option', { name: /failed/ }).waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    assert.equal(await page.getByRole('combobox').inputValue(), 'state:failed ');
    await page.keyboard.press('Enter');
    await page.getByText('calls state:failed', { exact: true }).waitFor();
    assert.equal(query().q, 'state:failed');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    for (let n = 0; n < 60; n += 1) await page.keyboard.press('j');
    await page.keyboard.press('k');
    const chosen = page.locator('tr[aria-current=true]');
    const name = await chosen.getByRole('link').getAttribute('aria-label');
    const box = await chosen.boundingBox();
    assert.ok(box.y > 0 && box.y + box.height <= 800, 'the chosen row is in sight');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/calls\/[0-9a-f]{32}\?q=state/);
    await page.goBack();
    await chosen.waitFor();
    assert.equal(await chosen.getByRole('link').getAttribute('aria-label'), name);
    assert.deepEqual(complaints, []);
  });

  it('points at the mistake of a search', async () => {
    await logIn('ana', '/calls?q=0138+stat:failed');
    assert.equal(await page.locator('mark').innerText(), 'stat');
    await page.locator('button.pointed').click();
    const chosen = await page.evaluate(() => [document.activeElement.selectionStart, document.activeElement.selectionEnd]);
    assert.deepEqual(chosen, [5, 9]);
  });

  it('narrows by a value, leaves one out, and takes both back', async () => {
    await logIn();
    const failed = page.getByTitle('Only calls with failed');
    const busy = page.getByRole('button', { name: 'Leave out calls with 486' });
    await failed.click();
    await page.waitForURL(/q=state:failed/);
    await busy.click();
    const reads = (q) => page.waitForFunction((q) => (new URLSearchParams(location.search).get('q') ?? '') === q, q);
    await reads('state:failed -code:486');
    await failed.click();
    await reads('-code:486');
    await page.goBack();
    await reads('state:failed -code:486');
    await page.goBack();
    await page.goBack();
    await reads('');
  });

  it('is brushed over time, with the pointer and by keys', async () => {
    await logIn();
    const chart = page.getByRole('group', { name: /Calls over time/ });
    const box = await chart.boundingBox();
    await page.mouse.move(box.x + box.width * 0.3, box.y + 30);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.6, box.y + 30, { steps: 4 });
    await page.mouse.up();
    await page.waitForFunction(() => /^began:\S+Z\.\.\S+Z$/.test(new URLSearchParams(location.search).get('q') ?? ''));
    const before = query().q;
    await page.waitForTimeout(500);
    await chart.focus();
    for (const key of ['ArrowRight', 'Shift+ArrowRight', 'Shift+ArrowRight', 'Enter']) await page.keyboard.press(key);
    await page.waitForFunction((old) => new URLSearchParams(location.search).get('q') !== old, before);
    assert.match(query().q, /^began:\S+Z\.\.\S+Z$/);
  });

  it('sorts, and draws only the rows in sight', async () => {
    await logIn();
    await page.getByRole('button', { name: /^MOS/ }).click();
    await page.waitForURL(/sort=-mos/);
    await page.getByRole('columnheader', { name: /^MOS/ }).and(page.locator('[aria-sort=descending]')).waitFor();
    await rows().first().waitFor();
    assert.ok((await rows().count()) < 80, 'of 1,000 rows');
  });

  it('loads further pages as it is scrolled', async () => {
    await logIn();
    await rows().first().waitFor();
    const table = page.getByRole('region', { name: 'Calls found' });
    const end = page.getByText('These are all.');
    for (let n = 0; n < 100 && (await end.count()) === 0; n += 1) {
      await table.evaluate((box) => (box.scrollTop = box.scrollHeight));
      await page.waitForTimeout(100);
    }
    const total = Number((await page.locator('dd').first().innerText()).replace(',', ''));
    assert.equal(Number(await page.getByRole('table').getAttribute('aria-rowcount')), total + 1);
    assert.ok((await rows().count()) < 80);
  });

  it('has five different pictures: waiting, none, cut, failed, forbidden', async () => {
    await logIn('ana', '/calls?q=slow');
    await page.getByText('Waiting for the server').waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('Stopped.').waitFor();
    await page.goto(`${BASE}/calls?q=99999999+state:failed`);
    await page.getByText('No call matches').waitFor();
    await page.getByRole('button', { name: 'state:failed', exact: true }).waitFor();
    await page.goto(`${BASE}/calls?q=cut`);
    await page.getByText('The time limit was reached').waitFor();
    await page.goto(`${BASE}/calls?q=broken`);
    await page.getByText('the day file of 2026-01-01 cannot be read').first().waitFor();
    await logIn('viewer', '/audit');
    await page.getByText('You may not see this').waitFor();
    await page.getByText('“read the audit log”, which the role viewer does not have').waitFor();
    assert.equal(await page.getByRole('link', { name: 'Audit' }).count(), 0);
    assert.deepEqual(complaints, []);
  });

  it('shows text from the wire as text', async () => {
    await logIn('ana', '/calls?cols=from,callid');
    await rows().first().waitFor();
    assert.equal(await page.locator('td b').count(), 0);
    const titles = await page.locator('td[title*="Zoë"], td:has(a) >> xpath=..').evaluateAll((cells) => cells.map((one) => one.outerHTML).join(''));
    assert.ok(!/\u202e/.test(titles), 'a direction mark is not in the page');
  });

  it('shows times in UTC by a key, and lists its keys', async () => {
    await logIn();
    await rows().first().waitFor();
    const first = await rows().first().innerText();
    await page.keyboard.press('u');
    await page.waitForFunction((old) => document.querySelector('tbody tr:not(.space)')?.innerText !== old, first);
    await page.keyboard.press('?');
    await page.getByRole('dialog').getByText('times in UTC or in your zone').waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('u');
  });

  it('has every page in both languages, both themes and at phone width', async () => {
    await logIn();
    for (const options of [{}, { locale: 'es-ES', colorScheme: 'dark' }, { viewport: { width: 360, height: 740 } }]) {
      await page.context().close();
      await open(options);
      for (const path of ['/', '/calls', '/alarms', '/quality', '/quality?by=codec&before=week&span=7d', '/trunks', '/trunks/carrier-b', '/users', '/audit', '/admin', '/admin?tab=about', '/account', '/nothing/here']) {
        await page.goto(BASE + path);
        await page.locator('h1').first().waitFor({ state: 'attached' });
        await page.waitForTimeout(400);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(wide <= 0, `${path} is ${wide} px too wide for ${page.viewportSize().width}`);
        assert.equal(await page.getByText(/\{\w+\}|undefined|NaN|\[object/).count(), 0, path);
        const nameless = await page.evaluate(() =>
          [...document.querySelectorAll('button, a[href], input, select')].filter(
            (one) => one.checkVisibility() && !one.ariaHidden && !one.textContent.trim() && !one.ariaLabel && !one.labels?.length,
          ).map((one) => one.outerHTML),
        );
        assert.deepEqual(nameless, [], path);
      }
      assert.deepEqual(complaints, []);
    }
  });

  it('has text that can be read in both themes', async () => {
    await logIn();
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme });
      for (const path of ['/calls?q=state:failed', '/', '/alarms', '/quality']) {
        await page.goto(BASE + path);
        await page.waitForTimeout(700);
        const poor = await page.evaluate(readFileSync('browser/contrast.js', 'utf8'));
        assert.deepEqual(poor, [], `${path}, ${colorScheme}`);
      }
    }
  });
});
