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
mod error;
mod fanout;
mod filter;
mod inject;
mod interface;
mod packet;
mod replay;
mod xdp;

use std::time::Duration;

use ringtap_model::{Frame, LinkType, Nanos};

use crate::sys::thread;

pub use error::Error;
pub use filter::Filter;
pub use inject::{Injector, Sent};
pub use replay::{Pace, replay};

use packet::PacketTap;
use replay::ReplayTap;
use xdp::XdpTap;

/// How packets are captured from an interface, or sent on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// AF_PACKET: works on every interface and does not disturb the host's own traffic.
    #[default]
    Packet,
    /// AF_XDP: bypasses the kernel's network stack, so the host itself receives none of the packets: for a
    /// dedicated mirror port. One worker per receive queue, incoming packets only, Ethernet only.
    Xdp {
        /// The mode.
        mode: XdpMode,
    },
}

/// How the driver hands packets to AF_XDP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum XdpMode {
    /// The fastest mode that the driver supports.
    #[default]
    Auto,
    /// Zero copy, directly into our memory: needs driver support (ice, i40e, ixgbe, mlx5, igc, ...).
    ZeroCopy,
    /// In the driver, with a copy.
    Copy,
    /// Generic, without driver support: works on every Ethernet interface, no faster than AF_PACKET.
    Generic,
}

/// Which packets of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// Received and sent packets, each once.
    #[default]
    Both,
    /// Received packets only: for a mirror port.
    Incoming,
}

/// How packets are distributed over several workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fanout {
    /// By source address and port (pairs of ports: RTP with its RTCP), inside VLAN tags and MPLS labels;
    /// fragments by their addresses.
    #[default]
    Source,
    /// By the kernel's hash of addresses and ports, which is the same for both directions of a flow.
    Flow,
    /// By the NIC's receive queue (RSS).
    Queue,
}

/// What to open, and how. For most uses [`Default`] with an interface is right.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Interface name, in the network namespace of the thread that calls [`open`].
    pub interface: String,
    /// How packets are captured.
    pub source: Source,
    /// Number of taps; 1 to 256.
    pub workers: usize,
    /// Bytes of each worker's ring; at least 64 KiB. 64 MiB hold 60 ms of 10 GbE.
    pub ring: usize,
    /// Bytes captured of a packet; 64 to 262,144. The engine needs whole packets to track signalling.
    pub snaplen: u32,
    /// Capture only packets that match, in the syntax of pcap-filter(7); see [`Filter`].
    pub filter: Option<String>,
    /// Both directions or only received packets.
    pub direction: Direction,
    /// How packets are distributed over workers.
    pub fanout: Fanout,
    /// Capture packets that are not addressed to this host, as on a mirror port.
    pub promiscuous: bool,
    /// Use timestamps of the NIC. Its clock must be synchronised with the system's (phc2sys).
    pub hardware_time: bool,
    /// Longest time that a packet waits in the ring until its block is full; 1 ms to 1 s.
    pub latency: Duration,
    /// How long to spin on an empty ring before sleeping: wakes up faster, but uses CPU time.
    pub busy_poll: Option<Duration>,
    /// Use huge pages where the source's memory is our own (AF_XDP).
    pub huge_pages: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            interface: String::new(),
            source: Source::Packet,
            workers: 1,
            ring: 64 << 20,
            snaplen: 1 << 18,
            filter: None,
            direction: Direction::Both,
            fanout: Fanout::Source,
            promiscuous: true,
            hardware_time: false,
            latency: Duration::from_millis(10),
            busy_poll: None,
            huge_pages: false,
        }
    }
}

impl Settings {
    fn check(&self) -> Result<(), Error> {
        let wrong =
            |name, value: String, right: &str| Err(Error::Setting { name, value, right: right.to_owned() });
        if !(1..=256).contains(&self.workers) {
            return wrong("workers", self.workers.to_string(), "1 to 256");
        }
        if !(1 << 16..=1 << 34).contains(&(self.ring as u64)) {
            return wrong("ring", self.ring.to_string(), "64 KiB to 16 GiB");
        }
        if !(64..=1 << 18).contains(&self.snaplen) {
            return wrong("snaplen", self.snaplen.to_string(), "64 to 262144 bytes");
        }
        Ok(())
    }

    fn filter(&self, link: LinkType) -> Result<Option<Filter>, Error> {
        let compile = |expression: &String| Filter::with_snaplen(expression, link, self.snaplen);
        let given = self.filter.as_ref().filter(|expression| !expression.trim().is_empty());
        given.map(compile).transpose()
    }
}

/// Opens the interface, one tap per worker. Every packet that arrives after this returns is captured.
///
/// # Errors
///
/// No such interface, no permission, an invalid setting or filter, a ring that is too large: each message
/// names the remedy.
pub fn open(settings: &Settings) -> Result<Vec<Tap>, Error> {
    settings.check()?;
    Ok(match settings.source {
        Source::Packet => {
            packet::open(settings)?.into_iter().map(|packet| Tap(Backend::Packet(Box::new(packet)))).collect()
        }
        Source::Xdp { mode } => {
            xdp::open(settings, mode)?.into_iter().map(|xdp| Tap(Backend::Xdp(Box::new(xdp)))).collect()
        }
    })
}

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

/// One worker's share of a source.
#[derive(Debug)]
pub struct Tap(Backend);

#[derive(Debug)]
enum Backend {
    Packet(Box<PacketTap>),
    Xdp(Box<XdpTap>),
    Replay(Box<ReplayTap>),
}

impl Tap {
    /// Waits up to `wait` for packets, passes those that are ready (one block with AF_PACKET) to `take` in
    /// slices of up to [`BATCH`], and releases their memory to the ring. Returns their number: 0 after the
    /// timeout or a signal.
    ///
    /// [`Frame::number`] increases within each tap and is unique over the taps of a source.
    ///
    /// # Errors
    ///
    /// [`Error::Gone`] if the interface was removed. One that is down gives nothing until it is up again
    /// ([`TapCounters::downs`]).
    #[inline]
    pub fn batch(&mut self, wait: Duration, take: impl FnMut(&[Frame<'_>])) -> Result<usize, Error> {
        match &mut self.0 {
            Backend::Packet(packet) => packet.batch(wait, take),
            Backend::Xdp(xdp) => xdp.batch(wait, take),
            Backend::Replay(replay) => replay.batch(wait, take),
        }
    }

    /// Running totals. Costs one or two system calls: call it a few times a second, not per packet.
    pub fn counters(&mut self) -> TapCounters {
        match &mut self.0 {
            Backend::Packet(packet) => packet.counters(),
            Backend::Xdp(xdp) => xdp.counters(),
            Backend::Replay(replay) => replay.counters(),
        }
    }

    /// The source of the frames' timestamps.
    pub fn timestamps(&self) -> Timestamps {
        match &self.0 {
            Backend::Packet(packet) => packet.timestamps(),
            Backend::Xdp(xdp) => xdp.timestamps(),
            Backend::Replay(_) => Timestamps::File,
        }
    }

    /// The link type; for files, that of the first frame. Each frame has its own.
    pub fn link(&self) -> LinkType {
        match &self.0 {
            Backend::Packet(packet) => packet.interface.link,
            Backend::Xdp(xdp) => xdp.interface.link,
            Backend::Replay(replay) => replay.link,
        }
    }

    /// Requests that could not be met and do no harm, one sentence each: for the log.
    pub fn warnings(&self) -> &[String] {
        match &self.0 {
            Backend::Packet(packet) => packet.warnings(),
            Backend::Xdp(xdp) => xdp.warnings(),
            Backend::Replay(replay) => replay.warnings(),
        }
    }

    /// Whether no more frames will come: all files were replayed. Never true for an interface.
    pub fn ended(&self) -> bool {
        match &self.0 {
            Backend::Packet(_) | Backend::Xdp(_) => false,
            Backend::Replay(replay) => replay.ended,
        }
    }
}

/// The source of a frame's timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timestamps {
    /// The NIC, on arrival. [`TapCounters::hardware`] counts these packets: others carry the kernel's
    /// timestamp.
    Hardware,
    /// The kernel, when the packet entered it.
    Kernel,
    /// Our clock, read when the packet is taken from the ring: later than its arrival by its time in the
    /// ring.
    Arrival,
    /// The capture file.
    File,
}

impl Timestamps {
    /// The word for the status line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hardware => "hardware",
            Self::Kernel => "kernel",
            Self::Arrival => "arrival",
            Self::File => "file",
        }
    }
}

/// Running totals of a tap since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TapCounters {
    /// Frames handed over.
    pub received: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// Packets dropped because the ring was full: this worker was too slow.
    pub ring_drops: u64,
    /// How often the ring was full.
    pub freezes: u64,
    /// Packets that the NIC or its driver dropped, of the whole interface: the same in each of its taps.
    pub interface_drops: u64,
    /// Packets rejected by a filter that the kernel could not apply itself; the kernel does not report those
    /// that it rejects.
    pub filtered: u64,
    /// Frames longer than the MTU: merged by GRO, LRO or TSO; only their first packet is analysed correctly.
    pub merged: u64,
    /// Frames truncated to `snaplen`.
    pub cut: u64,
    /// Frames sent by this host whose checksum the NIC fills in later: it is still wrong here.
    pub unsummed: u64,
    /// Frames with a timestamp of the NIC.
    pub hardware: u64,
    /// Invalid ring blocks: always a bug in the kernel or here.
    pub damaged: u64,
    /// How often the interface was found down.
    pub downs: u64,
    /// How full the ring is now, 0 to 1.
    pub fill: f32,
}

impl TapCounters {
    #[inline(always)]
    fn count(&mut self, packet: &block::Packet<'_>, longest: u32) {
        self.bytes += u64::from(packet.wire_len);
        self.merged += u64::from(packet.wire_len > longest);
        self.cut += u64::from(packet.wire_len as usize > packet.data.len());
        self.unsummed += u64::from(packet.status & libc::TP_STATUS_CSUMNOTREADY != 0);
        self.hardware += u64::from(packet.status & libc::TP_STATUS_TS_RAW_HARDWARE != 0);
    }
}

/// Most frames passed at once. The engine prefetches ahead within a batch and starts again with each: batches
/// of 64 cost it a third of its rate.
pub const BATCH: usize = 512;
/// How often an idle source checks its interface.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
const EMPTY: Frame<'static> =
    Frame { time: Nanos::ZERO, number: 0, link: LinkType(0), wire_len: 0, data: &[] };
