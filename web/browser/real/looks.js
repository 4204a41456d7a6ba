// Every page at both widths and in both themes: nothing runs out of sight, and axe finds nothing. Pictures of all are
// kept in target/page, to be looked at; with PICTURES=1 those of the manual are made anew.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { it as test } from 'node:test';
import { axe, faults, open, PHONE, quiet, settled, turn, visit, WIDE } from '../browser.js';
import { pagesOf } from './pages.js';

const FOLDER = process.env.PICTURES_OF ?? '../target/page';

export function looks(it) {
  for (const [width, viewport] of [['wide', WIDE], ['phone', PHONE]]) {
    test(`every page is accessible and in sight, ${width}, light and dark`, { timeout: 900_000 }, async () => {
      mkdirSync(FOLDER, { recursive: true });
      const page = await open(it.browser, it.console.base, { viewport, cookies: it.console.cookies('administrator') });
      const found = new Map();
      await visit(page, it.console.base);
      for (const one of await pagesOf(it.console)) {
        for (const colorScheme of ['light', 'dark']) {
          await page.emulateMedia({ colorScheme });
          if (colorScheme === 'light') await turn(page, one.path);
          const name = `${one.name}-${width}-${colorScheme}`;
          await page.screenshot({ path: `${FOLDER}/${name}.png` });
          // What is there is the same in the dark: only its colours are not.
          const wrong = [...(await faults(page)), ...(await axe(page, colorScheme === 'dark' ? ['color-contrast'] : null))];
          for (const fault of wrong) found.set(fault, [...(found.get(fault) ?? []), name]);
        }
      }
      const told = [...found].map(([fault, names]) => `${fault}\n  on ${names.length} pages: ${names.slice(0, 4).join(', ')}`);
      if (told.length > 0) assert.fail(`\n${told.join('\n')}`);
      quiet(page);
      await page.context().close();
    });
  }

  test('the page is the same in Spanish, and nothing is left untranslated or cut', { timeout: 900_000 }, async () => {
    const page = await open(it.browser, it.console.base, { locale: 'es-ES', viewport: PHONE, cookies: it.console.cookies('administrator') });
    await visit(page, it.console.base);
    for (const one of await pagesOf(it.console)) {
      await turn(page, one.path);
      assert.deepEqual(await faults(page), [], one.path);
    }
    assert.equal(await page.getAttribute('html', 'lang'), 'es');
    await settled(page);
    quiet(page);
    await page.context().close();
  });
}
