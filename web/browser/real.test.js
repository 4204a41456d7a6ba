// The page in Chromium on a real console, `ringtap console serve`, with calls of generated captures and calls under way:
// `npm run test:browser`, with RINGTAP naming the program. Skips where there is no Chromium, and says so.
import { after, before, describe } from 'node:test';
import { hasThisPage, Console } from './server.js';
import { lacking, launch } from './browser.js';
import { captures } from './real/captures.js';
import { downloads } from './real/downloads.js';
import { investigates } from './real/investigates.js';
import { keyboard } from './real/keyboard.js';
import { looks } from './real/looks.js';
import { officers } from './real/officers.js';
import { outages } from './real/outages.js';
import { people } from './real/people.js';
import { pictures } from './real/pictures.js';
import { retention } from './real/retention.js';
import { roles } from './real/roles.js';
import { rules } from './real/rules.js';
import { saved } from './real/saved.js';
import { search } from './real/search.js';
import { sensors } from './real/sensors.js';
import { sites } from './real/sites.js';
import { states } from './real/states.js';
import { wire } from './real/wire.js';

const skip = lacking();

describe('the page on a real console', { skip, timeout: 7_200_000, concurrency: false }, () => {
  const it = { console: null, browser: null };

  before(async () => {
    it.console = new Console(process.env.RINGTAP);
    await it.console.start();
    if (process.env.PAGE !== 'dist' && !(await hasThisPage(it.console.base))) {
      throw new Error(`${process.env.RINGTAP} was built with another page than that in dist: build it again, or set PAGE=dist`);
    }
    it.browser = await launch();
  }, { timeout: 900_000 });

  after(async () => {
    await it.browser?.close();
    await it.console?.stop();
  });

  for (const part of [roles, search, states, keyboard, downloads, investigates, retention, rules, sensors, sites, saved, people, officers, wire, outages, captures, looks, pictures]) part(it);
});
