//! What a tap counts, and where its times come from.

use super::block::Packet;

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
    pub(super) fn count(&mut self, packet: &Packet<'_>, longest: u32) {
        self.bytes += u64::from(packet.wire_len);
        self.merged += u64::from(packet.wire_len > longest);
        self.cut += u64::from(packet.wire_len as usize > packet.data.len());
        self.unsummed += u64::from(packet.status & libc::TP_STATUS_CSUMNOTREADY != 0);
        self.hardware += u64::from(packet.status & libc::TP_STATUS_TS_RAW_HARDWARE != 0);
    }
}
