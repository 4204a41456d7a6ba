//! Run-length encoded traces of packets (RFC 3611 sections 4.1 and 4.2).

use super::super::word::word;

/// One bit for each packet of a range, run-length encoded.
#[derive(Clone, Copy, Debug)]
pub struct Runs<'a> {
    /// The source that is reported on.
    pub ssrc: u32,
    /// First sequence number of the range.
    pub begin: u16,
    /// The number after its last.
    pub end: u16,
    /// Only numbers that are multiples of 2 to this power are reported on, 0 to 15.
    pub thinning: u8,
    chunks: &'a [[u8; 2]],
}

impl<'a> Runs<'a> {
    pub(super) fn new(specific: u8, data: &'a [u8]) -> Option<Self> {
        let range = word(data, 4)?;
        let (chunks, _) = data.get(8..)?.as_chunks::<2>();
        let [b0, b1, e0, e1] = range.to_be_bytes();
        let (begin, end) = (u16::from_be_bytes([b0, b1]), u16::from_be_bytes([e0, e1]));
        Some(Self { ssrc: word(data, 0)?, begin, end, thinning: specific & 0xf, chunks })
    }

    /// Packets of the range that are reported on.
    pub const fn len(&self) -> u32 {
        let step = 1 << self.thinning;
        let (begin, span) = (self.begin as u32, self.end.wrapping_sub(self.begin) as u32);
        // The multiples of the step in begin..begin + span.
        (begin + span).div_ceil(step) - begin.div_ceil(step)
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Packets of the range whose bit is 0: lost ones, or those that came more than once. Counted by chunk,
    /// so that no block takes longer than its bytes. A trace that ends early says nothing of the rest.
    pub fn zeros(&self) -> u32 {
        let (mut left, mut zeros) = (self.len(), 0);
        for chunk in self.chunks {
            let chunk = u16::from_be_bytes(*chunk);
            let (bits, ones) = match chunk {
                // A terminating null chunk.
                0 => break,
                run if run & 0x8000 == 0 => {
                    let len = u32::from(run & 0x3fff).min(left);
                    (len, if run & 0x4000 == 0 { 0 } else { len })
                }
                vector => {
                    let len = left.min(15);
                    // The first packet has the highest of the 15 bits.
                    (len, u32::from((vector & 0x7fff) >> (15 - len)).count_ones())
                }
            };
            zeros += bits - ones;
            left -= bits;
            if left == 0 {
                break;
            }
        }
        zeros
    }
}
