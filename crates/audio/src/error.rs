//! Errors of decoding and writing sound.

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A codec that cannot be decoded.
    #[error(
        "{codec} cannot be decoded: ringtap turns {known} into sound; export the packets as pcap and decode \
         them elsewhere",
        known = KNOWN
    )]
    Unsupported {
        /// Its name, as in SDP.
        codec: String,
    },
    /// A codec whose library is not installed.
    #[error("cannot decode {codec} without {library}, which is not installed: {remedy}")]
    Missing {
        /// Its name, as in SDP.
        codec: &'static str,
        /// The library file.
        library: &'static str,
        /// The remedy.
        remedy: &'static str,
    },
    /// The process that decodes with a library failed.
    #[error("cannot decode {codec}: {why}")]
    Helper {
        /// Its name, as in SDP.
        codec: &'static str,
        /// The cause.
        why: String,
    },
    /// The library that encodes is not installed.
    #[error("cannot encode {codec} without {library}, which is not installed: {remedy}")]
    NoEncoder {
        /// Its name.
        codec: &'static str,
        /// The library file.
        library: &'static str,
        /// The remedy.
        remedy: &'static str,
    },
    /// The process that encodes failed.
    #[error("cannot encode {codec}: {why}")]
    Encoder {
        /// Its name.
        codec: &'static str,
        /// The cause.
        why: String,
    },
    /// No track has a sample.
    #[error(
        "there is no sound to write: no packet of a codec that can be decoded was seen in either direction"
    )]
    Nothing,
    /// More than 4 GiB.
    #[error(
        "the sound is longer than a WAV file can hold (4 GiB): choose a lower `--rate`, one side, FLAC or \
         Opus"
    )]
    TooLong,
    /// A sampling rate out of range.
    #[error(
        "{rate} Hz is not a valid sampling rate: choose one from 4000 to 192000, such as 8000, 16000 or \
        48000"
    )]
    Rate {
        /// The requested rate.
        rate: u32,
    },
    /// The output could not be written.
    #[error("cannot write the sound: {0}; check the disk")]
    Write(#[from] std::io::Error),
}

impl Error {
    /// The error for a codec name.
    pub(crate) fn unsupported(codec: &str) -> Self {
        Self::Unsupported { codec: codec.to_owned() }
    }
}

/// The known codecs, for an error message.
const KNOWN: &str =
    "G.711, L16, G.722, G.726, G.729, GSM, and with Debian's libraries AMR, AMR-WB, iLBC and Opus";
