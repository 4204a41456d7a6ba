//! `[capture]`: where packets come from.

use std::num::NonZeroU8;
use std::path::PathBuf;
use std::time::Duration;

use ringtap_capture::live;
use ringtap_model::Nanos;

use super::key::{Bounds, GIB, KIB, MILLISECOND, SECOND, section};
use super::values::{Direction, Fanout, Size, Source, Span, Speed};

section! {
    /// Where packets come from.
    #[name = "capture"]
    pub(crate) struct Capture {
        /// Network interfaces to capture on, such as ["eth0", "eth1"].
        #[accepts = "a list of interfaces, such as [\"eth0\"]"]
        pub(crate) interfaces: Vec<String> = Vec::new(),
        /// How frames are captured. `packet` is AF_PACKET with a memory-mapped ring: it works on every
        /// interface and leaves the host its traffic. `xdp` is AF_XDP in the best mode that the driver has,
        /// for a mirror port from which the host itself needs nothing. `xdp-zero-copy`, `xdp-copy` and
        /// `xdp-generic` insist on one mode.
        pub(crate) source: Source = Source::Packet,
        /// Threads for each interface, each with its own ring and its share of the packets.
        pub(crate) workers: NonZeroU8 = NonZeroU8::MIN,
        /// CPUs that the workers are pinned to, one for each: first those of the first interface, then those
        /// of the second, ... Best on the NUMA node of the interface. Empty leaves it to the kernel.
        #[accepts = "a list of CPU numbers, such as [2, 3]"]
        pub(crate) cpus: Vec<u16> = Vec::new(),
        /// Memory in which the kernel leaves frames for a worker. It bridges the moments in which the worker
        /// is late: 64 MiB hold 60 ms of 10 GbE.
        #[bounds = Bounds::between(64 * KIB, 16 * GIB)]
        pub(crate) ring: Size = Size(64 << 20),
        /// Longest part of a frame that is captured. Signalling that is cut cannot be followed.
        #[accepts = "a whole number of bytes, such as 262144"]
        #[bounds = Bounds::between(64, 262_144).unit("bytes")]
        pub(crate) snaplen: u32 = 1 << 18,
        /// Frames to capture, as for tcpdump: `udp or tcp port 5060`. Frames that do not match cost nothing
        /// and are not counted. Empty captures all.
        #[accepts = "a text, such as \"udp or tcp port 5060\""]
        pub(crate) filter: String = String::new(),
        /// `both` captures what arrives and what this host sends; `incoming` captures what arrives, for a
        /// mirror port.
        pub(crate) direction: Direction = Direction::Both,
        /// What decides which worker gets a packet: its `source` address and port (best), the kernel's hash
        /// of its `flow`, or the receive `queue` of the card.
        pub(crate) fanout: Fanout = Fanout::Source,
        /// Longest time that a packet waits in the ring for others. Shorter costs CPU.
        #[bounds = Bounds::between(MILLISECOND, SECOND)]
        pub(crate) latency: Span = Span(Nanos::from_millis(10)),
        /// How long a worker polls an empty ring before it sleeps, such as "50us". It then wakes up faster,
        /// at the cost of CPU. Zero is off.
        #[bounds = Bounds::at_most(10 * MILLISECOND).example("50us").zero("0s is off")]
        pub(crate) busy_poll: Span = Span(Nanos::ZERO),
        /// Capture frames that are addressed to other hosts, as a mirror port sends them.
        pub(crate) promiscuous: bool = true,
        /// Use the timestamps of the network card where it has them, else those of the kernel; the status
        /// line says which are in use. The card's clock has to be synchronised with the system's (phc2sys).
        pub(crate) hardware_time: bool = false,
        /// Allocate the program's own packet memory from huge pages.
        pub(crate) huge_pages: bool = false,
        /// Capture files to replay instead of capturing, merged by time. The program ends after the last
        /// packet.
        #[accepts = "a list of capture files, such as [\"trunk.pcap\"]"]
        pub(crate) files: Vec<PathBuf> = Vec::new(),
        /// How fast files are replayed: 1 is the pace of the capture, 10 ten times that, "max" as fast as
        /// possible.
        pub(crate) speed: Speed = Speed::Times(1.0),
    }
}

impl Capture {
    /// As an interface is opened.
    pub(crate) fn of_interface(&self, interface: &str) -> live::Settings {
        live::Settings {
            interface: interface.to_owned(),
            source: match self.source {
                Source::Packet => live::Source::Packet,
                Source::Xdp => live::Source::Xdp { mode: live::XdpMode::Auto },
                Source::XdpZeroCopy => live::Source::Xdp { mode: live::XdpMode::ZeroCopy },
                Source::XdpCopy => live::Source::Xdp { mode: live::XdpMode::Copy },
                Source::XdpGeneric => live::Source::Xdp { mode: live::XdpMode::Generic },
            },
            workers: self.workers.get().into(),
            ring: usize::try_from(self.ring.0).unwrap_or(usize::MAX),
            snaplen: self.snaplen,
            filter: Some(self.filter.clone()),
            direction: match self.direction {
                Direction::Both => live::Direction::Both,
                Direction::Incoming => live::Direction::Incoming,
            },
            fanout: match self.fanout {
                Fanout::Source => live::Fanout::Source,
                Fanout::Flow => live::Fanout::Flow,
                Fanout::Queue => live::Fanout::Queue,
            },
            promiscuous: self.promiscuous,
            hardware_time: self.hardware_time,
            latency: Duration::from_nanos(self.latency.0.0),
            busy_poll: (self.busy_poll.0 != Nanos::ZERO).then(|| Duration::from_nanos(self.busy_poll.0.0)),
            huge_pages: self.huge_pages,
        }
    }
}
