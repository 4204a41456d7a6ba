//! WAV: 16-bit PCM.

use std::io::{Seek, Write};

use hound::{SampleFormat, WavSpec, WavWriter};

use crate::Error;
use crate::stereo::Recording;

/// Writes all of a recording. [`Error::Nothing`] where it has no sample; [`Error::TooLong`] where it does not fit.
pub fn write_wav<W: Write + Seek>(recording: &mut Recording<'_>, to: W) -> Result<(), Error> {
    let channels = recording.channels();
    let frames = recording.frames();
    if frames == 0 {
        return Err(Error::Nothing);
    }
    if frames * 2 * u64::from(channels) > MOST {
        return Err(Error::TooLong);
    }
    let spec = WavSpec {
        channels,
        sample_rate: recording.rate().0,
        bits_per_sample: 16,
        sample_format: SampleFormat::Int,
    };
    let mut writer = WavWriter::new(to, spec)?;
    let (mut left, mut right) = ([0; BLOCK], [0; BLOCK]);
    loop {
        let count = recording.read([&mut left, &mut right])?;
        if count == 0 {
            break;
        }
        let mut block = writer.get_i16_writer(u32::from(channels) * count as u32);
        if channels == 1 {
            left[..count].iter().for_each(|sample| block.write_sample(*sample));
        } else {
            for (left, right) in left.iter().zip(&right).take(count) {
                block.write_sample(*left);
                block.write_sample(*right);
            }
        }
        block.flush()?;
    }
    Ok(writer.finalize()?)
}

/// Samples of a channel at a time.
pub(crate) const BLOCK: usize = 4_096;
/// Lengths have 32 bits.
const MOST: u64 = u32::MAX as u64 - 1_000;
