//! Checks the Identity headers of calls: STIR/SHAKEN, RFC 8224, RFC 8225 and RFC 8588.
//!
//! Not here: finding the header in a message (`wire`), and fetching certificates: those of a directory are
//! read once, and nothing is asked of the network.
//!
//! Invariant: nothing in a header, however hostile, causes a panic or more work than [`MOST_SIGNATURES`]
//! signatures and one chain of certificates.
//!
//! ```
//! use ringtap_stir::{Checker, Settings};
//!
//! // Without certificates, headers are read and their date and numbers are checked.
//! let checker = Checker::new(Settings::default());
//! assert_eq!(checker.counts().missing(), 0);
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`checker`] | [`Checker`], which completes the record of a call |
//! | `passport` | the token: its form, its claims, what is signed |
//! | `numbers` | when two telephone numbers are the same |
//! | [`certificates`] | [`Certificates`]: those of a directory, and chains to its roots |
//! | [`counts`] | [`Counts`] of what became of each header |
#![forbid(unsafe_code)]

pub mod certificates;
pub mod checker;
pub mod counts;
mod numbers;
mod passport;

pub use certificates::{Certificates, Error};
pub use checker::{Checker, Settings};
pub use counts::Counts;
pub use passport::MOST_SIGNATURES;
