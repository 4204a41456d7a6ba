//! What encodes speech into packets, and its settings.

use ringtap_model::Hz;

use crate::Error;
use crate::output::OutputFormat;

/// Settings of an encoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncoderSettings {
    /// Sampling rate: 8000, 12000, 16000, 24000 or 48000.
    pub rate: Hz,
    /// Channels, one or two, each a separate stream.
    pub channels: u16,
    /// Approximate bits per second for each channel; 6000 to 256000.
    pub bits: u32,
}

impl EncoderSettings {
    /// Settings for a recording in that format: at its rate, or at 48000 if Opus does not support it.
    pub fn of(shape: OutputFormat, bits: u32) -> Self {
        let rate = if RATES.contains(&shape.rate.0) { shape.rate } else { Hz(CLOCK) };
        Self { rate, channels: shape.channels, bits }
    }

    /// Samples of each channel in a packet of 20 ms.
    pub fn frame(self) -> usize {
        (self.rate.0 / 50) as usize
    }
}

/// Encodes samples into packets and keeps the state between them.
pub trait Encoder {
    /// Its settings.
    fn coding(&self) -> EncoderSettings;

    /// Samples of each channel that a decoder outputs before the encoded ones.
    fn lookahead(&self) -> u32;

    /// Encodes whole frames of interleaved samples into one packet for each 20 ms.
    fn encode(&mut self, samples: &[i16]) -> Result<Vec<Vec<u8>>, Error>;
}

/// Granule positions count samples at 48 kHz, whatever the rate (section 4).
pub(crate) const CLOCK: u32 = 48_000;
/// The rates that an encoder supports.
const RATES: [u32; 5] = [8_000, 12_000, 16_000, 24_000, CLOCK];
