//! Errors.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ringtap_model::Nanos;

/// What could not be done with the people or the audit log of a console.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refuses an operation.
    #[error("`{path}` cannot be {action}: {cause}; {remedy}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was being done.
        action: &'static str,
        /// What to do next.
        remedy: &'static str,
        /// The error of the operating system.
        cause: Arc<io::Error>,
    },
    /// The database of people cannot be used.
    #[error("the people in `{path}` cannot be {action}: {problem}", path = path.display())]
    Database {
        /// The file.
        path: PathBuf,
        /// What was being done.
        action: &'static str,
        /// What is wrong, with a remedy where one is known.
        problem: String,
    },
    /// A name that no person or token can have.
    #[error(
        "`{name}` cannot be a name: use 1 to 64 letters, digits, `.`, `-`, `_` and `@`, with a letter or a \
         digit first"
    )]
    Name {
        /// The given value.
        name: String,
    },
    /// The name is in use.
    #[error("`{name}` exists already: choose another name, or change that one")]
    Exists {
        /// The given value.
        name: String,
    },
    /// Nobody has that name.
    #[error("nobody is called `{name}`: `ringtap console people list` shows the names")]
    Nobody {
        /// The given value.
        name: String,
    },
    /// No session or token is so named.
    #[error("there is no {what} `{name}`: it has expired, or was removed")]
    NotFound {
        /// `session`, `token`, `passkey` or `search of yours`.
        what: &'static str,
        /// The given value.
        name: String,
    },
    /// Nobody could administer the console any more.
    #[error("`{name}` is the only administrator who can log in: make another one first")]
    LastAdministrator {
        /// The name.
        name: String,
    },
    /// A password that would be guessed.
    #[error("this password cannot be used: {0}")]
    Password(&'static str),
    /// A code that does not belong to the secret, or was used before.
    #[error(
        "this code is wrong or was used before: wait for the next one, and look at the clock of the phone"
    )]
    Code,
    /// A passkey that is not added.
    #[error("the passkey cannot be added: {0}")]
    Passkey(&'static str),
    /// There is nothing that recovery codes could replace.
    #[error("`{name}` gives no codes at the login: set an authenticator app up first")]
    NoSecondFactor {
        /// The name.
        name: String,
    },
    /// An expiry that cannot be.
    #[error("a token has to expire later than now, and within {} days", most.0 / 86_400_000_000_000)]
    Expiry {
        /// The longest life of a token.
        most: Nanos,
    },
    /// A person has too many tokens.
    #[error("`{name}` has {most} tokens, and cannot have more: revoke those that are not used")]
    TooMany {
        /// Whose they are.
        name: String,
        /// How many one may have.
        most: usize,
    },
    /// A search that cannot be saved as it is.
    #[error("the search cannot be saved: {0}")]
    Search(&'static str),
    /// A person has saved too many searches.
    #[error("you have {most} saved searches, and cannot have more: remove those that are not used")]
    TooManySearches {
        /// How many one may have.
        most: usize,
    },
    /// A text that is no pattern.
    #[error("`{pattern}` is no pattern of {what}: {problem}")]
    Pattern {
        /// `trunks` or `numbers`.
        what: &'static str,
        /// The given value.
        pattern: String,
        /// What is wrong, and what would be right.
        problem: String,
    },
    /// The audit log is not as it was written.
    #[error(
        "line {line} of the audit log `{path}` {problem}: nothing is done that would have to be recorded; \
         run `ringtap audit --verify`, and move the directory away once the cause is known",
        path = path.display()
    )]
    Log {
        /// The file.
        path: PathBuf,
        /// The line, from 1; 0 is none.
        line: u64,
        /// What is wrong.
        problem: String,
    },
    /// A key that cannot be used.
    #[error("the key `{path}` cannot be used: {problem}", path = path.display())]
    Key {
        /// Its file.
        path: PathBuf,
        /// What is wrong, and the remedy.
        problem: &'static str,
    },
    /// Secrets cannot be made.
    #[error("the operating system gives no random bytes: {0}; nothing can be made secret until it does")]
    Random(String),
}

impl Error {
    pub(crate) fn io(path: &Path, action: &'static str, cause: io::Error) -> Self {
        let remedy = match cause.kind() {
            io::ErrorKind::NotFound => "check the path, or run `ringtap console setup`",
            io::ErrorKind::PermissionDenied => "run this as root, or as the user of the service",
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "free some space on that disk",
            io::ErrorKind::ReadOnlyFilesystem => "mount the file system for writing",
            _ => "check the disk",
        };
        Self::Io { path: path.to_owned(), action, remedy, cause: Arc::new(cause) }
    }
}

/// Why somebody is not let in.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Name, password or code. Which of them is not told.
    #[error("the name, the password or the code is wrong")]
    Wrong,
    /// Name and password are right, and the person has a second factor.
    #[error("a code of the authenticator app is needed")]
    CodeNeeded,
    /// The passkey is nobody's, or its answer is not right. What of it is in the audit log.
    #[error("the passkey is not accepted: it is not known here, or its answer was not to this question")]
    Passkey,
    /// Whoever the identity provider vouches for may not use the console. Why is in the audit log.
    #[error("the identity provider knows you, but you may not use this console: ask an administrator")]
    NotPermitted,
    /// Password and passkey are right, and are those of somebody who has to log in by the identity provider.
    #[error("only administrators log in by a password or a passkey here: log in by the identity provider")]
    ByProvider,
    /// Too many attempts failed under that name or from that address.
    #[error("too many attempts failed: try again in {} s", .0.0.div_ceil(1_000_000_000))]
    Wait(Nanos),
    /// More people log in at once than passwords can be checked.
    #[error("too many people are logging in at this moment: try again in some seconds")]
    Busy,
    /// No session has that id, no token that text: ended, revoked, or never given.
    #[error("this session or token is not known: log in again, or make a new token")]
    Unknown,
    /// It was valid until some time ago.
    #[error("this session or token has expired: log in again, or make a new token")]
    Expired,
    /// The person may not log in any more, nor use tokens.
    #[error("this account is disabled: ask an administrator")]
    Disabled,
    /// Nobody can be let in at all.
    #[error(transparent)]
    Failed(#[from] Error),
}
