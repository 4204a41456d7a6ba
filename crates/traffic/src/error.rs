//! What is wrong with a scenario, and what would be right.

use crate::share::Share;

/// A value that makes no traffic. Each message says what would.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A share that is no share.
    #[error("`{0}` is no share: write it as 5% or 0.05, from 0 to 100 %")]
    Share(String),
    /// A model that is not known, or has numbers that it cannot have.
    #[error("`{given}` makes no sense: write {right}")]
    Model {
        /// As it was given.
        given: String,
        /// The ways to write it.
        right: &'static str,
    },
    /// A codec that is not known.
    #[error("codec `{given}` is not known: it can be one of {known}")]
    Codec {
        /// As it was given.
        given: String,
        /// Every name.
        known: String,
    },
    /// Weights that choose nothing.
    #[error("`{0}` chooses nothing: write NAME=WEIGHT,..., each weight above 0, for example PCMU=60,PCMA=40")]
    Weights(String),
    /// The shares of several models exceed the whole, or two models both want the rest.
    #[error("{0}: give all but one a share of the streams, as in MODEL@10%, that together stay within 100 %")]
    Shares(&'static str),
    /// The packet time does not hold whole frames of a codec.
    #[error(
        "packets of {ptime_ms} ms do not suit {codec}: take a multiple of {frame_ms} ms, up to {most_ms} ms"
    )]
    PacketTime {
        /// What was asked for.
        ptime_ms: u64,
        /// The codec that it does not suit.
        codec: &'static str,
        /// One frame of that codec.
        frame_ms: u64,
        /// The longest packet time.
        most_ms: u64,
    },
    /// A rate of calls that never gets anywhere, or gets too far.
    #[error("{0} calls per second make no traffic: take more than 0, up to 100,000")]
    Rate(f64),
    /// More calls than have an address each.
    #[error("{0} calls are more than the addresses for documentation have ports: take up to 6,000,000")]
    Calls(u64),
    /// More calls end otherwise than there are.
    #[error(
        "{failed} failed and {cancelled} cancelled are more than all calls: together they may be up to 100%"
    )]
    Outcomes {
        /// Share that fails.
        failed: Share,
        /// Share that is cancelled.
        cancelled: Share,
    },
    /// The capture would end after what its timestamps can hold.
    #[error("it would begin in or after the year 2100: a capture file cannot hold its times")]
    Start,
    /// A sound file that cannot be played into calls.
    #[error("{0}; make one with: sox in.wav -r 8000 -b 16 -e signed out.wav")]
    Sound(String),
}
