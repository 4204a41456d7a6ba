// A capture for measurements of the page: a call of ten streams with two more legs, and a call of 5,000 messages.
import { frame, message, pcap, rtp } from './capture.js';

export const LEGS = 3;
export const STREAMS = 10;
export const MESSAGES = 5_000;
const SECONDS = 60;
const PCMU = 0;

const PHONE = { ip: [192, 0, 2, 10], port: 5060 };
const PROXY = { ip: [192, 0, 2, 20], port: 5060 };
const BORDER = { ip: [192, 0, 2, 30], port: 5060 };
const FAR = { ip: [198, 51, 100, 40], port: 5060 };

/** The capture, beginning at a time in seconds since 1970. */
export function large(start) {
  const frames = [];
  const send = (at, from, to, payload, ports) => frames.push([start + at, frame(from, to, payload, ports)]);
  [[PHONE, PROXY], [PROXY, BORDER], [BORDER, FAR]].forEach(([from, to], leg) => conversation(send, leg, from, to));
  long(send, SECONDS + 30);
  frames.sort(([a], [b]) => a - b);
  return pcap(frames);
}

/** One leg. The first is negotiated anew again and again, each time with two more streams. */
function conversation(send, leg, from, to) {
  const say = dialogue(send, { name: `leg-${leg}`, session: 'a'.repeat(32), from, to, late: leg * 0.01 });
  const periods = leg === 0 ? STREAMS / 2 : 1;
  for (let period = 0; period < periods; period += 1) {
    const [begin, end] = [(period * SECONDS) / periods, ((period + 1) * SECONDS) / periods];
    const port = 20_000 + leg * 100 + period * 10;
    say(begin, 0, 'INVITE', sdp(from, port));
    if (period === 0) say(begin + 0.5, 1, '180 Ringing');
    say(begin + 1, 1, '200 OK', sdp(to, port + 2));
    say(begin + 1.1, 0, 'ACK');
    stream(send, [from, port], [to, port + 2], leg * 10 + period, begin + 1.2, end);
  }
  say(SECONDS + 0.1, 0, 'BYE');
  say(SECONDS + 0.2, 1, '200 OK');
}

function stream(send, [from, source], [to, target], number, begin, end) {
  for (let n = 0; begin + n * 0.02 < end; n += 1) {
    // One in fifty is lost, so that there is something to draw.
    if (n % 50 !== 7) send(begin + n * 0.02, from, to, rtp(n, 0x10_00 + number, PCMU, 160), [source, target]);
    send(begin + n * 0.02 + 0.001, to, from, rtp(n, 0x20_00 + number, PCMU, 160), [target, source]);
  }
}

/** A call in which each side asks whether the other is still there, again and again. */
function long(send, at) {
  const say = dialogue(send, { name: 'long', session: 'b'.repeat(32), from: PHONE, to: FAR, late: at });
  say(0, 0, 'INVITE', sdp(PHONE, 30_000));
  say(1, 1, '200 OK', sdp(FAR, 30_002));
  say(1.1, 0, 'ACK');
  const asked = Math.floor((MESSAGES - 5) / 2);
  for (let n = 0; n < asked; n += 1) {
    say(2 + n * 0.02, n % 2, 'INFO');
    say(2 + n * 0.02 + 0.01, 1 - (n % 2), '200 OK');
  }
  say(3 + asked * 0.02, 0, 'BYE');
  say(3 + asked * 0.02 + 0.01, 1, '200 OK');
}

/** Says a message of a dialogue; an answer belongs to the request before it. */
function dialogue(send, { name, session, from, to, late }) {
  let [number, method] = [0, ''];
  return (at, side, what, body = '') => {
    const isAnswer = /^\d/.test(what);
    if (!isAnswer && what !== 'ACK') [number, method] = [number + 1, what];
    const [one, other] = side === 0 ? [from, to] : [to, from];
    const [tags, asker] = [['f', 't'], isAnswer ? 1 - side : side];
    const party = (of) => `<sip:${of === 0 ? '+4915112345678' : '+4930555000138'}@example.org>;tag=${tags[of]}`;
    const headers = [
      `Via: SIP/2.0/UDP ${(isAnswer ? other : one).ip.join('.')}:5060;branch=z9hG4bK${name}-${number}${what === 'ACK' ? 'a' : ''}`,
      `From: ${party(asker)}`, what === 'INVITE' && number === 1 ? `To: ${party(1 - asker).split(';')[0]}` : `To: ${party(1 - asker)}`,
      `Call-ID: ${name}@192.0.2.10`, `CSeq: ${number} ${what === 'ACK' ? 'ACK' : method}`, `Session-ID: ${session}`,
      `Contact: <sip:${one.ip.join('.')}:5060>`, 'Max-Forwards: 70', 'User-Agent: ringtap-large/1',
    ];
    const line = isAnswer ? `SIP/2.0 ${what}` : `${what} sip:+4930555000138@example.net SIP/2.0`;
    send(late + at, one, other, message(line, headers, body));
  };
}

function sdp(side, port) {
  const ip = side.ip.join('.');
  return ['v=0', `o=- 1 1 IN IP4 ${ip}`, 's=-', `c=IN IP4 ${ip}`, 't=0 0', `m=audio ${port} RTP/AVP ${PCMU}`, 'a=rtpmap:0 PCMU/8000', ''].join('\r\n');
}
