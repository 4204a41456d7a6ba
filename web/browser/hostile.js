// A capture whose calls, registrations and media carry markup, addresses that run, and marks that turn text around,
// wherever a text of the wire can stand.
import { frame, message, pcap, rtp } from './capture.js';

/** What runs if it is ever taken for markup, or misleads if it is shown as it is. */
export const TEXTS = {
  script: '<script>window.pwned=1</script>',
  image: '"><img src=x onerror=window.pwned=2>',
  address: 'javascript:window.pwned=3//',
  template: '{{constructor.constructor("window.pwned=4")()}}${window.pwned=5}',
  drawing: '</title></text><svg onload=window.pwned=6><a href="javascript:window.pwned=7">',
  bidi: 'photo\u202Egnp.exe\u2066\u200B\u0007',
};

const CALLER = { ip: [192, 0, 2, 66], port: 5060, media: 40_000 };
const CALLEE = { ip: [198, 51, 100, 66], port: 5060, media: 50_000 };

/** The capture, beginning at a time in seconds since 1970: for each text an answered call, a failed one and a registration. */
export function hostile(start) {
  const frames = [];
  const send = (at, from, to, payload, ports) => frames.push([start + at, frame(from, to, payload, ports)]);
  for (const [index, [name, text]] of Object.entries(TEXTS).entries()) {
    answered(send, index * 20, text, name);
    failed(send, index * 20 + 10, text, name);
    registered(send, index * 20 + 12, text, name);
  }
  frames.sort(([a], [b]) => a - b);
  return pcap(frames);
}

function answered(send, at, text, name) {
  const call = dialogue(text, `${name}-answered`);
  const say = (after, from, to, line, more = [], body = '') => send(at + after, from, to, message(line, [...call.headers, ...more], body));
  say(0, CALLER, CALLEE, `INVITE ${call.to} SIP/2.0`, ['CSeq: 1 INVITE', `User-Agent: ${text}`, ...odd(text)], sdp(CALLER, text));
  say(0.02, CALLEE, CALLER, 'SIP/2.0 100 Trying', ['CSeq: 1 INVITE']);
  say(0.4, CALLEE, CALLER, `SIP/2.0 180 ${text}`, ['CSeq: 1 INVITE', `Server: ${text} callee`]);
  say(1, CALLEE, CALLER, `SIP/2.0 200 ${text}`, ['CSeq: 1 INVITE', `Server: ${text} callee`, ...odd(text)], sdp(CALLEE, text));
  say(1.05, CALLER, CALLEE, `ACK ${call.to} SIP/2.0`, ['CSeq: 1 ACK']);
  for (let n = 0; n < 150; n += 1) {
    for (const [from, to, ssrc] of [[CALLER, CALLEE, 0x1111], [CALLEE, CALLER, 0x2222]]) {
      if (n % 7 !== 3 || from === CALLEE) send(at + 1.1 + n * 0.02, from, to, rtp(n, ssrc), [from.media, to.media]);
    }
  }
  say(4.5, CALLER, CALLEE, `BYE ${call.to} SIP/2.0`, ['CSeq: 2 BYE', `Reason: Q.850;cause=16;text="${escaped(text)}"`]);
  say(4.55, CALLEE, CALLER, 'SIP/2.0 200 OK', ['CSeq: 2 BYE']);
}

function failed(send, at, text, name) {
  const call = dialogue(text, `${name}-failed`);
  const say = (after, from, to, line, more = []) => send(at + after, from, to, message(line, [...call.headers, ...more], ''));
  say(0, CALLER, CALLEE, `INVITE ${call.to} SIP/2.0`, ['CSeq: 1 INVITE', `User-Agent: ${text}`]);
  say(0.1, CALLEE, CALLER, `SIP/2.0 486 ${text}`, ['CSeq: 1 INVITE', `Warning: 399 host "${escaped(text)}"`, `Server: ${text}`]);
  say(0.15, CALLER, CALLEE, `ACK ${call.to} SIP/2.0`, ['CSeq: 1 ACK']);
}

function registered(send, at, text, name) {
  const user = `sip:reg-${name}${uriPart(text)}@example.org`;
  const headers = [
    'Via: SIP/2.0/UDP 192.0.2.66:5060;branch=z9hG4bKr' + name, `From: "${escaped(text)}" <${user}>;tag=r`, `To: "${escaped(text)}" <${user}>`, `Call-ID: ${idPart(text)}reg-${name}`,
    'CSeq: 1 REGISTER', `Contact: "${escaped(text)}" <sip:${uriPart(text)}@192.0.2.66:5060>`, `User-Agent: ${text}`, 'Expires: 86400',
  ];
  send(at, CALLER, CALLEE, message(`REGISTER sip:example.org SIP/2.0`, headers, ''));
  send(at + 0.1, CALLEE, CALLER, message(`SIP/2.0 200 ${text}`, headers, ''));
}

/** Header fields that a page may link or show. */
function odd(text) {
  return [
    `Contact: "${escaped(text)}" <sip:${uriPart(text)}@192.0.2.66>`, `Subject: ${text}`, `Call-Info: <javascript:window.pwned=8>;purpose=icon`, `Alert-Info: <javascript:window.pwned=9>`,
    `P-Asserted-Identity: "${escaped(text)}" <sip:${uriPart(text)}@example.org>`, `Diversion: "${escaped(text)}" <sip:${uriPart(text)}@example.org>;reason=${uriPart(text)}`, `X-<img src=x onerror=window.pwned=10>: ${text}`,
  ];
}

function dialogue(text, name) {
  const to = `sip:callee${uriPart(text)}@example.net`;
  return {
    to,
    headers: [
      `Via: SIP/2.0/UDP 192.0.2.66:5060;branch=z9hG4bK${name}`, `From: "${escaped(text)}" <sip:caller${uriPart(text)}@example.org>;tag=f`, `To: "${escaped(text)}" <${to}>`,
      `Call-ID: ${idPart(text)}${name}`, 'Max-Forwards: 70',
    ],
  };
}

function sdp(side, text) {
  return [
    'v=0', `o=${uriPart(text)} 1 1 IN IP4 ${side.ip.join('.')}`, `s=${text}`, `i=${text}`, `u=javascript:window.pwned=11`, `c=IN IP4 ${side.ip.join('.')}`, 't=0 0',
    `m=audio ${side.media} RTP/AVP 96`, 'a=rtpmap:96 <img_onerror=window.pwned=12>/8000', `a=label:${text}`, `a=<script>:${text}`, '',
  ].join('\r\n');
}

/** As it stands within quotes (RFC 3261, 25.1). */
function escaped(text) {
  return text.replace(/["\\]/g, '\\$&');
}

/** As the user of a URI holds it (RFC 3261, 19.1.2): a page that decodes it has the text itself. */
function uriPart(text) {
  return text.replace(/[\s@;?,:<>"/\\{}`]/g, encodeURIComponent);
}

/** As a Call-ID holds it, which may have angle brackets and quotes (RFC 3261, 25.1: word). */
function idPart(text) {
  return text.replace(/\s/g, '/').replace(/[@;,]/g, '');
}
