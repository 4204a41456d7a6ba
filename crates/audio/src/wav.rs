//! WAV: 16-bit PCM.

use std::io::Write;

use crate::output::{Output, OutputFormat};
use crate::play::play;
use crate::{Error, Recording};

/// Writes a WAV file. The header comes first and states the final length.
pub struct Wav<W: Write> {
    to: W,
    mono: bool,
    bytes: Vec<u8>,
}

impl<W: Write> Wav<W> {
    /// Writes the header. [`Error::TooLong`] if the file would reach 4 GiB.
    pub fn new(mut to: W, shape: OutputFormat) -> Result<Self, Error> {
        let frame = 2 * u32::from(shape.channels);
        let length = u32::try_from(shape.frames.saturating_mul(u64::from(frame))).ok();
        let length = length.filter(|length| *length <= u32::MAX - HEADER).ok_or(Error::TooLong)?;
        let rate = shape.rate.0;
        let mut header = Vec::with_capacity(44);
        header.extend(b"RIFF");
        header.extend((length + HEADER).to_le_bytes());
        header.extend(b"WAVEfmt ");
        header.extend(16_u32.to_le_bytes());
        // PCM.
        header.extend(1_u16.to_le_bytes());
        header.extend(shape.channels.to_le_bytes());
        header.extend(rate.to_le_bytes());
        header.extend((rate * frame).to_le_bytes());
        header.extend((frame as u16).to_le_bytes());
        header.extend(16_u16.to_le_bytes());
        header.extend(b"data");
        header.extend(length.to_le_bytes());
        to.write_all(&header)?;
        Ok(Self { to, mono: shape.channels == 1, bytes: Vec::new() })
    }
}

impl<W: Write> Output for Wav<W> {
    fn write(&mut self, [left, right]: [&[i16]; 2]) -> Result<(), Error> {
        if self.mono {
            self.bytes.resize(2 * left.len(), 0);
            for (bytes, sample) in self.bytes.chunks_exact_mut(2).zip(left) {
                bytes.copy_from_slice(&sample.to_le_bytes());
            }
        } else {
            self.bytes.resize(4 * left.len(), 0);
            for (bytes, (left, right)) in self.bytes.chunks_exact_mut(4).zip(left.iter().zip(right)) {
                let frame = u32::from(left.cast_unsigned()) | u32::from(right.cast_unsigned()) << 16;
                bytes.copy_from_slice(&frame.to_le_bytes());
            }
        }
        Ok(self.to.write_all(&self.bytes)?)
    }

    fn finish(mut self: Box<Self>) -> Result<(), Error> {
        Ok(self.to.flush()?)
    }
}

/// Writes a whole recording as WAV. [`Error::Nothing`] if it has no sample.
pub fn write_wav<W: Write>(recording: &mut Recording<'_>, to: W) -> Result<(), Error> {
    let wav = Wav::new(to, recording.shape())?;
    play(recording, vec![Box::new(wav)])
}

/// Bytes of the header after the total length.
const HEADER: u32 = 36;
