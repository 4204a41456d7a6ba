//! Decoders behind one trait.
//!
//! | module | codec |
//! |---|---|
//! | `g711` | G.711 A-law and mu-law, exact |
//! | `l16` | linear 16-bit, exact |
//! | `g722`, `g726`, `gsm` | written from the standards, exact |
//! | `g729` | written from the standard, in floating point, which it allows |
//! | `amr`, `opus` | the payload formats alone; their libraries decode, see [`crate::remote`] |

mod amr;
mod g711;
mod g722;
mod g726;
mod g729;
mod gsm;
mod l16;
mod opus;

use ringtap_model::Hz;

use crate::{Codec, Error};

pub(crate) use amr::{Frame as AmrFrame, Width, frames as amr_frames};
pub(crate) use g711::table;
pub use g726::Packing;
pub(crate) use gsm::FRAME as GSM_FRAME;
pub(crate) use opus::samples as opus_samples;

/// What a decoder is given, in the order of sending.
#[derive(Clone, Copy, Debug)]
pub enum DecodeStep<'a> {
    /// A payload, and how many samples it stands for.
    Packet {
        /// As it came.
        payload: &'a [u8],
        /// [`Codec::samples`] of it.
        samples: usize,
    },
    /// As many samples whose packets did not come; the payload of the packet after them may help.
    Lost {
        /// At the rate of the codec.
        samples: usize,
        /// What came next, unless it is far away.
        next: Option<&'a [u8]>,
    },
}

impl DecodeStep<'_> {
    /// How many samples it gives.
    pub fn samples(&self) -> usize {
        match *self {
            Self::Packet { samples, .. } | Self::Lost { samples, .. } => samples,
        }
    }
}

/// Turns payloads into samples, and keeps the state between them.
pub trait Decoder {
    /// Appends the samples of each step, exactly as many as it says.
    fn run(&mut self, steps: &[DecodeStep<'_>], out: &mut Vec<i16>) -> Result<(), Error>;

    /// Whether it fills [`DecodeStep::Lost`] itself. One that does not leaves zeros there, for the play-out to fill.
    fn conceals(&self) -> bool;
}

/// Where decoders come from.
pub trait Decoders {
    /// A decoder for one stream, at the codec's sampling rate. [`Error::Missing`] where its library is not installed,
    /// [`Error::Unsupported`] where there is none.
    fn open(&self, codec: Codec, rate: Hz) -> Result<Box<dyn Decoder>, Error>;
}

/// The decoders of this crate alone, without libraries.
#[derive(Clone, Copy, Debug, Default)]
pub struct BuiltIn;

impl Decoders for BuiltIn {
    fn open(&self, codec: Codec, _: Hz) -> Result<Box<dyn Decoder>, Error> {
        Ok(match codec {
            Codec::Pcmu | Codec::Pcma => Box::new(WithoutConcealment(g711::G711::new(codec))),
            Codec::L16 { channels } => Box::new(WithoutConcealment(l16::L16::new(channels))),
            Codec::G722 => Box::new(WithoutConcealment(g722::G722::new())),
            Codec::G726 { bits, packing } => Box::new(WithoutConcealment(g726::G726::new(bits, packing))),
            Codec::Gsm => Box::new(WithoutConcealment(gsm::Gsm::new())),
            Codec::G729 => Box::new(g729::G729::new()),
            other => return Err(Error::unsupported(other.name())),
        })
    }
}

/// A decoder of payloads that knows nothing of loss.
trait FrameDecoder {
    /// Appends what it makes of a payload.
    fn decode(&mut self, payload: &[u8], out: &mut Vec<i16>);
}

/// Gives the play-out zeros where packets are lost.
struct WithoutConcealment<T>(T);

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
fn clip(value: i32) -> i16 {
    value.clamp(i16::MIN.into(), i16::MAX.into()) as i16
}
