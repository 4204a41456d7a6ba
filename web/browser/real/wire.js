// What came from the wire is text wherever it is shown: hostile names, devices, Call-IDs, reasons, descriptions of media
// and header fields run nothing and become no markup, and marks that turn text around are seen as such.
import assert from 'node:assert/strict';
import { it as test } from 'node:test';
import { faults, open, quiet, rows, settled, turn, visit } from '../browser.js';
import { TEXTS } from '../hostile.js';

export function wire(it) {
  test('hostile text of the wire is text on every page, and nothing of it runs', { timeout: 900_000 }, async () => {
    const page = await open(it.browser, it.console.base, { cookies: it.console.cookies('administrator') });
    const calls = (await it.console.json('engineer', '/calls?limit=100&q=ip:192.0.2.66')).calls;
    const users = (await it.console.json('engineer', '/users')).users.filter((user) => /^reg-/.test(user.aor));
    assert.equal(calls.length, 2 * Object.keys(TEXTS).length);
    assert.equal(users.length, Object.keys(TEXTS).length);
    await visit(page, it.console.base);
    const look = async (path) => {
      await turn(page, path);
      await harmless(page, path);
    };
    const cols = 'began,from,to,state,notes,ua_caller,ua_callee,src,dst,callid';
    await look(`/calls?q=ip:192.0.2.66&cols=${cols}`);
    const table = await page.getByRole('table').first().innerHTML();
    assert.ok(table.includes('&lt;script&gt;') && !table.includes('<script'), 'the names are there, as text');
    await look(`/calls?q=${encodeURIComponent('ip:192.0.2.66 code:486')}&why=1&cols=${cols}`);
    for (const text of Object.values(TEXTS)) await look(`/calls?q=${encodeURIComponent(`ua:"${text.replace(/["\\]/g, '\\$&')}"`)}&cols=${cols}`);
    for (const text of Object.values(TEXTS)) await look(`/calls?q=${encodeURIComponent(text)}`);

    for (const call of calls) {
      await look(`/calls/${call.id}?message=1&view=raw&sdp=full`);
      if (call.state === 'failed') continue;
      for (const tab of ['?message=4', '?message=4&view=difference', '?tab=messages', '?tab=media']) await look(`/calls/${call.id}${tab}`);
    }
    for (const tab of ['listen', 'packets', 'history']) await look(`/calls/${calls[1].id}?tab=${tab}`);
    const script = calls.find((call) => call.state === 'completed' && call.call_id.startsWith('<script>'));
    await visit(page, `${it.console.base}/calls/${script.id}?tab=messages`);
    await page.getByText(`User-Agent: ${TEXTS.script}`).first().waitFor();

    await look('/users');
    for (const user of users) await look(`/users/${encodeURIComponent(user.aor)}`);
    for (const by of ['device', 'codec', 'prefix', 'trunk', 'code']) await look(`/quality?by=${by}`);
    for (const path of ['/', '/problems', '/alarms', '/trunks', '/audit', `/trunks/${encodeURIComponent(TEXTS.image)}`, `/users/${encodeURIComponent(TEXTS.script)}`, `/${encodeURIComponent(TEXTS.drawing)}`]) await look(path);

    // The device as a value beside the table, pressed as anybody would.
    await visit(page, `${it.console.base}/calls?q=ip:192.0.2.66`);
    const facet = page.locator('.facets button').filter({ hasText: '<script>' }).first();
    await facet.click();
    await page.waitForURL((url) => (url.searchParams.get('q') ?? '').includes('ua:'));
    await settled(page);
    assert.ok((await rows(page).count()) > 0, 'the search of a hostile value finds its calls');
    await harmless(page, 'a facet');
    quiet(page);
    await page.context().close();
  });

  test('the files of a hostile call are files, and its drawing runs nothing', async () => {
    const calls = (await it.console.json('engineer', '/calls?limit=100&q=ip:192.0.2.66')).calls;
    const headers = { Cookie: it.console.sessions.get('administrator') };
    for (const call of calls) {
      const svg = await (await fetch(`${it.console.base}/api/v1/calls/${call.id}/ladder.svg`, { headers })).text();
      assert.match(svg, /^(<\?xml[^>]*>\s*)?<svg/);
      assert.doesNotMatch(svg, /<script|<img|<foreignObject|<a\b|<[a-z]+[^>]*\son\w+=/i, call.call_id);
      assert.doesNotMatch(svg, /[\u202A-\u202E\u2066-\u2069]/, 'no mark that turns text around');
    }
    const csv = await fetch(`${it.console.base}/api/v1/calls/export?format=csv&q=ip:192.0.2.66`, { headers });
    assert.match(csv.headers.get('content-disposition'), /^attachment/);
    assert.equal(csv.headers.get('x-content-type-options'), 'nosniff');
  });
}

/** That nothing ran, and nothing of the wire became an element, an attribute or an address. */
async function harmless(page, where) {
  const found = await page.evaluate(() => {
    const wrong = [];
    if ('pwned' in window) wrong.push(`it ran: ${window.pwned}`);
    const marked = document.querySelectorAll('script:not([src]), main img, iframe, object, embed, base, meta[http-equiv], foreignObject, main style, main link');
    wrong.push(...[...marked].map((one) => one.outerHTML.slice(0, 120)));
    for (const one of document.querySelectorAll('body *')) {
      for (const { name, value } of one.attributes) {
        if (/^on/i.test(name)) wrong.push(`${name} on ${one.outerHTML.slice(0, 120)}`);
        if (/^(href|src|action|formaction|xlink:href)$/i.test(name) && /^\s*(javascript|data|vbscript):/i.test(value)) wrong.push(`${name}=${value.slice(0, 80)}`);
      }
    }
    // Marks of direction and what has no shape: in no text and no title, whatever the wire had.
    const hidden = /[\u202A-\u202E\u2066-\u2069\u200B\u0007]/;
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) if (hidden.test(node.data)) wrong.push(`a mark within “${node.data.slice(0, 60)}”`);
    for (const one of document.querySelectorAll('[title], [aria-label]')) if (hidden.test(`${one.title} ${one.ariaLabel}`)) wrong.push(`a mark in the title “${one.title}”`);
    return wrong;
  });
  assert.deepEqual(found, [], where);
  assert.deepEqual((await faults(page)).filter((fault) => !/in the text$/.test(fault)), [], where);
}
