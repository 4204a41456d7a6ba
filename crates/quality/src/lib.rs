//! Rates voice quality: R factors, MOS and KPIs from counts and delays.
//!
//! Not here: packets, clocks, files, state. Every function is pure; the same numbers give the same ratings on
//! every machine.
//!
//! Invariant: no input, however hostile (NaN, infinities, more lost than expected), causes a panic or a MOS
//! outside 1 to 4.5.
//!
//! ```
//! use ringtap_model::{Hz, Nanos};
//! use ringtap_quality::{LossCounts, PathDelay, codec, judge};
//!
//! let g729 = codec::lookup("G729", Some(Hz(8000))).unwrap();
//! let counts = LossCounts { expected: 500, lost: 5, discarded: 0, bursts: 5 };
//! let path = PathDelay {
//!     ptime: Nanos::from_millis(20),
//!     buffer: Nanos::from_millis(50),
//!     rtt: Some(Nanos::from_millis(80)),
//!     end_system: None,
//! };
//! let judgement = judge(g729, counts, path);
//! assert!(judgement.mos_lq > 3.7 && judgement.mos_lq < 4.1);
//! assert!(judgement.mos_cq <= judgement.mos_lq);
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`rating`] | [`Rating`], every term of a transmission rating; R to MOS and back; G.109 classes |
//! | [`emodel`], [`wideband`], [`fullband`] | the E-models of ITU-T G.107, G.107.1 and G.107.2 |
//! | [`codec`] | impairment factors and delays by codec |
//! | [`cole`] | the simplified E-model of Cole and Rosenbluth |
//! | [`burst`] | burst ratio of packet loss |
//! | [`jitterbuffer`] | three jitter buffers simulated from a histogram |
//! | [`receivers`] | which receivers do not conceal loss |
//! | [`basis`] | [`MosBasis`], what a MOS assumes, as records and people have it |
//! | [`place`](mod@place) | where packets were lost, from what passed here and what RTCP says |
//! | [`notes`] | what an engineer would remark of a call and its streams, and every threshold of it |
//! | [`judge`](mod@judge) | the rating of an interval or a stream, from all of the above |
//! | [`kpi`] | ASR, NER and related indicators from counts of final codes |
#![forbid(unsafe_code)]

use std::fmt;

pub mod basis;
pub mod burst;
pub mod codec;
pub mod cole;
pub mod emodel;
pub mod fullband;
pub mod jitterbuffer;
pub mod judge;
pub mod kpi;
pub mod notes;
pub mod place;
pub mod rating;
pub mod receivers;
pub mod wideband;

pub use basis::MosBasis;
pub use codec::CodecProfile;
pub use judge::{Judgement, LossCounts, PathDelay, judge};
pub use place::{LossFacts, LossPlace, ReceiverCounts, SenderCounts, place};
pub use rating::{Class, Model, Rating};
pub use receivers::{Receiver, Receivers};

/// `value` clamped to the limits; `default` for NaN.
pub(crate) fn bounded(value: f64, default: f64, min: f64, max: f64) -> f64 {
    if value.is_nan() { default } else { value.clamp(min, max) }
}

/// Writes a text of a record: [`std::fmt::format`], or what writes it into memory that is there already.
pub type Texts<'a> = &'a dyn Fn(fmt::Arguments<'_>) -> String;
