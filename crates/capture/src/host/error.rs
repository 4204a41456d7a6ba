//! Errors of an inspection.

use std::io;

/// An interface or directory that cannot be inspected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No interface has that name.
    #[error("there is no interface `{name}` in this network namespace; choose one of: {names}")]
    NoInterface {
        /// As it was given.
        name: String,
        /// The existing names.
        names: String,
    },
    /// The directory cannot be inspected.
    #[error("cannot inspect `{path}`: {source}; create it, or name another directory")]
    Directory {
        /// As it was given.
        path: String,
        /// The error of the operating system.
        source: io::Error,
    },
}
