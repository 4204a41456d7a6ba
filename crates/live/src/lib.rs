//! Holds the state of calls in progress and of calls that have just ended, and publishes it.
//!
//! This crate does not draw anything. The terminal, a status command and a web page read the same
//! [`calls::View`].
//!
//! The one invariant: memory has an upper bound. Above [`calls::Limits`] the oldest ended entry is evicted
//! first, and each evicted or rejected item is counted.
//!
//! The engine runs in a thread of its own. Its sink stores entries in a [`calls::LiveCalls`] and publishes a
//! [`calls::View`] at most ten times a second: a list of shared, immutable entries, so that neither thread
//! waits for the other.
//!
//! ```
//! use ringtap_engine::{Config, Engine};
//! use ringtap_live::calls::{LiveCalls, Limits};
//!
//! let limits = Limits { calls: 100, messages: 50, bytes: 1 << 20, media_bytes: 1 << 20, calls_only: false };
//! let mut calls = LiveCalls::new(limits);
//! let mut engine = Engine::new(Config::default());
//! engine.batch(&[], &mut calls.on(&[]));
//! assert_eq!(calls.published().map(|entries| entries.len()), Some(0));
//! assert!(calls.published().is_none(), "nothing has changed since");
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`calls`] | calls and messages up to their limits, and the published view |
//! | `message`, `media` | a message and its frames; media packets up to their limit |
//! | [`feed`] | sources of frames: interfaces, or capture files at a chosen speed |
//! | [`watch`] | the engine's thread, and the state it shares with the terminal's thread |
#![forbid(unsafe_code)]

pub mod calls;
pub mod feed;
mod media;
mod message;
pub mod watch;
