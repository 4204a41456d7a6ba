// The pictures of the manual and the README: `PICTURES=1 npm run test:browser`. Made of generated calls; every number in
// them is one that is reserved for drama.
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { it as test } from 'node:test';
import { open, quiet, visit } from '../browser.js';
import { Console } from '../server.js';

const FOLDER = '../docs/pictures';
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
        const bottom = await page.evaluate(() => Math.max(...[...document.querySelectorAll('main > *, main .page > *')].map((one) => one.getBoundingClientRect().bottom)));
        const file = `${FOLDER}/console-${name}.png`;
        await page.screenshot({ path: file, clip: { x: 0, y: 0, width: 1100, height: Math.min(height, Math.ceil(bottom) + 16) } });
        assert.ok(statSync(file).size < LARGEST, `${file} has ${statSync(file).size} bytes`);
      }
      quiet(page);
      await page.context().close();
    } finally {
      await console.stop();
    }
  });
}
