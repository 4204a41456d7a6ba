// The register of warrants: two officers and an auditor use its pages, an administrator of the console sees nothing of it.
import assert from 'node:assert/strict';
import { it as test } from 'node:test';
import { axe, faults, open, PHONE, quiet, settled, turn, visit } from '../browser.js';

const SECRETS = ['zebra', 'LI-2026-017', 'C-4711', 'District Court', '441601234567', 'yearly audit', 'what waits'];

export function officers(it) {
  const at = (path) => `${it.console.base}${path}`;
  const urls = new Set();
  const begin = async (options = {}) => {
    const page = await open(it.browser, it.console.base, options);
    page.on('request', (request) => urls.add(request.url()));
    page.on('framenavigated', (frame) => urls.add(frame.url()));
    return page;
  };
  const end = async (page) => {
    const stored = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, history.state, document.cookie]));
    for (const secret of SECRETS) assert.ok(!stored.toLowerCase().includes(secret.toLowerCase()), `${secret} is stored: ${stored}`);
    quiet(page);
    await page.context().close();
  };
  const right = async (page) => assert.deepEqual([...(await faults(page)), ...(await axe(page))], []);
  const logIn = async (page, name, passphrase) => {
    await visit(page, at('/warrants'));
    await page.getByLabel('Name').fill(name);
    await page.getByLabel('Passphrase').fill(passphrase);
    await page.getByRole('button', { name: 'Log in', exact: true }).click();
  };
  const choose = async (page) => {
    const form = page.getByRole('form', { name: 'Change the passphrase' });
    await form.getByLabel('Present passphrase').fill(it.console.firstPassphrase);
    await form.getByLabel('New passphrase', { exact: true }).fill(it.console.passphrase);
    await form.getByLabel('New passphrase, again').fill(it.console.passphrase);
    await right(page);
    await form.getByRole('button', { name: 'Change the passphrase' }).click();
    await page.getByRole('heading', { name: 'Warrants' }).waitFor();
  };
  const look = async (page, why) => {
    const form = page.getByRole('form', { name: 'Look' });
    await form.getByLabel('Why do you look?').fill(why);
    await form.getByRole('button', { name: 'Look' }).click();
    await settled(page);
  };

  test('warrants: two officers, an auditor and an administrator', { timeout: 900_000 }, async () => {
    const before = await seenBy('administrator');

    // Whoever administers the console is nobody here.
    const administrator = await begin({ cookies: it.console.cookies('administrator') });
    await visit(administrator, at('/warrants/1'));
    await administrator.getByText('An account of the console gives no right here').waitFor();
    await right(administrator);
    assert.equal(await administrator.getByRole('navigation').count(), 0);
    await logIn(administrator, 'administrator', it.console.password);
    await administrator.getByRole('alert').filter({ hasText: 'Name or passphrase is wrong' }).waitFor();
    await end(administrator);

    // Ben chooses a passphrase that ana does not know.
    const ben = await begin();
    await logIn(ben, 'ben', it.console.firstPassphrase);
    await choose(ben);

    // Ana enters a warrant, with a mistake at first, and cannot approve it.
    const ana = await begin();
    await logIn(ana, 'ana', it.console.passphrase);
    await ana.getByRole('link', { name: 'Enter a warrant' }).click();
    const form = ana.getByRole('form', { name: 'Enter a warrant' });
    const fields = {
      LIID: 'LI-2026-017', Case: 'C-4711', Authority: 'District Court', 'Legal basis': 'Act 1, section 2', Requester: 'Agency A',
      'By law of (two letters)': 'GB', Agency: 'agency-a', Operator: 'operator',
    };
    for (const [label, text] of Object.entries(fields)) await form.getByLabel(label).fill(text);
    await form.getByLabel('Ends').fill('2099-12-31T00:00');
    const targets = form.getByLabel('Targets');
    await targets.fill('number:+441601234567\n\nsip:zebra');
    await right(ana);
    await form.getByRole('button', { name: 'Enter a warrant' }).click();
    await ana.getByRole('alert').filter({ hasText: 'line 3, column 5' }).waitFor();
    assert.equal(await targets.evaluate((area) => area.value.slice(area.selectionStart, area.selectionEnd)), 'zebra');
    await right(ana);
    await targets.fill('number:+441601234567\nsip:zebra@*');
    await form.getByRole('button', { name: 'Enter a warrant' }).click();
    await ana.waitForURL(at('/warrants/1'));
    assert.ok(!(await ana.locator('main').innerText()).includes('LI-2026-017'), 'nothing is shown before the reason');
    await look(ana, 'was it entered as ordered?');
    await ana.getByText('It waits for another officer to approve it.').waitFor();
    assert.equal(await ana.getByRole('button', { name: 'Approve this warrant' }).count(), 0);
    await right(ana);

    // She proposes an auditor; ben confirms.
    await ana.getByRole('link', { name: 'People' }).click();
    await look(ana, 'to add an auditor');
    const add = ana.getByRole('form', { name: 'Propose to add somebody' });
    await add.getByLabel('Name').fill('dora');
    await add.getByLabel('Role').selectOption('auditor');
    await add.getByLabel('First passphrase').fill(it.console.firstPassphrase);
    await add.getByRole('button').click();
    await ana.getByText('another officer confirms it').waitFor();
    assert.equal(await ana.getByRole('button', { name: 'Confirm dora' }).count(), 0);
    await right(ana);

    // Ben sees what waits for him, reads it, and approves this record and no other.
    await look(ben, 'what waits');
    await ben.getByRole('row').filter({ hasText: 'waits for you' }).getByRole('link', { name: 'Warrant 1' }).click();
    await look(ben, 'to approve it');
    await ben.getByText('sip:zebra@*').waitFor();
    const approval = ben.getByRole('form', { name: 'Approve this warrant' });
    await approval.getByLabel('First 8 digits').fill('00000000');
    await approval.getByRole('button').click();
    await approval.getByRole('alert').filter({ hasText: 'Nothing was approved' }).waitFor();
    await right(ben);
    const hash = await ben.locator('dd.hash').innerText();
    await approval.getByLabel('First 8 digits').fill(hash.slice(0, 8));
    await approval.getByRole('button').click();
    await ben.getByText('It is approved as it is shown.').waitFor();
    await ben.getByText('active', { exact: false }).first().waitFor();
    await ben.getByRole('link', { name: 'People' }).click();
    await look(ben, 'who waits');
    await ben.getByRole('button', { name: 'Confirm dora' }).click();
    await ben.getByText('It is confirmed, and holds.').waitFor();

    // Ben enters an extension, ana approves it, and withdraws the warrant.
    await turn(ben, '/warrants/1');
    await look(ben, 'to extend it');
    const extension = ben.getByRole('form', { name: 'Enter an extension' });
    await extension.getByLabel('New end').fill('2100-01-31T00:00');
    await extension.getByLabel('Number of the order').fill('order 4899');
    await extension.getByLabel('Authority').fill('District Court');
    await extension.getByRole('button').click();
    await ben.getByText('waits for another officer').first().waitFor();
    await turn(ana, '/warrants/1');
    await look(ana, 'to approve the extension');
    const second = ana.getByRole('form', { name: 'Approve the extension' });
    await second.getByLabel('First 8 digits').fill((await ana.locator('dd.hash').innerText()).slice(0, 8));
    await second.getByRole('button').click();
    await ana.getByText('approved by ana').waitFor();
    const withdrawal = ana.getByRole('form', { name: 'Withdraw it' });
    await withdrawal.getByLabel('Why it is withdrawn').fill('lifted by order 4901');
    await withdrawal.getByLabel('End it at once').check();
    await withdrawal.getByRole('button').click();
    await ana.getByText('withdrawn by ana: lifted by order 4901').waitFor();

    // The auditor sees everything, enters nothing, and proves the register.
    const dora = await begin();
    await logIn(dora, 'dora', it.console.firstPassphrase);
    await choose(dora);
    assert.equal(await dora.getByRole('link', { name: 'Enter a warrant' }).count(), 0);
    await turn(dora, '/warrants/1');
    await look(dora, 'yearly audit');
    await dora.getByText('sip:zebra@*').waitFor();
    assert.equal(await dora.getByRole('button', { name: 'Add a note' }).count(), 0);
    await dora.getByRole('link', { name: 'Acts' }).click();
    await look(dora, 'yearly audit');
    await dora.getByRole('cell', { name: 'approve extension' }).waitFor();
    const verification = dora.getByRole('form', { name: 'Verify the register' });
    await verification.getByLabel('Why do you look?').fill('yearly audit');
    await verification.getByRole('button').click();
    await dora.getByText(/none changed, none missing/).waitFor();
    await right(dora);

    // Another session of hers ends with another passphrase, and hides what it shows with its next request.
    it.console.warrant('dora', [it.console.passphrase, 'another horse staple'], 'people', 'passphrase');
    await look(dora, 'yearly audit');
    await dora.getByText('Your session has ended').waitFor();
    assert.ok(!(await dora.locator('body').innerText()).includes('approve'));
    for (const page of [ana, ben, dora]) await end(page);

    // The same acts by the command line; nothing of all this anywhere else.
    const acts = it.console.warrant('ana', [it.console.passphrase], 'acts', '--why', 'a look', '--format', 'jsonl').trim().split('\n').map((line) => JSON.parse(line));
    const kinds = acts.map((act) => act.act).filter((kind) => ['enter', 'approve', 'extend', 'approve-extension', 'withdraw'].includes(kind));
    assert.deepEqual(kinds, ['enter', 'approve', 'extend', 'approve-extension', 'withdraw']);
    assert.ok(acts.some((act) => act.who === 'dora' && act.detail === 'verify: yearly audit'));
    assert.ok(!JSON.stringify(acts).includes('zebra'));
    for (const url of urls) {
      const text = decodeURIComponent(url).toLowerCase();
      for (const secret of [...SECRETS, 'ana', 'dora']) assert.ok(!new URL(text).pathname.includes('/warrants') || !text.includes(secret.toLowerCase()), url);
    }
    assert.deepEqual(await seenBy('administrator'), before);
  });

  test('warrants: every page is accessible and in sight, wide and on a phone, light and dark, in both languages', { timeout: 900_000 }, async () => {
    for (const [locale, viewport] of [['en-GB', undefined], ['es-ES', PHONE]]) {
      const page = await begin({ locale, ...(viewport ? { viewport } : {}) });
      await visit(page, at('/warrants'));
      await right(page);
      await page.locator('input').first().fill('ana');
      await page.locator('input[type=password]').fill(it.console.passphrase);
      await page.locator('button.primary').click();
      await page.getByRole('navigation').waitFor();
      for (const path of ['/warrants', '/warrants/1', '/warrants/new', '/warrants/people', '/warrants/acts', '/warrants/passphrase', '/warrants/nothing']) {
        await turn(page, path);
        const why = page.locator('.why input').first();
        if (await why.count()) {
          await why.fill('a look at every page');
          await page.locator('form button.primary').first().click();
          await settled(page);
        }
        for (const colorScheme of ['light', 'dark']) {
          await page.emulateMedia({ colorScheme });
          assert.deepEqual([...(await faults(page)), ...(await axe(page, colorScheme === 'dark' ? ['color-contrast'] : null))], [], `${path}, ${locale}, ${colorScheme}`);
        }
        await page.screenshot({ path: `../target/page/warrants${path.replaceAll('/', '-').slice(9) || '-list'}-${viewport ? 'phone' : 'wide'}.png` });
      }
      assert.equal(await page.getAttribute('html', 'lang'), locale.slice(0, 2));
      await end(page);
    }
  });

  test('warrants: whoever does nothing for ten minutes sees nothing any more', { timeout: 300_000 }, async () => {
    const page = await begin();
    await page.clock.install();
    await page.goto(at('/warrants'));
    await page.getByLabel('Name').fill('ana');
    await page.getByLabel('Passphrase').fill(it.console.passphrase);
    await page.getByRole('button', { name: 'Log in', exact: true }).click();
    await page.getByLabel('only those that have not ended').uncheck();
    await page.getByLabel('Why do you look?').fill('a look');
    await page.getByRole('button', { name: 'Look' }).click();
    await page.getByText('LI-2026-017').waitFor();
    await page.clock.fastForward(599_000);
    await page.getByText('LI-2026-017').waitFor();
    await page.clock.fastForward(2_000);
    await page.getByText('Your session has ended').waitFor();
    assert.equal(await page.getByText('LI-2026-017').count(), 0);
    await end(page);
  });

  /** What there is of warrants in what somebody of the console gets, and in the logs. */
  async function seenBy(role) {
    const { entries } = await it.console.json(role, '/audit?limit=1000');
    const metrics = await (await fetch(at('/api/v1/metrics'), { headers: { Cookie: it.console.sessions.get(role) } })).text();
    const told = [JSON.stringify(entries.map((entry) => [entry.action, entry.who, entry.what])), metrics, it.console.logs()];
    return told.flatMap((text) => [...text.toLowerCase().matchAll(/warrant|officer ana|zebra|\bdora\b|li-2026/g)].map(([word]) => word));
  }
}
