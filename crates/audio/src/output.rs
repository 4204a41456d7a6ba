//! Where sound goes.

use ringtap_model::{Hz, Nanos};

use crate::{Error, Recording};

/// What a file has to know before its first sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputFormat {
    /// Samples of each channel a second.
    pub rate: Hz,
    /// One or two.
    pub channels: u16,
    /// Samples of each channel.
    pub frames: u64,
    /// When the first one was captured.
    pub start: Nanos,
}

/// A file that is being written.
pub trait Output {
    /// The next samples of both channels; the second is to be left alone where there is one.
    fn write(&mut self, channels: [&[i16]; 2]) -> Result<(), Error>;

    /// After the last.
    fn finish(self: Box<Self>) -> Result<(), Error>;
}

/// Plays all of a recording once into all outputs. [`Error::Nothing`] where it has no sample.
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

/// Samples of a channel at a time.
const BLOCK: usize = 4_096;
