//! Errors of a scenario.

/// An invalid value. Each message names the valid ones.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Not a share.
    #[error("`{0}` is not a share: write 5% or 0.05, from 0 to 100 %")]
    Share(String),
    /// An unknown model, or invalid parameters.
    #[error("`{given}` is not valid: write {right}")]
    Model {
        /// As it was given.
        given: String,
        /// The valid forms.
        right: &'static str,
    },
    /// An unknown codec.
    #[error("unknown codec `{given}`: choose one of {known}")]
    Codec {
        /// As it was given.
        given: String,
        /// All codec names.
        known: String,
    },
    /// Invalid weights.
    #[error(
        "`{0}` is not a list of weights: write NAME=WEIGHT,..., each weight above 0, for example \
         PCMU=60,PCMA=40"
    )]
    Weights(String),
    /// The shares of several models exceed 100 %, or two models have no share.
    #[error("{0}: give all but one a share of the streams, as in MODEL@10%, that together stay within 100 %")]
    Shares(&'static str),
    /// The packet time is not a multiple of the codec's frame.
    #[error(
        "{codec} cannot use packets of {ptime_ms} ms: choose a multiple of {frame_ms} ms, up to {most_ms} ms"
    )]
    PacketTime {
        /// The requested packet time.
        ptime_ms: u64,
        /// The codec.
        codec: &'static str,
        /// Frame length of the codec.
        frame_ms: u64,
        /// The longest packet time.
        most_ms: u64,
    },
    /// An invalid call rate.
    #[error("{0} calls per second is not valid: choose a rate above 0, up to 100,000")]
    Rate(f64),
    /// More calls than there are addresses.
    #[error("{0} calls are too many for the addresses reserved for documentation: choose up to 6,000,000")]
    Calls(u64),
    /// The shares of failed and cancelled calls exceed 100 %.
    #[error("{failed} failed and {cancelled} cancelled calls exceed 100%: reduce one of them")]
    Outcomes {
        /// Share that fails, as text.
        failed: String,
        /// Share that is cancelled, as text.
        cancelled: String,
    },
    /// The capture would begin too late for its timestamps.
    #[error(
        "the start lies in or after the year 2100, which a capture file cannot hold: choose an earlier one"
    )]
    Start,
    /// A sound file that cannot be used.
    #[error("{0}; convert it with: sox in.wav -r 8000 -b 16 -e signed out.wav")]
    Sound(String),
}
