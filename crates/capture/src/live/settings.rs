//! What to open and how, and the sizes of batches.

use std::time::Duration;

use ringtap_model::{Frame, LinkType, Nanos};

use super::error::Error;
use super::filter::Filter;

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
    /// Interface name, in the network namespace of the thread that calls [`open`](super::open).
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
    pub(super) fn check(&self) -> Result<(), Error> {
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

    /// Compiles the filter for frames of a link type, as a capture does; None if there is none.
    ///
    /// # Errors
    ///
    /// As [`Filter::new`].
    pub fn filter(&self, link: LinkType) -> Result<Option<Filter>, Error> {
        let compile = |expression: &String| Filter::with_snaplen(expression, link, self.snaplen);
        let given = self.filter.as_ref().filter(|expression| !expression.trim().is_empty());
        given.map(compile).transpose()
    }
}

/// Most frames passed at once. The engine prefetches ahead within a batch and starts again with each: batches
/// of 64 cost it a third of its rate.
pub const BATCH: usize = 512;
/// How often an idle source checks its interface.
pub(super) const CHECK_INTERVAL: Duration = Duration::from_secs(1);
pub(super) const EMPTY: Frame<'static> =
    Frame { time: Nanos::ZERO, number: 0, link: LinkType(0), wire_len: 0, data: &[] };
