//! What cannot be delivered.

use std::io;
use std::path::PathBuf;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HandoverError {
    /// The buffer cannot be used.
    #[error("cannot open the buffer {path}: {source}")]
    Buffer {
        /// Its directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A thread or its runtime cannot be started.
    #[error("cannot start the thread that delivers: {0}")]
    Thread(io::Error),
    /// Certificates or keys cannot be used.
    #[error("cannot set up TLS to the mediation function: {0}")]
    Tls(String),
    /// A name that is not that of a mediation function.
    #[error("there is no mediation function {0:?}: name one of those that are configured")]
    NoFunction(String),
    /// The name of a mediation function cannot be that of a directory, or is there twice.
    #[error("the mediation function {0:?} needs a name of its own of 1 to 64 letters, digits, '-' and '_'")]
    Name(String),
    /// A warrant of this name is open, or too many are.
    #[error("cannot open the warrant {0}: one of this LIID is open already, or 16,384 are")]
    Warrant(crate::Liid),
}
