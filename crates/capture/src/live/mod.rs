//! Live sources: packets from an interface, one [`Tap`] a worker.
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
//! **Both directions.** By default a tap gets what arrives at the interface and what this host sends through it, each packet
//! once ([`Direction::Both`]); a mirror port only receives, so [`Direction::Incoming`] leaves its own chatter out. On the
//! loopback interface every packet is sent and arrives, and only the arrival counts. What an [`Injector`] sends goes to the
//! driver directly and past the taps of the same interface.
//!
//! **As on the wire.** The kernel takes the outermost VLAN tag out of a packet; it is put back. Packets that an offload merged
//! (GRO, LRO, TSO) cannot be taken apart again; they are counted ([`TapCounters::merged`]).
//!
//! | module | holds |
//! |---|---|
//! | `packet`, `block` | AF_PACKET, and the blocks of its ring |
//! | `fanout` | which worker a packet goes to |
//! | `filter`, `bpf` | [`Filter`], and classic BPF |
//! | `inject` | [`Injector`] |
//! | `xdp` | AF_XDP |
//! | `replay` | [`replay()`], capture files as a source |
//! | `interface` | what an interface is, and what it lost |
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

/// How packets come from an interface, or go out of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// AF_PACKET: works on every interface; the host's own traffic goes on as before.
    #[default]
    Packet,
    /// AF_XDP: past the kernel's network stack, so that the host itself gets none of the packets that arrive: for a dedicated
    /// mirror port. One worker for each receive queue. Only what arrives; Ethernet only.
    Xdp {
        /// How far past.
        mode: XdpMode,
    },
}

/// How the driver hands packets to AF_XDP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum XdpMode {
    /// The best that the driver can do.
    #[default]
    Auto,
    /// Straight into our memory: needs a driver made for it (ice, i40e, ixgbe, mlx5, igc, ...).
    ZeroCopy,
    /// In the driver, with a copy.
    Copy,
    /// Without the driver's help: works on every Ethernet interface, no faster than AF_PACKET.
    Generic,
}

/// Which packets of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// What arrives and what this host sends, each packet once.
    #[default]
    Both,
    /// Only what arrives: for a mirror port.
    Incoming,
}

/// Which worker a packet goes to, where there are several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fanout {
    /// By its source address and port (pairs of ports: RTP with its RTCP), through VLAN tags and MPLS labels; fragments by their
    /// address.
    #[default]
    Source,
    /// By the kernel's hash of addresses and ports, the same for both directions of a flow.
    Flow,
    /// By the receive queue of the NIC that it came in through (RSS).
    Queue,
}

/// What to open, and how. [`Default`] but for the interface is right for most.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Its name, in the network namespace of the thread that calls [`open`].
    pub interface: String,
    /// How packets are taken.
    pub source: Source,
    /// Taps; 1 to 256.
    pub workers: usize,
    /// Bytes of each worker's ring; at least 64 KiB. 64 MiB hold 60 ms of 10 GbE.
    pub ring: usize,
    /// Bytes kept of a packet; 64 to 262,144. The engine needs them all to follow signalling.
    pub snaplen: u32,
    /// Keep only packets that match, in the syntax of pcap-filter(7); see [`Filter`].
    pub filter: Option<String>,
    /// Both directions or only what arrives.
    pub direction: Direction,
    /// Which worker gets what.
    pub fanout: Fanout,
    /// Take packets that are not addressed to this host: what a mirror port gets.
    pub promiscuous: bool,
    /// Ask the NIC for its time stamps. Its clock has to be kept in step with the system's (phc2sys).
    pub hardware_time: bool,
    /// Longest time that a packet waits in the ring while no others fill its block; 1 ms to 1 s.
    pub latency: Duration,
    /// Spin so long on an empty ring before sleeping: wakes up faster, uses the CPU.
    pub busy_poll: Option<Duration>,
    /// Take memory from huge pages where the source's memory is our own (AF_XDP).
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

/// Opens the interface, one tap a worker. What arrives from when this returns on is captured.
///
/// # Errors
///
/// No such interface, no permission, a setting, a filter or a ring that cannot be: each says the remedy.
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

/// Pins the calling thread to a CPU: memory that it touches first from then on comes from that CPU's NUMA node.
///
/// # Errors
///
/// A CPU that is not there or not for this process.
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
    /// Waits up to `wait` for packets, hands over those that the ring gives at once (of AF_PACKET one block) in slices of up to
    /// [`BATCH`], and gives the ring its memory back. Gives their number: 0 when the time is over, earlier when a signal comes.
    ///
    /// [`Frame::number`] counts on in each tap and is not that of another tap of the same source.
    ///
    /// # Errors
    ///
    /// [`Error::Gone`] when the interface was removed. One that is down gives nothing until it is up again
    /// ([`TapCounters::downs`]).
    #[inline]
    pub fn batch(&mut self, wait: Duration, take: impl FnMut(&[Frame<'_>])) -> Result<usize, Error> {
        match &mut self.0 {
            Backend::Packet(packet) => packet.batch(wait, take),
            Backend::Xdp(xdp) => xdp.batch(wait, take),
            Backend::Replay(replay) => replay.batch(wait, take),
        }
    }

    /// Running totals. One or two system calls: to be asked a few times a second, not per packet.
    pub fn counters(&mut self) -> TapCounters {
        match &mut self.0 {
            Backend::Packet(packet) => packet.counters(),
            Backend::Xdp(xdp) => xdp.counters(),
            Backend::Replay(replay) => replay.counters(),
        }
    }

    /// Where the time of the frames so far comes from.
    pub fn timestamps(&self) -> Timestamps {
        match &self.0 {
            Backend::Packet(packet) => packet.timestamps(),
            Backend::Xdp(xdp) => xdp.timestamps(),
            Backend::Replay(_) => Timestamps::File,
        }
    }

    /// How the frames begin; of files, the first one does. Each frame names its own.
    pub fn link(&self) -> LinkType {
        match &self.0 {
            Backend::Packet(packet) => packet.interface.link,
            Backend::Xdp(xdp) => xdp.interface.link,
            Backend::Replay(replay) => replay.link,
        }
    }

    /// What did not come out as asked for and does no harm, one sentence each: for the log.
    pub fn warnings(&self) -> &[String] {
        match &self.0 {
            Backend::Packet(packet) => packet.warnings(),
            Backend::Xdp(xdp) => xdp.warnings(),
            Backend::Replay(replay) => replay.warnings(),
        }
    }

    /// Whether no frame will come any more: files were replayed to their end. Never at an interface.
    pub fn ended(&self) -> bool {
        match &self.0 {
            Backend::Packet(_) | Backend::Xdp(_) => false,
            Backend::Replay(replay) => replay.ended,
        }
    }
}

/// Where the time of a frame comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timestamps {
    /// The NIC, as the packet arrived. [`TapCounters::hardware`] tells of how many packets: others carry the kernel's.
    Hardware,
    /// The kernel, as the packet entered it.
    Kernel,
    /// Our clock, read for each packet as it is taken from the ring: later than its arrival by as long as it lay there.
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

/// What a tap has seen and lost since it was opened: running totals.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TapCounters {
    /// Frames handed over.
    pub received: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// Packets for which the ring had no room: this worker was too slow.
    pub ring_drops: u64,
    /// Times that the ring was full.
    pub freezes: u64,
    /// Packets that the NIC or its driver dropped, of the whole interface: the same in each of its taps.
    pub interface_drops: u64,
    /// Packets that a filter left out which the kernel could not apply itself; those that it did are not known.
    pub filtered: u64,
    /// Frames longer than the interface carries: GRO, LRO or TSO merged several, and only the first is analysed right.
    pub merged: u64,
    /// Frames of which `snaplen` cut off a part.
    pub cut: u64,
    /// Frames sent by this host whose checksum the NIC fills in later: it is wrong here.
    pub unsummed: u64,
    /// Frames with a time stamp of the NIC.
    pub hardware: u64,
    /// Blocks of the ring that were not as they should be; nothing but a fault of the kernel or of ours.
    pub damaged: u64,
    /// Times that the interface was found down.
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

/// Frames that are handed over at once, at most. The engine looks at frames ahead of handling them, and begins anew with
/// each batch: 64 cost it a third of its rate.
pub const BATCH: usize = 512;
/// How often a source that gets nothing looks for its interface.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
const EMPTY: Frame<'static> =
    Frame { time: Nanos::ZERO, number: 0, link: LinkType(0), wire_len: 0, data: &[] };
