//! The log of who did what.
//!
//! Files of JSON lines, in the directory `audit` of the console: `000000000017-2026-11-21.jsonl` begins with
//! entry 17. A file ends after 8 MiB, or with its day (UTC). Each entry has the hash of the one before and
//! its own, signed, so that an entry that was changed, removed, put in or moved is found and named, and the
//! file `head` names the newest, so that the log cannot be cut short.
//!
//! INVARIANT: an entry is on the disk before what it records is done. What cannot be recorded is not done.

mod chain;
mod day_keys;
mod entry;
mod head_file;
mod key;
mod log;
mod log_files;
mod reader;
mod tail;
mod verify;
mod what;

pub use entry::{Action, Actor, Entry, Head, NewEntry};
pub use key::PublicKey;
pub use log::AuditLog;
pub use reader::{AuditPage, AuditQuery, AuditReader};
pub use verify::{Fault, Flaw, Verified};
pub use what::{Piece, What};

/// The directory of the log, in that of the console.
const DIRECTORY: &str = "audit";
