//! What is recorded of which call: a sink of the engine that asks the rules and writes packets into the
//! spool.
//!
//! Not here: where records go. [`recorder::RecordingSink`] hands every record on to the sink behind it, with
//! what was recorded of its call. How packets lie on the disk is the spool's.
//!
//! The one invariant: no packet that a rule forbids stays on the disk. Packets wait in memory until the rules
//! have decided; what has to be written earlier is noted on the disk first, and erased when it turns out that
//! it should not be there, also by the next start after a kill.
//!
//! ```
//! use ringtap_recorder::orders::{LegKey, Orders, Ruling, RulingSettings};
//!
//! let ruling = Ruling::new(RulingSettings { legs: vec![LegKey::of_name("Session-ID")],
//! ..RulingSettings::default() }); // One worker, with as many as 100 calls.
//! let orders = Orders::new(ruling, 1, 100);
//! assert_eq!(orders.ruling().0.lines(), ["nothing            0  no rule"]);
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`recorder`] | a worker's part: calls, streams, masks, pauses, product; the sink |
//! | [`orders`] | rules and commands, for all workers |
//! | `facts` | what messages tell of a call, as far as rules ask for it |
//! | `output` | packets in memory until they are decided, then into the spool |
//! | `complete` | what a record says of its recording |
//! | [`cases`] | whose interception product is, written down |
//! | [`erase`], `pending` | calls on the disk before it is known whether they may be, and their erasure |
//! | [`amend`] | records of calls of which the disk refused something later |
//! | [`holding`] | calls on hold, by their records |
//! | [`corrections`] | how often the two before had something to do |
#![forbid(unsafe_code)]

pub mod amend;
pub mod cases;
mod complete;
pub mod corrections;
pub mod erase;
mod facts;
pub mod holding;
pub mod orders;
mod output;
mod pending;
pub mod recorder;
