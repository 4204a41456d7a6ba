//! Decoders behind one trait.
//!
//! | module | codec |
//! |---|---|
//! | `g711` | G.711 A-law and mu-law, exact |
//! | `l16` | linear 16-bit, exact |
//! | `g722`, `g726`, `gsm` | written from the standards, exact |
//! | `g729` | written from the standard, in floating point, which it allows |
//! | `amr`, `opus` | payload formats only; libraries decode, see [`crate::remote`] |

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

/// Input of a decoder, in sending order.
#[derive(Clone, Copy, Debug)]
pub enum DecodeStep<'a> {
    /// A payload and its number of samples.
    Packet {
        /// The payload.
        payload: &'a [u8],
        /// [`Codec::samples`] of it.
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

/// A source of decoders.
pub trait Decoders {
    /// Opens a decoder for one stream at the codec's sampling rate. [`Error::Missing`] if its library is not
    /// installed, [`Error::Unsupported`] if there is none.
    fn open(&self, codec: Codec, rate: Hz) -> Result<Box<dyn Decoder>, Error>;
}

/// The built-in decoders, without libraries.
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

/// A decoder without loss concealment.
trait FrameDecoder {
    /// Decodes a payload and appends its samples.
    fn decode(&mut self, payload: &[u8], out: &mut Vec<i16>);
}

/// Adapts a [`FrameDecoder`]: writes zeros for lost packets.
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
