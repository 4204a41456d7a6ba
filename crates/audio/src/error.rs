//! Why there is no sound.

/// What can go wrong on the way to a WAV file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A codec other than G.711.
    #[error(
        "{codec} cannot be decoded: this version of ringtap turns only G.711 (PCMU, PCMA) into sound; \
         export the packets as pcap and decode them elsewhere"
    )]
    Unsupported {
        /// Its name, as in SDP.
        codec: String,
    },
    /// None of the tracks has a sample.
    #[error("there is no sound to write: no packet with G.711 was seen in either direction")]
    Nothing,
    /// The WAV file does not take it.
    #[error("the WAV file could not be written: {0}; check the disk that it lies on")]
    Wav(#[from] hound::Error),
}
