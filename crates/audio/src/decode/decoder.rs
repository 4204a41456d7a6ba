//! What every decoder does, and what those without loss concealment share.

use crate::Error;

/// Input of a decoder, in sending order.
#[derive(Clone, Copy, Debug)]
pub enum DecodeStep<'a> {
    /// A payload and its number of samples.
    Packet {
        /// The payload.
        payload: &'a [u8],
        /// [`Codec::samples`](crate::Codec::samples) of it.
        samples: usize,
    },
    /// Lost packets of that many samples; the payload of the next packet may help.
    Lost {
        /// Samples at the rate of the codec.
        samples: usize,
        /// The next payload, unless it is far away.
        next: Option<&'a [u8]>,
    },
}

impl DecodeStep<'_> {
    /// Number of output samples.
    pub fn samples(&self) -> usize {
        match *self {
            Self::Packet { samples, .. } | Self::Lost { samples, .. } => samples,
        }
    }
}

/// Decodes payloads into samples and keeps the state between them.
pub trait Decoder {
    /// Appends exactly the samples of each step.
    fn run(&mut self, steps: &[DecodeStep<'_>], out: &mut Vec<i16>) -> Result<(), Error>;

    /// Whether it conceals [`DecodeStep::Lost`] itself; else it leaves zeros for the play-out to fill.
    fn conceals(&self) -> bool;
}

/// A decoder without loss concealment.
pub(crate) trait FrameDecoder {
    /// Decodes a payload and appends its samples.
    fn decode(&mut self, payload: &[u8], out: &mut Vec<i16>);
}

/// Adapts a [`FrameDecoder`]: writes zeros for lost packets.
pub(crate) struct WithoutConcealment<T>(pub(crate) T);

impl<T: FrameDecoder> Decoder for WithoutConcealment<T> {
    fn run(&mut self, steps: &[DecodeStep<'_>], out: &mut Vec<i16>) -> Result<(), Error> {
        for step in steps {
            let end = out.len() + step.samples();
            if let DecodeStep::Packet { payload, .. } = step {
                self.0.decode(payload, out);
            }
            out.resize(end, 0);
        }
        Ok(())
    }

    fn conceals(&self) -> bool {
        false
    }
}

/// The nearest 16-bit value.
pub(super) fn clip(value: i32) -> i16 {
    value.clamp(i16::MIN.into(), i16::MAX.into()) as i16
}
