//! L2TP: version 2 with PPP (RFC 2661), version 3 over UDP and over IP (RFC 3931).

use super::span::{Span, be16, be32};
use super::{Packet, Skip, deeper, ethernet, ip, ppp};

const CONTROL: u16 = 0x8000;
const LENGTH: u16 = 0x4000;
const SEQUENCE: u16 = 0x0800;
const OFFSET: u16 = 0x0200;
const VERSION: u16 = 0x000f;
/// Bits that RFC 2661 section 3.1 reserves.
const RESERVED: u16 = 0x34f0;

/// The payload of UDP port 1701. Control messages are no tunnel's content.
pub(super) fn over_udp(content: Span<'_>, depth: u8) -> Result<Packet<'_>, Skip> {
    let (head, rest) = content.head::<2>().map_err(|_| Skip::BadTunnel)?;
    let flags = be16::<0, _>(head);
    if flags & (CONTROL | RESERVED) != 0 {
        return Err(Skip::BadTunnel);
    }
    match flags & VERSION {
        2 => version2(flags, content, rest, depth),
        // RFC 3931 section 4.1.2.1: reserved, then the session header.
        3 if flags == 3 => {
            let (reserved, rest) = rest.head::<2>()?;
            if *reserved == [0, 0] { session(rest, depth) } else { Err(Skip::BadTunnel) }
        }
        _ => Err(Skip::BadTunnel),
    }
}

/// RFC 2661 section 3.1: optional length, tunnel and session, optional sequence numbers, optional offset, PPP.
fn version2<'a>(flags: u16, content: Span<'a>, mut rest: Span<'a>, depth: u8) -> Result<Packet<'a>, Skip> {
    if flags & LENGTH != 0 {
        let (field, after) = rest.head::<2>()?;
        // It counts from the flags on.
        let len = usize::from(be16::<0, _>(field));
        if len > content.len {
            return Err(Skip::BadTunnel);
        }
        rest = after.declare(len.checked_sub(4).ok_or(Skip::BadTunnel)?);
    }
    rest = rest.skip(4)?;
    if flags & SEQUENCE != 0 {
        rest = rest.skip(4)?;
    }
    if flags & OFFSET != 0 {
        let (field, after) = rest.head::<2>()?;
        rest = after.skip(usize::from(be16::<0, _>(field)))?;
    }
    ppp::decode(rest, deeper(depth)?)
}

/// The payload of IP protocol 115 (RFC 3931 section 4.1.1). Session 0 is a control message.
pub(super) fn over_ip(content: Span<'_>, depth: u8) -> Result<Packet<'_>, Skip> {
    session(content, depth)
}

/// Session identifier, cookie, sublayer, payload. How long the middle two are and what the payload is was agreed in
/// control messages, so each length is tried (RFC 3931 sections 4.1 and 4.6), and believed where a sound IP packet comes
/// out, checksum and all.
fn session(content: Span<'_>, depth: u8) -> Result<Packet<'_>, Skip> {
    let (id, rest) = content.head::<4>()?;
    if be32::<0, _>(id) == 0 {
        return Err(Skip::BadTunnel);
    }
    for skipped in [0, 4, 8, 12] {
        let Ok(payload) = rest.skip(skipped) else { break };
        if ethernet::sound(payload) {
            return ethernet::decode(payload, deeper(depth)?);
        }
        if ip::sound(payload) {
            return ip::either(payload, deeper(depth)?);
        }
        if let Some([0xff, 0x03, 0, 0x21 | 0x57]) = payload.peek::<4>()
            && ip::sound(payload.skip(4)?)
        {
            return ppp::decode(payload, deeper(depth)?);
        }
    }
    Err(Skip::BadTunnel)
}
