//! Statistics over a range of packets (RFC 3611 section 4.6).

/// Statistics summary block. What its flags leave out is None.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The source that is reported on.
    pub ssrc: u32,
    /// First sequence number of the range.
    pub begin: u16,
    /// The number after its last.
    pub end: u16,
    /// Packets lost.
    pub lost: Option<u32>,
    /// Packets that came more than once.
    pub duplicates: Option<u32>,
    /// Difference in transit between successive packets, in ticks of the RTP clock.
    pub jitter: Option<Spread<u32>>,
    /// Time to live (IPv4) or hop limit (IPv6) of the packets.
    pub hops: Option<Spread<u8>>,
}

/// Smallest, largest, mean and standard deviation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread<T> {
    /// The smallest value.
    pub min: T,
    /// The largest.
    pub max: T,
    /// Their mean.
    pub mean: T,
    /// Their standard deviation.
    pub deviation: T,
}

impl Summary {
    pub(super) fn new(flags: u8, block: &[u8; 36]) -> Self {
        let word = |i: usize| u32::from_be_bytes([block[i], block[i + 1], block[i + 2], block[i + 3]]);
        let short = |i: usize| u16::from_be_bytes([block[i], block[i + 1]]);
        let jitter = Spread { min: word(16), max: word(20), mean: word(24), deviation: word(28) };
        let hops = Spread { min: block[32], max: block[33], mean: block[34], deviation: block[35] };
        Self {
            ssrc: word(0),
            begin: short(4),
            end: short(6),
            lost: (flags & 0x80 != 0).then(|| word(8)),
            duplicates: (flags & 0x40 != 0).then(|| word(12)),
            jitter: (flags & 0x20 != 0).then_some(jitter),
            hops: (flags & 0x18 != 0).then_some(hops),
        }
    }
}
