// Sites: networks get names on the page, by keyboard; a search by a name finds the calls of its time; nobody else changes them.
import assert from 'node:assert/strict';
import { it as test } from 'node:test';
import { axe, faults, open, PHONE, quiet, settled, visit } from '../browser.js';

export function sites(it) {
  const begin = (role, options = {}) => open(it.browser, it.console.base, { cookies: it.console.cookies(role), ...options });
  const end = async (page) => {
    quiet(page);
    await page.context().close();
  };
  const listed = async () => (await it.console.json('engineer', '/sites')).sites;

  test('sites: a network gets a name by keyboard, its calls are found, and it is changed and removed', { timeout: 900_000 }, async () => {
    const page = await begin('administrator');
    await visit(page, `${it.console.base}/sites`);
    await page.getByText('No network has a name yet.').waitFor();
    const { src } = (await it.console.json('engineer', '/calls?q=state:completed&limit=1')).calls[0];
    const network = `${src.replace(/:\d+$/, '')}/32`;
    const form = page.getByRole('form');
    await form.getByLabel('Name').focus();
    await page.keyboard.type('Building B');
    await page.keyboard.press('Tab');
    await page.keyboard.type(network);
    await page.keyboard.press('Enter');
    await page.getByRole('row').filter({ hasText: network }).waitFor();
    assert.deepEqual((await listed()).map((one) => [one.name, one.networks, one.from_us, one.until_us]), [['Building B', [network], null, null]]);
    assert.deepEqual([...(await axe(page)), ...(await faults(page))], []);

    await page.getByRole('link', { name: 'Building B' }).press('Enter');
    await page.waitForURL(/\/calls\?q=site:/);
    await settled(page);
    assert.equal(await page.locator('mark').count(), 0, 'the search can be read');
    await page.getByText(`calls with ${network.replace('/32', '')} in signalling or media`).waitFor();
    const { calls } = await it.console.json('engineer', `/calls?q=${encodeURIComponent('site:"building b"')}&limit=1`);
    assert.equal(calls.length, 1);
    await page.goBack();

    await page.getByRole('button', { name: 'Change Building B' }).press('Enter');
    await form.getByLabel('Until').fill('2026-02-01');
    await form.getByRole('button', { name: 'Save' }).press('Enter');
    await page.getByRole('cell', { name: '2026-02-01' }).waitFor();
    // Midnight in Madrid, whose clocks the page shows.
    assert.equal((await listed())[0].until_us, Date.parse('2026-01-31T23:00:00Z') * 1000);
    await page.getByRole('button', { name: 'Change Building B' }).click();
    await form.getByLabel('Networks').fill('not a network');
    await form.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').filter({ hasText: '192.0.2.0/24' }).waitFor();
    assert.deepEqual(await axe(page), []);
    await form.getByRole('button', { name: 'Cancel' }).click();
    // Removing asks first, and Enter alone does not answer.
    const remove = page.getByRole('button', { name: 'Remove Building B' });
    const question = page.getByRole('group', { name: 'Remove Building B for good?' });
    await remove.press('Enter');
    await question.waitFor();
    assert.deepEqual(await axe(page), []);
    await page.keyboard.press('Enter');
    await question.waitFor({ state: 'detached' });
    assert.equal(await remove.evaluate((button) => button === document.activeElement), true);
    await remove.press('Enter');
    await page.keyboard.press('Escape');
    await question.waitFor({ state: 'detached' });
    assert.equal((await listed()).length, 1);
    await remove.press('Enter');
    await question.getByRole('button', { name: 'Remove' }).press('Enter');
    await page.getByText('No network has a name yet.').waitFor();
    assert.deepEqual(await listed(), []);
    await end(page);
  });

  test('sites: seen by others, changed by nobody else, on a phone and in Spanish', { timeout: 900_000 }, async () => {
    const headers = { 'Content-Type': 'application/json', 'X-Ringtap': '1', Cookie: it.console.sessions.get('administrator') };
    const site = { name: 'Lyon', networks: ['203.0.113.0/24', '2001:db8:7::/48'], from_us: Date.parse('2025-12-31T23:00:00Z') * 1000 };
    const made = await fetch(`${it.console.base}/api/v1/sites`, { method: 'POST', headers, body: JSON.stringify(site) });
    assert.equal(made.status, 201, await made.clone().text());
    const { number } = await made.json();
    const page = await begin('viewer', { viewport: PHONE, locale: 'es-ES', colorScheme: 'dark' });
    await visit(page, `${it.console.base}/sites`);
    await page.getByRole('row').filter({ hasText: '203.0.113.0/24, 2001:db8:7::/48' }).filter({ hasText: '2026-01-01' }).waitFor();
    await page.getByText('Quien tiene el derecho').waitFor();
    assert.equal(await page.getByRole('main').getByRole('button').count(), 0);
    assert.deepEqual([...(await axe(page)), ...(await faults(page))], []);
    await end(page);
    assert.equal((await fetch(`${it.console.base}/api/v1/sites/${number}`, { method: 'DELETE', headers })).status, 204);
  });
}
