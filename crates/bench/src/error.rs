//! Errors of a benchmark.

/// Why a workload gave no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The options are inconsistent or out of range.
    #[error("{0}")]
    Load(String),
    /// Not enough free memory.
    #[error("the workload needs {needed} MB of memory, but only {free} MB are free: choose fewer {remedy}")]
    Memory {
        /// In 10^6 bytes.
        needed: u64,
        /// In 10^6 bytes.
        free: u64,
        /// What to take fewer of.
        remedy: &'static str,
    },
    /// The engine's results do not match the traffic, so figures would be worthless.
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
