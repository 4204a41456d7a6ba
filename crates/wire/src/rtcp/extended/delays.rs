//! Times: when packets came, and when reference times were answered (RFC 3611 sections 4.3 and 4.5).

use super::super::word::word;

/// When the packets of a range came.
#[derive(Clone, Copy, Debug)]
pub struct ReceiptTimes<'a> {
    /// The source that is reported on.
    pub ssrc: u32,
    /// First sequence number of the range.
    pub begin: u16,
    /// The number after its last.
    pub end: u16,
    /// Only numbers that are multiples of 2 to this power are reported on, 0 to 15.
    pub thinning: u8,
    times: &'a [[u8; 4]],
}

impl<'a> ReceiptTimes<'a> {
    pub(super) fn new(specific: u8, data: &'a [u8]) -> Option<Self> {
        let [b0, b1, e0, e1] = word(data, 4)?.to_be_bytes();
        let (times, _) = data.get(8..)?.as_chunks::<4>();
        let (begin, end) = (u16::from_be_bytes([b0, b1]), u16::from_be_bytes([e0, e1]));
        Some(Self { ssrc: word(data, 0)?, begin, end, thinning: specific & 0xf, times })
    }

    /// The times in ticks of the RTP clock, in order of the numbers.
    pub fn times(&self) -> impl Iterator<Item = u32> + use<'a> {
        self.times.iter().map(|time| u32::from_be_bytes(*time))
    }
}

/// How long ago the reporter received the reference times of others.
#[derive(Clone, Copy, Debug)]
pub struct Delays<'a> {
    entries: &'a [[u8; 12]],
}

/// The answer to one receiver's reference time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delay {
    /// The receiver that sent the reference time.
    pub ssrc: u32,
    /// Middle 32 bits of that time; 0 if none was received.
    pub last_rr: u32,
    /// From its arrival to this report, in 1/65536 s.
    pub delay_since_last_rr: u32,
}

impl<'a> Delays<'a> {
    pub(super) const fn new(data: &'a [u8]) -> Self {
        Self { entries: data.as_chunks::<12>().0 }
    }

    /// One for each receiver.
    pub fn iter(&self) -> impl Iterator<Item = Delay> + use<'a> {
        self.entries.iter().map(|entry| {
            let at = |i: usize| u32::from_be_bytes([entry[i], entry[i + 1], entry[i + 2], entry[i + 3]]);
            Delay { ssrc: at(0), last_rr: at(4), delay_since_last_rr: at(8) }
        })
    }
}
