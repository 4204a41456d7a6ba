// How fast the page is on a real console: its first load, a call of three legs and ten streams, a ladder of 5,000 messages, the
// sound of a call of 20 minutes.
// `RINGTAP=path/to/ringtap node browser/speed.js`, in `web`: one JSON object. bench/console.py runs it.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lacking, launch, open, rows, settled } from './browser.js';
import { large, LEGS, MESSAGES } from './large.js';
import { Console } from './server.js';

const ROUNDS = 7;
const SCROLLED_S = 5;
const LONG_CALL_S = 1200;

const reason = lacking();
if (reason) {
  console.error(`web/browser/speed.js: ${reason}`);
  process.exit(77);
}
const folder = mkdtempSync(join(tmpdir(), 'ringtap-speed-'));
const capture = join(folder, 'large.pcap');
writeFileSync(capture, large(Date.now() / 1000 - 1800));
const talked = join(folder, 'talks.pcap');
const running = new Console(process.env.RINGTAP);
let browser;
try {
  const begun = new Date(Date.now() - (LONG_CALL_S + 300) * 1000).toISOString().replace(/\.\d+Z/, 'Z');
  running.run('generate', '--out', talked, '--start', begun, '--calls', `${ROUNDS}`, '--hold', `${LONG_CALL_S}`, '--failed', '0%', '--cancelled', '0%');
  await running.start({ captures: [capture, talked], people: ['administrator'] });
  browser = await launch();
  const { calls } = await running.json('administrator', '/calls?limit=1000');
  const conversation = calls.find((call) => call.call_id.startsWith('leg-0@'));
  const long = calls.find((call) => call.call_id.startsWith('long@'));
  const talks = calls.filter((call) => call.duration_ms === LONG_CALL_S * 1000);
  console.log(JSON.stringify({
    load: await firstLoad(), call: await callPage(conversation), ladder: await ladder(long), sound: await sound(talks),
  }));
} finally {
  await browser?.close();
  await running.stop();
  rmSync(folder, { recursive: true, force: true });
}

/** A browser that was never there: from the address to the search box that takes what is typed, and what was sent for it. */
async function firstLoad() {
  const found = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const page = await window();
    await page.goto(`${running.base}/calls`);
    const ms = await page.evaluate(() => new Promise((done) => {
      const look = () => {
        const field = document.querySelector('main input');
        if (!field || field.disabled) requestAnimationFrame(look);
        else done(performance.now());
      };
      look();
    }));
    const bytes = await page.evaluate(() =>
      [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
        .filter((entry) => !new URL(entry.name).pathname.startsWith('/api/'))
        .reduce((sum, entry) => sum + entry.encodedBodySize, 0));
    found.push({ ms, bytes });
    await page.context().close();
  }
  return { usable_ms: median(found.map((one) => one.ms)), bytes: median(found.map((one) => one.bytes)) };
}

/** From the click on a call of the list to its ladder, and from that on its tab to the lanes of all streams. */
async function callPage(call) {
  const details = await running.json('administrator', `/calls/${call.id}`);
  const [ladder, media] = [[], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    const page = await window();
    await page.goto(`${running.base}/calls?q=${encodeURIComponent(`callid:"${call.call_id}"`)}`);
    await rows(page).first().waitFor();
    await settled(page);
    ladder.push(await clicked(page, `tbody a[href*="${call.id}"]`, '.sheet .row.message', LEGS * 5));
    await settled(page);
    media.push(await clicked(page, 'a[href*="tab=media"]', '.lane path.mos, .lane rect.mos', details.streams.length));
    await page.context().close();
  }
  return { legs: details.legs.length, streams: details.streams.length, ladder_ms: median(ladder), media_ms: median(media) };
}

/** Milliseconds from a click until so many of something are on the screen. */
function clicked(page, what, wanted, count) {
  return page.evaluate(([what, wanted, count]) => new Promise((done) => {
    const began = performance.now();
    const look = () => {
      if (document.querySelectorAll(wanted).length < count) return void requestAnimationFrame(look);
      // The frame that shows it is drawn after this one's callbacks.
      requestAnimationFrame(() => setTimeout(() => done(performance.now() - began)));
    };
    document.querySelector(what).click();
    look();
  }), [what, wanted, count]);
}

/** Frames a second while a long ladder is scrolled by a screen's height a second and more. */
async function ladder(call) {
  const page = await window();
  await page.goto(`${running.base}/calls/${call.id}`);
  await page.locator('.sheet .row.message').first().waitFor();
  await settled(page);
  const found = await page.evaluate(async (seconds) => {
    const sheet = document.querySelector('.sheet');
    const box = sheet.scrollHeight > sheet.clientHeight + 100 ? sheet : document.scrollingElement;
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    await frame();
    const times = [performance.now()];
    let way = 0;
    while (times.at(-1) - times[0] < seconds * 1000) {
      const before = box.scrollTop;
      box.scrollTop += 60;
      way += box.scrollTop - before;
      await frame();
      times.push(performance.now());
    }
    return { times, way, height: box.scrollHeight };
  }, SCROLLED_S);
  const each = found.times.slice(1).map((time, at) => time - found.times[at]).sort((a, b) => a - b);
  await page.context().close();
  return {
    messages: call.messages, of: MESSAGES, scrolled_px: found.way, height_px: found.height,
    frames_per_s: (1000 * each.length) / (found.times.at(-1) - found.times[0]),
    p95_ms: each[Math.floor(0.95 * (each.length - 1))], worst_ms: each.at(-1),
  };
}

/** From the click that plays a call to the first of its sound, each call for the first time. */
async function sound(calls) {
  const found = [];
  for (const call of calls) {
    const page = await window();
    await page.goto(`${running.base}/calls/${call.id}?tab=listen`);
    await page.getByRole('button', { name: 'Play' }).waitFor();
    await settled(page);
    found.push(await page.evaluate(() => new Promise((done) => {
      const began = performance.now();
      const look = () => {
        // It moves with the sound.
        if (Number(document.querySelector('.scale input').value) > 0) done(performance.now() - began);
        else requestAnimationFrame(look);
      };
      [...document.querySelectorAll('main button')].find((button) => button.textContent.includes('Play')).click();
      look();
    })));
    await page.context().close();
  }
  return { calls: found.length, seconds: LONG_CALL_S, ms: median(found), worst_ms: Math.max(...found) };
}

function window() {
  return open(browser, running.base, { cookies: running.cookies('administrator') });
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1];
}
