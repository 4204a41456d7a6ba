//! Why there is no figure.

/// Why a workload has no outcome.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The options do not go together, or ask for more than there can be.
    #[error("{0}")]
    Load(String),
    /// More memory than is free.
    #[error("{needed} MB of memory are needed and {free} MB are free: take fewer {remedy}")]
    Memory {
        /// In 10^6 bytes.
        needed: u64,
        /// In 10^6 bytes.
        free: u64,
        /// What to take fewer of.
        remedy: &'static str,
    },
    /// The engine's results are not those of the traffic: a figure would be worth nothing.
    #[error("the engine's result is wrong, so there is no figure: {what}: {found} instead of {expected}")]
    Wrong {
        /// What was counted.
        what: String,
        /// What the engine made of it.
        found: String,
        /// What was put in.
        expected: String,
    },
    /// A capture file cannot be read.
    #[error(transparent)]
    Capture(#[from] ringtap_capture::Error),
}

/// An error unless two counts are equal.
pub(crate) fn same<T: PartialEq + ToString>(what: &str, found: T, expected: T) -> Result<(), Error> {
    if found == expected {
        return Ok(());
    }
    Err(Error::Wrong { what: what.to_owned(), found: found.to_string(), expected: expected.to_string() })
}
