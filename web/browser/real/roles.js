// What each role finds on each page: what it may see, and where it may not, why.
import assert from 'node:assert/strict';
import { it as test } from 'node:test';
import { faults, open, quiet, rows, turn, visit } from '../browser.js';
import { ROLES } from '../server.js';
import { pagesOf } from './pages.js';

const EVERYBODY = ['Now', 'Calls', 'Problems', 'Alarms', 'Quality', 'Trunks', 'Users', 'Sites', 'Retention', 'Sensors'];
const LINKS = {
  viewer: EVERYBODY, engineer: EVERYBODY, quality: EVERYBODY, auditor: [...EVERYBODY, 'Audit'],
  officer: [...EVERYBODY, 'Audit'], administrator: [...EVERYBODY, 'Audit', 'Admin'],
};
const RIGHTS = {
  viewer: [], engineer: ['numbers', 'signalling', 'export'], quality: ['signalling', 'listen'], auditor: ['audit'],
  officer: ['numbers', 'signalling', 'listen', 'export', 'audit', 'hold'], administrator: ['numbers', 'signalling', 'listen', 'export', 'audit', 'hold', 'administer', 'rules'],
};

export function roles(it) {
  for (const role of ROLES) {
    test(`${role}: sees what the role may see, and is told why not the rest`, { timeout: 900_000 }, async () => {
      const page = await open(it.browser, it.console.base, { cookies: it.console.cookies(role) });
      const may = (right) => RIGHTS[role].includes(right);
      const numbers = new Set((await it.console.json('engineer', '/calls?limit=1000')).calls.flatMap((call) => [call.from_user, call.to_user]).filter((user) => /^\+\d{8,}$/.test(user)));
      assert.ok(numbers.size > 50);
      await visit(page, it.console.base);
      for (const one of await pagesOf(it.console)) {
        await turn(page, one.path);
        const main = page.locator('main');
        assert.deepEqual(await page.getByRole('navigation', { name: 'Pages' }).getByRole('link').allInnerTexts(), LINKS[role], one.name);
        assert.deepEqual(await faults(page), [], one.name);
        const isForbidden = (await main.getByText('You may not see this').count()) > 0;
        const lacks = (one.needs && !may(one.needs)) || (/^call-(ladder|messages)$/.test(one.name) && !may('signalling')) || (one.name === 'call-listen' && !may('listen')) || (one.name === 'call-history' && !may('audit'));
        assert.equal(isForbidden, Boolean(lacks), `${one.name}: forbidden`);
        assert.deepEqual(await main.locator('.problem:not(.forbidden)').allInnerTexts(), [], one.name);
        if (!may('numbers')) {
          const text = await page.locator('body').innerText();
          assert.deepEqual([...numbers].filter((number) => text.includes(number) && !one.path.includes(encodeURIComponent(number))), [], `numbers on ${one.name}`);
        }
        if (one.name === 'calls') {
          assert.equal(await page.getByRole('button', { name: 'Why these?' }).count(), may('numbers') ? 1 : 0);
          assert.match(await rows(page).first().locator('td').nth(1).innerText(), may('numbers') ? /^\+?\w/ : /^~/);
        }
        if (one.name === 'call-packets') {
          assert.equal(await page.getByRole('link', { name: 'Packets (pcap)' }).count(), ['export', 'signalling', 'numbers', 'listen'].every(may) ? 1 : 0);
          assert.equal(await page.getByRole('link', { name: 'Sound (WAV)' }).count(), may('listen') ? 1 : 0);
          assert.equal(await page.getByRole('link', { name: 'Ladder (SVG)' }).count(), may('signalling') && may('numbers') ? 1 : 0);
        }
      }
      // What is on hold, and what was deleted, is for those who may release it, and for those who audit.
      await turn(page, '/retention');
      const sections = await page.locator('main h2').allInnerTexts();
      assert.deepEqual(['Calls on hold', 'Deletions'].map((name) => sections.includes(name)), ['hold', 'audit'].map(may), 'sections of retention');
      // From the list to one of it, also where only its token is to be seen.
      await turn(page, '/users');
      await page.getByRole('main').locator('tbody th a').first().click();
      await page.waitForURL(/\/users\/./);
      await page.getByText('Messages received').waitFor();
      quiet(page);
      await page.context().close();
    });
  }

  test('who is limited to a trunk sees its calls alone, and nothing that is counted over others', async () => {
    const page = await open(it.browser, it.console.base, { cookies: it.console.cookies('tenant') });
    const all = (await it.console.json('engineer', '/calls?limit=1000')).calls;
    const own = all.filter((call) => [call.trunk_from, call.trunk_to].includes('carrier-a'));
    assert.ok(own.length > 20 && own.length < all.length);
    await visit(page, `${it.console.base}/calls?cols=began,trunk_from,trunk_to`);
    await page.getByText(`${own.length} call`).first().waitFor();
    const foreign = all.find((call) => !own.includes(call));
    await visit(page, `${it.console.base}/calls/${foreign.id}`);
    await page.getByText('There is no record of this call').waitFor();
    for (const path of ['/sites', '/retention', '/sensors']) {
      await visit(page, it.console.base + path);
      await page.getByText('counted over all calls').first().waitFor();
    }
    // Figures are of its own calls.
    await visit(page, `${it.console.base}/alarms`);
    await page.getByText('Only those of trunks that you may see').waitFor();
    await visit(page, `${it.console.base}/users?days=30`);
    await page.getByText('Counted over the calls that you may see').waitFor();
    for (const path of ['/trunks', '/quality', '/quality?by=direction', '/quality?by=code']) {
      await visit(page, it.console.base + path);
      const main = page.getByRole('main');
      if (path.includes('?')) await main.getByText('Counted over the calls that you may see').waitFor();
      else await main.getByText('carrier-a').first().waitFor();
      assert.equal(await main.getByText('carrier-b').count(), 0, path);
    }
    await visit(page, it.console.base);
    assert.deepEqual(await faults(page), []);
    quiet(page);
    await page.context().close();
  });
}
