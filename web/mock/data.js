// The records that the mock serves: made by ringtap itself from a generated capture, and repeated over a day and a half.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

const HOUR_US = 3_600_000_000;
const CARRIERS = ['carrier-a', 'carrier-b', 'wholesale-west', 'pbx-lyon', '198.51.100.7'];
const DEVICES = ['Yealink SIP-T46U 108.86.0.70', 'snomD785/10.1.159.12', 'Asterisk PBX 20.6.0', 'FPBX-16.0.40', 'Grandstream HT818 1.0.53.2'];

/** Calls (newest first), their streams by call, and registrations. */
export function records() {
  const base = analyzed();
  const calls = base.filter((record) => record.type === 'call');
  const streams = Map.groupBy
    ? Map.groupBy(base.filter((record) => record.type === 'stream'), (stream) => stream.call)
    : grouped(base.filter((record) => record.type === 'stream'));
  const now = Date.now() * 1000;
  const last = Math.max(...calls.map((call) => call.invite_us));
  const all = [];
  const allStreams = new Map();
  for (let copy = 0; copy < hours(); copy += 1) {
    const shift = now - last - copy * HOUR_US - 60_000_000;
    const busy = 0.25 + 0.75 * Math.max(0, Math.sin(((new Date((last + shift) / 1000).getUTCHours() - 6) / 14) * Math.PI));
    for (const [index, call] of calls.entries()) {
      if (pseudo(index * 31 + copy) > busy) continue;
      const one = moved(call, shift - Math.round(pseudo(index + copy * 977) * HOUR_US), copy, index);
      allStreams.set(one.id, (streams.get(call.id) ?? []).map((stream) => movedStream(stream, call, one)));
      all.push(one);
    }
  }
  all.sort((a, b) => b.invite_us - a.invite_us);
  return { calls: all, streams: allStreams, registrations: base.filter((record) => record.type === 'registration') };
}

function hours() {
  return Number(process.env.MOCK_HOURS ?? 36);
}

/** Numbers that look random and are the same each time. */
export function pseudo(seed) {
  const x = Math.sin(seed * 12.9898 + 4.1414) * 43758.5453;
  return x - Math.floor(x);
}

function analyzed() {
  const program = process.env.RINGTAP;
  if (!program || !existsSync(program)) {
    throw new Error('set RINGTAP to the program that makes the records, such as target/debug/ringtap');
  }
  const options = ['--calls', '300', '--rate', '0.5', '--impair', 'all', '--hold-distribution', 'exponential:25',
    '--registrations', '60', '--seed', '5'];
  const capture = spawnSync(program, ['generate', '--out', '-', ...options], { maxBuffer: 1 << 30 });
  if (capture.status !== 0) throw new Error(`ringtap generate failed: ${capture.stderr}`);
  const text = execFileSync(program, ['analyze', '--format', 'jsonl', '-'], {
    input: capture.stdout, maxBuffer: 1 << 28, stdio: ['pipe', 'pipe', 'ignore'],
  });
  return text.toString().trim().split('\n').map((line) => JSON.parse(line));
}

function moved(call, shift, copy, index) {
  const one = { ...call };
  for (const field of Object.keys(call)) {
    if (field.endsWith('_us') && one[field] !== null) one[field] += shift;
  }
  one.id = (BigInt(`0x${call.id}`) ^ (BigInt(copy) * 0x9e3779b97f4a7c15f39cc0605cedc835n)).toString(16).slice(-32).padStart(32, '0');
  one.call_id = `${copy}-${call.call_id}`;
  one.conversation = one.id;
  one.trunk_to = CARRIERS[index % CARRIERS.length];
  one.trunk_from = CARRIERS[(index * 7 + 3) % CARRIERS.length];
  one.user_agent_caller = DEVICES[index % DEVICES.length];
  one.user_agent_callee = DEVICES[(index * 3 + 1) % DEVICES.length];
  one.recorded = ['none', 'none', 'headers', 'full'][index % 4];
  if (index % 17 === 0) one.from_display = 'Zoë "<b>bold</b>" \u202Egnp.exe';
  return one;
}

function movedStream(stream, call, one) {
  const shift = one.invite_us - call.invite_us;
  return {
    ...stream, call: one.id, call_id: one.call_id, first_us: stream.first_us + shift, last_us: stream.last_us + shift,
    intervals: stream.intervals.map((interval) => ({ ...interval, start_us: interval.start_us + shift })),
  };
}

function grouped(streams) {
  const by = new Map();
  for (const stream of streams) by.set(stream.call, [...(by.get(stream.call) ?? []), stream]);
  return by;
}
