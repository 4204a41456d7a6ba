// The page in Chromium over the mock, for what a console of a test cannot be brought to: second factors, locked accounts,
// thousands of calls. The rest is in real.test.js. Skips where there is no Chromium, and says so.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
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
  server = spawn('node', ['mock/server.js'], { env: { ...process.env, PORT: String(PORT), MOCK_HOURS: "12" }, stdio: ['ignore', 'pipe', 'inherit'] });
  await new Promise((resolve, reject) => {
    server.stdout.once('data', resolve);
    server.once('exit', () => reject(new Error('the mock ended')));
  });
  browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
}, { timeout: 600_000 });

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
  page.setDefaultTimeout(90_000);
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
  await page.getByRole('button', { name: 'Log in', exact: true }).click();
}

function query() {
  return Object.fromEntries(new URL(page.url()).searchParams);
}

const rows = () => page.locator('tbody tr:not(.space)');

describe('the page over the mock', { skip: lacking, timeout: 7_200_000 }, () => {
  it('lets in, asks for a code, and says what is wrong', async () => {
    await logIn('wrong');
    await page.getByRole('alert').filter({ hasText: 'is wrong' }).waitFor();
    await page.getByLabel('Name').fill('code');
    await page.getByRole('button', { name: 'Log in', exact: true }).click();
    await page.getByLabel('Code').fill('000000');
    await page.getByRole('button', { name: 'Log in', exact: true }).click();
    await page.getByRole('alert').filter({ hasText: 'code is wrong' }).waitFor();
    await page.getByLabel('Code').fill('123456');
    await page.getByRole('button', { name: 'Log in', exact: true }).click();
    await rows().first().waitFor();
    assert.deepEqual(complaints, []);
  });

  it('says how long somebody is locked out', async () => {
    await logIn('locked');
    await page.getByRole('alert').filter({ hasText: '30 s' }).waitFor();
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
    for (let n = 0; n < 1_000 && (await end.count()) === 0; n += 1) {
      await table.evaluate((box) => (box.scrollTop = box.scrollHeight));
      await page.waitForTimeout(100);
    }
    const total = Number((await page.locator('dd').first().innerText()).replace(',', ''));
    assert.equal(Number(await page.getByRole('table').getAttribute('aria-rowcount')), total + 1);
    assert.ok((await rows().count()) < 80);
  });

});
