//! One captured packet, as every source hands it to the engine.

use crate::Nanos;

/// A link type in the numbering of the pcap formats (tcpdump.org's LINKTYPE list).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LinkType(pub u16);

/// A captured packet, borrowed from the file's map or the ring.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// When it was captured.
    pub time: Nanos,
    /// Counts from 1 in the order of the source; the frame number that Wireshark shows for a single file.
    pub number: u64,
    /// How `data` begins.
    pub link: LinkType,
    /// Length on the wire as the source states it; hostile, may be smaller than `data`.
    pub wire_len: u32,
    /// What was captured.
    pub data: &'a [u8],
}
