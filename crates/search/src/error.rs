//! What is wrong with a text, where, and what would be right.

/// A search that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {problem}: {remedy}")]
pub struct ParseError {
    /// The character at which the mistake begins, from 1.
    pub column: usize,
    /// How many characters it has; at least 1.
    pub length: usize,
    /// What is wrong.
    pub problem: String,
    /// What would be right.
    pub remedy: String,
}

/// A piece of the text: the character at which it begins, from 0, and how many it has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) begin: usize,
    pub(crate) length: usize,
}

impl Place {
    pub(crate) fn between(begin: usize, end: usize) -> Self {
        Self { begin, length: end.saturating_sub(begin) }
    }

    pub(crate) fn end(self) -> usize {
        self.begin + self.length
    }

    /// A mistake here.
    pub(crate) fn error(self, problem: impl Into<String>, remedy: impl Into<String>) -> ParseError {
        ParseError {
            column: self.begin + 1,
            length: self.length.max(1),
            problem: problem.into(),
            remedy: remedy.into(),
        }
    }
}
