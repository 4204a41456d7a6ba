//! Why there is no sound.

/// What can go wrong on the way to sound.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A codec that nothing here decodes.
    #[error(
        "{codec} cannot be decoded: ringtap turns {known} into sound; export the packets as pcap and decode \
         them elsewhere",
        known = crate::codec::KNOWN
    )]
    Unsupported {
        /// Its name, as in SDP.
        codec: String,
    },
    /// A codec whose library is not installed.
    #[error("{codec} cannot be decoded without {library}, which is not installed: {remedy}")]
    Missing {
        /// Its name, as in SDP.
        codec: &'static str,
        /// The file that was looked for.
        library: &'static str,
        /// What to do about it.
        remedy: &'static str,
    },
    /// The process that decodes with a library failed.
    #[error("{codec} was not decoded: {why}")]
    Helper {
        /// Its name, as in SDP.
        codec: &'static str,
        /// What happened.
        why: String,
    },
    /// The library that encodes is not installed.
    #[error("{codec} cannot be written without {library}, which is not installed: {remedy}")]
    NoEncoder {
        /// Its name.
        codec: &'static str,
        /// The file that was looked for.
        library: &'static str,
        /// What to do about it.
        remedy: &'static str,
    },
    /// The process that encodes failed.
    #[error("{codec} was not written: {why}")]
    Encoder {
        /// Its name.
        codec: &'static str,
        /// What happened.
        why: String,
    },
    /// None of the tracks has a sample.
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
    #[error("{rate} Hz is no sampling rate: choose one from 4000 to 192000, such as 8000, 16000 or 48000")]
    Rate {
        /// What was asked for.
        rate: u32,
    },
    /// The file does not take it.
    #[error("the sound could not be written: {0}; check the disk that it goes to")]
    Write(#[from] std::io::Error),
}

impl Error {
    /// Of a codec by its name.
    pub(crate) fn unsupported(codec: &str) -> Self {
        Self::Unsupported { codec: codec.to_owned() }
    }
}
