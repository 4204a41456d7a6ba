//! Calls in progress that are listened to: packets as they come to the spool, and their sound.

mod ears;
mod sound;
mod tail;

pub(crate) use ears::{EarPlace, Ears, Told};
pub(crate) use sound::{LiveSound, Piece};
pub(crate) use tail::{Subscription, Tail};
