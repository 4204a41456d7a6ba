// Frames of a capture, and the capture itself: for captures that no generator makes.

/** A SIP message; a body is SDP. */
export function message(line, headers, body) {
  const type = body === '' ? [] : ['Content-Type: application/sdp'];
  const bytes = Buffer.from(body);
  return Buffer.concat([Buffer.from([line, ...headers, ...type, `Content-Length: ${bytes.length}`, '', ''].join('\r\n')), bytes]);
}

/** The `n`th packet of a stream of that type: 20 ms. */
export function rtp(n, ssrc, type = 96, bytes = 40) {
  const packet = Buffer.alloc(12 + bytes, 0x55);
  packet.writeUInt8(0x80, 0);
  packet.writeUInt8(type, 1);
  packet.writeUInt16BE(n, 2);
  packet.writeUInt32BE(n * 160, 4);
  packet.writeUInt32BE(ssrc, 8);
  return packet;
}

/** Ethernet, IPv4 and UDP around a payload. Sides are `{ ip: [192, 0, 2, 1], port: 5060 }`. */
export function frame(from, to, payload, [source, target] = [from.port, to.port]) {
  const head = Buffer.alloc(14 + 20 + 8);
  head.writeUInt16BE(0x0800, 12);
  head.writeUInt8(0x45, 14);
  head.writeUInt16BE(28 + payload.length, 16);
  head.writeUInt8(64, 22);
  head.writeUInt8(17, 23);
  Buffer.from([...from.ip, ...to.ip]).copy(head, 26);
  head.writeUInt16BE(source, 34);
  head.writeUInt16BE(target, 36);
  head.writeUInt16BE(8 + payload.length, 38);
  return Buffer.concat([head, payload]);
}

/** ARP that tells all of the owner of an address (RFC 5227). `mac` are six bytes. */
export function announced(mac, ip) {
  const everybody = [255, 255, 255, 255, 255, 255];
  return Buffer.from([...everybody, ...mac, 0x08, 0x06, 0, 1, 0x08, 0, 6, 4, 0, 1, ...mac, ...ip, 0, 0, 0, 0, 0, 0, ...ip]);
}

/** The file: of each frame its time in seconds since 1970, and its bytes. */
export function pcap(frames) {
  const head = Buffer.alloc(24);
  head.writeUInt32LE(0xa1b2c3d4, 0);
  head.writeUInt16LE(2, 4);
  head.writeUInt16LE(4, 6);
  head.writeUInt32LE(65_535, 16);
  head.writeUInt32LE(1, 20);
  return Buffer.concat([head, ...frames.flatMap(([at, bytes]) => {
    const one = Buffer.alloc(16);
    const us = Math.round(at * 1e6);
    one.writeUInt32LE(Math.floor(us / 1e6), 0);
    one.writeUInt32LE(us % 1e6, 4);
    one.writeUInt32LE(bytes.length, 8);
    one.writeUInt32LE(bytes.length, 12);
    return [one, bytes];
  })]);
}
