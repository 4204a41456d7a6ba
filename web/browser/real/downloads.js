// Every file that the page offers is what it says it is.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { it as test } from 'node:test';
import { open, quiet, settled, visit } from '../browser.js';

export function downloads(it) {
  test('every download: CSV, JSON lines, Parquet, packets, sound, ladders', { timeout: 900_000 }, async () => {
    const page = await open(it.browser, it.console.base, { cookies: it.console.cookies('administrator'), acceptDownloads: true });
    const { total, call } = await searched(it.console);
    await visit(page, `${it.console.base}/calls?q=codec:g729+began:-3h`);
    const file = async (button) => {
      const [download] = await Promise.all([page.waitForEvent('download'), button.click()]);
      assert.equal(await download.failure(), null);
      return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
    };
    const menu = () => page.keyboard.press('e');

    await menu();
    const csv = await file(page.getByRole('link', { name: 'CSV' }));
    assert.equal(csv.name, 'calls.csv');
    const lines = csv.bytes.toString().trim().split('\n');
    assert.equal(lines.length, total + 1);
    assert.match(lines[0], /\bcall_id\b.*\bmos\b/);

    await menu();
    const jsonl = await file(page.getByRole('link', { name: 'JSON lines' }));
    const records = jsonl.bytes.toString().trim().split('\n').map((line) => JSON.parse(line));
    assert.equal(records.length, total);
    assert.ok(records.every((record) => record.type === 'call'));

    await menu();
    const parquet = await file(page.getByRole('link', { name: 'Parquet' }));
    assert.equal(parquet.name, 'calls.parquet');
    assert.deepEqual([parquet.bytes.toString('latin1', 0, 4), parquet.bytes.toString('latin1', parquet.bytes.length - 4)], ['PAR1', 'PAR1']);

    await visit(page, `${it.console.base}/calls/${call.id}?tab=packets`);
    const pcap = await file(page.getByRole('link', { name: 'Packets (pcap)' }));
    assert.equal(pcap.name, `${call.id}.pcapng`);
    writeFileSync(it.console.at('got.pcapng'), pcap.bytes);
    const again = it.console.run('analyze', '--format', 'jsonl', it.console.at('got.pcapng')).trim().split('\n').map((line) => JSON.parse(line));
    assert.deepEqual(again.filter((record) => record.type === 'call').map((record) => record.call_id), [call.call_id]);
    assert.equal(again.filter((record) => record.type === 'stream').length, 2, 'with its media');

    const wav = (await file(page.getByRole('link', { name: 'Sound (WAV)' }))).bytes;
    assert.equal(wav.toString('latin1', 0, 4) + wav.toString('latin1', 8, 12), 'RIFFWAVE');
    assert.equal(wav.readUInt16LE(22), 2, 'caller left, callee right');
    const seconds = (wav.length - 44) / wav.readUInt32LE(28);
    assert.ok(seconds > 5 && seconds < 8, `${seconds} s of a call of 6 s`);

    const svg = await file(page.getByRole('link', { name: 'Ladder (SVG)' }));
    assert.equal(svg.name, `${call.id}.svg`);
    drawing(svg.bytes.toString());

    await visit(page, `${it.console.base}/calls/${call.id}`);
    const save = async (name) => {
      await page.getByText('Copy, save').click();
      return file(page.getByRole('button', { name }));
    };
    drawing((await save('Save as SVG')).bytes.toString());
    const png = (await save('Save as PNG')).bytes;
    assert.equal(png.toString('latin1', 1, 4), 'PNG');
    await settled(page);
    quiet(page);
    await page.context().close();
  });

  test('what has no right to a file gets none, whatever it asks', async () => {
    const { call } = await searched(it.console);
    for (const [role, path, status] of [
      ['viewer', '/calls/export?format=csv', 403], ['quality', '/calls/export?format=jsonl', 403], ['engineer', `/calls/${call.id}/sound.wav`, 403],
      ['engineer', `/calls/${call.id}/packets.pcap`, 403], ['quality', `/calls/${call.id}/ladder.svg`, 403], ['quality', `/calls/${call.id}/sound.wav`, 200],
    ]) {
      const response = await fetch(`${it.console.base}/api/v1${path}`, { headers: { Cookie: it.console.sessions.get(role) } });
      assert.equal(response.status, status, `${role} ${path}`);
      await response.body?.cancel();
    }
  });
}

async function searched(console) {
  const all = (await console.json('engineer', '/calls?limit=1000&q=codec:g729+began:-3h')).calls;
  return { total: all.length, call: all.find((call) => call.mos < 3.5) };
}

/** An SVG that any viewer shows, and in which nothing runs. */
function drawing(text) {
  assert.match(text, /^(<\?xml[^>]*>\s*)?<svg/);
  assert.match(text, /INVITE/);
  assert.doesNotMatch(text, /<script|<foreignObject|\son\w+=|javascript:/i);
}
