// A real console for the tests: captures that ringtap generates, replayed by `ringtap run` into a database and a spool,
// a second `ringtap run` with calls that are under way now, people of every role, and `ringtap console serve`.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { hostile } from './hostile.js';
import { Provider } from './provider.js';

export const ROLES = ['viewer', 'engineer', 'quality', 'auditor', 'officer', 'administrator'];
const FIRST_PASSWORD = 'correct horse battery staple';
const PASSWORD = 'another horse, another staple';
const FIRST_PASSPHRASE = 'first horse battery';
const PASSPHRASE = 'correct horse battery';
const DEMO = resolve('../demo/calls.pcap');
const PATIENCE_MS = 60_000;

/** What each capture is made of. Times are seconds before now. */
const CAPTURES = {
  usual: [9000, '--calls', '100', '--rate', '0.012', '--hold-distribution', 'uniform:4,14', '--codec', 'PCMU=50,PCMA=30,opus=5', '--failed', '10%', '--cancelled', '5%',
    '--dtmf', '10%', '--rtcp', '20%', '--reinvite', '5%', '--on-hold', '5%', '--registrations', '14', '--seed', '7'],
  // The cause that "Why these?" has to find: G.729 loses packets.
  bad: [4800, '--calls', '30', '--rate', '0.012', '--hold', '6', '--codec', 'G729', '--loss', 'gilbert:4%,25%', '--failed', '0%', '--cancelled', '0%', '--seed', '9'],
  weekAgo: [7 * 86_400 + 3600, '--calls', '20', '--rate', '0.007', '--hold', '1', '--codec', 'G729', '--seed', '11'],
  live: [0, '--calls', '8', '--rate', '1', '--hold', '1200', '--codec', 'G729', '--ptime', '60', '--failed', '0%', '--cancelled', '0%', '--reinvite', '0%', '--dtmf', '0%', '--seed', '13'],
};

export class Console {
  children = [];
  sessions = new Map();

  constructor(program) {
    this.program = resolve(program);
    this.dir = mkdtempSync(join(tmpdir(), 'ringtap-page-'));
  }

  at(name) {
    return join(this.dir, name);
  }

  /** The capture of that name, or where there is one already, the path that names it. */
  file(name) {
    return name.includes('/') ? name : this.at(`${name}.pcap`);
  }

  /** Makes all of it: of these captures, with these people. */
  async start({ captures = [...Object.keys(CAPTURES), 'hostile'], people = [...ROLES, 'tenant'] } = {}) {
    for (const name of ['records', 'outbox', 'spool']) mkdirSync(this.at(name));
    this.configure('past', [DEMO, ...captures.filter((name) => name !== 'live').map((name) => this.file(name))], '"max"');
    if (captures.length > 0) this.record(captures);
    this.addPeople(people);
    this.addOfficers();
    this.port = await freePort();
    this.base = `http://127.0.0.1:${this.port}`;
    this.provider = await new Provider().start();
    writeFileSync(this.at('oidc.toml'), `name = "Example <b>"
issuer = "${this.provider.issuer}"
client_id = "ringtap"
address = "${this.base}"
groups = "groups"
add = true
[roles]
engineer = ["voice"]
`);
    this.spawn(
      'console', 'serve', '--plain-http', '--listen', `127.0.0.1:${this.port}`, '--people', this.at('people'), '--store', this.at('records'),
      '--spool', this.at('spool'), '--control', this.at('control'), '--config', this.at('past.toml'),
      '--oidc', this.at('oidc.toml'),
    );
    await this.until(async () => (await fetch(this.base)).status < 500);
    for (const name of people) this.sessions.set(name, await this.logIn(name));
    if (captures.includes('live')) await this.until(async () => (await this.json('administrator', '/live/calls')).total > 5);
    return this;
  }

  /** What was recorded before now, and a daemon that goes on recording what is under way. */
  record(captures) {
    for (const name of captures) {
      if (name === 'hostile') writeFileSync(this.file(name), hostile(Date.now() / 1000 - 1800));
      else if (!name.includes('/')) this.generate(name);
    }
    this.run('run', '-c', this.at('past.toml'));
    if (!captures.includes('live')) return;
    this.configure('live', [this.at('live.pcap')], '1.0');
    this.spawn('run', '-c', this.at('live.toml'));
  }

  /** Ends what runs, and removes what it wrote. */
  async stop() {
    this.provider?.stop();
    await Promise.all(this.children.map((child) => {
      if (child.exitCode !== null || child.signalCode !== null) return null;
      const ended = once(child, 'exit');
      child.kill();
      return ended;
    }));
    if (!process.env.KEEP) rmSync(this.dir, { recursive: true, force: true });
  }

  /** An answer of the API, as somebody of this role gets it. */
  async json(role, path) {
    const response = await fetch(`${this.base}/api/v1${path}`, { headers: { Cookie: this.sessions.get(role) } });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response.json();
  }

  /** Cookies of a browser in which somebody of this role is logged in. */
  cookies(role) {
    const [name, value] = this.sessions.get(role).split('=');
    return [{ name, value, url: this.base }];
  }

  generate(name) {
    const [ago, ...options] = CAPTURES[name];
    const start = new Date(Date.now() - ago * 1000).toISOString().replace(/\.\d+Z/, 'Z');
    this.run('generate', '--out', this.at(`${name}.pcap`), '--start', start, ...options);
  }

  configure(name, files, speed) {
    writeFileSync(this.at(`${name}.toml`), `
[capture]
files = ${JSON.stringify(files)}
speed = ${speed}
[engine]
linger = "1s"
[store]
directory = "${this.at('records')}"
outbox = "${this.at('outbox')}"
[journal]
path = "${this.at('journal')}"
[metrics]
listen = ""
[spool]
directory = "${this.at('spool')}"
rules = "${this.at('rules')}/rules.toml"
age = "1s"
[retention]
free = "0%"
[process]
control = "${this.at('control')}"
[log]
level = "warn"
status = "0s"
[availability]
follow = true
[warrants]
register = "${this.at('register')}"
key = "${this.at('register-key')}"
[[trunk]]
name = "carrier-a"
addresses = ["198.51.100.0/25"]
[[trunk]]
name = "carrier-b"
addresses = ["198.51.100.128/25"]
[[trunk]]
name = "wholesale"
addresses = ["203.0.113.0/24"]
[[trunk]]
name = "pbx-lyon"
addresses = ["192.0.2.0/24"]
[[alarm]]
name = "loss"
severity = "critical"
figure = "loss_pct"
per = "codec"
over = "1m"
minimum = 1
above = 2
clear = 1
[[alarm]]
name = "busy"
severity = "info"
figure = "in_progress"
above = 5
`);
  }

  /** People with the role that is their name, and one who may see the calls of a trunk. */
  addPeople(names) {
    const secret = this.at('password');
    writeFileSync(secret, `${FIRST_PASSWORD}\n`, { mode: 0o600 });
    const common = ['--password-file', secret, '--people', this.at('people')];
    this.run('console', 'setup', '--name', 'administrator', ...common);
    for (const name of names.filter((name) => name !== 'administrator')) {
      const role = name === 'tenant' ? ['engineer', '--trunk', 'carrier-a'] : [name];
      this.run('console', 'people', 'add', name, '--role', ...role, ...common);
    }
  }

  /** A register of warrants with the officer ana, and with ben, who has to choose a passphrase of his own. */
  addOfficers() {
    this.warrant('ana', [PASSPHRASE], 'setup');
    this.warrant('ana', [PASSPHRASE, FIRST_PASSPHRASE], 'people', 'add', 'ben', '--role', 'officer');
  }

  /** A command of the register as somebody, with these passphrases. */
  warrant(who, passphrases, ...words) {
    const where = ['--register', this.at('register'), '--master-key', this.at('register-key')];
    // A pipe of Node is a socket, which cannot be opened by its number.
    const file = this.at('passphrases');
    writeFileSync(file, passphrases.map((line) => `${line}\n`).join(''), { mode: 0o600 });
    const input = openSync(file, 'r');
    try {
      return this.runWith(input, 'warrant', ...words, '--as', who, '--passphrase-fd', '0', ...where);
    } finally {
      closeSync(input);
    }
  }

  get passphrase() {
    return PASSPHRASE;
  }

  get firstPassphrase() {
    return FIRST_PASSPHRASE;
  }

  /** One more person, with the first password. */
  addPerson(name, role) {
    this.run('console', 'people', 'add', name, '--role', role, '--password-file', this.at('password'), '--people', this.at('people'));
  }

  /** The first login of somebody, with a password of one's own. Returns the cookie. */
  async logIn(name) {
    const response = await fetch(`${this.base}/api/v1/session`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Ringtap': '1' },
      body: JSON.stringify({ name, password: FIRST_PASSWORD, new_password: PASSWORD }),
    });
    if (!response.ok) throw new Error(`${name} cannot log in: ${await response.text()}`);
    return response.headers.get('set-cookie').split(';')[0];
  }

  get password() {
    return PASSWORD;
  }

  /** Runs the program to a good end. */
  run(...words) {
    return this.runWith('ignore', ...words);
  }

  /** The same, with an open file as its standard input. */
  runWith(input, ...words) {
    const done = spawnSync(this.program, words, { encoding: 'utf8', env: quiet(), stdio: [input, 'pipe', 'pipe'] });
    if (done.status !== 0) throw new Error(`ringtap ${words.join(' ')}: ${done.status}\n${done.stderr}`);
    return done.stdout;
  }

  /** Starts the program; it is killed at the end. */
  spawn(...words) {
    const log = this.at(`log-${this.children.length}`);
    const child = spawn(this.program, words, { stdio: ['ignore', 'ignore', 'pipe'], env: quiet() });
    let told = '';
    child.stderr.on('data', (text) => {
      told += text;
      writeFileSync(log, told);
    });
    child.once('exit', (status) => (this.failed ??= status && `ringtap ${words.slice(0, 2).join(' ')} ended with ${status}:\n${told}`));
    this.children.push(child);
  }

  /** What the programs that run have written to their logs. */
  logs() {
    return this.children.map((_, index) => (existsSync(this.at(`log-${index}`)) ? readFileSync(this.at(`log-${index}`), 'utf8') : '')).join('');
  }

  async until(isDone) {
    const end = Date.now() + PATIENCE_MS;
    for (;;) {
      if (this.failed) throw new Error(this.failed);
      if (await isDone().catch((error) => (Date.now() > end ? Promise.reject(error) : false))) return;
      if (Date.now() > end) throw new Error(`still not so after ${PATIENCE_MS / 1000} s: ${isDone}`);
      await new Promise((done) => setTimeout(done, 100));
    }
  }
}

/** Without what a terminal or a service manager says to the program. */
function quiet() {
  const { JOURNAL_STREAM, NOTIFY_SOCKET, ...rest } = process.env;
  return rest;
}

function freePort() {
  return new Promise((found) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => found(port));
    });
  });
}

/** The page that the program serves, if it is the one in `dist`. */
export async function hasThisPage(base) {
  return (await (await fetch(base)).text()) === readFileSync('dist/index.html', 'utf8');
}
