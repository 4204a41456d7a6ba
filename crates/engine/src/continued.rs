//! Calls that go on over a restart of the program: what one run leaves of them, and how the next goes on.
//!
//! Streams do not: a stream ends with its run, and what comes after the gap is another stream of the same
//! call, since the packets in between were not lost on the network.

use ringtap_model::{Call, Endpoint, Nanos};

use crate::update::{CallNumber, CallRef, CallStatus, InputOrder};

/// A call in progress when the last run ended.
#[derive(Clone, Debug)]
pub struct ContinuedCall {
    /// Its record then, with what is known of its streams.
    pub record: Call,
    /// Where its sides receive media.
    pub legs: Vec<ContinuedLeg>,
    /// The last time of the last run.
    pub until: Nanos,
}

/// A media endpoint of a call in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContinuedLeg {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// It is the caller's.
    pub is_caller: bool,
    /// Payload types that its side announced.
    pub codecs: Vec<ContinuedCodec>,
}

/// What SDP says of a payload type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContinuedCodec {
    /// The payload type.
    pub payload_type: u8,
    /// Encoding name.
    pub name: String,
    /// RTP clock in Hz.
    pub clock: u32,
    /// Channels.
    pub channels: u8,
}

/// What every worker has to know of a call that goes on.
#[derive(Clone, Debug)]
pub struct ContinuedMedia {
    pub(crate) order: InputOrder,
    pub(crate) call: CallRef,
    pub(crate) status: CallStatus,
    pub(crate) legs: Vec<ContinuedLeg>,
}

impl ContinuedMedia {
    /// The call.
    pub fn call(&self) -> CallNumber {
        CallNumber(self.call)
    }
}
