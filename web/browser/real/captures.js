// Calls of real networks: captures that are not part of the project, where they lie beside it.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { it as test } from 'node:test';
import { axe, faults, open, quiet, turn, visit } from '../browser.js';
import { Console } from '../server.js';

const SHARED = resolve(process.env.RINGTAP_SHARED ?? '../../shared');
const FOLDERS = ['sip-basic', 'sip-transfer', 'sip-reinvite', 'sip-nasty', 'sip-outcomes', 'dtmf', 'rtp-quality', 'torture'];
const LARGEST = 4 << 20;
const MOST_CALLS = 16;

export function captures(it) {
  const skip = existsSync(join(SHARED, 'captures/MANIFEST.tsv')) ? false : `reference captures are not in ${SHARED}; RINGTAP_SHARED names another folder`;
  test('calls of real captures, one of each shape: every tab is whole', { skip, timeout: 900_000 }, async () => {
    const console = new Console(it.console.program);
    try {
      await console.start({ captures: FOLDERS.flatMap((folder) => files(join(SHARED, 'captures', folder))), people: ['administrator'] });
      const page = await open(it.browser, console.base, { cookies: console.cookies('administrator') });
      await visit(page, console.base);
      const all = (await console.json('administrator', '/calls?limit=1000')).calls;
      const shapes = new Map(all.map((call) => [[call.transport, call.state, Math.min(call.streams.length, 4), call.conversation !== null].join(), call]));
      assert.ok(all.length > 20 && shapes.size > 5, `${all.length} calls`);
      for (const call of [...shapes.values()].slice(0, MOST_CALLS)) {
        for (const tab of ['', '?tab=media', '?tab=messages']) {
          await turn(page, `/calls/${call.id}${tab}`);
          assert.deepEqual([...(await faults(page)), ...(tab === '?tab=media' ? await axe(page) : [])], [], `${call.call_id} ${tab}`);
          assert.deepEqual(await page.locator('main .problem').allInnerTexts(), [], `${call.call_id} ${tab}`);
        }
      }
      for (const path of ['/calls?cols=began,from,to,state,notes,ua_caller,ua_callee,callid', '/problems?span=7d', '/users?days=30', '/quality?span=30d']) {
        await turn(page, path);
        assert.deepEqual(await faults(page), [], path);
      }
      quiet(page);
      await page.context().close();
    } finally {
      await console.stop();
    }
  });
}

/** The captures of a folder that are not too large to replay in passing. */
function files(folder) {
  const found = existsSync(folder) ? readdirSync(folder, { recursive: true }).map((name) => join(folder, name)) : [];
  return found.filter((file) => /\.(pcap|pcapng|cap)$/.test(file) && statSync(file).isFile() && statSync(file).size < LARGEST).toSorted();
}
