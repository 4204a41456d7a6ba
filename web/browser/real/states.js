// Loading, none, failed, stopped, cut, forbidden, unreachable: each page says which, and what can be done. The server is
// real; what makes it slow, broken or short of time stands between it and the page.
import assert from 'node:assert/strict';
import { it as test } from 'node:test';
import { axe, faults, open, quiet, rows, settled, visit } from '../browser.js';
import { Console } from '../server.js';

/** Pages, each with the request that it cannot do without. */
const PAGES = [['/calls', '/calls?*'], ['/problems', '/calls/summary*'], ['/alarms', '/alarms*'], ['/quality', '/kpis*'], ['/trunks', '/kpis*'], ['/trunks/carrier-a', '/kpis*'], ['/users', '/users*'], ['/sites', '/sites'], ['/retention', '/retention'], ['/retention', '/rules'], ['/retention', '/holds*'], ['/retention', '/retention/deletions*'], ['/sensors', '/sensors'], ['/audit', '/audit*'], ['/admin', '/people*'], ['/account', '/tokens*']];
const BROKEN = { type: '/problems/unavailable', title: 'Something that is needed does not answer', status: 503, detail: 'the day file of 2026-01-01 cannot be read' };

export function states(it) {
  const window = (role = 'administrator') => open(it.browser, it.console.base, { cookies: it.console.cookies(role) });
  const pages = async () => {
    const { id } = (await it.console.json('engineer', '/calls?limit=1')).calls[0];
    return [...PAGES, [`/calls/${id}`, `/calls/${id}`], [`/calls/${id}`, `/calls/${id}/ladder`], [`/calls/${id}?tab=listen`, `/calls/${id}/peaks*`]];
  };

  test('loading: a shape, then words and a way to stop, on every page', { timeout: 900_000 }, async () => {
    const slow = async ([path, request]) => {
      const page = await window();
      // Answered once everything that waiting looks like was seen, however long that takes.
      let answer;
      const seen = new Promise((done) => (answer = done));
      await page.route(`**/api/v1${request}`, async (route) => {
        await seen;
        await route.fallback().catch(() => {});
      });
      await page.goto(it.console.base + path);
      await page.locator('div.shape, .bars, .skeleton').first().waitFor({ state: 'attached' });
      await page.getByText('Waiting for the server').first().waitFor();
      await page.getByRole('button', { name: 'Stop' }).first().click();
      await page.getByText('Stopped.').first().waitFor();
      answer();
      await page.unroute(`**/api/v1${request}`);
      await page.getByRole('button', { name: 'Try again' }).first().click();
      await settled(page);
      assert.equal(await page.getByText('Stopped.').count(), 0, path);
      quiet(page);
      await page.context().close();
    };
    const all = await pages();
    for (let at = 0; at < all.length; at += 4) await Promise.all(all.slice(at, at + 4).map(slow));
  });

  test('failed and unreachable: what went wrong, and another try that works, on every page', { timeout: 900_000 }, async () => {
    for (const [path, request] of await pages()) {
      const page = await window();
      await page.route(`**/api/v1${request}`, (route) => route.fulfill({ status: 503, contentType: 'application/problem+json', body: JSON.stringify(BROKEN) }));
      await page.goto(it.console.base + path);
      await page.getByText('the day file of 2026-01-01 cannot be read').first().waitFor();
      assert.deepEqual(await axe(page), [], path);
      await page.unroute(`**/api/v1${request}`);
      await page.route(`**/api/v1${request}`, (route) => route.abort());
      await page.getByRole('button', { name: 'Try again' }).first().click();
      await page.getByText('The server does not answer').first().waitFor();
      await page.unroute(`**/api/v1${request}`);
      await page.getByRole('button', { name: 'Try again' }).first().click();
      await settled(page);
      assert.equal(await page.getByText('The server does not answer').count(), 0, path);
      quiet(page);
      await page.context().close();
    }
  });

  test('cut: a search that reached its time limit says how far it came', async () => {
    const page = await window();
    await page.route(/\/api\/v1\/calls(\/summary)?\?/, async (route) => {
      const response = await route.fetch();
      const answer = await response.json();
      Object.assign(answer, { next: null }).coverage = { ...answer.coverage, complete: false, reason: 'time', days: 3, days_searched: 1 };
      await route.fulfill({ response, json: answer });
    });
    await visit(page, `${it.console.base}/calls`);
    await page.getByText('The time limit was reached: 1 of 3 days were searched').waitFor();
    assert.deepEqual(await axe(page), []);
    quiet(page);
    await page.context().close();
  });

  test('none: a search without calls offers the nearest that has some', async () => {
    const page = await window();
    await visit(page, `${it.console.base}/calls?q=state:failed+codec:opus+from:99999999`);
    await page.getByText('No call matches').waitFor();
    assert.deepEqual(await axe(page), []);
    await visit(page, `${it.console.base}/calls?q=from:99999999+state:failed`);
    await page.getByRole('button', { name: 'state:failed', exact: true }).click();
    await settled(page);
    assert.ok((await rows(page).count()) > 0);
    await visit(page, `${it.console.base}/calls/${'0'.repeat(32)}`);
    await page.getByText('There is no record of this call').waitFor();
    quiet(page);
    await page.context().close();
  });

  test('a mistake in a search is pointed at, and the page stays usable', async () => {
    const page = await window();
    await visit(page, `${it.console.base}/calls?q=0138+stat:failed`);
    assert.equal(await page.locator('mark').first().innerText(), 'stat');
    assert.deepEqual([...(await axe(page)), ...(await faults(page))], []);
    quiet(page);
    await page.context().close();
  });

  test('a session that ended: the login, and then the same page', { timeout: 900_000 }, async () => {
    const page = await window('viewer');
    await visit(page, `${it.console.base}/users`);
    await page.context().clearCookies();
    await page.keyboard.press('u');
    await page.goto(`${it.console.base}/quality?by=codec`);
    await page.getByRole('button', { name: 'Log in', exact: true }).waitFor();
    assert.deepEqual(await axe(page), []);
    await page.getByLabel('Name').fill('viewer');
    await page.getByLabel('Password').fill('wrong, wrong and wrong');
    await page.getByRole('button', { name: 'Log in', exact: true }).click();
    await page.getByRole('alert').filter({ hasText: 'is wrong' }).waitFor({ timeout: 180_000 });
    await page.getByLabel('Password').fill(it.console.password);
    await page.getByRole('button', { name: 'Log in', exact: true }).click();
    await page.getByRole('heading', { name: 'Quality' }).waitFor({ timeout: 180_000 });
    assert.match(page.url(), /\/quality\?by=codec$/);
    quiet(page);
    await page.context().close();
  });

  test('nothing yet: an empty database and no daemon are said on every page', { timeout: 900_000 }, async () => {
    const empty = new Console(it.console.program);
    try {
      await empty.start({ captures: [], people: ['administrator'] });
      const page = await open(it.browser, empty.base, { cookies: empty.cookies('administrator') });
      for (const [path, said] of [
        ['/', /no running ringtap|cannot be reached|does not answer/i], ['/calls', 'There are no calls yet'], ['/problems', 'No call began in this time'], ['/alarms', 'No alarm stands'], ['/quality', 'No call began in this time'],
        ['/trunks', 'No call came from or went to a trunk'], ['/users', 'No user was seen'], ['/retention', /no running ringtap|cannot reach ringtap/],
      ]) {
        await visit(page, empty.base + path);
        await page.getByText(said).first().waitFor();
        assert.deepEqual([...(await axe(page)), ...(await faults(page))], [], path);
      }
      quiet(page);
      await page.context().close();
    } finally {
      await empty.stop();
    }
  });
}
