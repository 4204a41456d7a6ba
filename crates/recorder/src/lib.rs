//! Records calls: a sink of the engine that applies the recording rules and writes packets into the spool.
//!
//! This crate does not store records. [`recorder::RecordingSink`] passes every record on to the sink behind
//! it, with the figures of its recording. The spool defines how packets are stored on disk.
//!
//! The one invariant: no packet that the rules exclude stays on the disk. Packets wait in memory until the
//! rules have decided. If packets must be written earlier, the pending decision is noted on the disk first;
//! if the decision is against them, they are erased, after a kill by the next start.
//!
//! ```
//! use ringtap_recorder::policy::{LegKey, PolicySettings, RecordingPolicy, SharedPolicy};
//!
//! let legs = vec![LegKey::of_name("Session-ID")];
//! let policy = RecordingPolicy::new(PolicySettings { legs, ..PolicySettings::default() });
//! // One worker with at most 100 calls.
//! let shared_policy = SharedPolicy::new(policy, 1, 100);
//! assert_eq!(shared_policy.policy().0.lines(), ["nothing            0  no rule"]);
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`recorder`] | one worker's recorder: calls, streams, masks, pauses, product; the sink |
//! | [`policy`] | rules, commands and decisions, shared by all workers |
//! | `facts` | the facts about a call that rules use, gathered from its messages |
//! | `output` | packets in memory while their decision is pending, then in the spool |
//! | `complete` | the fields of a record about its recording |
//! | [`cases`] | the log of which interception product belongs to which case |
//! | [`erase`], `pending` | calls on the disk whose decision is pending, and their erasure |
//! | [`amend`] | corrections of records after late write failures |
//! | [`listening`] | calls in progress that somebody listens to |
//! | [`holding`] | calls on hold, found by their records |
//! | [`recovery`], [`noted_decision`] | records of calls that a kill cut off |
//! | [`corrections`] | counts of erased calls and amended records |
#![forbid(unsafe_code)]

pub mod amend;
pub mod cases;
mod complete;
pub mod corrections;
pub mod erase;
mod facts;
pub mod holding;
pub mod listening;
pub mod noted_decision;
mod output;
mod pending;
pub mod policy;
pub mod recorder;
pub mod recovery;
