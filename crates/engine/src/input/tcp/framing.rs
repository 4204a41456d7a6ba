//! Messages out of bytes in order: SIP (RFC 3261 section 18.3), TURN (RFC 8656 section 12.5), WebSocket (RFC
//! 6455).

use ringtap_model::{Endpoint, Nanos, Transport};
use ringtap_wire::{sip, websocket};

use crate::context::Hop;

/// What was not delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TcpCounts {
    /// Connections not followed at the ceiling.
    pub(crate) refused: u64,
    /// Connections pushed out by newer ones, or since all together held too much.
    pub(crate) evicted: u64,
    /// Holes that were never filled.
    pub(crate) holes: u64,
    /// Bytes thrown away at a ceiling.
    pub(crate) overflow: u64,
}

/// A whole message out of a connection.
pub(crate) struct Delivery<'a> {
    pub(crate) bytes: &'a [u8],
    /// STUN or TURN channel data, not SIP.
    pub(crate) is_turn: bool,
    pub(crate) transport: Transport,
    pub(crate) frames: &'a [u64],
}

impl Delivery<'_> {
    /// A copy that outlives the connection's buffers, with the hop that it came on.
    pub(crate) fn into_owned(self, (src, dst): (Endpoint, Endpoint), time: Nanos) -> DeliveredMessage {
        let hop = Hop { time, src, dst, transport: self.transport };
        let (bytes, frames) = (self.bytes.to_vec(), self.frames.to_vec());
        DeliveredMessage { bytes, is_turn: self.is_turn, hop, frames }
    }
}

/// See [`Delivery::into_owned`].
pub(crate) struct DeliveredMessage {
    pub(crate) bytes: Vec<u8>,
    pub(crate) is_turn: bool,
    pub(crate) hop: Hop,
    pub(crate) frames: Vec<u64>,
}

pub(super) struct Output<'a, D> {
    pub(super) counts: &'a mut TcpCounts,
    pub(super) scratch: &'a mut Vec<u8>,
    pub(super) deliver: &'a mut D,
    pub(super) max: usize,
}

/// STUN's magic cookie where RFC 8489 section 5 has it.
pub(super) fn begins_turn(data: &[u8]) -> bool {
    data.first().is_some_and(|first| first >> 6 == 0) && data.get(4..8) == Some(&[0x21, 0x12, 0xa4, 0x42])
}

/// RFC 8489 section 6.2.2 and RFC 8656 section 12.5: messages and channel data tell their length; the latter
/// is padded to four bytes over TCP. Gives the bytes used.
pub(super) fn consume_turn<D: FnMut(Delivery<'_>)>(
    bytes: &[u8],
    frames: &[u64],
    output: &mut Output<'_, D>,
) -> usize {
    let mut used = 0;
    while let Some(&[first, _, high, low]) = bytes.get(used..).and_then(|rest| rest.first_chunk::<4>()) {
        let stated = usize::from(u16::from_be_bytes([high, low]));
        let (len, padded) = match first >> 6 {
            0 => (20 + stated, 20 + stated),
            1 => (4 + stated, 4 + stated.next_multiple_of(4)),
            // Out of step: nothing here can be trusted.
            _ => return bytes.len(),
        };
        if bytes.len() - used < padded {
            break;
        }
        let message = &bytes[used..used + len];
        (output.deliver)(Delivery { bytes: message, is_turn: true, transport: Transport::Tcp, frames });
        used += padded;
    }
    used
}

pub(super) fn is_upgrade(data: &[u8]) -> bool {
    !matches!(websocket::upgrade(data), websocket::Upgrade::No)
}

/// Hands on each whole message at the front; gives the bytes used. `progress` is how far the bytes were read
/// before.
pub(super) fn consume_sip<D: FnMut(Delivery<'_>)>(
    bytes: &[u8],
    frames: &[u64],
    progress: &mut sip::FramingProgress,
    output: &mut Output<'_, D>,
) -> usize {
    let mut used = 0;
    loop {
        let rest = &bytes[used..];
        if rest.is_empty() {
            return used;
        }
        match sip::framing_again(rest, progress) {
            sip::Framing::Incomplete => return used,
            sip::Framing::Message(len) => {
                let len = len.clamp(1, rest.len());
                (output.deliver)(Delivery {
                    bytes: &rest[..len],
                    is_turn: false,
                    transport: Transport::Tcp,
                    frames,
                });
                used += len;
            }
            sip::Framing::Skip(len) => used += len.clamp(1, rest.len()),
        }
    }
}
