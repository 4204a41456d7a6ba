// Recording rules are changed on the page, by keyboard: nothing is in effect before all is, what is wrong is named, and
// nobody overwrites what somebody else did meanwhile. At the end there are no rules, as at the beginning.
import assert from 'node:assert/strict';
import { it as test } from 'node:test';
import { axe, faults, open, PHONE, quiet, visit } from '../browser.js';

export function rules(it) {
  const begin = (role, options = {}) => open(it.browser, it.console.base, { cookies: it.console.cookies(role), ...options });
  const end = async (page) => {
    quiet(page);
    await page.context().close();
  };
  const listed = () => it.console.json('administrator', '/rules');
  const names = async () => (await listed()).rules.map((rule) => rule.name);
  const set = async (version, list) => {
    const headers = { 'Content-Type': 'application/json', 'X-Ringtap': '1', Cookie: it.console.sessions.get('administrator') };
    const answer = await fetch(`${it.console.base}/api/v1/rules`, { method: 'PUT', headers, body: JSON.stringify({ version, rules: list }) });
    assert.equal(answer.status, 200, await answer.text());
  };

  test('rules: added, ordered, refused and put into effect by keyboard', { timeout: 900_000 }, async () => {
    assert.deepEqual(await names(), ['[spool] keep']);
    const page = await begin('administrator');
    await visit(page, `${it.console.base}/retention`);
    await page.getByRole('button', { name: 'Change the rules' }).press('Enter');
    await page.waitForURL(/edit=rules/);
    await page.getByText('There is no rule').waitFor();
    const add = async (name, fields) => {
      await page.getByRole('button', { name: 'Add a rule' }).press('Enter');
      const form = page.getByRole('form', { name: 'A new rule' });
      assert.equal(await form.getByLabel('Name').evaluate((input) => input === document.activeElement), true);
      await page.keyboard.type(name);
      for (const [label, text] of Object.entries(fields)) await form.getByLabel(label, { exact: true }).fill(text);
      assert.deepEqual([...(await axe(page)), ...(await faults(page))], []);
      await form.getByRole('button', { name: 'Take over' }).press('Enter');
      await form.waitFor({ state: 'detached' });
    };
    await add('the rest', {});
    await add('never <b>', { 'Numbers of either party': '112, +49 30 *', 'MOS below': '' });
    await page.getByText('These rules are not in effect yet.').waitFor();
    assert.deepEqual(await names(), ['[spool] keep'], 'nothing is in effect before it is said');

    // A rule behind one that matches every call is refused, and named where it stands.
    await page.getByRole('button', { name: 'Put into effect' }).press('Enter');
    const wrong = page.getByRole('listitem').filter({ hasText: 'never <b>' });
    await wrong.getByText('never matches, because the rule before it matches every call').waitFor();
    assert.deepEqual(await axe(page), []);
    assert.deepEqual(await names(), ['[spool] keep']);
    const up = page.getByRole('button', { name: 'Move never <b> up' });
    await up.press('Enter');
    await page.getByRole('status').filter({ hasText: 'never <b> is now rule 1 of 2' }).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Move never <b> down' }).evaluate((button) => button === document.activeElement), true);
    await page.getByRole('button', { name: 'Put into effect' }).press('Enter');
    await page.getByRole('row', { name: /never <b> a party is in a list of 2 numbers everything of the call/ }).waitFor();
    const now = await listed();
    assert.deepEqual(now.rules.map((rule) => [rule.name, rule.written.number]), [['never <b>', ['112', '+49 30 *']], ['the rest', []]]);
    const { entries } = await it.console.json('auditor', '/audit?limit=20');
    assert.ok(JSON.stringify(entries).includes('0 recording rules [] become 2 [never <b>, the rest]'), JSON.stringify(entries));
    await end(page);
  });

  test('rules: of two who change them the second is told, and starts from what they are now', { timeout: 900_000 }, async () => {
    const page = await begin('administrator', { viewport: PHONE });
    await visit(page, `${it.console.base}/retention?edit=rules`);
    await page.getByRole('button', { name: 'Remove the rest' }).click();
    await page.getByRole('button', { name: 'Remove', exact: true }).click();
    const { version } = await listed();
    await set(version, [{ name: 'from elsewhere', keep: 'headers' }]);
    await page.getByRole('button', { name: 'Put into effect' }).click();
    await page.getByText('somebody changed the recording rules meanwhile').waitFor();
    assert.deepEqual([...(await axe(page)), ...(await faults(page))], []);
    assert.deepEqual(await names(), ['from elsewhere']);
    await page.getByRole('button', { name: 'Show the rules as they are now' }).click();
    await page.getByRole('listitem').filter({ hasText: 'from elsewhere' }).waitFor();
    await page.getByRole('button', { name: 'Change from elsewhere' }).click();
    await page.getByRole('form').getByLabel('What is recorded').selectOption('signalling');
    await page.keyboard.press('Escape');
    await page.getByText('Nothing is changed yet.').waitFor();
    await end(page);
  });

  test('rules: whoever may not change them is told why, and sees no numbers', { timeout: 900_000 }, async () => {
    await set((await listed()).version, [{ name: 'ours', number: ['+4930123'], keep: 'full' }]);
    for (const role of ['viewer', 'engineer']) {
      const page = await begin(role);
      await visit(page, `${it.console.base}/retention?edit=rules`);
      await page.getByRole('row', { name: /ours a party is in a list of one number/ }).waitFor();
      await page.getByText('Changing rules needs the rights').waitFor();
      assert.equal(await page.getByRole('button', { name: 'Change the rules' }).count(), 0);
      assert.equal((await page.locator('body').innerText()).includes('4930123'), false);
      await end(page);
    }
    const page = await begin('administrator', { locale: 'es-ES', colorScheme: 'dark' });
    await visit(page, `${it.console.base}/retention?edit=rules`);
    await page.getByRole('button', { name: 'Cambiar ours' }).click();
    await page.getByRole('form', { name: 'Cambiar ours' }).waitFor();
    assert.deepEqual([...(await axe(page)), ...(await faults(page))], []);
    await end(page);
    await set((await listed()).version, []);
    assert.deepEqual(await names(), ['[spool] keep']);
  });
}
