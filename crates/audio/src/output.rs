//! Outputs for sound.

use ringtap_model::{Hz, Nanos};

use crate::Error;

/// What a file needs to know before its first sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputFormat {
    /// Sampling rate.
    pub rate: Hz,
    /// Number of channels, one or two.
    pub channels: u16,
    /// Samples of each channel.
    pub frames: u64,
    /// Capture time of the first sample.
    pub start: Nanos,
}

/// A file to write to.
pub trait Output {
    /// Writes the next samples of both channels; the second is ignored in mono.
    fn write(&mut self, channels: [&[i16]; 2]) -> Result<(), Error>;

    /// Completes the file after the last sample.
    fn finish(self: Box<Self>) -> Result<(), Error>;
}
