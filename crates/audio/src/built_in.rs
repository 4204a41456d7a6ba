//! The decoders of this crate, by codec.

use ringtap_model::Hz;

use crate::decode::{Decoder, G711, G722, G726, G729, Gsm, L16, WithoutConcealment};
use crate::{Codec, Error};

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
            Codec::Pcmu | Codec::Pcma => Box::new(WithoutConcealment(G711::new(codec == Codec::Pcmu))),
            Codec::L16 { channels } => Box::new(WithoutConcealment(L16::new(channels))),
            Codec::G722 => Box::new(WithoutConcealment(G722::new())),
            Codec::G726 { bits, packing } => Box::new(WithoutConcealment(G726::new(bits, packing))),
            Codec::Gsm => Box::new(WithoutConcealment(Gsm::new())),
            Codec::G729 => Box::new(G729::new()),
            other => return Err(Error::unsupported(other.name())),
        })
    }
}
