// What is kept: a call on hold is released there, by keyboard, and what the page says is what the daemon says.
import assert from 'node:assert/strict';
import { it as test } from 'node:test';
import { axe, faults, open, quiet, settled, visit } from '../browser.js';

export function retention(it) {
  test('retention: limits, rules with their calls, and a hold that is released', { timeout: 900_000 }, async () => {
    const kept = await it.console.json('officer', '/retention');
    assert.deepEqual(kept.spool.categories.map((one) => one.category), ['signalling', 'media']);
    assert.ok(kept.spool.categories.every((one) => one.bytes > 0) && kept.records.bytes > 0 && kept.spool.disk_bytes > 0, JSON.stringify(kept));
    const { rules } = await it.console.json('officer', '/rules');
    assert.deepEqual(rules.map((rule) => [rule.name, rule.keep]), [['[spool] keep', 'full']]);
    assert.ok(rules[0].calls > 5, JSON.stringify(rules));

    const { id, call_id: callId } = (await it.console.json('officer', '/calls?q=state:completed&limit=1')).calls[0];
    const headers = { 'Content-Type': 'application/json', 'X-Ringtap': '1', Cookie: it.console.sessions.get('officer') };
    const held = await fetch(`${it.console.base}/api/v1/calls/${id}/holds`, { method: 'POST', headers, body: JSON.stringify({ case: 'K-2026-17' }) });
    assert.equal(held.status, 204, await held.text());

    const page = await open(it.browser, it.console.base, { cookies: it.console.cookies('officer') });
    await visit(page, `${it.console.base}/retention`);
    await page.getByRole('row', { name: /Media packets/ }).waitFor();
    await page.getByRole('row', { name: /\[spool\] keep any call everything of the call \(may be paused\)/ }).waitFor();
    const row = page.getByRole('row', { name: /K-2026-17/ });
    assert.equal(await row.getByRole('link').innerText(), callId);
    assert.deepEqual([...(await axe(page)), ...(await faults(page))], []);
    await row.getByRole('button', { name: /Release/ }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('No call is on hold.').waitFor();
    assert.deepEqual((await it.console.json('officer', '/holds')).holds, []);
    await page.getByRole('link', { name: 'calls recorded so' }).click();
    await page.waitForURL(/\/calls\?q=recorded:full/);
    await settled(page);
    assert.equal(await page.locator('mark').count(), 0, 'the search can be read');
    quiet(page);
    await page.context().close();
  });
}
