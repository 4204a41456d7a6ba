//! Errors. None of them has a target, an LIID or a text of a warrant.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ringtap_model::Nanos;

use crate::flaw::Flaw;

/// What could not be done with a register.
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
    /// A file that holds a key, or stands for one, cannot be used.
    #[error("`{path}` cannot be used: {problem}", path = path.display())]
    Key {
        /// The file, or the command that prints the key.
        path: PathBuf,
        /// What is wrong, and the remedy.
        problem: String,
    },
    /// The register is not as it was written.
    #[error(
        "the register `{path}` is not as it was written: act {act} {flaw}; nothing is done that would have \
         to be recorded: run `ringtap warrant verify`, and restore the directory from a copy once the cause \
         is known",
        path = path.display()
    )]
    Log {
        /// The file.
        path: PathBuf,
        /// The number of the act.
        act: u64,
        /// What is wrong.
        flaw: Flaw,
    },
    /// A sync has failed before: what the disk has is not known.
    #[error("the register records nothing more, since the disk failed: check the disk, then start again")]
    Failed,
    /// Name or passphrase. Which of them is not told.
    #[error("the name or the passphrase is wrong")]
    Wrong,
    /// Too many were wrong.
    #[error("too many passphrases were wrong: try again in {} s", .0.0.div_ceil(1_000_000_000))]
    Wait(Nanos),
    /// Against the rules.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// Secrets cannot be made.
    #[error("the operating system gives no random bytes: {0}; nothing can be made secret until it does")]
    Random(String),
}

/// An act that the rules of a register do not permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// The passphrase was given by somebody else.
    #[error("choose a passphrase of your own first, with `ringtap warrant people passphrase`")]
    MustChange,
    /// Auditors and the service do not do this.
    #[error("only an officer may do this: auditors see acts and enter nothing")]
    NotAnOfficer,
    /// Nobody, or nobody any more.
    #[error("nobody of that name may use the register: `ringtap warrant people` shows the names")]
    Nobody,
    /// It cannot be a name.
    #[error("a name is 1 to 64 letters, digits, `.`, `-`, `_` and `@`, with a letter or a digit first")]
    Name,
    /// Names are given once.
    #[error("this name is in use, or was: the record names people by it, so choose another one")]
    NameUsed,
    /// Two people for people, too.
    #[error("another officer has to confirm it than the one who proposed it or whom it is about")]
    SamePersonForPeople,
    /// Two officers have to remain.
    #[error("two officers have to remain who can approve each other's warrants: add another one first")]
    LastOfficers,
    /// There is no such proposal.
    #[error("there is no such proposal, or it was confirmed: `ringtap warrant people` shows those that wait")]
    NoProposal,
    /// There is no such warrant.
    #[error("there is no warrant of that number: `ringtap warrant list` shows them")]
    NoWarrant,
    /// It was approved before.
    #[error("the warrant is no draft any more, and nothing of it waits for an approval")]
    NothingToApprove,
    /// Two people, always.
    #[error("another officer has to approve this than the one who entered it")]
    SamePerson,
    /// Not the record that is there.
    #[error(
        "this is not the hash of the record as it is now: look at it again with `ringtap warrant show`, or \
         `ringtap disclosure show` for a request"
    )]
    OtherHash,
    /// Whoever approves has seen it.
    #[error(
        "look at the whole record first, as it is now, with `ringtap warrant show`, or `ringtap disclosure \
         show` for a request"
    )]
    NotSeen,
    /// Not before its approval.
    #[error("the warrant is a draft: it has to be approved first")]
    NotApproved,
    /// Its end has passed, or it was withdrawn.
    #[error("the warrant has ended: enter a new one")]
    Over,
    /// It has not begun, or is not in force.
    #[error("the warrant is not in force")]
    NotInForce,
    /// Its end is not later.
    #[error("an extension has to end later than the warrant does")]
    NotLater,
    /// Begin and end.
    #[error("a warrant has to end after it begins, and later than now")]
    Period,
    /// Targets.
    #[error("a warrant has 1 to 256 targets")]
    Targets,
    /// The identifier is in use.
    #[error("a warrant that has not ended has this LIID: what is delivered would be mixed up")]
    LiidUsed,
    /// A field.
    #[error("the {field} is not right: {problem}")]
    Field {
        /// Its name.
        field: &'static str,
        /// What it has to be.
        problem: &'static str,
    },
    /// There is no such request.
    #[error("there is no request of that number: `ringtap disclosure list` shows them")]
    NoRequest,
    /// It was approved before.
    #[error("the request was approved before: answer it with `ringtap disclosure answer`")]
    RequestApproved,
    /// Nobody answers alone.
    #[error("the request has to be approved first, by another officer than the one who entered it")]
    RequestNotApproved,
    /// It was answered or refused.
    #[error("the request was answered or refused: add a note, or enter a new request")]
    Closed,
    /// An answer without a search that was recorded.
    #[error("nothing was searched for this request by this person since its last answer")]
    NotSearched,
    /// A passphrase that would be guessed.
    #[error("this passphrase cannot be used: {0}")]
    Passphrase(&'static str),
    /// Nobody provisions under that identifier.
    #[error("no ADMF of that identifier may act: `ringtap warrant admf list` shows them")]
    NoAdmf,
    /// The task is there.
    #[error("there is a task of this XID")]
    XidUsed,
    /// The task is not there, or is another ADMF's.
    #[error("there is no task of this XID")]
    NoTask,
    /// The destination is there.
    #[error("there is a destination of this DID")]
    DestinationUsed,
    /// The destination is not there, or is another ADMF's.
    #[error("there is no destination of this DID")]
    NoDestination,
    /// Tasks name it.
    #[error("a task names the destination")]
    DestinationInUse,
    /// The agency is not among those of the ADMF.
    #[error("the ADMF is not registered for the agency of this destination")]
    NotItsAgency,
    /// It lasts longer than the ADMF's tasks may.
    #[error("the task ends later than tasks of this ADMF may")]
    TooLong,
    /// Each transaction changes something once.
    #[error("this transaction has changed something before")]
    TransactionUsed,
    /// A ceiling.
    #[error("the register has as many {0} as it can have: close it, and set up another one")]
    Full(&'static str),
    /// An act of an order or of an origin that cannot be.
    #[error("this act cannot follow the ones before it")]
    Impossible,
}

impl Error {
    pub(crate) fn io(path: &Path, action: &'static str, cause: io::Error) -> Self {
        let remedy = match cause.kind() {
            io::ErrorKind::NotFound => "check the path, or run `ringtap warrant setup`",
            io::ErrorKind::PermissionDenied => "run this as root, or as the user of the service",
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "free some space on that disk",
            io::ErrorKind::ReadOnlyFilesystem => "mount the file system for writing",
            _ => "check the disk",
        };
        Self::Io { path: path.to_owned(), action, remedy, cause: Arc::new(cause) }
    }
}
