//! Joins the records of calls that are legs of one conversation.
//!
//! A call that passes a back-to-back user agent, is forwarded or transferred, has several Call-IDs and so
//! several records. [`Joiner`] sees each record once, in the order in which they are made, and says which of
//! the earlier ones it belongs to, why, and how certain that is.
//!
//! Not here: how a call's links are collected (the engine), where records go (the store).
//!
//! The one invariant: a wrong join is worse than ten missed ones. What unrelated calls have in common tells
//! nothing, and what it joined before that showed is taken back.
//!
//! ```
//! use ringtap_conversation::{Joiner, Settings};
//! use ringtap_testing::samples;
//!
//! let mut joiner = Joiner::new(Settings::default());
//! let mut call = samples::call();
//! call.conversation = None;
//! let amendments = joiner.add(&mut call);
//! // Nothing joins it to another: it is a conversation by itself.
//! assert_eq!((call.conversation, amendments.len()), (Some(call.id), 0));
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`joiner`] | [`Joiner`], and its [`Counts`] |
//! | [`settings`] | [`Settings`] |
//! | `evidence` | whether what two legs have in common joins them |
//! | `matches` | what a new leg has in common with those before it |
//! | `link`, `number` | identifiers; numbers written differently |
//! | `leg`, `index`, `groups` | what is remembered: calls, what they have, which belong together |
#![forbid(unsafe_code)]

mod evidence;
mod groups;
mod index;
pub mod joiner;
mod leg;
mod link;
mod matches;
mod number;
pub mod settings;

pub use joiner::{Counts, Joiner};
pub use settings::{NumberPlan, Settings};
