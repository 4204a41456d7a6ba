// A capture in which a proxy answers nobody for 2.4 s, and its address then has another owner: a call that waits for it,
// one that was over before, and one that goes another way.
import { announced, frame, message, pcap } from './capture.js';

const MONITOR = { ip: [192, 0, 2, 5], port: 5060 };
const TELEPHONE = { ip: [192, 0, 2, 10], port: 5060 };
/** The addresses of the trunk carrier-a of the tests. */
export const PROXY = { ip: [198, 51, 100, 10], port: 5060 };
const OTHER = { ip: [198, 51, 100, 20], port: 5060 };
export const BEFORE = [2, 0, 0, 0, 0, 1];
export const AFTER = [2, 0, 0, 0, 0, 2];

/** When the proxy falls silent, by a request that it does not answer, and its first answer again, in seconds. */
export const SILENT = 10.1;
export const AGAIN = 12.5;
const END = 45;

/** The capture, beginning at a time in seconds since 1970. */
export function failover(start) {
  const frames = [[start + 1, announced(BEFORE, PROXY.ip)], [start + 12.4, announced(AFTER, PROXY.ip)]];
  const send = (at, from, to, payload) => frames.push([start + at, frame(from, to, payload)]);
  // Asked each half second, as the check of a cluster does.
  for (let at = 0.1; at < END; at += 0.5) {
    const headers = dialogue(MONITOR, 'monitor', `options-${at.toFixed(1)}`, 'CSeq: 1 OPTIONS');
    const silent = at > SILENT - 0.01 && at < AGAIN;
    send(at, MONITOR, PROXY, message('OPTIONS sip:198.51.100.10 SIP/2.0', headers, ''));
    if (!silent) send(at + 0.01, PROXY, MONITOR, message('SIP/2.0 200 OK', headers, ''));
  }
  call(send, 'early', PROXY, [3], 3.05, 8);
  // T1 and twice that (RFC 3261, 17.1.1.2).
  call(send, 'waits', PROXY, [10.3, 10.8, 11.8], AGAIN, 20);
  call(send, 'elsewhere', OTHER, [9.5], 9.55, 21);
  frames.sort(([a], [b]) => a - b);
  return pcap(frames);
}

function call(send, name, to, invites, answered, ended) {
  const about = (cseq) => dialogue(TELEPHONE, name, `${name}-${cseq.split(' ')[0]}`, `CSeq: ${cseq}`);
  const uri = `sip:callee@${to.ip.join('.')}`;
  for (const at of invites) send(at, TELEPHONE, to, message(`INVITE ${uri} SIP/2.0`, about('1 INVITE'), ''));
  for (const [after, line] of [[0, '100 Trying'], [0.4, '180 Ringing'], [1, '200 OK']]) send(answered + after, to, TELEPHONE, message(`SIP/2.0 ${line}`, about('1 INVITE'), ''));
  send(answered + 1.05, TELEPHONE, to, message(`ACK ${uri} SIP/2.0`, about('1 ACK'), ''));
  send(ended, TELEPHONE, to, message(`BYE ${uri} SIP/2.0`, about('2 BYE'), ''));
  send(ended + 0.05, to, TELEPHONE, message('SIP/2.0 200 OK', about('2 BYE'), ''));
}

function dialogue(from, name, branch, cseq) {
  const address = from.ip.join('.');
  return [
    `Via: SIP/2.0/UDP ${address}:${from.port};branch=z9hG4bK${branch}`, `From: <sip:caller@${address}>;tag=${name}`, 'To: <sip:callee@example.net>;tag=t',
    `Call-ID: ${name === 'monitor' ? branch : name}@${address}`, 'Max-Forwards: 70', cseq,
  ];
}
