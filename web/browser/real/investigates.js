// A complaint becomes a cause: "Why these?" on the page names what was planted in the captures.
import assert from 'node:assert/strict';
import { it as test } from 'node:test';
import { open, quiet, rows, settled, visit } from '../browser.js';

export function investigates(it) {
  test('“Why these?” names the codec that loses packets first, and its line is a search', async () => {
    const page = await open(it.browser, it.console.base, { cookies: it.console.cookies('engineer') });
    await visit(page, `${it.console.base}/calls?q=note:loss+began:-2h`);
    await page.getByRole('button', { name: 'Why these?' }).click();
    const panel = page.getByRole('region', { name: 'Why these?' });
    const first = panel.locator('tbody tr').first();
    await first.waitFor();
    assert.match(await first.innerText(), /codec\s+G729/i);
    await first.getByRole('button').click();
    await page.waitForURL(/codec:/);
    await settled(page);
    assert.ok((await rows(page).count()) > 5);
    quiet(page);
    await page.context().close();
  });

  test('a sample of what is under way now: live figures, calls, alarms that stand', async () => {
    const page = await open(it.browser, it.console.base, { cookies: it.console.cookies('administrator') });
    await visit(page, it.console.base);
    const figure = (name) => page.locator('.figures div').filter({ hasText: name }).locator('dd').first();
    await page.waitForFunction(() => Number(document.querySelector('.figures dd')?.textContent) >= 5);
    const before = await figure('Packets per second').innerText();
    await page.waitForFunction((old) => {
      const found = [...document.querySelectorAll('.figures div')].find((one) => one.textContent.includes('Packets per second'));
      const text = found.querySelector('dd').textContent;
      return /^[\d,]+$/.test(text) && text !== old && text !== '0';
    }, before);
    await page.getByRole('heading', { name: 'Calls under way' }).waitFor();
    await page.getByText(/\d+ of \d+ calls, the latest first/).waitFor();
    await page.getByText('Nothing lost').waitFor();
    quiet(page);
    await page.context().close();
  });
}
