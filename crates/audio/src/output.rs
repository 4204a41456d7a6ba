//! Outputs for sound.

use ringtap_model::{Hz, Nanos};

use crate::{Error, Recording};

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

/// Plays a whole recording into all outputs. [`Error::Nothing`] if it has no sample.
pub fn play(recording: &mut Recording<'_>, mut outputs: Vec<Box<dyn Output + '_>>) -> Result<(), Error> {
    if recording.frames() == 0 {
        return Err(Error::Nothing);
    }
    let (mut left, mut right) = ([0; BLOCK], [0; BLOCK]);
    loop {
        let count = recording.read([&mut left, &mut right])?;
        if count == 0 {
            break;
        }
        outputs.iter_mut().try_for_each(|output| output.write([&left[..count], &right[..count]]))?;
    }
    outputs.into_iter().try_for_each(Output::finish)
}

/// Samples of a channel per block.
const BLOCK: usize = 4_096;
