//! Decoders behind one trait.
//!
//! | module | codec |
//! |---|---|
//! | `g711` | G.711 A-law and mu-law, exact |
//! | `l16` | linear 16-bit, exact |
//! | `g722`, `g726`, `gsm` | written from the standards, exact |
//! | `g729` | written from the standard, in floating point, which it allows |
//! | `amr`, `opus` | payload formats only; libraries decode, see [`crate::remote`] |
//! | `decoder` | [`Decoder`], and what decoders share |

mod amr;
mod decoder;
mod g711;
mod g722;
mod g726;
mod g729;
mod gsm;
mod l16;
mod opus;

pub(crate) use amr::{Frame as AmrFrame, Width, frames as amr_frames};
pub(crate) use decoder::WithoutConcealment;
pub use decoder::{DecodeStep, Decoder};
pub(crate) use g711::{G711, table};
pub(crate) use g722::G722;
pub(crate) use g726::G726;
pub use g726::Packing;
pub(crate) use g729::G729;
pub(crate) use gsm::{FRAME as GSM_FRAME, Gsm};
pub(crate) use l16::L16;
pub(crate) use opus::samples as opus_samples;
