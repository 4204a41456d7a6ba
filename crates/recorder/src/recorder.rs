//! One worker's recorder: passes packets of calls from the engine to the spool.
//!
//! The worker that has a call's signalling applies the rules at each message that may change their result,
//! and writes the decision into the table that all workers share. The worker that has its media reads it
//! there.

mod call;
mod call_state;
mod command;
mod counts;
mod digits;
mod intercepted;
mod limits;
mod notes;
mod pause;
mod product;
mod sink;
mod state;
mod stream;
mod stream_state;
mod tick;
mod verdict;

pub use self::counts::{Decisions, RecordingCounts};
pub use self::sink::{RecordingSink, wrapped};
pub use self::state::Recorder;
