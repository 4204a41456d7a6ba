//! The error of a configuration: what is wrong, where, and what would be right.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The mistakes in a configuration: one or more, each a line of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    file: PathBuf,
    mistakes: Vec<Mistake>,
}

/// A mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mistake {
    line: Option<usize>,
    /// The section and the key in it, as far as known.
    place: Option<String>,
    problem: String,
}

/// A mistake in an entry of a list that stands in no file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EntryMistake {
    /// The index of the entry; `None` if it is in none.
    pub(crate) place: Option<usize>,
    pub(crate) key: String,
    /// What is wrong with its value, and what to do.
    pub(crate) problem: String,
}

impl ConfigError {
    /// The mistakes by entry; `begins` is the line on which each of them begins.
    pub(crate) fn of_entries(self, begins: &[usize]) -> Vec<EntryMistake> {
        let of = |Mistake { line, place, problem }: Mistake| {
            let before = begins.iter().filter(|begin| line.is_some_and(|line| **begin <= line)).count();
            let place = place.unwrap_or_default();
            let key = place.rsplit_once("] ").map_or(&*place, |(_, key)| key).to_owned();
            EntryMistake { place: before.checked_sub(1), key, problem }
        };
        self.mistakes.into_iter().map(of).collect()
    }

    /// An error in a file that [`of`](Self::of) names later; `place` is the section and the key.
    pub(crate) fn new(line: Option<usize>, place: Option<String>, problem: String) -> Self {
        Self { file: PathBuf::new(), mistakes: vec![Mistake { line, place, problem }] }
    }

    /// All of them in one, in the order of their lines; None if there are none.
    pub(crate) fn all(errors: Vec<Self>) -> Option<Self> {
        let mut errors = errors.into_iter();
        let mut all = errors.next()?;
        all.mistakes.extend(errors.flat_map(|error| error.mistakes));
        all.mistakes.sort_by_key(|mistake| mistake.line);
        Some(all)
    }

    /// How many mistakes there are.
    pub fn count(&self) -> usize {
        self.mistakes.len()
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
        Self { file: path.to_owned(), ..Self::new(None, None, problem) }
    }

    /// The same error, in that file.
    pub(crate) fn of(self, path: &Path) -> Self {
        Self { file: path.to_owned(), ..self }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Mistake { line, place, problem }) in self.mistakes.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{}", self.file.display())?;
            if let Some(line) = line {
                write!(f, ":{line}")?;
            }
            match place {
                Some(place) => write!(f, ": {place}: {problem}")?,
                None if line.is_some() => write!(f, ": {problem}")?,
                None => write!(f, " {problem}")?,
            }
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}
