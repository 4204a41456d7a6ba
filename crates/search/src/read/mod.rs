//! Reads values: those of a field by its kind, names of sites, and bare words, whose field is guessed.

mod figure;
mod guess;
mod host;
mod site;
mod time;
mod value;

pub(crate) use guess::guess;
pub(crate) use site::sites;
pub(crate) use value::{one_of, shortened, values};
