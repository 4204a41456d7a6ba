// Saved searches: one is saved, opened, shared, renamed and removed by keyboard; who may not see numbers sees none of them in what
// others share.
import assert from 'node:assert/strict';
import { it as test } from 'node:test';
import { axe, faults, open, PHONE, quiet, settled, visit } from '../browser.js';

export function saved(it) {
  const begin = async (role, path, options = {}) => {
    const page = await open(it.browser, it.console.base, { cookies: it.console.cookies(role), ...options });
    await visit(page, it.console.base + path);
    await page.keyboard.press('b');
    await page.getByRole('dialog').waitFor();
    return page;
  };
  const end = async (page) => {
    quiet(page);
    await page.context().close();
  };
  const listed = async (role) => (await it.console.json(role, '/searches')).searches;

  test('saved searches: saved, opened, shared, renamed and removed by keyboard', { timeout: 900_000 }, async () => {
    const page = await begin('engineer', '/calls?q=state:failed');
    const dialog = page.getByRole('dialog', { name: 'Saved searches' });
    await dialog.getByText('No search is saved.').waitFor();
    assert.deepEqual([...(await axe(page)), ...(await faults(page))], []);
    await dialog.getByRole('textbox', { name: 'Name', exact: true }).focus();
    await page.keyboard.type('All failed');
    await page.keyboard.press('Enter');
    await dialog.getByRole('link', { name: 'All failed' }).waitFor();
    assert.deepEqual((await listed('engineer')).map((one) => [one.name, one.q, one.shared]), [['All failed', 'state:failed', false]]);
    await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill('all FAILED');
    await dialog.getByRole('button', { name: 'Save' }).press('Enter');
    await dialog.getByRole('alert').filter({ hasText: 'exists already' }).waitFor();

    await dialog.getByRole('checkbox', { name: 'Share All failed' }).press('Space');
    await dialog.locator('button:enabled', { hasText: 'Rename' }).waitFor();
    await dialog.getByRole('button', { name: 'Rename All failed' }).press('Enter');
    await page.keyboard.type('Failed <b>calls</b>');
    await page.keyboard.press('Enter');
    const link = dialog.getByRole('link', { name: 'Failed <b>calls</b>' });
    await link.waitFor();
    assert.deepEqual([...(await axe(page)), ...(await faults(page))], []);
    assert.equal((await listed('viewer'))[0].owner, 'engineer');
    await page.keyboard.press('Escape');
    await page.goto(`${it.console.base}/calls`);
    await settled(page);
    await page.keyboard.press('b');
    await dialog.getByText('Search for something first').waitFor();
    await link.press('Enter');
    await page.waitForURL(/\/calls\?q=state:failed$/);
    await settled(page);
    assert.equal(await dialog.isVisible(), false);
    await page.getByText('calls failed', { exact: true }).waitFor();

    await page.keyboard.press('b');
    await dialog.getByRole('button', { name: /^Remove/ }).press('Enter');
    const question = dialog.getByRole('group', { name: 'Remove Failed <b>calls</b> for good?' });
    await question.waitFor();
    assert.deepEqual(await axe(page), []);
    await page.keyboard.press('Escape');
    await question.waitFor({ state: 'detached' });
    assert.equal(await dialog.isVisible(), true, 'Escape answers the question and nothing else');
    assert.equal((await listed('engineer')).length, 1);
    await dialog.getByRole('button', { name: /^Remove/ }).press('Enter');
    await question.getByRole('button', { name: 'Remove' }).press('Enter');
    await dialog.getByText('No search is saved.').waitFor();
    assert.deepEqual(await listed('engineer'), []);
    await end(page);
  });

  test('saved searches: shared ones are opened by others, but those with numbers only by who may see them', { timeout: 900_000 }, async () => {
    const headers = { 'Content-Type': 'application/json', 'X-Ringtap': '1', Cookie: it.console.sessions.get('officer') };
    const numbers = [];
    for (const [name, q] of [['Bad sound', 'mos<3'], ['The customer', 'number:*0138']]) {
      const made = await fetch(`${it.console.base}/api/v1/searches`, { method: 'POST', headers, body: JSON.stringify({ name, q, shared: true }) });
      assert.equal(made.status, 201);
      numbers.push((await made.json()).number);
    }
    for (const [role, expected, options] of [['engineer', ['Bad sound', 'The customer'], {}], ['viewer', ['Bad sound'], { viewport: PHONE, colorScheme: 'dark' }]]) {
      const page = await begin(role, '/calls', options);
      const dialog = page.getByRole('dialog', { name: 'Saved searches' });
      await dialog.getByRole('link', { name: 'Bad sound' }).waitFor();
      assert.deepEqual(await dialog.getByRole('link').allInnerTexts(), expected, role);
      assert.equal(await dialog.getByRole('button', { name: /^Remove/ }).count(), 0, 'it is of somebody else');
      assert.deepEqual([...(await axe(page)), ...(await faults(page))], [], role);
      await end(page);
    }
    assert.deepEqual(await listed('tenant'), [], 'who may see some calls only');
    for (const number of numbers) {
      assert.equal((await fetch(`${it.console.base}/api/v1/searches/${number}`, { method: 'DELETE', headers })).status, 204);
    }
  });

  test('saved searches: loading, and a failure that another try mends', { timeout: 900_000 }, async () => {
    const page = await open(it.browser, it.console.base, { cookies: it.console.cookies('engineer') });
    await visit(page, `${it.console.base}/calls`);
    await page.route('**/api/v1/searches', (route) => route.abort());
    await page.getByRole('button', { name: 'Saved searches' }).click();
    const dialog = page.getByRole('dialog', { name: 'Saved searches' });
    await dialog.getByText('The server does not answer').waitFor();
    assert.deepEqual(await axe(page), []);
    await page.unroute('**/api/v1/searches');
    let answer;
    const seen = new Promise((done) => (answer = done));
    await page.route('**/api/v1/searches', async (route) => {
      await seen;
      await route.fallback().catch(() => {});
    });
    await dialog.getByRole('button', { name: 'Try again' }).click();
    await dialog.getByText('Waiting for the server').waitFor();
    answer();
    await dialog.getByText('No search is saved.').waitFor();
    await end(page);
  });
}
