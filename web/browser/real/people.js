// People, tokens and alarms: what is changed on the page is so on the server.
import assert from 'node:assert/strict';
import { it as test } from 'node:test';
import { open, quiet, settled, visit } from '../browser.js';

export function people(it) {
  test('an administrator adds somebody, who chooses a password, and is disabled again', { timeout: 900_000 }, async () => {
    const page = await open(it.browser, it.console.base, { cookies: it.console.cookies('administrator') });
    await visit(page, `${it.console.base}/admin`);
    const add = page.locator('form').filter({ has: page.getByRole('button', { name: 'Add a person' }) });
    await add.getByLabel('Name').fill('nina');
    await add.getByLabel('Role').selectOption('quality');
    await add.getByLabel('First password').fill('short');
    await add.getByRole('button').click();
    await page.getByRole('alert').filter({ hasText: '12 characters' }).waitFor();
    await add.getByLabel('First password').fill('');
    await add.getByRole('button').click();
    const given = await page.locator('code, output').filter({ hasText: /\S{12,}/ }).first().innerText();
    const nina = await open(it.browser, it.console.base);
    await nina.goto(`${it.console.base}/users`);
    await logIn(nina, 'nina', given);
    await nina.getByRole('heading', { name: 'Choose a password' }).waitFor({ timeout: 180_000 });
    await nina.getByLabel('Present password').fill(given);
    await nina.getByLabel('New password', { exact: true }).fill('a password of her own');
    await nina.getByLabel('New password again').fill('a password of her own');
    await nina.getByRole('button', { name: 'Change' }).click();
    await nina.getByRole('heading', { name: 'Users' }).waitFor({ timeout: 180_000 });

    const row = page.getByRole('row').filter({ hasText: 'nina' });
    const changed = page.waitForResponse((response) => response.request().method() === 'PATCH');
    await row.getByRole('combobox').selectOption('viewer');
    await changed;
    await nina.reload();
    await settled(nina);
    assert.deepEqual((await session(nina)).role, 'viewer', 'from one request to the next');
    await row.getByRole('button', { name: 'Disable' }).click();
    await row.getByText('disabled').waitFor();
    await nina.goto(`${it.console.base}/calls`);
    await nina.getByRole('button', { name: 'Log in' }).waitFor();
    quiet(page);
    quiet(nina);
    await nina.context().close();
    await page.context().close();
  });

  test('a token does what was ticked, until it is revoked', async () => {
    const page = await open(it.browser, it.console.base, { cookies: it.console.cookies('engineer') });
    await visit(page, `${it.console.base}/account`);
    await page.getByLabel('Token').fill('grafana');
    await page.getByRole('button', { name: 'Make a token' }).click();
    const token = await page.locator('code, output').filter({ hasText: /^rt_/ }).first().innerText();
    const ask = async (path) => (await fetch(`${it.console.base}/api/v1${path}`, { headers: { Authorization: `Bearer ${token}` } })).status;
    assert.deepEqual([await ask('/calls?limit=1'), await ask('/calls/export')], [200, 403]);
    await page.getByRole('row').filter({ hasText: 'grafana' }).getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('You have no token.').waitFor();
    assert.equal(await ask('/calls?limit=1'), 401);
    quiet(page);
    await page.context().close();
  });

  test('an alarm that stands is acknowledged and silenced, and leads to its calls', async () => {
    const page = await open(it.browser, it.console.base, { cookies: it.console.cookies('administrator') });
    await visit(page, `${it.console.base}/alarms`);
    const card = page.getByRole('article').filter({ hasText: 'busy' }).first();
    await card.getByRole('button', { name: 'Acknowledge' }).click();
    await card.getByLabel('Comment').fill('known: <b>the fair</b>');
    await card.locator('form').getByRole('button').click();
    await card.locator('dd').filter({ hasText: /^administrator\b/ }).waitFor();
    await card.getByText('known: <b>the fair</b>').waitFor();
    await card.getByRole('button', { name: 'Silence' }).click();
    await card.locator('form').getByRole('button').click();
    await card.locator('dt').filter({ hasText: 'silenced' }).waitFor();
    quiet(page);
    const engineer = await open(it.browser, it.console.base, { cookies: it.console.cookies('engineer') });
    await visit(engineer, `${it.console.base}/alarms`);
    assert.equal(await engineer.getByRole('button', { name: 'Acknowledge' }).count(), 0);
    await engineer.getByText('needs the right to change rules').waitFor();
    const evidence = engineer.getByRole('article').filter({ hasText: 'busy' }).getByRole('link', { name: /that show/ }).first();
    assert.match(new URL(await evidence.getAttribute('href'), it.console.base).searchParams.get('q'), /^callid:/);
    quiet(engineer);
    await engineer.context().close();
    await page.context().close();
  });
}

async function logIn(page, name, password) {
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Log in' }).click();
}

function session(page) {
  return page.evaluate(async () => (await fetch('/api/v1/session')).json());
}
