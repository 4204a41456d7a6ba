// Searching: completions, mistakes, values beside the table, charts that are brushed, orders, zones, other languages.
import assert from 'node:assert/strict';
import { it as test } from 'node:test';
import { open, quiet, rows, settled, visit } from '../browser.js';

export function search(it) {
  const begin = async (path = '/calls') => {
    const page = await open(it.browser, it.console.base, { cookies: it.console.cookies('engineer') });
    await visit(page, it.console.base + path);
    return page;
  };
  const end = async (page) => {
    quiet(page);
    await page.context().close();
  };
  const query = (page) => new URL(page.url()).searchParams.get('q') ?? '';

  test('completes fields and values by keyboard, and says how it understood the search', async () => {
    const page = await begin();
    await page.keyboard.press('/');
    await page.keyboard.type('state:fa');
    await page.getByRole('option', { name: /failed/ }).waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    assert.equal(await page.getByRole('combobox').inputValue(), 'state:failed ');
    await page.keyboard.press('Enter');
    await page.getByText('calls failed', { exact: true }).waitFor();
    assert.equal(query(page), 'state:failed');
    await end(page);
  });

  test('rehearses a call while there is nothing to do, and leaves nothing of it behind', async () => {
    const page = await open(it.browser, it.console.base, { cookies: it.console.cookies('engineer') });
    await page.addInitScript(() => {
      window.stages = { put: 0, gone: 0 };
      const stages = (nodes) => [...nodes].filter((node) => node.inert).length;
      new MutationObserver((changes) => changes.forEach((change) => {
        window.stages.put += stages(change.addedNodes);
        window.stages.gone += stages(change.removedNodes);
      })).observe(document, { childList: true, subtree: true });
    });
    await visit(page, `${it.console.base}/calls`);
    // The ladder and the charts, twice each.
    await page.waitForFunction(() => window.stages.gone === 4);
    assert.deepEqual(await page.evaluate(() => window.stages), { put: 4, gone: 4 });
    assert.equal(await page.locator('.sheet, .lane').count(), 0);
    await end(page);
  });

  test('chooses the mistake of a search when it is pressed', async () => {
    const page = await begin('/calls?q=0138+stat:failed');
    await page.locator('button.pointed').click();
    const chosen = await page.evaluate(() => [document.activeElement.selectionStart, document.activeElement.selectionEnd]);
    assert.deepEqual(chosen, [5, 9]);
    await end(page);
  });

  test('narrows by a value, leaves one out, and takes both back', async () => {
    const page = await begin();
    const reads = (q) => page.waitForFunction((q) => (new URLSearchParams(location.search).get('q') ?? '') === q, q);
    await page.getByTitle('Only calls with failed').click();
    await reads('state:failed');
    await page.getByRole('button', { name: 'Leave out calls with 486' }).click();
    await reads('state:failed -code:486');
    await page.getByTitle('Only calls with failed').click();
    await reads('-code:486');
    await page.goBack();
    await reads('state:failed -code:486');
    await page.goBack();
    await page.goBack();
    await reads('');
    await end(page);
  });

  test('is brushed over time, with the pointer and by keys', async () => {
    const page = await begin('/calls?q=began:-3h');
    const chart = page.getByRole('group', { name: /Calls over time/ });
    const box = await chart.boundingBox();
    await page.mouse.move(box.x + box.width * 0.3, box.y + 30);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.8, box.y + 30, { steps: 4 });
    await page.mouse.up();
    await page.waitForFunction(() => /^began:\S+Z\.\.\S+Z$/.test(new URLSearchParams(location.search).get('q') ?? ''));
    const before = query(page);
    await settled(page);
    await chart.focus();
    for (const key of ['ArrowRight', 'Shift+ArrowRight', 'Shift+ArrowRight', 'Enter']) await page.keyboard.press(key);
    await page.waitForFunction((old) => new URLSearchParams(location.search).get('q') !== old, before);
    assert.match(query(page), /^began:\S+Z\.\.\S+Z$/);
    await end(page);
  });

  test('shows fewer bars than stood before the chosen one', async () => {
    const page = await begin('/calls?q=began:-3h');
    const bars = () => page.locator('.time svg > rect').count();
    const chart = page.getByRole('group', { name: /Calls over time/ });
    await chart.focus();
    const before = await bars();
    for (const key of ['ArrowLeft', 'Enter']) await page.keyboard.press(key);
    await page.waitForFunction(() => /^began:\S+Z\.\.\S+Z$/.test(new URLSearchParams(location.search).get('q') ?? ''));
    await settled(page);
    assert.ok((await bars()) < before / 2, `${await bars()} of ${before}`);
    assert.equal(await page.locator('.time .chosen').count(), 0, 'a bar chosen that is no longer shown');
    await end(page);
  });

  test('sorts by a heading, and shows the columns that are chosen', async () => {
    const page = await begin('/calls?q=mos:*&cols=began,mos');
    await page.getByRole('button', { name: /^MOS/ }).click();
    await page.waitForURL(/sort=-mos/);
    await page.getByRole('columnheader', { name: /^MOS/ }).and(page.locator('[aria-sort=descending]')).waitFor();
    await page.getByRole('button', { name: /^MOS/ }).click();
    await page.waitForURL(/sort=mos/);
    await settled(page);
    const shown = (await rows(page).locator('td:nth-child(2)').allInnerTexts()).map(Number);
    assert.ok(shown.length > 5 && shown.every((mos, at) => at === 0 || mos >= shown[at - 1]), String(shown));
    await page.keyboard.press('c');
    await page.getByRole('dialog').getByRole('checkbox', { name: /^Call-ID/ }).check();
    await page.keyboard.press('Escape');
    await page.getByRole('columnheader', { name: 'Call-ID' }).waitFor();
    assert.match(page.url(), /cols=began,mos,callid/);
    await end(page);
  });

  test('shows times in UTC by a key, and lists its keys', async () => {
    const page = await begin();
    const first = await rows(page).first().innerText();
    await page.keyboard.press('u');
    await page.waitForFunction((old) => document.querySelector('tbody tr:not(.space)')?.innerText !== old, first);
    await page.keyboard.press('?');
    await page.getByRole('dialog').getByText('times in UTC or in your zone').waitFor();
    await page.keyboard.press('Escape');
    await end(page);
  });
}
