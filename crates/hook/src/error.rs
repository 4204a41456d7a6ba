//! Why hooks cannot go on.

use std::io;
use std::path::PathBuf;

/// What stops all hooks.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HookError {
    /// The file of what waits cannot be read or written.
    #[error(
        "the state of the hooks, `{}`: {error}; mend it, or move it away: calls that waited are then not \
         delivered",
        path.display()
    )]
    State {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        error: io::Error,
    },
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] ringtap_store::Error),
    /// The networks that have names cannot be read.
    #[error("{0}")]
    Sites(String),
    /// A query is wrong.
    #[error("[[hook]] {hook}: query: {problem}")]
    Query {
        /// Name of the hook.
        hook: String,
        /// What is wrong, and what would be right.
        problem: String,
    },
}
