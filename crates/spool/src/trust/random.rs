//! Random bytes for keys.

use std::path::Path;

use crate::error::Error;

/// Fills the bytes with the operating system's randomness.
pub(crate) fn random(bytes: &mut [u8]) -> Result<(), Error> {
    getrandom::fill(bytes).map_err(|error| {
        Error::io(Path::new("getrandom"), "asked for randomness", std::io::Error::other(error.to_string()))
    })
}
