// A small part of the search language, enough to develop the page with: the true one is in crates/search.

export const FIELDS = [
  field('number', 'number', 'either party, by the end or the beginning', 'number:0138', null, false),
  field('from', 'number', 'the caller', 'from:+4420*', null, true),
  field('to', 'number', 'the callee', 'to:*0138', null, true),
  field('state', 'name', 'how far the call came', 'state:failed', ['completed', 'failed', 'cancelled', 'timeout', 'active'], true),
  field('code', 'number', 'final SIP code', 'code:486', null, true),
  field('codec', 'name', 'codec of a stream', 'codec:G729', null, false),
  field('mos', 'number', 'MOS of the worse direction', 'mos<3.6', null, true),
  field('mosworst', 'number', 'worst 10 s', 'mosworst<3', null, true),
  field('dur', 'duration', 'from answer to end', 'dur>30s', null, true),
  field('pdd', 'duration', 'post-dial delay', 'pdd>3s', null, true),
  field('trunk', 'name', 'trunk that it came from or went to', 'trunk:carrier-a', null, true),
  field('ua', 'text', 'User-Agent of either side', 'ua:yealink', null, false),
  field('ip', 'address', 'address of signalling', 'ip:198.51.100.7', null, false),
  field('hangup', 'name', 'who released the call', 'hangup:caller', ['caller', 'callee', 'network'], false),
  field('recorded', 'name', 'what was recorded', 'recorded:full', ['none', 'headers', 'full'], false),
  field('callid', 'text', 'Call-ID', 'callid:4f2a*', null, false),
  field('note', 'name', 'a remark', 'note:one_way', null, false),
  field('at', 'time', 'calls that were up then', 'at:15:00', null, false),
  field('began', 'time', 'when it began', 'began:-2h', null, true),
];

function field(name, kind, about, example, values, sortable) {
  return { name, kind, unit: null, about, example, values, sortable };
}

export class SearchError extends Error {
  constructor(detail, column, length, remedy) {
    super(detail);
    this.problem = { type: '/problems/query', title: 'The search cannot be read', status: 400, detail, column, length, remedy };
  }
}

/** The conditions of a text: all must hold. */
export function parse(text, streams) {
  const tests = [];
  const words = [];
  for (const found of text.matchAll(/(-?)(?:([\w.]+)(:|<=|>=|<|>))?("[^"]*"|\[[^\]]*\]|\S+)/g)) {
    const [whole, minus, name, operator, raw] = found;
    const value = raw.replace(/^"|"$/g, '');
    if (name && !FIELDS.some((field) => field.name === name)) {
      throw new SearchError(`There is no field “${name}”.`, found.index + 1 + minus.length, name.length, 'Fields are: ' + FIELDS.map((field) => field.name).join(', '));
    }
    const test = condition(name ?? 'number', operator ?? ':', value, streams);
    tests.push(minus ? (call) => !test(call) : test);
    words.push(`${minus ? 'not ' : ''}${name ? whole.slice(minus.length) : `of or to a number that ends or begins with ${value}`}`);
  }
  return { matches: (call) => tests.every((test) => test(call)), understood: words.length ? `calls ${words.join(', ')}` : 'all calls' };
}

function condition(name, operator, value, streams) {
  const values = value.startsWith('[') ? value.slice(1, -1).split(',').map((one) => one.replace(/^"|"$/g, '')) : [value];
  const any = (texts) => values.some((wanted) => texts.some((text) => text !== null && text !== undefined && like(String(text), wanted)));
  const digits = (texts) => texts.some((text) => text && values.some((wanted) => text.replace(/^\+/, '').startsWith(wanted.replace(/^\+|\*/g, '')) || text.endsWith(wanted.replace(/\*/g, ''))));
  const compare = (number) => compared(number, operator, value);
  switch (name) {
    case 'number': return (call) => digits([call.from_user, call.to_user]);
    case 'from': return (call) => digits([call.from_user]);
    case 'to': return (call) => digits([call.to_user]);
    case 'state': return (call) => any([call.state]);
    case 'code': return (call) => any([call.final_code]);
    case 'codec': return (call) => any((streams.get(call.id) ?? []).map((stream) => stream.codec));
    case 'mos': return (call) => compare(call.mos);
    case 'mosworst': return (call) => compare(call.mos_worst_interval);
    case 'dur': return (call) => compare(call.duration_ms);
    case 'pdd': return (call) => compare(call.pdd_ms);
    case 'trunk': return (call) => any([call.trunk_from, call.trunk_to]);
    case 'ua': return (call) => any([call.user_agent_caller, call.user_agent_callee]);
    case 'ip': return (call) => any([call.src, call.dst]);
    case 'hangup': return (call) => any([call.released_by]);
    case 'recorded': return (call) => any([call.recorded]);
    case 'callid': return (call) => any([call.call_id]);
    case 'note': return (call) => any(call.notes.map((note) => note.code));
    case 'at': case 'began': {
      const [from, until] = value.includes('..') ? value.split('..').map(time) : [time(value), time(value) + (value.startsWith('-') ? 1e15 : 60e6)];
      if (name === 'at') return (call) => call.invite_us < until && (call.end_us ?? 1e18) >= from;
      return (call) => call.invite_us >= from && call.invite_us < until;
    }
    default: return () => true;
  }
}

function like(text, wanted) {
  if (wanted === '*') return true;
  const parts = wanted.toLowerCase().split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`).test(text.toLowerCase()) || (!wanted.includes('*') && text.toLowerCase().includes(wanted.toLowerCase()));
}

function compared(number, operator, value) {
  if (number === null || number === undefined) return false;
  const amount = (text) => parseFloat(text) * (text.endsWith('ms') ? 1 : text.endsWith('s') ? 1000 : text.endsWith('m') ? 60000 : 1);
  if (value.includes('..')) {
    const [low, high] = value.split('..').map(amount);
    return number >= low && number < high;
  }
  const wanted = amount(value);
  return { '<': number < wanted, '>': number > wanted, '<=': number <= wanted, '>=': number >= wanted, ':': number === wanted }[operator];
}

function time(text) {
  const ago = /^-(\d+)([hmd])$/.exec(text);
  if (ago) return (Date.now() - Number(ago[1]) * { h: 3600e3, m: 60e3, d: 86400e3 }[ago[2]]) * 1000;
  const clock = /^(\d\d?):(\d\d)$/.exec(text);
  if (clock) return new Date().setUTCHours(Number(clock[1]), Number(clock[2]), 0, 0) * 1000;
  return Date.parse(text) * 1000;
}
