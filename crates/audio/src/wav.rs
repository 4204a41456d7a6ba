//! WAV: 16-bit PCM.

use std::io::{BufWriter, Seek, Write};

use hound::{SampleFormat, WavSpec, WavWriter};

use crate::output::{Output, Shape, play};
use crate::{Error, Recording};

/// A WAV file that is being written.
pub struct Wav<W: Write + Seek> {
    writer: WavWriter<BufWriter<W>>,
    mono: bool,
}

impl<W: Write + Seek> Wav<W> {
    /// Begins one. [`Error::TooLong`] where it would be 4 GiB or more.
    pub fn new(to: W, shape: Shape) -> Result<Self, Error> {
        if shape.frames.saturating_mul(2 * u64::from(shape.channels)) > MOST {
            return Err(Error::TooLong);
        }
        let spec = WavSpec {
            channels: shape.channels,
            sample_rate: shape.rate.0,
            bits_per_sample: 16,
            sample_format: SampleFormat::Int,
        };
        let writer = WavWriter::new(BufWriter::with_capacity(1 << 16, to), spec)?;
        Ok(Self { writer, mono: shape.channels == 1 })
    }
}

impl<W: Write + Seek> Output for Wav<W> {
    fn take(&mut self, [left, right]: [&[i16]; 2]) -> Result<(), Error> {
        let count = if self.mono { left.len() } else { 2 * left.len() };
        let mut block = self.writer.get_i16_writer(count as u32);
        if self.mono {
            left.iter().for_each(|sample| block.write_sample(*sample));
        } else {
            for (left, right) in left.iter().zip(right) {
                block.write_sample(*left);
                block.write_sample(*right);
            }
        }
        Ok(block.flush()?)
    }

    fn finish(self: Box<Self>) -> Result<(), Error> {
        Ok(self.writer.finalize()?)
    }
}

/// Writes all of a recording as WAV. [`Error::Nothing`] where it has no sample.
pub fn write_wav<W: Write + Seek>(recording: &mut Recording<'_>, to: W) -> Result<(), Error> {
    let wav = Wav::new(to, recording.shape())?;
    play(recording, vec![Box::new(wav)])
}

/// Lengths have 32 bits.
const MOST: u64 = u32::MAX as u64 - 1_000;
