//! The error of a configuration: what is wrong, where, and what would be right.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A mistake in a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    file: PathBuf,
    line: Option<usize>,
    /// The section and the key in it, as far as known.
    place: Option<String>,
    problem: String,
}

impl ConfigError {
    /// An error in a file that [`of`](Self::of) names later; `place` is the section and the key.
    pub(crate) fn new(line: Option<usize>, place: Option<String>, problem: String) -> Self {
        Self { file: PathBuf::new(), line, place, problem }
    }

    /// A file that cannot be read.
    pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Self {
        let problem = match error.kind() {
            io::ErrorKind::NotFound => {
                "does not exist: `ringtap run --print-default` prints one to start from".to_owned()
            }
            // A confined process cannot see which of the two it is.
            io::ErrorKind::PermissionDenied => "may not be read: check its owner and mode. If it was made \
                anew while ringtap runs, and a key lies below its directory: move the keys into a directory \
                of their own and restart"
                .to_owned(),
            io::ErrorKind::InvalidData => "is not UTF-8 text".to_owned(),
            _ => format!("cannot be read: {error}"),
        };
        Self { file: path.to_owned(), line: None, place: None, problem }
    }

    /// The same error, in that file.
    pub(crate) fn of(self, path: &Path) -> Self {
        Self { file: path.to_owned(), ..self }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        match &self.place {
            Some(place) => write!(f, ": {place}: {}", self.problem),
            None if self.line.is_some() => write!(f, ": {}", self.problem),
            None => write!(f, " {}", self.problem),
        }
    }
}

impl std::error::Error for ConfigError {}
