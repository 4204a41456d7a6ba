// The pictures of the manual and the README: `PICTURES=1 npm run test:browser`. Made of generated calls; every number in
// them is one that is reserved for drama. Those of failovers are made of runs of the platform, where there are any.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { it as test } from 'node:test';
import { open, quiet, visit } from '../browser.js';
import { announced, pcap } from '../capture.js';
import { Console } from '../server.js';

const FOLDER = '../docs/pictures';
/** What `make platform-test` has captured. */
const RUNS = resolve(process.env.PLATFORM_RUNS ?? '../target/platform/runs');
const PROXIES = [10, 77, 1, 100];
const NAMES = 'proxies,10.77.1.21=PBX 1,10.77.1.22=PBX 2';
const LARGEST = 150_000;

export function pictures(it) {
  test('pictures of the manual', { skip: process.env.PICTURES ? false : 'made with PICTURES=1', timeout: 900_000 }, async () => {
    const console = new Console(it.console.program);
    try {
      await console.start({ captures: ['usual', 'bad', 'weekAgo', 'live'], people: ['administrator', 'engineer'] });
      const call = (await console.json('engineer', '/calls?q=codec:G729+began:-3h+code:200&sort=mos&limit=1')).calls[0];
      const page = await open(it.browser, console.base, { cookies: console.cookies('engineer'), colorScheme: 'light' });
      for (const [name, path, height = 620] of [['now', '/'], ['calls', '/calls?q=began:-3h'], ['call', `/calls/${call.id}`, 800], ['quality', '/quality?metric=mos_p5&by=codec'], ['problems', '/problems']]) {
        await page.setViewportSize({ width: 1100, height });
        await visit(page, console.base + path);
        // Live figures come every second.
        await page.waitForTimeout(2500);
        await take(page, `console-${name}`, height);
      }
      quiet(page);
      await page.context().close();
    } finally {
      await console.stop();
    }
  });

  const missing = ['proxy-lost/run.pcap', 'pbx-lost/run.pcap', 'pbx-lost/pbx.pcap'].map((name) => join(RUNS, name)).filter((file) => !existsSync(file));
  const skip = !process.env.PICTURES ? 'made with PICTURES=1' : missing.length > 0 ? `${missing[0]} is missing: make platform-test KINDS='proxy-lost pbx-lost'` : false;
  test('pictures of failovers of the platform', { skip, timeout: 900_000 }, async () => {
    const console = new Console(it.console.program);
    try {
      const files = ['proxy-lost/run.pcap', 'pbx-lost/run.pcap', 'pbx-lost/pbx.pcap'].map((name) => join(RUNS, name));
      writeFileSync(console.at('owner.pcap'), owner(files[0]));
      await console.start({ captures: [console.at('owner.pcap'), ...files], people: ['administrator', 'engineer'] });
      const { failovers } = await console.json('engineer', '/availability/failovers');
      const { calls } = await console.json('engineer', '/calls?limit=1000');
      const hit = (cause, service) => {
        const { from_us, until_us } = failovers.find((one) => one.causes.includes(cause) && one.services.some((name) => name.startsWith(service)));
        return calls.filter((call) => call.invite_us < until_us && call.end_us > from_us && call.answer_us > from_us);
      };
      // One of those that were repeated twice, and one that rang as its PBX was lost.
      const waited = hit('proxy_lost', '10.77.1.100').find((call) => call.retransmissions === 2);
      const again = hit('pbx_lost', '10.77.1.21').find((call) => call.to_user === '601' && call.pdd_ms < 500);
      const page = await open(it.browser, console.base, { cookies: console.cookies('engineer'), colorScheme: 'light' });
      for (const [name, call] of [['proxy', waited], ['pbx', again]]) {
        await page.setViewportSize({ width: 1100, height: 800 });
        const hosts = encodeURIComponent(`${call.src.split(':')[0]}=telephones,10.77.1.100=${NAMES}`);
        await visit(page, `${console.base}/calls/${call.id}?hosts=${hosts}`);
        await page.getByText(/did not answer for/).first().waitFor();
        // All of it, and the facts as they are in a window of usual height: folded.
        await page.setViewportSize({ width: 1100, height: 1100 });
        await take(page, `failover-${name}`, 1100);
      }
      quiet(page);
      await page.context().close();
    } finally {
      await console.stop();
    }
  });
}

async function take(page, name, height) {
  const bottom = await page.evaluate(() => Math.max(...[...document.querySelectorAll('main > *, main .page > *')].map((one) => one.getBoundingClientRect().bottom)));
  const file = `${FOLDER}/${name}.png`;
  await page.screenshot({ path: file, clip: { x: 0, y: 0, width: 1100, height: Math.min(height, Math.ceil(bottom) + 16) } });
  assert.ok(statSync(file).size < LARGEST, `${file} has ${statSync(file).size} bytes`);
}

/** Who had the proxies' address before that capture, as a monitor that ran before has heard it by ARP. */
function owner(file) {
  const bytes = readFileSync(file);
  assert.equal(bytes.readUInt32LE(0), 0xa1b2c3d4, `${file} is no pcap of microseconds`);
  for (let at = 24; at + 16 + 34 <= bytes.length; at += 16 + bytes.readUInt32LE(at + 8)) {
    const frame = bytes.subarray(at + 16, at + 16 + 34);
    if (frame.readUInt16BE(12) !== 0x0800 || !frame.subarray(26, 30).equals(Buffer.from(PROXIES))) continue;
    return pcap([[bytes.readUInt32LE(at) - 1, announced([...frame.subarray(6, 12)], PROXIES)]]);
  }
  throw new Error(`${file} has no packet of the proxies`);
}
