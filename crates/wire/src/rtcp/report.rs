//! Sender and receiver reports (RFC 3550 section 6.4).

use super::word::word;

/// RFC 3550 section 6.4.1.
#[derive(Clone, Copy, Debug)]
pub struct SenderReport<'a> {
    /// Who sends.
    pub ssrc: u32,
    /// Wall clock: seconds since 1900 and their fraction, 32 bits each.
    pub ntp: u64,
    /// The same moment in the stream's clock.
    pub rtp_timestamp: u32,
    /// Packets sent since the start.
    pub packets: u32,
    /// Payload octets sent since the start.
    pub octets: u32,
    /// What it receives.
    pub reports: Reports<'a>,
}

impl<'a> SenderReport<'a> {
    pub(super) fn new(count: u8, data: &'a [u8]) -> Option<Self> {
        Some(Self {
            ssrc: word(data, 0)?,
            ntp: u64::from(word(data, 4)?) << 32 | u64::from(word(data, 8)?),
            rtp_timestamp: word(data, 12)?,
            packets: word(data, 16)?,
            octets: word(data, 20)?,
            reports: Reports::new(count, data, 24),
        })
    }

    /// The middle 32 bits of the wall clock: what [`Report::last_sr`] of an answer repeats.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the low half of the shifted value is what is asked for"
    )]
    pub const fn ntp_middle(&self) -> u32 {
        (self.ntp >> 16) as u32
    }
}

/// RFC 3550 section 6.4.2.
#[derive(Clone, Copy, Debug)]
pub struct ReceiverReport<'a> {
    /// Who receives.
    pub ssrc: u32,
    /// What it receives.
    pub reports: Reports<'a>,
}

/// Report blocks: as many as the header counts and were captured.
#[derive(Clone, Copy, Debug)]
pub struct Reports<'a> {
    blocks: &'a [[u8; 24]],
}

impl<'a> Reports<'a> {
    pub(super) fn new(count: u8, data: &'a [u8], offset: usize) -> Self {
        let (blocks, _) = data.get(offset..).unwrap_or(&[]).as_chunks::<24>();
        Self { blocks: blocks.get(..usize::from(count)).unwrap_or(blocks) }
    }

    /// The blocks in order.
    pub fn iter(&self) -> impl Iterator<Item = Report> + use<'a> {
        self.blocks.iter().map(Report::new)
    }

    /// How many there are.
    pub const fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }
}

/// One report block: how a receiver fares with one source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// The source that is reported on.
    pub ssrc: u32,
    /// Lost since the last report, in 1/256.
    pub fraction_lost: u8,
    /// Lost since the start; negative where packets were repeated.
    pub cumulative_lost: i32,
    /// Highest sequence number received, times it wrapped in the upper 16 bits.
    pub highest_sequence: u32,
    /// Interarrival jitter in timestamp units.
    pub jitter: u32,
    /// Middle of the last sender report's wall clock; 0 if none was received.
    pub last_sr: u32,
    /// From then to this report, in 1/65536 s.
    pub delay_since_last_sr: u32,
}

impl Report {
    pub(super) fn new(block: &[u8; 24]) -> Self {
        let at = |i: usize| u32::from_be_bytes([block[i], block[i + 1], block[i + 2], block[i + 3]]);
        Self {
            ssrc: at(0),
            fraction_lost: block[4],
            // 24 bits with a sign: shifted to the top and back.
            cumulative_lost: (at(4) << 8).cast_signed() >> 8,
            highest_sequence: at(8),
            jitter: at(12),
            last_sr: at(16),
            delay_since_last_sr: at(20),
        }
    }
}
