//! People who use the console, what they may do, and the log of what they did.
//!
//! Not here: HTTP, pages, sockets, clocks. Time is passed in, every function blocks, and all state is in one
//! directory.
//!
//! The one invariant: what cannot be recorded in the audit log is not done.
//!
//! | module | holds |
//! |---|---|
//! | `role` | [`Role`], [`Right`], [`Rights`]: who may do what, in one table |
//! | `scope` | [`Scope`]: the part of the calls that somebody may see |
//! | `people` | [`People`]: passwords, passkeys, sessions, tokens, saved searches |
//! | `webauthn` | [`Site`]: what is checked of a passkey's answer |
//! | `audit` | [`AuditLog`], [`AuditReader`]: the log, its chain and its keys |
//! | `day`, `files`, `hex`, `random` | days in UTC, private files, hex digits, randomness |
#![forbid(unsafe_code)]

mod audit;
mod day;
mod error;
mod files;
mod hex;
mod people;
mod random;
mod role;
mod scope;
mod webauthn;

pub use audit::{
    Action, Actor, AuditLog, AuditPage, AuditQuery, AuditReader, Entry, Fault, Flaw, Head, NewEntry, Piece,
    PublicKey, Verified, What,
};
pub use day::Day;
pub use error::{Error, Refusal};
pub use people::{
    Attempt, Credential, Identity, LocalLogins, LoggedIn, NewPasskey, NewPerson, NewSearch, NewToken,
    Passkey, PasskeyAttempt, PasskeyRequest, PasswordCost, People, Person, ProviderAttempt, RecoveryCodes,
    SavedSearch, Session, Settings, Token, TotpSecret, Vouched,
};
pub use role::{Right, Rights, Role};
pub use scope::{Limit, Scope};
pub use webauthn::{PASSKEY_ALGORITHMS, Site};
