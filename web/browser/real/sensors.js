// Sensors: what the daemon says of itself; and where it is in trouble or away, what is wrong and what to do, without a right of
// the page to any of it but the server's answer.
import assert from 'node:assert/strict';
import { it as test } from 'node:test';
import { axe, faults, open, PHONE, quiet, settled, visit } from '../browser.js';

export function sensors(it) {
  test('sensors: the daemon with its version, rates, disks and workers', { timeout: 900_000 }, async () => {
    const { sensors: [told] } = await it.console.json('viewer', '/sensors');
    assert.equal(told.answers, true);
    assert.deepEqual(told.disks.map((disk) => disk.name), ['records', 'spool']);
    const page = await open(it.browser, it.console.base, { cookies: it.console.cookies('viewer') });
    await visit(page, `${it.console.base}/sensors`);
    const main = page.getByRole('main');
    await main.getByText(`ringtap ${told.state.version}`).waitFor();
    await main.getByText('packets a second').waitFor({ timeout: 60_000 });
    assert.equal(await main.getByRole('region', { name: 'Workers' }).getByRole('row').count(), 1 + told.state.workers.length);
    assert.deepEqual([...(await axe(page)), ...(await faults(page))], []);
    quiet(page);
    await page.context().close();
  });

  test('sensors: what is wrong stands first, with what to do, in both languages and on a phone', { timeout: 900_000 }, async () => {
    for (const [locale, colorScheme, said, advised] of [
      ['en-GB', 'light', 'The clock has stepped by -40 s: nothing is deleted by age.', 'Set a larger [capture] ring'],
      ['es-ES', 'dark', 'El reloj saltó -40 s', 'Aumente [capture] ring'],
    ]) {
      const page = await open(it.browser, it.console.base, { cookies: it.console.cookies('viewer'), viewport: PHONE, locale, colorScheme });
      await page.route('**/api/v1/sensors', async (route) => {
        const response = await route.fetch();
        const answer = await response.json();
        const fault = { subject: null, count: null, detail: 'in words', remedy: 'an advice' };
        answer.sensors[0].faults = [
          { ...fault, code: 'clock', count: -40 }, { ...fault, code: 'lost', subject: 'ring', count: 7 }, { ...fault, code: 'of another version' },
        ];
        await route.fulfill({ response, json: answer });
      });
      await visit(page, `${it.console.base}/sensors`);
      for (const text of [said, advised, 'in words an advice']) await page.getByRole('listitem').filter({ hasText: text }).waitFor();
      assert.deepEqual([...(await axe(page)), ...(await faults(page))], [], locale);
      quiet(page);
      await page.context().close();
    }
  });

  test('sensors: one that is away says so, why, and when it answered last', { timeout: 900_000 }, async () => {
    const page = await open(it.browser, it.console.base, { cookies: it.console.cookies('viewer') });
    await page.route('**/api/v1/sensors', async (route) => {
      const response = await route.fetch();
      const answer = await response.json();
      const [sensor] = answer.sensors;
      const faults = [{ code: 'silent', subject: null, count: null, detail: 'connection refused', remedy: 'start it' }];
      const state = { now_us: answer.now_us, lacking: 'connection refused' };
      answer.sensors[0] = { ...sensor, answers: false, seen_us: answer.now_us - 120_000_000, faults, state };
      await route.fulfill({ response, json: answer });
    });
    await visit(page, `${it.console.base}/sensors`);
    await page.getByText('connection refused').waitFor();
    await page.getByText('It answered last').waitFor();
    await page.getByText('Start ringtap run on that machine').waitFor();
    assert.deepEqual([...(await axe(page)), ...(await faults(page))], []);
    await page.unroute('**/api/v1/sensors');
    await page.reload();
    await settled(page);
    await page.getByText('connection refused').waitFor({ state: 'detached' });
    quiet(page);
    await page.context().close();
  });
}
