//! Errors.

use std::path::PathBuf;

/// Why a provider cannot be used as it is configured.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be read.
    #[error("`{path}` cannot be read: {cause}", path = path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and where.
        cause: String,
    },
    /// A value cannot be used.
    #[error("`{key}` in `{path}` cannot be used: {problem}", path = path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// The key.
        key: &'static str,
        /// What is wrong, and what would be right.
        problem: String,
    },
    /// No requests can be made.
    #[error("no identity provider can be asked: {0}")]
    Client(String),
}

/// Why somebody who comes from the provider is not let in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Failure {
    /// What kind of failure it is, for the page.
    pub kind: FailureKind,
    /// What is wrong, for the audit log and the operator. Texts of the provider in it are cut and have no
    /// control characters.
    pub why: String,
}

/// Kinds of failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The answer is not to a question of this browser, or comes too late, or a second time.
    State,
    /// The person, or the provider, does not want to.
    Declined,
    /// The provider does not answer, or something else than it should: nobody here can have made that up.
    Unavailable,
    /// The ID token, or the code for which it is given, is not believed.
    Untrusted,
    /// The provider knows the person, and what it says of it permits nothing here.
    NotPermitted,
}

impl FailureKind {
    /// In an address of the page.
    pub const fn name(self) -> &'static str {
        match self {
            Self::State => "state",
            Self::Declined => "declined",
            Self::Unavailable => "unavailable",
            Self::Untrusted => "untrusted",
            Self::NotPermitted => "not_permitted",
        }
    }

    /// Whether whoever came with the answer may have made it up.
    pub const fn is_of_the_browser(self) -> bool {
        matches!(self, Self::State | Self::Declined | Self::Untrusted)
    }
}

impl Failure {
    pub(crate) fn new(kind: FailureKind, why: impl Into<String>) -> Self {
        Self { kind, why: why.into() }
    }

    pub(crate) fn unavailable(why: impl Into<String>) -> Self {
        Self::new(FailureKind::Unavailable, why)
    }

    pub(crate) fn untrusted(why: impl Into<String>) -> Self {
        Self::new(FailureKind::Untrusted, why)
    }
}

/// A text of somebody else, fit for a line of a log.
pub(crate) fn shown(text: &str) -> String {
    let clean = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter });
    clean.take(LONGEST).collect()
}

/// Characters of such a text.
const LONGEST: usize = 120;
