//! Random bytes: the one place that asks the operating system for them.

use zeroize::Zeroizing;

use crate::error::Error;

/// Random bytes for a key, an id or a salt.
pub(crate) fn random<const N: usize>() -> Result<Zeroizing<[u8; N]>, Error> {
    let mut bytes = Zeroizing::new([0; N]);
    getrandom::fill(&mut bytes[..]).map_err(|error| Error::Random(error.to_string()))?;
    Ok(bytes)
}
