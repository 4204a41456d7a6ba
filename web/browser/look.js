// Pictures of pages, to be looked at: `node browser/look.js FOLDER [ADDRESS...]`, with the mock on port 8444.
// Each page in both themes and at both widths; what the page writes to the console is printed, and is a failure.
import { mkdirSync } from 'node:fs';
import { chromium } from 'playwright-core';

const [folder = 'pictures', ...addresses] = process.argv.slice(2);
const base = process.env.BASE ?? 'http://127.0.0.1:8444';
const only = process.env.ONLY;
mkdirSync(folder, { recursive: true });

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
let complaints = 0;
for (const [width, height] of [[1280, 860], [360, 740]]) {
  for (const colorScheme of ['light', 'dark']) {
    if (only && only !== `${width}-${colorScheme}`) continue;
    const context = await browser.newContext({ viewport: { width, height }, colorScheme, timezoneId: 'Europe/Madrid', locale: process.env.LOCALE ?? 'en-GB' });
    const page = await context.newPage();
    page.on('console', (message) => {
      if (!['error', 'warning'].includes(message.type())) return;
      complaints += 1;
      console.log(`${page.url()}: ${message.text()}`);
    });
    page.on('pageerror', (error) => {
      complaints += 1;
      if (complaints < 4) console.log(`${page.url()}: ${error.stack.slice(0, 800)}`);
    });
    for (const address of addresses) {
      await page.goto(base + address);
      await page.waitForTimeout(Number(process.env.WAIT ?? 900));
      if (process.env.KEYS) {
        for (const key of process.env.KEYS.split(' ')) await page.keyboard.press(key);
        await page.waitForTimeout(500);
      }
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (wide > 0) console.log(`${address} at ${width}: ${wide} px too wide`);
      const name = address.replace(/[^\w]+/g, '_').slice(0, 60) || 'root';
      await page.screenshot({ path: `${folder}/${name}-${width}-${colorScheme}.png`, fullPage: process.env.FULL === '1' });
    }
    await context.close();
  }
}
await browser.close();
process.exit(complaints > 0 ? 1 : 0);
