//! What an engineer would remark of a call and its streams, from their records and what signalling told.
//!
//! A false alarm is worse than a missing note: where hold, early media, T.38, suppressed silence or a tap
//! that may not see everything explains what was found, nothing is remarked.

mod call;
mod signalling;
mod stream;
mod thresholds;

use std::net::IpAddr;

use ringtap_model::{Nanos, Stream};

pub use call::of_call;
pub use signalling::{Expiry, HoldFacts, Transfer, hold, session_expired, transfer};
pub use stream::of_stream;
pub use thresholds::{THRESHOLDS, Threshold};

/// What signalling told of the media of a call, beside what its record has. Sides: caller, callee.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MediaFacts {
    /// The last SDP announced encrypted media.
    pub encrypted: bool,
    /// A description put media on hold, or restricted it to one direction, at any time.
    pub restricted: bool,
    /// Candidates of ICE were offered, which deals with NAT.
    pub ice: bool,
    /// Where each side wanted its audio, by its last description.
    pub announced: [Option<IpAddr>; 2],
    /// The packet time in ms that each side asked for.
    pub ptime: [Option<u8>; 2],
    /// A private address that each side announced in a message from a public one, and that.
    pub private: [Option<(IpAddr, IpAddr)>; 2],
    /// How often the 2xx answer was repeated, before or without an ACK.
    pub answers_repeated: u32,
    /// An ACK came after the answer.
    pub acknowledged: bool,
    /// A private address in the Contact of the repeated answer, which came from this public one.
    pub private_contact: Option<(IpAddr, IpAddr)>,
    /// T.38 was offered.
    pub fax: Option<Nanos>,
    /// Another call announced the same endpoints and has the streams.
    pub is_at_twin: bool,
}

impl MediaFacts {
    /// Nothing was told.
    pub const NONE: Self = Self {
        encrypted: false,
        restricted: false,
        ice: false,
        announced: [None; 2],
        ptime: [None; 2],
        private: [None; 2],
        answers_repeated: 0,
        acknowledged: false,
        private_contact: None,
        fax: None,
        is_at_twin: false,
    };
}

/// What the tap is known to see of media.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TapSees {
    /// No media of any call so far.
    Nothing,
    /// Media, but not both directions between these places.
    OtherMedia,
    /// Both directions of other media between these places.
    BothDirections,
}

/// Time that a stream lasted.
fn length_ms(stream: &Stream) -> f64 {
    stream.last.since(stream.first).millis_f64()
}

/// Whether the sender sends all the time: packets carry nearly all of it.
fn is_steady(stream: &Stream) -> bool {
    let (Some(ptime), length) = (stream.ptime_ms, length_ms(stream)) else { return false };
    let carried = stream.unique.saturating_add(stream.lost) as f64 * ptime;
    carried * 100.0 >= length * thresholds::STEADY_PCT
}
