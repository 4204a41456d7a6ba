//! Extended reports (RFC 3611): what a receiver saw beyond loss and jitter, and how it judges it.

mod delays;
mod runs;
mod summary;
#[cfg(test)]
mod tests;
mod voip;

pub use delays::{Delay, Delays, ReceiptTimes};
pub use runs::Runs;
pub use summary::{Spread, Summary};
pub use voip::VoipMetrics;

use super::word::word;

/// An extended report packet (RFC 3611 section 2).
#[derive(Clone, Copy, Debug)]
pub struct Extended<'a> {
    /// Who reports.
    pub ssrc: u32,
    pub(super) blocks: &'a [u8],
}

/// A report block (RFC 3611 section 4).
#[derive(Clone, Copy, Debug)]
pub enum Block<'a> {
    /// Which packets were lost (section 4.1).
    LossRuns(Runs<'a>),
    /// Which packets came more than once (section 4.2).
    DuplicateRuns(Runs<'a>),
    /// When packets came (section 4.3).
    ReceiptTimes(ReceiptTimes<'a>),
    /// The reporter's wall clock, for a receiver that sends nothing: seconds since 1900 and their fraction,
    /// 32 bits each (section 4.4).
    ReferenceTime(u64),
    /// Answers to the reference times of others (section 4.5).
    Delays(Delays<'a>),
    /// Counts and spreads over a range of numbers (section 4.6).
    Summary(Summary),
    /// Quality as a telephone hears it (section 4.7).
    Voip(VoipMetrics),
    /// A type of another document, or one that is too short for its own.
    Other {
        /// Block type.
        kind: u8,
        /// What follows the block's first four bytes.
        data: &'a [u8],
    },
}

impl<'a> Extended<'a> {
    /// The blocks in order. Ends where one does not fit.
    pub const fn blocks(&self) -> Blocks<'a> {
        Blocks { rest: self.blocks }
    }

    /// The VoIP metrics blocks, one per source. Other block types are passed over.
    pub fn voip_metrics(&self) -> impl Iterator<Item = VoipMetrics> + use<'a> {
        self.blocks().filter_map(|block| if let Block::Voip(metrics) = block { Some(metrics) } else { None })
    }
}

/// Iterator over the blocks of an [`Extended`].
#[derive(Clone, Debug)]
pub struct Blocks<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Blocks<'a> {
    type Item = Block<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let (&[kind, specific, l0, l1], content) = self.rest.split_first_chunk::<4>()?;
        let len = usize::from(u16::from_be_bytes([l0, l1])) * 4;
        let (data, rest) = content.split_at_checked(len).unwrap_or((&[], &[]));
        self.rest = rest;
        if data.len() < len {
            return None;
        }
        Some(Block::new(kind, specific, data))
    }
}

impl<'a> Block<'a> {
    fn new(kind: u8, specific: u8, data: &'a [u8]) -> Self {
        let known = match kind {
            1 => Runs::new(specific, data).map(Self::LossRuns),
            2 => Runs::new(specific, data).map(Self::DuplicateRuns),
            3 => ReceiptTimes::new(specific, data).map(Self::ReceiptTimes),
            4 => word(data, 0).zip(word(data, 4)).map(|(seconds, fraction)| {
                Self::ReferenceTime(u64::from(seconds) << 32 | u64::from(fraction))
            }),
            5 => Some(Self::Delays(Delays::new(data))),
            6 => data.first_chunk::<36>().map(|block| Self::Summary(Summary::new(specific, block))),
            7 => data.first_chunk::<32>().map(|block| Self::Voip(VoipMetrics::new(block))),
            _ => None,
        };
        known.unwrap_or(Self::Other { kind, data })
    }
}
