//! MPLS label stacks (RFC 3032), and what can be told of the payload that they do not name.

use super::span::Span;
use super::{Packet, Skip, deeper, ethernet, ip};

/// Labels in a row; a handful is usual.
const MAX_LABELS: usize = 16;

/// From the first label stack entry on.
pub(super) fn decode(mut stack: Span<'_>, depth: u8) -> Result<Packet<'_>, Skip> {
    for _ in 0..MAX_LABELS {
        let (entry, rest) = stack.head::<4>()?;
        if entry[2] & 1 == 1 {
            return payload(rest, depth);
        }
        stack = rest;
    }
    Err(Skip::TooDeep)
}

/// The first four bits tell IP; 0 begins a control word (RFC 4385 section 3), 1 an associated channel. What is left is an
/// Ethernet pseudowire (RFC 4448), to be believed only if a sound IP packet is inside. A MAC address that begins
/// with 4 or 6 looks like IP until its header is read.
fn payload(rest: Span<'_>, depth: u8) -> Result<Packet<'_>, Skip> {
    let [first] = *rest.head::<1>()?.0;
    match first >> 4 {
        4 | 6 => match ip::either(rest, depth) {
            Err(Skip::BadIpHeader | Skip::BadLength | Skip::Truncated) if ethernet::sound(rest) => {
                ethernet::decode(rest, deeper(depth)?)
            }
            packet => packet,
        },
        nibble => {
            if nibble == 0
                && let Ok(frame) = rest.skip(4)
                && ethernet::sound(frame)
            {
                return ethernet::decode(frame, deeper(depth)?);
            }
            if ethernet::sound(rest) { ethernet::decode(rest, deeper(depth)?) } else { Err(Skip::NotIp) }
        }
    }
}
