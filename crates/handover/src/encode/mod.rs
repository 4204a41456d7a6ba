//! From plain values to PDUs.

pub(crate) mod ber;
mod content;
mod encoder;
mod encryption;
mod header;
mod iri;
mod notification;
mod time;

pub use encoder::{EncodeError, Encoder, Mark};
pub use encryption::PayloadKey;
pub(crate) use encryption::decrypt;
pub use header::TimeFormat;
pub(crate) use time::read_generalized;
