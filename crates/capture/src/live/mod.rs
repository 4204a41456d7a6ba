//! Live sources: packets from an interface, one [`Tap`] per worker.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use ringtap_capture::live::{self, Settings};
//!
//! # fn main() -> Result<(), live::Error> {
//! let settings = Settings { interface: "eth0".to_owned(), workers: 2, ..Settings::default() };
//! for (worker, mut tap) in live::open(&settings)?.into_iter().enumerate() {
//!     std::thread::spawn(move || -> Result<(), live::Error> {
//!         live::pin(worker)?;
//!         loop {
//!             tap.batch(Duration::from_millis(100), |frames| {
//!                 // Frames borrow from the ring and go back to it afterwards.
//!                 let _bytes: usize = frames.iter().map(|frame| frame.data.len()).sum();
//!             })?;
//!             let counts = tap.counters();
//!             assert_eq!(counts.ring_drops, 0, "the ring was full");
//!         }
//!     });
//! }
//! # Ok(())
//! # }
//! ```
//!
//! **Both directions.** By default a tap gets the packets that arrive at the interface and those that this
//! host sends through it, each once ([`Direction::Both`]). A mirror port only receives, so
//! [`Direction::Incoming`] leaves out the host's own packets. On the loopback interface every packet is both
//! sent and received; only the reception is captured. The frames of an [`Injector`] go directly to the driver
//! and bypass the taps of the same interface.
//!
//! **As on the wire.** The kernel removes the outermost VLAN tag of a packet; the tap restores it. Packets
//! merged by an offload (GRO, LRO, TSO) cannot be split again; they are counted ([`TapCounters::merged`]).
//!
//! | module | holds |
//! |---|---|
//! | `tap` | [`Tap`], and opening a source |
//! | `settings` | [`Settings`] |
//! | `counters` | [`TapCounters`], [`Timestamps`] |
//! | `packet`, `block` | AF_PACKET, and the blocks of its ring |
//! | `fanout` | which worker gets a packet |
//! | `filter`, `bpf` | [`Filter`], and classic BPF |
//! | `inject` | [`Injector`] |
//! | `xdp` | AF_XDP |
//! | `replay` | [`replay()`], capture files as a source |
//! | `interface` | properties of an interface, and its losses |
//! | `error` | [`Error`] |

mod block;
mod bpf;
mod counters;
mod error;
mod fanout;
mod filter;
mod inject;
mod interface;
mod packet;
mod replay;
mod settings;
mod tap;
mod xdp;

use crate::sys::thread;

pub use counters::{TapCounters, Timestamps};
pub use error::Error;
pub use filter::Filter;
pub use inject::{Injector, Sent};
pub use interface::link_of;
pub use replay::Pace;
pub use settings::{BATCH, Direction, Fanout, Settings, Source, XdpMode};
pub use tap::{Tap, open, replay};

/// Pins the calling thread to a CPU: memory that it touches first comes from that CPU's NUMA node.
///
/// # Errors
///
/// The CPU does not exist, or this process may not run on it.
pub fn pin(cpu: usize) -> Result<(), Error> {
    thread::pin(cpu).map_err(|_| {
        let cpus: Vec<_> = thread::cpus().iter().map(usize::to_string).collect();
        let right = format!("this process may run on {}", cpus.join(", "));
        Error::Setting { name: "cpu", value: cpu.to_string(), right }
    })
}
