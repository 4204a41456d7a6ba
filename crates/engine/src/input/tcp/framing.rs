//! Messages out of bytes in order: SIP (RFC 3261 section 18.3), TURN (RFC 8656 section 12.5), WebSocket (RFC
//! 6455).

use ringtap_model::{Endpoint, Nanos, Transport};
use ringtap_wire::stun::{self, TurnFraming, TurnHint};
use ringtap_wire::{sip, websocket};

use super::long::MAX_FRONT;
use crate::context::Hop;

/// RFC 8656 section 3.
const TURN_PORT: u16 = 3478;

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

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageKind {
    Sip,
    /// STUN or TURN channel data.
    Turn,
    /// What the added tracker wants.
    Added,
}

/// A whole message out of a connection.
pub(crate) struct Delivery<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) kind: MessageKind,
    pub(crate) transport: Transport,
    pub(crate) time: Nanos,
    pub(crate) frames: &'a [u64],
}

impl Delivery<'_> {
    /// A copy that outlives the connection's buffers, with the hop that it came on.
    pub(crate) fn into_owned(self, (src, dst): (Endpoint, Endpoint)) -> DeliveredMessage {
        let Self { time, transport, .. } = self;
        let hop = Hop { time, src, dst, transport, ip_id: 0, sender: None };
        let (bytes, frames) = (self.bytes.to_vec(), self.frames.to_vec());
        DeliveredMessage { bytes, kind: self.kind, hop, frames }
    }
}

/// See [`Delivery::into_owned`].
pub(crate) struct DeliveredMessage {
    pub(crate) bytes: Vec<u8>,
    pub(crate) kind: MessageKind,
    pub(crate) hop: Hop,
    pub(crate) frames: Vec<u64>,
}

pub(super) struct Output<'a, D> {
    pub(super) counts: &'a mut TcpCounts,
    pub(super) scratch: &'a mut Vec<u8>,
    pub(super) deliver: &'a mut D,
    pub(super) max: usize,
    /// When what is handed on came.
    pub(super) time: Nanos,
}

/// A direction that carries TURN (RFC 8656).
#[derive(Clone, Copy)]
pub(super) struct TurnStream {
    /// Bytes are missing before the next: a message has to be found in them.
    is_out_of_step: bool,
    /// Channel of the last data.
    channel: Option<u16>,
}

impl TurnStream {
    /// With the first bytes that are known of it.
    pub(super) const fn new() -> Self {
        Self { is_out_of_step: true, channel: None }
    }

    /// Bytes were lost.
    pub(super) fn lose(&mut self) {
        self.is_out_of_step = true;
    }

    /// Hands on each whole message; gives the bytes used.
    pub(super) fn consume<D: FnMut(Delivery<'_>)>(
        &mut self,
        bytes: &[u8],
        (ports, frames): ((u16, u16), &[u64]),
        output: &mut Output<'_, D>,
    ) -> usize {
        let mut used = 0;
        loop {
            let rest = &bytes[used..];
            if self.is_out_of_step {
                let hint = self.channel.map_or_else(|| hint(ports), TurnHint::Channel);
                let Some(at) = stun::find_turn(rest, hint) else { return bytes.len() };
                used += at;
                self.is_out_of_step = false;
                continue;
            }
            match stun::turn_framing(rest) {
                TurnFraming::Incomplete => return used,
                TurnFraming::Message { len, next } => {
                    if let [k0 @ 0x40..=0x7f, k1, ..] = *rest {
                        self.channel = Some(u16::from_be_bytes([k0, k1]));
                    }
                    let (bytes, transport, time) = (&rest[..len], Transport::Tcp, output.time);
                    (output.deliver)(Delivery { bytes, kind: MessageKind::Turn, transport, time, frames });
                    used += next;
                }
                TurnFraming::OutOfStep => self.is_out_of_step = true,
            }
        }
    }
}

/// Whether a direction carries TURN, by the first bytes that are known of it. On TURN's port these may begin
/// anywhere in a message, elsewhere at its beginning only: most connections are no TURN.
pub(super) fn carries_turn(ports: (u16, u16), bytes: &[u8]) -> bool {
    match hint(ports) {
        TurnHint::Port => stun::find_turn(bytes, TurnHint::Port).is_some(),
        hint => stun::begins_turn(bytes, hint),
    }
}

fn hint((src, dst): (u16, u16)) -> TurnHint {
    if src == TURN_PORT || dst == TURN_PORT { TurnHint::Port } else { TurnHint::None }
}

pub(super) fn is_upgrade(data: &[u8]) -> bool {
    !matches!(websocket::upgrade(data), websocket::Upgrade::No)
}

/// Hands on each whole message at the front; gives the bytes used, and the length of the message behind them
/// if it is a long one, of which there are not all bytes yet. `progress` is how far the bytes were read
/// before.
pub(super) fn consume_sip<D: FnMut(Delivery<'_>)>(
    bytes: &[u8],
    frames: &[u64],
    progress: &mut sip::FramingProgress,
    output: &mut Output<'_, D>,
) -> (usize, Option<usize>) {
    let mut used = 0;
    loop {
        let rest = &bytes[used..];
        if rest.is_empty() {
            return (used, None);
        }
        match sip::framing_again(rest, progress) {
            sip::Framing::Incomplete => return (used, None),
            sip::Framing::Long(len) if len > rest.len() => return (used, Some(len)),
            sip::Framing::Message(len) | sip::Framing::Long(len) => {
                let len = len.clamp(1, rest.len());
                let front = if len > sip::MAX_MESSAGE { MAX_FRONT } else { len };
                (output.deliver)(Delivery {
                    bytes: &rest[..front],
                    kind: MessageKind::Sip,
                    transport: Transport::Tcp,
                    time: output.time,
                    frames,
                });
                used += len;
            }
            sip::Framing::Skip(len) => used += len.clamp(1, rest.len()),
        }
    }
}
