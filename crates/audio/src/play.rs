//! Plays a recording into outputs.

use crate::{Error, Output, Recording};

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
