//! Calls in progress, and those that have just ended: kept under a ceiling, published for whoever looks at
//! them.
//!
//! Not here: how they are shown. The terminal, a status command and a web page read the same [`book::View`].
//!
//! The one invariant: memory has an upper bound. Beyond the limits of [`book::Limits`] the oldest entry that
//! has ended leaves first, and everything that leaves or is not kept is counted.
//!
//! The engine has a thread of its own. Its sink keeps entries in a [`book::Book`] and publishes a
//! [`book::View`] ten times a second at most: a list of shared, immutable entries, so that neither side waits
//! for the other.
//!
//! ```
//! use ringtap_engine::{Config, Engine};
//! use ringtap_live::book::{Book, Limits};
//!
//! let limits = Limits { calls: 100, messages: 50, bytes: 1 << 20, calls_only: false };
//! let mut book = Book::new(limits);
//! let mut engine = Engine::new(Config::default());
//! engine.batch(&[], &mut book.on(&[]));
//! assert_eq!(book.published().map(|entries| entries.len()), Some(0));
//! assert!(book.published().is_none(), "nothing has changed since");
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`book`] | calls and messages, under their ceiling; what is published of them |
//! | [`feed`] | where frames come from: interfaces, or capture files at a pace |
//! | [`watch`] | the engine's thread, and what it shares with the one that draws |
#![forbid(unsafe_code)]

pub mod book;
pub mod feed;
pub mod watch;
