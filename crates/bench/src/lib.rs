//! Measures how much traffic the engine handles on this machine: traffic laid out in memory as in a capture
//! ring, run through the engine and, beside it, through a loop that only reads each header.
//!
//! Not here: realistic traffic with loss, jitter and failures (see `traffic`); printing; live capture.
//!
//! Invariant: every reported figure was verified. Every workload knows how many calls, streams and packets
//! the engine has to find, and fails if the results differ.
//!
//! ```
//! use ringtap_bench::{Codec, Load, Workload};
//!
//! let load = Load { calls: 50, packets: Some(2_000), rounds: 1, ..Load::default() };
//! let outcome = ringtap_bench::run(Workload::Media, &load, &mut |_| ())?;
//! assert_eq!((outcome.calls, outcome.streams), (50, 100));
//! assert!(outcome.measure("engine").is_some_and(|engine| engine.figure.median > 0.0));
//! # Ok::<(), ringtap_bench::Error>(())
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `load` | what to run: [`Load`], [`Workload`], [`Codec`] |
//! | `headers` | what is below RTP: [`Headers`] |
//! | `outcome` | what came out: [`Outcome`], [`Measure`], [`Figure`] |
//! | `ring` | frames in memory |
//! | `packets`, `dialog` | media packets, SIP messages |
//! | `passes` | one pass over a ring: read, decode, RTP header, engine |
//! | `media`, `other`, `signalling`, `changes`, `workers`, `file` | the workloads |
//! | `probe` | one pass by itself: [`Probe`] |
//! | `hostile` | input made to be expensive: [`HostileInput`] |
//! | `active_calls` | active calls to send: [`ActiveCalls`] |
//! | `results` | the engine's results, and their verification |
//! | `machine` | processor, memory, load |
#![forbid(unsafe_code)]

mod active_calls;
mod changes;
mod dialog;
mod error;
mod file;
mod headers;
mod hostile;
mod load;
mod machine;
mod media;
mod other;
mod outcome;
mod packets;
mod passes;
mod probe;
mod results;
mod ring;
mod signalling;
mod workers;

pub use active_calls::ActiveCalls;
pub use error::Error;
pub use headers::Headers;
pub use hostile::{HOSTILE_INPUTS, HostileInput};
pub use load::{Codec, Load, Workload};
pub use machine::Machine;
pub use outcome::{Figure, Measure, Memory, Outcome, Unit};
pub use probe::Probe;

/// Runs one workload. `progress` is called with a short description whenever a new step begins.
///
/// # Errors
///
/// There is not enough memory, or the engine's results do not match the input.
pub fn run(workload: Workload, load: &Load, progress: &mut dyn FnMut(&str)) -> Result<Outcome, Error> {
    load.check(workload)?;
    match workload {
        Workload::Media => media::run(load, progress),
        Workload::Other => other::run(load, progress),
        Workload::Sip => signalling::run(load, signalling::CallMedia::Sip, progress),
        Workload::Calls => signalling::run(load, signalling::CallMedia::Calls, progress),
        Workload::Changes => changes::run(load, progress),
        Workload::Workers => workers::run(load, progress),
    }
}

pub use file::run as run_file;
