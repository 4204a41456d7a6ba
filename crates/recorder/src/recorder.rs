//! One worker's recording: what the engine saw of calls, on its way into the spool.
//!
//! The worker that has a call's signalling asks the rules, at each message that may change what they say, and
//! writes the answer into the table that all workers share; the worker that sees its media looks there.

mod call;
mod call_state;
mod command;
mod digits;
mod counts;
mod intercepted;
mod limits;
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
