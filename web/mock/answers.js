// What the mock answers to each request of the API.
import { pseudo, records } from './data.js';
import { FIELDS, parse, SearchError } from './search.js';

const { calls, streams, registrations } = records();
const WITHOUT = (process.env.MOCK_WITHOUT ?? '').split(',').filter(Boolean);
const RIGHTS = ['search', 'signalling', 'numbers', 'listen', 'export', 'hold', 'rules', 'administer', 'audit'];
/** Rights that parts of the API need beside `search`. */
const NEEDED = { '/audit': 'audit', '/people': 'administer', '/calls/export': 'export', '/why': 'numbers' };
let session = process.env.MOCK_USER ? sessionOf(process.env.MOCK_USER) : null;

export async function answer(request, response, url, body) {
  const path = url.pathname.replace(/^\/api\/v1/, '');
  const query = Object.fromEntries(url.searchParams);
  const route = `${request.method} ${path}`;
  const send = (value, status = 200) => json(response, value, status);
  const q = query.q ?? '';
  if (/\bslow\b/.test(q)) await sleep(4000);
  if (/\bbroken\b/.test(q)) return send({ type: 'about:blank', title: 'Internal error', status: 500, detail: 'the day file of 2026-01-01 cannot be read', remedy: 'ringtap doctor says more.' }, 500);
  if (url.pathname === '/openapi.json') return send({ openapi: '3.1.0', paths: Object.fromEntries(paths().map((one) => [`/api/v1${one}`, {}])) });
  if (path === '/session/provider') return send({ name: process.env.MOCK_PROVIDER ?? null });
  if (path === '/session') return sessions(request, send, body);
  if (!session) return send(problem(401, 'Nobody is logged in'), 401);
  if (WITHOUT.some((part) => path.startsWith(part))) return send(problem(404, 'Not found'), 404);
  query.q = q.replace(/\b(slow|cut|broken)\b/g, '').trim();
  const cut = /\bcut\b/.test(q);
  try {
    const one = /^GET \/calls\/([0-9a-f]{32})$/.exec(route);
    if (one) return oneCall(one[1], send);
    const right = Object.entries(NEEDED).find(([part]) => path.startsWith(part))?.[1];
    if (right && !session.rights.includes(right)) return send({ ...problem(403, 'There is no right to it'), right }, 403);
    const handler = HANDLERS[route] ?? dynamic(route);
    if (!handler) return send(problem(404, 'Not found'), 404);
    return await handler({ query, send, response, body, cut, request, path });
  } catch (error) {
    if (error instanceof SearchError) return send(error.problem, 400);
    throw error;
  }
}

const HANDLERS = {
  'GET /about': ({ send }) => send({
    version: '0.9.0', sensor: 'lyon-1', zone: 'Europe/Madrid', now_us: Date.now() * 1000, spool: true, live: true,
    records: { days: 2, first_us: calls.at(-1).invite_us, last_us: calls[0].invite_us },
  }),
  'GET /fields': ({ send }) => send(FIELDS.map((field) => ({ ...field, values: (field.values ?? []).map((name) => ({ name, about: '' })) }))),
  'GET /calls': ({ query, send, cut }) => {
    const began = performance.now();
    const { matches, understood } = parse(query.q, streams);
    const found = sorted(calls.filter(matches), query.sort ?? '-began');
    const from = Number(query.cursor ?? 0);
    const limit = Number(query.limit ?? 100);
    const byTime = (query.sort ?? '-began') === '-began';
    const next = from + limit < found.length ? String(from + limit) : null;
    send({
      calls: found.slice(from, from + limit), next: byTime ? next : null, understood,
      coverage: coverage(cut ? 'time' : next ? 'more' : null), took_ms: performance.now() - began,
    });
  },
  'GET /calls/summary': ({ query, send, cut }) => send(summary(query, cut)),
  'GET /calls/suggest': ({ query, send }) => send(suggest(query)),
  'GET /calls/export': ({ query, response }) => {
    const found = calls.filter(parse(query.q, streams).matches);
    response.writeHead(200, { 'Content-Type': 'text/plain', 'Content-Disposition': `attachment; filename="calls.${query.format}"` });
    response.end(found.map((call) => JSON.stringify(call)).join('\n'));
  },
  'GET /live': ({ response, request }) => live(response, request),
  'GET /live/calls': ({ send }) => send({ calls: calls.slice(0, 20), total: 412, listed: 20 }),
  'GET /kpis': ({ query, send }) => send(kpis(query)),
  'GET /alarms': ({ send }) => send({ alarms, standing: alarms.filter((alarm) => alarm.cleared_us === null).length }),
  'GET /users': ({ query, send }) => {
    const found = users().filter((user) => !query.number || user.aor.split('@')[0].endsWith(query.number.replace('*', '')));
    send({ users: found, total: found.length, days: 2 });
  },
  'GET /audit': ({ query, send }) => {
    const found = audit().filter((entry) => (!query.who || entry.who === query.who) && (!query.action || entry.action === query.action) && (!query.before || entry.number < Number(query.before)));
    const limit = Number(query.limit ?? 200);
    send({ entries: found.slice(0, limit), more: found.length > limit, damaged: 0, verified: query.verify === 'false' ? null : true, problem: null });
  },
  'GET /why': ({ query, send }) => send(why(query)),
  'GET /people': ({ send }) => send({ people }),
  'POST /people': ({ body, send }) => {
    if (body.password.length < 10) return send(problem(409, 'It cannot be done', 'the password is too short', 'take at least 10 characters'), 409);
    people.push({ name: body.name, role: body.role, scope: scopeOf(body), disabled: false, must_change: true, totp: false, recovery_codes: 0, passkeys: 0, created_us: Date.now() * 1000, last_login_us: null });
    send(people.at(-1), 201);
  },
  'GET /account': ({ send }) => send(people[0]),
  'GET /account/passkeys': ({ send }) => send({ passkeys: [{ number: 3, name: 'phone', site: 'tap.example.org', synchronised: true, created_us: 1.76e15, used_us: Date.now() * 1000 - 1e9 }] }),
  'GET /account/sessions': ({ send }) => send({ sessions: ownSessions }),
  'DELETE /account/sessions': ({ send }) => {
    ownSessions.splice(1);
    send(undefined, 204);
  },
  'GET /tokens': ({ send }) => send({ tokens }),
  'POST /tokens': ({ body, send }) => {
    const about = { person: session.user, name: body.name, rights: body.rights, scope: [], created_us: Date.now() * 1000, expires_us: Date.now() * 1000 + body.days * 86_400e6, used_us: null };
    tokens.push(about);
    send({ token: 'rt_3bK9shownonce', about }, 201);
  },
  'POST /alarms/silence': ({ body, send }) => {
    for (const alarm of alarms.filter((one) => one.rule === body.rule && one.subject === body.subject)) {
      Object.assign(alarm, { silenced_until_us: body.seconds ? Date.now() * 1000 + body.seconds * 1e6 : null, comment: body.comment });
    }
    send({ done: '' });
  },
};

function dynamic(route) {
  const alarm = /^POST \/alarms\/(\w+)\/acknowledge$/.exec(route);
  if (alarm) return ({ body, send }) => {
    Object.assign(alarms.find((one) => one.id === alarm[1]), { acknowledged_us: Date.now() * 1000, acknowledged_by: session.user, comment: body.comment });
    send({ done: '' });
  };
  const person = /^PATCH \/people\/(.+)$/.exec(route);
  if (person) return ({ body, send }) => {
    const found = people.find((one) => one.name === decodeURIComponent(person[1]));
    if (body.role) found.role = body.role;
    if (body.disabled !== undefined) found.disabled = body.disabled;
    if (body.trunks) found.scope = scopeOf(body);
    if (body.password) found.must_change = true;
    send(found);
  };
  const ended = /^DELETE \/account\/sessions\/(\d+)$/.exec(route);
  if (ended) return ({ send }) => {
    ownSessions.splice(ownSessions.findIndex((one) => one.number === Number(ended[1])), 1);
    send(undefined, 204);
  };
  const token = /^DELETE \/tokens\/(.+)$/.exec(route);
  if (token) return ({ send }) => {
    tokens.splice(tokens.findIndex((one) => one.name === decodeURIComponent(token[1])), 1);
    send(undefined, 204);
  };
  return null;
}

function paths() {
  const parts = Object.keys(HANDLERS).map((route) => route.split(' ')[1]);
  return [...parts, '/calls/{id}'].filter((path) => !WITHOUT.some((part) => path.startsWith(part)));
}

function sessionOf(name) {
  const base = { user: name, scope: [], must_change_password: name === 'new', by_provider: false };
  if (name === 'viewer') return { ...base, role: 'viewer', rights: ['search'], scope: [{ trunks: ['carrier-a'], numbers: null }] };
  return { ...base, role: 'administrator', rights: RIGHTS };
}

function scopeOf({ trunks, numbers }) {
  const orNull = (list) => (list.length ? list : null);
  return trunks.length + numbers.length ? [{ trunks: orNull(trunks), numbers: orNull(numbers) }] : [];
}

function sessions(request, send, body) {
  if (request.method === 'DELETE') return (session = null), send(undefined, 204);
  if (request.method === 'POST') {
    if (body.name === 'locked') return send({ ...problem(429, 'Too much at once'), retry_after: 30 }, 429);
    if (body.name === 'wrong' || body.password === 'wrong') return send(problem(401, 'The login is refused', 'the name, the password or the code is wrong'), 401);
    if (body.name === 'code' && body.code !== '123456') return send({ ...problem(401, 'The login is refused'), ...(body.code ? {} : { code_wanted: true }) }, 401);
    session = sessionOf(body.name);
    if (body.new_password) session.must_change_password = false;
  }
  return session ? send(session) : send(problem(401, 'Nobody is logged in'), 401);
}

function oneCall(id, send) {
  const call = calls.find((one) => one.id === id);
  if (!call) return send(problem(404, 'There is no such call'), 404);
  send({
    call, legs: [call], streams: streams.get(id) ?? [], sentences: [`${call.state}: ${call.messages} messages.`],
    packets: { kept: call.recorded, available: call.recorded !== 'none', reason: null }, rights: { signalling: true, listen: true, export: true, hold: true },
    in_progress: false, holds: [],
  });
}

function summary(query, cut) {
  const { matches } = parse(query.q, streams);
  const found = calls.filter(matches);
  const answered = found.filter((call) => call.answer_us !== null);
  const effective = found.filter((call) => call.answer_us !== null || [480, 486, 487, 600, 603].includes(call.final_code));
  const rated = found.filter((call) => call.mos !== null);
  const pdd = found.map((call) => call.pdd_ms).filter((value) => value !== null).sort((a, b) => a - b);
  const mean = (values) => (values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : null);
  const from = found.length ? found.at(-1).invite_us : 0;
  const until = found.length ? found[0].invite_us + 1 : 1;
  const step = Math.max(60e6, Math.ceil((until - from) / 90 / 60e6) * 60e6);
  const first = Math.floor(from / step) * step;
  const time = found.length ? Array.from({ length: Math.ceil((until - first) / step) }, (_, i) => ({ from_us: first + i * step, until_us: first + (i + 1) * step, calls: 0, bad: 0 })) : [];
  for (const call of found) {
    const bin = time[Math.floor((call.invite_us - first) / step)];
    bin.calls += 1;
    if (call.notes.some((note) => !['hold', 'transfer', 'shared_media'].includes(note.code))) bin.bad += 1;
  }
  const mos = Array.from({ length: 20 }, (_, i) => ({ from: Math.round(10 + i * 2) / 10, until: Math.round(12 + i * 2) / 10, calls: 0 }));
  for (const call of rated) mos[Math.min(19, Math.floor((call.mos - 1) / 0.2))].calls += 1;
  return {
    calls: found.length, answered: answered.length, asr: found.length ? (100 * answered.length) / found.length : null,
    ner: found.length ? (100 * effective.length) / found.length : null, acd_ms: mean(answered.map((call) => call.duration_ms).filter((v) => v !== null)),
    pdd_ms_median: pdd[pdd.length >> 1] ?? null, mos, time, coverage: coverage(cut ? 'time' : null),
    facets: Object.fromEntries((query.facets ?? '').split(',').filter(Boolean).map((name) => [name, facet(name, found)])),
  };
}

function facet(name, found) {
  const values = {
    state: (call) => [call.state], code: (call) => [call.final_code], trunk: (call) => [call.trunk_to, call.trunk_from], recorded: (call) => [call.recorded],
    ip: (call) => [call.src.split(':')[0], call.dst.split(':')[0]], hangup: (call) => (call.released_by ? [call.released_by] : []),
    ua: (call) => [call.user_agent_caller, call.user_agent_callee], note: (call) => call.notes.map((note) => note.code), codec: (call) => (streams.get(call.id) ?? []).map((stream) => stream.codec),
  }[name];
  const counts = new Map();
  for (const call of values ? found : []) for (const value of new Set(values(call))) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].map(([value, count]) => ({ value: String(value), calls: count })).sort((a, b) => b.calls - a.calls).slice(0, 12);
}

function suggest({ q, at }) {
  const before = q.slice(0, Number(at ?? q.length));
  const word = /[^\s]*$/.exec(before)[0];
  const [name, value] = word.split(':');
  const field = FIELDS.find((one) => one.name === name);
  const completions = value === undefined
    ? FIELDS.filter((one) => word && one.name.startsWith(word)).map((one) => ({ text: `${one.name}:`, about: one.about }))
    : (field?.values ?? []).filter((one) => one.startsWith(value)).map((one) => ({ text: one, about: '' }));
  try {
    return { completions, understood: parse(q, streams).understood, error: null };
  } catch (error) {
    return { completions, understood: null, error: error.problem };
  }
}

function live(response, request) {
  response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' });
  let second = 0;
  const tell = () => {
    second += 1;
    const wave = Math.sin(second / 20);
    const now = process.env.MOCK_LACKING ? { lacking: process.env.MOCK_LACKING } : {
      now_us: Date.now() * 1000, since_us: Date.now() * 1000 - 8.64e10, version: '0.9.0', calls: { active: Math.round(380 + 30 * wave), total_started: 120345 + second * 4 },
      attempts_per_s: second === 1 ? null : 4 + wave + pseudo(second), packets_per_s: second === 1 ? null : 38_200 + 900 * wave, bytes_per_s: second === 1 ? null : 8.1e6, streams: Math.round(760 + 60 * wave),
      drops: { nic: 0, ring: 0, worker: 0, tables: 0, reassembly: second > 5 ? 12 : 0, store: 0, spool: 0 }, refused: {}, clock_step_s: 0, timestamps: 'hardware',
      workers: [{ source: 'eth1', packets: 38e6, ring_pct: 3, cpu_ms: 5e5, ended: false, silent_ms: 90 }, { source: 'eth1', packets: 37e6, ring_pct: 4, cpu_ms: 5e5, ended: false, silent_ms: 120 }],
      store: { ok: true, written: 481_221, waiting: 12, outbox: 0, dropped: 0 }, spool: { ok: true, bytes: 812e9, far_bytes: 0, free_pct: 41, far_lost: false, failures: 0, held: 2 },
      cpu_pct: 11.5, resident_bytes: 412e6, lacking: null,
    };
    response.write(`event: now\ndata: ${JSON.stringify(now)}\n\n`);
  };
  tell();
  const timer = setInterval(tell, 1000);
  request.on('close', () => clearInterval(timer));
}

function kpis({ by = 'total', from_us, until_us, every }) {
  const of = { total: () => ['all calls'], codec: (call) => [(streams.get(call.id) ?? [])[0]?.codec ?? '(none)'], device: (call) => [call.user_agent_caller], code: (call) => [String(call.final_code)], direction: () => ['through'], prefix: (call) => [(call.to_user ?? '').slice(1, 5)] };
  const dimensions = by === 'trunk' ? { trunk_in: (call) => [call.trunk_from], trunk_out: (call) => [call.trunk_to] } : { [by]: of[by] };
  const from = Number(from_us ?? calls.at(-1).invite_us);
  const until = Number(until_us ?? Date.now() * 1000);
  const groups = [];
  for (const [dimension, names] of Object.entries(dimensions)) {
    const found = new Map();
    for (const call of calls) {
      if (call.invite_us < from || call.invite_us >= until) continue;
      for (const name of names(call)) found.set(name, [...(found.get(name) ?? []), call]);
    }
    for (const [name, list] of found) groups.push({ name, dimension, attempts: list.length, figures: figures(list), series: every ? series(list, every) : [] });
  }
  return { definitions: DEFINITIONS, groups: groups.sort((a, b) => b.attempts - a.attempts) };
}

const DEFINITIONS = [
  { name: 'attempts', unit: 'calls', text: 'call attempts: first INVITEs; one that is challenged (401, 407), repeated or forked is one attempt' }, { name: 'answered', unit: 'calls', text: 'attempts that ended with a 2xx' },
  { name: 'asr', unit: '%', text: 'answered (2xx) / attempts, redirected ones included' }, { name: 'ner', unit: '%', text: 'E.425: (answered, 480, 486, 487, 600 and 603) / attempts' },
  { name: 'acd_ms', unit: 'ms', text: 'mean time from answer to release of the answered calls that were released' }, { name: 'pdd_ms_p50', unit: 'ms', text: 'post-dial delay: first INVITE to first 18x; median' },
  { name: 'mos_p50', unit: 'MOS', text: 'MOS-LQ (G.107) of the streams; median' }, { name: 'mos_p5', unit: 'MOS', text: 'MOS-LQ that 5 % of the streams do not exceed' },
];

function figures(list) {
  const answered = list.filter((call) => call.answer_us !== null);
  const effective = list.filter((call) => call.answer_us !== null || [480, 486, 487, 600, 603].includes(call.final_code));
  const quantile = (values, part) => {
    const known = values.filter((value) => value !== null).sort((a, b) => a - b);
    return { value: known[Math.floor(known.length * part)] ?? null, of: known.length };
  };
  const part = (n) => ({ value: list.length ? (100 * n) / list.length : null, of: list.length });
  return {
    attempts: { value: list.length, of: list.length }, answered: { value: answered.length, of: list.length }, asr: part(answered.length), ner: part(effective.length),
    acd_ms: { value: answered.length ? answered.reduce((sum, call) => sum + (call.duration_ms ?? 0), 0) / answered.length : null, of: answered.length },
    pdd_ms_p50: quantile(list.map((call) => call.pdd_ms), 0.5), mos_p50: quantile(list.map((call) => call.mos), 0.5), mos_p5: quantile(list.map((call) => call.mos), 0.05),
  };
}

function series(list, every) {
  const step = { minute: 60e6, hour: 3600e6, day: 86400e6 }[every];
  const points = [...byStep(list, step)].map(([at_us, part]) => ({ at_us, until_us: at_us + step, attempts: part.length, figures: figures(part) }));
  return points.sort((a, b) => a.at_us - b.at_us);
}

function byStep(list, step) {
  const by = new Map();
  for (const call of list) {
    const at = Math.floor(call.invite_us / step) * step;
    by.set(at, [...(by.get(at) ?? []), call]);
  }
  return by;
}

const alarms = ['asr', 'mos_p50', 'drops'].map((figure, index) => {
  const raised = Date.now() * 1000 - (index * 7 + 1) * 1.3e9;
  return {
    type: 'alarm', id: `${index}`.repeat(32), rule: ['answers', 'voice', 'capture'][index], severity: ['critical', 'warning', 'info'][index], per: 'trunk', subject: ['carrier-b', 'wholesale-west', ''][index],
    figure, value: [41.2, 3.41, 12][index], worst: [38, 3.2, 12][index], threshold: [60, 3.6, 0][index], behind: [212, 96, 1][index],
    text: ['ASR to carrier-b is 41 % of 212 attempts in 15 minutes; the rule allows 60 %.', 'MOS to wholesale-west is 3.41 (median of 96 streams); the rule allows 3.6.', '12 packets were lost in reassembly.'][index],
    raised_us: raised, last_us: raised + 6e8, cleared_us: index === 2 ? raised + 6e8 : null, calls: calls.slice(index * 3, index * 3 + 3).map((call) => call.call_id),
    acknowledged_us: null, acknowledged_by: null, comment: null, silenced_until_us: null,
  };
});

function users() {
  const by = new Map();
  for (const registration of registrations) {
    by.set(registration.aor, {
      type: 'user', aor: registration.aor, display_name: null, contact: registration.contact, user_agent: registration.user_agent, address: registration.src,
      registered_until_us: registration.state === 'active' ? Date.now() * 1000 + 1.8e9 : null, registrations: registration.attempts ?? 1, registrations_failed: registration.failed ?? 0,
      calls_made: 3, calls_made_answered: 2, calls_made_rejected: 1, calls_received: 1, calls_received_answered: 1, calls_received_rejected: 0, messages_received: 0,
      methods: [{ method: 'REGISTER', count: registration.requests }, { method: 'INVITE', count: 3 }], failures: registration.code >= 400 ? [{ code: registration.code, count: 1 }] : [],
      first_us: registration.first_us, last_us: registration.last_us,
    });
  }
  return [...by.values()];
}

function audit() {
  return Array.from({ length: 420 }, (_, i) => ({
    number: 1000 - i, role: 'engineer', time_us: Date.now() * 1000 - i * 87e6, who: ['ana', 'luis', 'grafana'][i % 3], action: ['search', 'view', 'listen', 'export', 'login'][i % 5],
    what: ['number:0138', calls[i].id, calls[i].id, 'state:failed', null][i % 5], from: '192.0.2.44', reason: i % 5 === 2 ? 'ticket 4711' : null,
  }));
}

function why({ q }) {
  const marked = calls.filter(parse(q, streams).matches);
  const others = calls.length - marked.length;
  const lines = [['trunk_to', 'carrier-b', 'trunk_to:carrier-b'], ['ua', 'Yealink SIP-T46U 108.86.0.70', 'ua:"Yealink SIP-T46U 108.86.0.70"']].map(([field, value, text], index) => ({
    field, value, also: index ? { field: 'codec', value: 'G729' } : null, same: index ? [] : [{ field: 'ip', value: '198.51.100.7', q: 'ip:198.51.100.7' }], sentence: `Of ${marked.length} marked calls ...`, marked: Math.round(marked.length * (0.9 - index * 0.3)), others: Math.round(others * 0.2), marked_pct: 90 - index * 30, others_pct: 20, significance: 1e-40, q: text,
  }));
  return { marked: marked.length, others, lines, text: `Of ${marked.length} marked calls 90 % went to carrier-b; of the others 20 %.`, claims: marked.length > 20, coverage: coverage(null) };
}

const people = [
  { name: 'ana', role: 'administrator', scope: [], disabled: false, must_change: false, totp: true, recovery_codes: 8, passkeys: 1, created_us: 1.76e15, last_login_us: Date.now() * 1000 },
  { name: 'luis', role: 'engineer', scope: [{ trunks: ['carrier-a'], numbers: ['+4420*'] }], disabled: false, must_change: true, totp: false, recovery_codes: 0, passkeys: 0, created_us: 1.76e15, last_login_us: null },
];
const ownSessions = [
  { number: 41, current: true, address: '192.0.2.7', agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', began_us: Date.now() * 1000 - 6e8, used_us: Date.now() * 1000, expires_us: Date.now() * 1000 + 4e10 },
  { number: 38, current: false, address: '203.0.113.66', agent: 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1', began_us: Date.now() * 1000 - 9e9, used_us: Date.now() * 1000 - 1e9, expires_us: Date.now() * 1000 + 3e10 },
];
const tokens = [{ person: 'ana', name: 'grafana', rights: ['search'], scope: [], created_us: 1.76e15, expires_us: Date.now() * 1000 + 8.64e12, used_us: Date.now() * 1000 - 6e7 }];

function sorted(list, sort) {
  const descending = sort.startsWith('-');
  const name = sort.replace(/^-/, '');
  const value = { began: 'invite_us', dur: 'duration_ms', mos: 'mos', mosworst: 'mos_worst_interval', pdd: 'pdd_ms', from: 'from_user', to: 'to_user', code: 'final_code', state: 'state', trunk_to: 'trunk_to', trunk_from: 'trunk_from' }[name] ?? 'invite_us';
  const rank = (a, b) => (a === b ? 0 : a === null ? 1 : b === null ? -1 : (a < b ? -1 : 1) * (descending ? -1 : 1));
  return list.sort((a, b) => rank(a[value], b[value]));
}

function coverage(reason) {
  return { complete: reason === null, reason, days: 2, days_searched: reason === 'time' ? 1 : 2, from_us: calls.at(-1).invite_us, until_us: calls[0].invite_us, looked_at: calls.length };
}

function problem(status, title, detail = null, remedy = null) {
  return { type: 'about:blank', title, status, detail, remedy };
}

function json(response, value, status) {
  response.writeHead(status, { 'Content-Type': status >= 400 ? 'application/problem+json' : 'application/json', 'Cache-Control': 'no-store' });
  response.end(value === undefined ? '' : JSON.stringify(value));
}

function sleep(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
