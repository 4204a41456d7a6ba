// A SIP message taken apart for reading. Lenient: what does not parse is still shown, as it came.

export interface Header {
  /** As written. */
  name: string;
  /** In full and lower case: `v` is `via` (RFC 3261 section 7.3.3). */
  key: string;
  /** Folded lines joined by a space (section 7.3.1). */
  value: string;
}

export interface Parsed {
  start: string;
  headers: Header[];
  /** Lines of the body, without their ends. */
  body: string[];
  /** Media type of the body in lower case, without parameters; `''` where there is none. */
  type: string;
}

// RFC 3261 section 20 and the registry of header fields.
const COMPACT: Record<string, string> = {
  a: 'accept-contact', b: 'referred-by', c: 'content-type', d: 'request-disposition', e: 'content-encoding',
  f: 'from', i: 'call-id', j: 'reject-contact', k: 'supported', l: 'content-length', m: 'contact',
  n: 'identity-info', o: 'event', r: 'refer-to', s: 'subject', t: 'to', u: 'allow-events', v: 'via',
  x: 'session-expires', y: 'identity',
};

export function parse(raw: string): Parsed {
  const [head, rest] = halves(raw);
  const all = head.split(/\r?\n/);
  const headers: Header[] = [];
  for (const line of all.slice(1)) {
    const last = headers.at(-1);
    if (/^[ \t]/.test(line) && last) {
      last.value = `${last.value} ${line.trim()}`.trim();
      continue;
    }
    const colon = line.indexOf(':');
    const name = (colon < 0 ? line : line.slice(0, colon)).trim();
    if (name === '' && colon < 0) continue;
    headers.push({ name, key: fullName(name), value: colon < 0 ? '' : line.slice(colon + 1).trim() });
  }
  const type = valueOf(headers, 'content-type')?.split(';')[0]?.trim().toLowerCase() ?? '';
  const body = rest === '' ? [] : rest.replace(/\r?\n$/, '').split(/\r?\n/);
  return { start: all[0] ?? '', headers, body, type };
}

function halves(raw: string): [string, string] {
  const end = /\r?\n\r?\n/.exec(raw);
  return end ? [raw.slice(0, end.index), raw.slice(end.index + end[0].length)] : [raw.replace(/\r?\n$/, ''), ''];
}

function fullName(name: string): string {
  const lower = name.toLowerCase();
  return COMPACT[lower] ?? lower;
}

/** Value of the first header of that name. */
export function valueOf(headers: Header[], key: string): string | null {
  return headers.find((header) => header.key === key)?.value ?? null;
}

/** `tag` of a From or To value. */
export function tagOf(value: string): string {
  // Only parameters of the header count, not those within the angle brackets of its URI.
  const after = value.slice(value.lastIndexOf('>') + 1);
  return /;\s*tag\s*=\s*([^;\s]+)/i.exec(after)?.[1] ?? '';
}

export interface CSeq {
  number: number | null;
  method: string;
}

export function parseCSeq(text: string): CSeq {
  const match = /^\s*(\d+)\s+(\S+)/.exec(text);
  return match ? { number: Number(match[1]), method: (match[2] ?? '').toUpperCase() } : { number: null, method: '' };
}

/** Whether the body of a message has a session description, alone or as a part of several. */
export function sdpOf(parsed: Parsed): string[] {
  if (parsed.type === 'application/sdp') return parsed.body;
  if (!parsed.type.startsWith('multipart/')) return [];
  const start = parsed.body.findIndex((line) => line === 'v=0');
  if (start < 0) return [];
  const end = parsed.body.findIndex((line, at) => at > start && (line.startsWith('--') || line === ''));
  return parsed.body.slice(start, end < 0 ? undefined : end);
}

/** What a session description offers, a line a medium: `audio 192.0.2.1:4000 PCMU PCMA telephone-event sendonly`. */
export function sdpBrief(sdp: string[]): string[] {
  const found: string[] = [];
  let session = '';
  let state = '';
  for (let at = 0; at < sdp.length; at += 1) {
    const line = sdp[at] ?? '';
    if (line.startsWith('m=')) {
      const end = sdp.findIndex((next, index) => index > at && next.startsWith('m='));
      found.push(medium(line, sdp.slice(at + 1, end < 0 ? undefined : end), session, state));
    } else if (found.length === 0 && line.startsWith('c=')) session = line.split(/\s+/)[2] ?? '';
    else if (found.length === 0) state = directionOf(line) ?? state;
  }
  return found;
}

// Static payload types of RFC 3551 that telephony uses.
const STATIC: Record<string, string> = {
  0: 'PCMU', 3: 'GSM', 4: 'G723', 8: 'PCMA', 9: 'G722', 13: 'CN', 15: 'G728', 18: 'G729', 26: 'JPEG', 31: 'H261',
  34: 'H263',
};

function medium(line: string, attributes: string[], session: string, state: string): string {
  const [kind = '', port = '', , ...types] = line.slice(2).split(/\s+/);
  const host = attributes.find((one) => one.startsWith('c='))?.split(/\s+/)[2] ?? session;
  const names = types.map((type) => {
    const map = attributes.find((one) => one.startsWith(`a=rtpmap:${type} `));
    return map?.split(/\s+/)[1]?.split('/')[0] ?? STATIC[type] ?? type;
  });
  const way = attributes.map(directionOf).find((one) => one !== null) ?? state;
  const place = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
  return [kind, place, ...names, way === 'sendrecv' ? '' : way].filter((part) => part !== '').join(' ');
}

function directionOf(line: string): string | null {
  return /^a=(sendrecv|sendonly|recvonly|inactive)\s*$/.exec(line)?.[1] ?? null;
}
