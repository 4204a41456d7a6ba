// From the login to the sound of a bad call, without a mouse.
import assert from 'node:assert/strict';
import { it as test } from 'node:test';
import { open, PHONE, quiet, rows, settled, visit } from '../browser.js';

export function keyboard(it) {
  test('by keyboard alone: logs in, finds a call, reads its ladder, listens, and comes back', { timeout: 900_000 }, async () => {
    const page = await open(it.browser, it.console.base);
    const { keyboard } = page;
    await page.goto(`${it.console.base}/`);
    await page.getByLabel('Name').waitFor();
    await keyboard.type('administrator');
    await keyboard.press('Tab');
    await keyboard.type(it.console.password);
    await keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Now', level: 1 }).waitFor({ timeout: 180_000 });
    await keyboard.press('/');
    await page.waitForURL(/\/calls/);
    await page.waitForFunction(() => document.activeElement.matches('main input'));
    await keyboard.type('codec:g729 note:loss');
    await keyboard.press('Enter');
    await page.waitForURL(/q=codec:g729/);
    await settled(page);
    await keyboard.press('Escape');
    await keyboard.press('j');
    await keyboard.press('j');
    const chosen = page.locator('tr[aria-current=true]');
    await chosen.waitFor();
    await keyboard.press('Enter');
    await page.waitForURL(/\/calls\/[0-9a-f]{32}\?q=codec/);
    await page.getByText('INVITE', { exact: true }).first().waitFor();
    await keyboard.press('j');
    await page.waitForURL(/message=1/);
    await page.getByRole('region', { name: 'Message 1' }).waitFor();
    await keyboard.press('Escape');
    await page.waitForURL((url) => !url.search.includes('message'));
    const first = page.url();
    await keyboard.press(']');
    await page.waitForURL((url) => url.pathname !== new URL(first).pathname);
    await keyboard.press('[');
    await page.waitForURL((url) => url.pathname === new URL(first).pathname);
    await keyboard.press('s');
    await page.waitForURL(/tab=media/);
    await page.getByRole('heading', { level: 1 }).or(page.getByText('G729')).first().waitFor();
    await keyboard.press('e');
    await page.waitForURL(/tab=packets/);
    await page.getByRole('link', { name: 'Listen', exact: true }).focus();
    await keyboard.press('Enter');
    await page.waitForURL(/tab=listen/);
    const position = page.getByRole('slider', { name: 'Position' });
    await position.waitFor();
    await keyboard.press('Space');
    await page.getByRole('button', { name: 'Pause' }).waitFor();
    await page.waitForFunction(() => Number(document.querySelector('.scale input').value) > 0.3);
    await keyboard.press('Space');
    await page.getByRole('button', { name: 'Play' }).waitFor();
    assert.match(page.url(), /[?&]at=\d/, 'where it stopped is in the address');
    await keyboard.press('Escape');
    await page.waitForURL(/\/calls\?q=codec/);
    // The row that it was opened from is in sight, and chosen.
    await chosen.waitFor();
    await keyboard.press('?');
    await page.getByRole('dialog').getByText('next call').first().waitFor();
    await keyboard.press('Escape');
    quiet(page);
    await page.context().close();
  });

  test('Tab reaches every control of a page, and where it stands can be seen', { timeout: 900_000 }, async () => {
    const page = await open(it.browser, it.console.base, { cookies: it.console.cookies('administrator') });
    for (const path of ['/', '/calls?q=state:failed', '/problems', '/alarms', '/quality', '/users', '/admin', '/account']) {
      await visit(page, it.console.base + path);
      const wanted = await page.evaluate(() => {
        const all = [...document.querySelectorAll('a[href], button, input, select, summary, [tabindex="0"]')];
        const isReached = (one) => one.checkVisibility({ visibilityProperty: true }) && !one.disabled && one.tabIndex >= 0 && !one.closest('dialog:not([open])');
        // Radio buttons of a group are one stop; arrows go between them.
        return all.filter(isReached).slice(0, 80).map((one, at) => (one.dataset.stop = String(at)));
      });
      const reached = new Set();
      const unseen = new Set();
      await page.evaluate(() => document.activeElement?.blur());
      for (let n = 0; n < wanted.length * 1.5 + 20 && reached.size < wanted.length; n += 1) {
        await page.keyboard.press('Tab');
        const at = await page.evaluate(() => {
          const one = document.activeElement;
          const style = getComputedStyle(one);
          const box = one.getBoundingClientRect();
          const isMarked = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1;
          return { stop: one.dataset.stop, isMarked: isMarked || one.matches('main'), html: one.outerHTML.slice(0, 100), isIn: box.width > 0 };
        });
        if (at.stop !== undefined) reached.add(at.stop);
        if (at.stop !== undefined && !at.isMarked) unseen.add(at.html);
      }
      const missed = await page.evaluate((stops) => [...document.querySelectorAll('[data-stop]')].filter((one) => !stops.includes(one.dataset.stop)).map((one) => one.outerHTML.slice(0, 100)), [...reached]);
      assert.deepEqual(missed, [], `not reached on ${path}`);
      assert.deepEqual([...unseen], [], `focus cannot be seen on ${path}`);
    }
    quiet(page);
    await page.context().close();
  });

  test('on a phone: the menu, a search and a call', async () => {
    const page = await open(it.browser, it.console.base, { viewport: PHONE, hasTouch: true, isMobile: true, cookies: it.console.cookies('engineer') });
    await visit(page, it.console.base);
    await page.getByRole('button', { name: 'Menu' }).tap();
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Calls' }).tap();
    await settled(page);
    await page.getByRole('combobox').fill('state:failed');
    await page.keyboard.press('Enter');
    await page.waitForURL(/q=state:failed/);
    await settled(page);
    await rows(page).first().getByRole('link').tap();
    await page.waitForURL(/\/calls\/[0-9a-f]{32}/);
    await page.getByText('INVITE', { exact: true }).first().waitFor();
    quiet(page);
    await page.context().close();
  });
}
