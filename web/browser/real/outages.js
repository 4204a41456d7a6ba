// The ladder of a call says when a service of it was out of service: where, for how long, and why.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { it as test } from 'node:test';
import { axe, faults, open, PHONE, quiet, turn, visit } from '../browser.js';
import { AFTER, AGAIN, BEFORE, failover, SILENT } from '../failover.js';
import { Console } from '../server.js';

const STAYS_TEXT = '<img src=x onerror=window.pwned=1>\u202e';

export function outages(it) {
  test('a failover stands on the ladder of the call that waited, between its messages, and on no other', { timeout: 900_000 }, async () => {
    const console = new Console(it.console.program);
    try {
      writeFileSync(console.at('failover.pcap'), failover(Math.floor(Date.now() / 60_000) * 60 - 600));
      await console.start({ captures: [console.at('failover.pcap')], people: ['administrator', 'engineer', 'tenant'] });
      const calls = (await console.json('engineer', '/calls?q=ip:192.0.2.10')).calls;
      const call = (name) => calls.find((one) => one.call_id.startsWith(name));
      const page = await open(it.browser, console.base, { cookies: console.cookies('engineer') });
      const lines = async (one) => {
        await turn(page, `/calls/${one.id}`);
        await page.getByRole('row', { name: /BYE/ }).first().waitFor();
        return page.locator('.row').allInnerTexts();
      };
      await visit(page, console.base);

      const waited = await lines(call('waits'));
      const places = [/did not answer/, /INVITE/, /answers again/, /100 Trying/, /180 Ringing/].map((part) => waited.findIndex((line) => part.test(line)));
      assert.deepEqual(places, [0, 1, 2, 3, 4], waited.join('\n'));
      assert.match(waited[0], new RegExp(`198\\.51\\.100\\.10:5060/udp did not answer for ${(AGAIN - SILENT).toFixed(2)} s`));
      assert.match(waited[0], /\d\d:\d\d:10\.100 to \d\d:\d\d:12\.500: proxy lost/);
      assert.match(waited[0], new RegExp(`ARP: 198\\.51\\.100\\.10 moved from ${mac(BEFORE)} to ${mac(AFTER)}`));
      assert.match(waited[1], /× 3/);
      assert.equal(waited.filter((line) => /did not answer|answers again/.test(line)).length, 2);
      assert.ok((await page.locator('rect.out').count()) >= 2, 'the lifeline is marked');
      assert.deepEqual([...(await faults(page)), ...(await axe(page))], []);
      // A table's row to who does not see it.
      await page.getByRole('row', { name: /did not answer for 2\.40 s.*proxy lost.*ARP/ }).waitFor();
      for (const name of ['early', 'elsewhere']) assert.doesNotMatch((await lines(call(name))).join('\n'), /answer for|Failover/, name);

      await page.setViewportSize(PHONE);
      await page.emulateMedia({ colorScheme: 'dark' });
      await lines(call('waits'));
      assert.deepEqual([...(await faults(page)), ...(await axe(page))], []);
      quiet(page);
      await page.context().close();

      await others(it.browser, console, call('waits'));
    } finally {
      await console.stop();
    }
  });
}

/** Where nothing may be seen, nothing can be read, or what is read is hostile, the ladder is there all the same. */
async function others(browser, console, call) {
  const ladder = async (role, answer = null) => {
    const page = await open(browser, console.base, { cookies: console.cookies(role) });
    const asked = [];
    page.on('request', (request) => /\/availability\//.test(request.url()) && asked.push(request.url()));
    if (answer) await page.route('**/api/v1/availability/**', (route) => route.fulfill(answer(route.request().url())));
    await visit(page, `${console.base}/calls/${call.id}`);
    await page.locator('.row').first().waitFor();
    return { page, asked, close: async () => (quiet(page), page.context().close()) };
  };
  const problem = (status) => () => ({ status, contentType: 'application/problem+json', body: JSON.stringify({ type: 'about:blank', title: 'No', status, detail: STAYS_TEXT }) });
  const none = async (page) => {
    assert.equal(await page.locator('.row.outage').count(), 0);
    assert.deepEqual(await page.locator('main .problem').allInnerTexts(), []);
    assert.deepEqual(await faults(page), []);
  };

  const tenant = await ladder('tenant');
  assert.deepEqual(tenant.asked, [], 'who sees the calls of a trunk alone asks for no outages');
  await none(tenant.page);
  await tenant.close();

  for (const status of [403, 404]) {
    const refused = await ladder('engineer', problem(status));
    await none(refused.page);
    assert.equal(await refused.page.getByText('could not be read').count(), 0);
    await refused.close();
  }
  const failed = await ladder('engineer', problem(500));
  await none(failed.page);
  await failed.page.getByText('Whether a service failed meanwhile could not be read:').waitFor();
  await failed.close();

  const real = await console.json('engineer', '/availability/failovers');
  const hostile = Array.from({ length: 1_000 }, (_, n) => ({
    ...real.failovers[0], id: `${n}`, outages: [], causes: [STAYS_TEXT, 'constructor'], services: ['198.51.100.10', STAYS_TEXT],
    evidence: [{ ...real.failovers[0].evidence[0], from: STAYS_TEXT, to: 'x'.repeat(2_000), kind: n % 2 ? 'arp_moved' : STAYS_TEXT }],
  }));
  const many = await ladder('engineer', (url) => ({
    contentType: 'application/json', body: JSON.stringify({ complete: false, ...(url.includes('failovers') ? { failovers: hostile } : { outages: [] }) }),
  }));
  await many.page.getByText('960 more outages are not drawn.').waitFor();
  await many.page.getByText('More outages are stored than were looked at').waitFor();
  await many.page.getByText('<img src=x onerror=window.pwned=1>⟨U+202E⟩').first().waitFor();
  assert.equal(await many.page.evaluate(() => 'pwned' in window || document.querySelectorAll('main img').length > 0), false);
  assert.deepEqual(await faults(many.page), []);
  await many.close();
}

function mac(bytes) {
  return bytes.map((byte) => byte.toString(16).padStart(2, '0')).join(':');
}
