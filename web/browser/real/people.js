// People, tokens and alarms: what is changed on the page is so on the server.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { it as test } from 'node:test';
import { axe, faults, open, quiet, settled, visit } from '../browser.js';

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
    await nina.getByRole('button', { name: 'Log in', exact: true }).waitFor();
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

  test('somebody sets an authenticator app up, logs in with a code and a recovery code, and removes it', { timeout: 240_000 }, async () => {
    it.console.addPerson('otto', 'viewer');
    await it.console.logIn('otto');
    const page = await open(it.browser, it.console.base);
    await page.goto(`${it.console.base}/account`);
    await logIn(page, 'otto', it.console.password);
    await page.getByRole('button', { name: 'Set up an authenticator app' }).click();
    const proof = page.getByRole('form', { name: 'Set up an authenticator app' });
    await proof.getByLabel('Present password').fill('not the password of otto');
    await proof.getByRole('button', { name: 'Set up an authenticator app' }).click();
    await page.getByRole('alert').filter({ hasText: 'wrong' }).waitFor();
    await proof.getByLabel('Present password').fill(it.console.password);
    await proof.getByRole('button', { name: 'Set up an authenticator app' }).click();
    const drawn = page.getByRole('img', { name: 'QR code' });
    await drawn.waitFor();
    assert.ok(await drawn.evaluate(async (image) => (await image.decode(), image.naturalWidth > 0)), 'the policy lets it be drawn');
    const secret = await page.locator('code').filter({ hasText: /^[A-Z2-7]{32}$/ }).innerText();
    await page.getByLabel('Code that the app shows now').fill('000000');
    await page.getByRole('button', { name: 'Ask for codes' }).click();
    await page.getByRole('alert').filter({ hasText: 'wrong' }).waitFor();
    await page.getByLabel('Code that the app shows now').fill(codeOf(secret));
    await page.getByRole('button', { name: 'Ask for codes' }).click();
    const codes = (await page.locator('.secret code').innerText()).split('\n');
    assert.equal(codes.length, 10);
    await page.getByText('10 recovery codes are left').waitFor();
    assert.deepEqual(await faults(page), []);
    assert.deepEqual(await axe(page), []);

    const other = await open(it.browser, it.console.base);
    await other.goto(`${it.console.base}/account`);
    await logIn(other, 'otto', it.console.password);
    await other.getByLabel('Code of your authenticator').fill('000000');
    await other.getByRole('button', { name: 'Log in', exact: true }).click();
    await other.getByRole('alert').filter({ hasText: 'wrong' }).waitFor();
    await other.getByRole('button', { name: 'Use a recovery code' }).click();
    await other.getByLabel('Recovery code', { exact: true }).fill(codes[0]);
    assert.deepEqual(await axe(other), []);
    await other.getByRole('button', { name: 'Log in', exact: true }).click();
    await other.getByText('9 recovery codes are left').waitFor();

    // The other window, as it is seen from the first, is logged out by it.
    await page.reload();
    const sessions = page.getByRole('region').or(page.getByRole('table')).filter({ hasText: 'this one' }).first();
    await sessions.waitFor();
    await page.getByRole('button', { name: 'End all others' }).click();
    await page.getByRole('button', { name: 'End all others' }).waitFor({ state: 'detached' });
    assert.equal((await other.evaluate(async () => (await fetch('/api/v1/session')).status)), 401);

    await page.getByRole('button', { name: 'Remove the authenticator app' }).click();
    const removal = page.getByRole('form', { name: 'Remove the authenticator app' });
    await removal.getByLabel('Present password').fill(it.console.password);
    await removal.getByRole('button', { name: 'Remove the authenticator app' }).click();
    await removal.getByRole('button', { name: 'Use a recovery code' }).click();
    await removal.getByLabel('Recovery code', { exact: true }).fill(codes[1]);
    await removal.getByRole('button', { name: 'Remove the authenticator app' }).click();
    await page.getByRole('button', { name: 'Set up an authenticator app' }).waitFor();
    quiet(page);
    quiet(other);
    await other.context().close();
    await page.context().close();
  });

  test('a passkey is made, logs in, and does not once it was copied or removed', { timeout: 240_000 }, async () => {
    it.console.addPerson('petra', 'viewer');
    await it.console.logIn('petra');
    const base = it.console.base.replace('127.0.0.1', 'localhost');
    const page = await open(it.browser, base);
    const debug = await page.context().newCDPSession(page);
    await debug.send('WebAuthn.enable');
    const { authenticatorId } = await debug.send('WebAuthn.addVirtualAuthenticator', {
      options: { protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
    });
    await page.goto(`${base}/account`);
    await logIn(page, 'petra', it.console.password);
    await page.getByRole('button', { name: 'Make a passkey' }).click();
    await page.getByLabel('What to call it').fill('laptop <b>');
    const proof = page.getByRole('form', { name: 'Make a passkey' });
    await proof.getByLabel('Present password').fill(it.console.password);
    assert.deepEqual(await axe(page), []);
    await proof.getByRole('button', { name: 'Make a passkey' }).click();
    const row = page.getByRole('row').filter({ hasText: 'laptop <b>' });
    await row.filter({ hasText: 'never' }).waitFor();
    const { credentials } = await debug.send('WebAuthn.getCredentials', { authenticatorId });
    assert.deepEqual(credentials.map((one) => [one.rpId, one.isResidentCredential]), [['localhost', true]]);

    const enter = async () => {
      await page.getByText('petra').first().click();
      await page.getByRole('button', { name: 'Log out' }).click();
      await page.getByRole('button', { name: 'Log in with a passkey' }).click();
    };
    await enter();
    await row.waitFor();
    assert.equal(await row.filter({ hasText: 'never' }).count(), 0);
    assert.equal((await session(page)).user, 'petra');
    assert.deepEqual(await faults(page), []);

    // Somebody else at the device: the browser hands nothing on.
    await debug.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false });
    await enter();
    await page.getByRole('alert').filter({ hasText: 'No passkey was chosen' }).waitFor();
    await debug.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: true });
    // A copy of the authenticator counts from where it was copied.
    await debug.send('WebAuthn.clearCredentials', { authenticatorId });
    await debug.send('WebAuthn.addCredential', { authenticatorId, credential: { ...credentials[0], signCount: 0 } });
    await page.getByRole('button', { name: 'Log in with a passkey' }).click();
    await page.getByRole('alert').filter({ hasText: 'not accepted here' }).waitFor();
    assert.deepEqual(await axe(page), []);
    await debug.send('WebAuthn.clearCredentials', { authenticatorId });
    await debug.send('WebAuthn.addCredential', { authenticatorId, credential: { ...credentials[0], signCount: 100 } });
    await page.getByRole('button', { name: 'Log in with a passkey' }).click();
    await row.getByRole('button', { name: 'Remove' }).click();
    const removal = page.getByRole('form', { name: 'Remove the passkey' });
    await removal.getByLabel('Present password').fill(it.console.password);
    await removal.getByRole('button', { name: 'Remove the passkey' }).click();
    await row.waitFor({ state: 'detached' });
    await page.getByText('petra').first().click();
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByRole('button', { name: 'Log in with a passkey' }).click();
    await page.getByRole('alert').filter({ hasText: 'not accepted here' }).waitFor();
    quiet(page);
    await page.context().close();

    const byAddress = await open(it.browser, it.console.base, { cookies: it.console.cookies('viewer') });
    await visit(byAddress, `${it.console.base}/account`);
    await byAddress.getByText('Passkeys need a name').waitFor();
    assert.equal(await byAddress.getByRole('button', { name: 'Make a passkey' }).count(), 0);
    quiet(byAddress);
    await byAddress.context().close();
  });

  test('somebody logs in by the identity provider, sees what was wanted, and logs out there as well', { timeout: 240_000 }, async () => {
    const { provider } = it.console;
    const page = await open(it.browser, it.console.base);
    await page.goto(`${it.console.base}/calls?q=state:failed`);
    const button = page.getByRole('button', { name: 'Log in with Example <b>' });
    await button.waitFor();
    assert.deepEqual(await axe(page), []);
    provider.person = { name: 'ida', groups: ['voice'] };
    await button.click();
    await page.getByRole('region', { name: 'Calls found' }).waitFor();
    assert.equal(page.url(), `${it.console.base}/calls?q=state:failed`);
    const { user, role, by_provider } = await session(page);
    assert.deepEqual({ user, role, by_provider }, { user: 'ida', role: 'engineer', by_provider: true });
    await page.getByText('ida').first().click();
    await page.getByRole('button', { name: 'Log out' }).click();
    await button.waitFor();
    await page.waitForURL(`${it.console.base}/`);
    assert.equal(provider.person, null, 'the provider has logged out as well');

    await button.click();
    await page.getByRole('alert').filter({ hasText: 'did not log you in' }).waitFor();
    assert.equal(page.url(), `${it.console.base}/`);
    provider.person = { name: 'olga', groups: ['other'] };
    await button.click();
    await page.getByRole('alert').filter({ hasText: 'you may not use this console' }).waitFor();
    assert.deepEqual(await axe(page), []);
    assert.deepEqual(await faults(page), []);
    // Nobody who does not know the password becomes an administrator by a name at the provider.
    provider.person = { name: 'administrator', groups: ['voice'] };
    await button.click();
    await page.getByRole('alert').filter({ hasText: 'you may not use this console' }).waitFor();
    assert.equal(await page.evaluate(async () => (await fetch('/api/v1/session')).status), 401);
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
  await page.getByRole('button', { name: 'Log in', exact: true }).click();
}

/** The code of the step after this one, which is valid from now on for more than a minute (RFC 6238). */
function codeOf(secret) {
  const bits = [...secret].map((letter) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0')).join('');
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + 1));
  const hash = createHmac('sha1', Buffer.from(bits.match(/.{8}/g).map((byte) => parseInt(byte, 2)))).update(counter).digest();
  const number = hash.readUInt32BE(hash[19] & 15) & 0x7fffffff;
  return String(number % 1_000_000).padStart(6, '0');
}

function session(page) {
  return page.evaluate(async () => (await fetch('/api/v1/session')).json());
}
