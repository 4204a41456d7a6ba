//! The parties, transactions and messages of a call or registration, before they are written as bytes.

use std::net::SocketAddr;

use ringtap_model::{Nanos, Party as Releaser};

use crate::codec::Codec;

/// A side of a call. In a registration the client is the caller and the registrar the callee.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Caller,
    Callee,
}

impl Side {
    pub(crate) fn other(self) -> Self {
        match self {
            Self::Caller => Self::Callee,
            Self::Callee => Self::Caller,
        }
    }

    pub(crate) fn party(self) -> Releaser {
        match self {
            Self::Caller => Releaser::Caller,
            Self::Callee => Releaser::Callee,
        }
    }
}

/// Addresses and names of one side.
#[derive(Clone, Debug)]
pub(crate) struct Party {
    /// Source of its signalling.
    pub(crate) signalling: SocketAddr,
    pub(crate) user: String,
    pub(crate) domain: &'static str,
    /// Tag in From or To.
    pub(crate) tag: u64,
    /// Session identifier in the `o=` line of its SDP.
    pub(crate) session: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Invite,
    Bye,
    Cancel,
    Register,
}

impl Method {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Invite => "INVITE",
            Self::Bye => "BYE",
            Self::Cancel => "CANCEL",
            Self::Register => "REGISTER",
        }
    }
}

/// A request with all its answers (RFC 3261 section 17).
#[derive(Clone, Debug)]
pub(crate) struct Transaction {
    pub(crate) method: Method,
    /// The side that sends the request.
    pub(crate) by: Side,
    pub(crate) sequence: u32,
    pub(crate) branch: u64,
    /// Whether it is within the dialog: both tags are known.
    pub(crate) in_dialog: bool,
    /// The code of the challenge that it answers.
    pub(crate) authorised: Option<u16>,
    /// Tag that the challenging side puts into To; the nonce is derived from it.
    pub(crate) challenge: u64,
    /// The side whose media have moved, for the SDP of an INVITE.
    pub(crate) moved: Option<Side>,
    /// Its sender puts the other side on hold.
    pub(crate) holds: Option<HoldMedia>,
    /// Version of the SDP.
    pub(crate) version: u8,
}

/// Media while on hold (RFC 3264 section 8.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HoldMedia {
    /// The holding side continues to send: `sendonly`.
    Music,
    /// Nobody sends: `inactive`.
    Silence,
}

/// Another destination of a forked call (RFC 3261 section 16.7).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fork {
    pub(crate) tag: u64,
    pub(crate) session: u32,
    /// Source of its media.
    pub(crate) media: SocketAddr,
}

/// The kind of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageKind {
    Request,
    Response(u16),
    /// The ACK of an answer to INVITE: within its transaction for a failure, apart from it for a 2xx (RFC
    /// 3261 section 13.2.2.4).
    Ack(u16),
}

/// A message to send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlannedMessage {
    pub(crate) at: Nanos,
    /// Index of its transaction.
    pub(crate) transaction: u8,
    pub(crate) kind: MessageKind,
    /// Whether it is a response of the fork.
    pub(crate) fork: bool,
    /// Whether it repeats an earlier message byte for byte.
    pub(crate) repeat: bool,
    /// Over TCP: its last segment is sent twice.
    pub(crate) resend: bool,
}

/// The contents of a call's or registration's messages.
#[derive(Clone, Debug)]
pub(crate) struct Dialog {
    pub(crate) call_id: String,
    pub(crate) parties: [Party; 2],
    /// Media endpoint of each side at first.
    pub(crate) media: [SocketAddr; 2],
    /// Media endpoint after a move.
    pub(crate) relay: SocketAddr,
    pub(crate) fork: Option<Box<Fork>>,
    pub(crate) transactions: Vec<Transaction>,
    pub(crate) codec: Codec,
    /// In milliseconds, for `a=ptime`.
    pub(crate) ptime: u64,
    /// `UDP` or `TCP`, as Via writes it.
    pub(crate) transport: &'static str,
}

impl Dialog {
    pub(crate) fn party(&self, side: Side) -> &Party {
        &self.parties[side as usize]
    }

    /// Media endpoint of a side from a transaction on.
    pub(crate) fn media(&self, side: Side, transaction: &Transaction) -> SocketAddr {
        if transaction.moved == Some(side) { self.relay } else { self.media[side as usize] }
    }

    /// The transaction of a message.
    pub(crate) fn transaction(&self, step: &PlannedMessage) -> &Transaction {
        &self.transactions[usize::from(step.transaction)]
    }

    /// The sender of a message.
    pub(crate) fn sender(&self, step: &PlannedMessage) -> Side {
        let by = self.transaction(step).by;
        match step.kind {
            MessageKind::Response(_) => by.other(),
            MessageKind::Request | MessageKind::Ack(_) => by,
        }
    }
}
