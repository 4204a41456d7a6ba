// What the page Now costs the browser while calls are under way: `TOKEN='Bearer ...' node browser/watched.js ADDRESS SECONDS`, in `web`.
// Prints "open" when it shows them, and then one JSON object. bench/under_way.py runs it.
import { lacking, launch, open } from './browser.js';

const [address, seconds] = process.argv.slice(2);
const reason = lacking();
if (reason) {
  console.error(`web/browser/watched.js: ${reason}`);
  process.exit(77);
}
const browser = await launch();
try {
  const page = await open(browser, address, { extraHTTPHeaders: { Authorization: process.env.TOKEN } });
  await page.goto(`${address}/`);
  await page.locator('h1').waitFor();
  const devtools = await browser.newBrowserCDPSession();
  // Of all its processes, in seconds.
  const used = async () => {
    const { processInfo } = await devtools.send('SystemInfo.getProcessInfo');
    return processInfo.reduce((sum, one) => sum + one.cpuTime, 0);
  };
  // What opening it cost is over: it has asked for the calls twice.
  await page.waitForTimeout(10_000);
  console.log('open');
  const [before, began] = [await used(), performance.now()];
  await page.waitForTimeout(Number(seconds) * 1000);
  const share = (await used() - before) / ((performance.now() - began) / 1000);
  console.log(JSON.stringify({ share, text: (await page.locator('main').innerText()).slice(0, 400) }));
} finally {
  await browser.close();
}
