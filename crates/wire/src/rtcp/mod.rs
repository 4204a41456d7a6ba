//! RTCP: reports, source descriptions and goodbyes (RFC 3550 section 6), feedback (RFC 4585), extended
//! reports (RFC 3611).
//!
//! ```
//! use ringtap_wire::rtcp::{Compound, Packet};
//!
//! let bye = [0x81, 203, 0, 1, 0xde, 0xad, 0xbe, 0xef];
//! let compound = Compound::parse(&bye).expect("one packet");
//! let Some(Packet::Bye(bye)) = compound.packets().next() else { panic!("not a BYE") };
//! assert_eq!(bye.sources().next(), Some(0xdead_beef));
//! ```

mod description;
mod extended;
mod feedback;
mod report;
#[cfg(test)]
mod tests;
mod word;

pub use description::{CNAME, Item, Items, Sdes};
pub use extended::{
    Block, Blocks, Delay, Delays, Extended, ReceiptTimes, Runs, Spread, Summary, VoipMetrics,
};
pub use feedback::{Feedback, FeedbackKind, PSFB, RTPFB};
pub use report::{ReceiverReport, Report, Reports, SenderReport};
use word::word;

/// Sender report.
const SR: u8 = 200;
/// Receiver report.
const RR: u8 = 201;
/// Source description.
const SDES: u8 = 202;
/// Goodbye.
const BYE: u8 = 203;
/// Application-defined.
const APP: u8 = 204;
/// Extended reports (RFC 3611 section 2).
const XR: u8 = 207;

/// Whether bytes have the shape of RTCP: version 2, a packet type of RTCP, room for the first packet.
///
/// Any type may come first: reduced-size RTCP (RFC 5506) leaves the report out.
// HOT: every UDP datagram that is not signalling.
#[inline]
pub fn looks_like_rtcp(data: &[u8]) -> bool {
    let Some(&[first, kind, l0, l1, ..]) = data.first_chunk::<8>() else {
        return false;
    };
    let len = (usize::from(u16::from_be_bytes([l0, l1])) + 1) * 4;
    first >> 6 == 2 && matches!(kind, 192..=223) && len <= data.len()
}

/// Why bytes are no RTCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParseError {
    /// Less than a header and a source.
    TooShort,
    /// Not version 2.
    Version,
    /// The second octet is no RTCP packet type.
    NotRtcp,
}

/// The RTCP packets of one datagram.
#[derive(Clone, Copy, Debug)]
pub struct Compound<'a> {
    data: &'a [u8],
}

impl<'a> Compound<'a> {
    /// Looks at the first header only; [`Compound::packets`] ends where the rest does not hold together.
    ///
    /// # Errors
    ///
    /// Why the bytes are no RTCP.
    pub fn parse(data: &'a [u8]) -> Result<Self, ParseError> {
        let &[first, kind, ..] = data.first_chunk::<8>().ok_or(ParseError::TooShort)?;
        if first >> 6 != 2 {
            return Err(ParseError::Version);
        }
        if !matches!(kind, 192..=223) {
            return Err(ParseError::NotRtcp);
        }
        Ok(Self { data })
    }

    /// Its packets in order. One that the capture cut is given with what is there of it.
    pub const fn packets(&self) -> Packets<'a> {
        Packets { rest: self.data }
    }

    /// Whether packets fill the datagram to its last byte. SRTCP does not: its index and tag follow, and what
    /// its first packet seems to say is encrypted (RFC 3711 section 3.4). Neither does a datagram that the
    /// capture cut.
    pub fn is_exact(&self) -> bool {
        let mut rest = self.data;
        while let Some((_, len)) = header(rest) {
            match rest.get(len..) {
                Some(next) => rest = next,
                None => return false,
            }
        }
        rest.is_empty()
    }

    /// Whether its packets can be read: not encrypted, not cut by the capture. A few bytes behind the last
    /// packet are tolerated, since devices add them; SRTCP adds at least an index and a tag of 32 bits each
    /// (RFC 3711 section 3.4).
    pub fn is_readable(&self) -> bool {
        const SRTCP_TRAILER: usize = 8;
        let mut rest = self.data;
        // The index of SRTCP begins with a set bit and so looks like a version, but not like a packet type of
        // RTCP.
        while let Some((_, len)) = header(rest).filter(|([_, kind, ..], _)| PACKET_TYPES.contains(kind)) {
            match rest.get(len..) {
                Some(next) => rest = next,
                None => return false,
            }
        }
        rest.len() < SRTCP_TRAILER
    }
}

/// Iterator over the packets of a [`Compound`].
#[derive(Clone, Debug)]
pub struct Packets<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Packets<'a> {
    type Item = Packet<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let (head, len) = header(self.rest)?;
        let (packet, rest) = self.rest.split_at_checked(len).unwrap_or((self.rest, &[]));
        self.rest = rest;
        Some(Packet::new(head, packet.get(4..)?))
    }
}

/// RFC 5761 section 4.
const PACKET_TYPES: std::ops::RangeInclusive<u8> = 192..=223;

/// The first four bytes and the length of the packet that they begin.
fn header(data: &[u8]) -> Option<([u8; 4], usize)> {
    let head = *data.first_chunk::<4>()?;
    let words = usize::from(u16::from_be_bytes([head[2], head[3]]));
    (head[0] >> 6 == 2).then_some((head, (words + 1) * 4))
}

/// One RTCP packet.
#[derive(Clone, Copy, Debug)]
pub enum Packet<'a> {
    /// Sender report.
    SenderReport(SenderReport<'a>),
    /// Receiver report.
    ReceiverReport(ReceiverReport<'a>),
    /// Source description.
    Sdes(Sdes<'a>),
    /// Goodbye.
    Bye(Bye<'a>),
    /// Application-defined.
    App(App<'a>),
    /// Feedback on media.
    Feedback(Feedback<'a>),
    /// Extended report.
    Extended(Extended<'a>),
    /// Another type, or one that is too short for its own.
    Other {
        /// Packet type.
        kind: u8,
        /// What follows its first four bytes.
        data: &'a [u8],
    },
}

impl<'a> Packet<'a> {
    fn new([first, kind, ..]: [u8; 4], data: &'a [u8]) -> Self {
        let count = first & 0x1f;
        let known = match kind {
            SR => SenderReport::new(count, data).map(Self::SenderReport),
            RR => word(data, 0).map(|ssrc| {
                Self::ReceiverReport(ReceiverReport { ssrc, reports: Reports::new(count, data, 4) })
            }),
            SDES => Some(Self::Sdes(Sdes { count, data })),
            BYE => Some(Self::Bye(Bye { count, data })),
            APP => App::new(count, data).map(Self::App),
            RTPFB | PSFB => Feedback::new(kind, count, data).map(Self::Feedback),
            XR => word(data, 0)
                .map(|ssrc| Self::Extended(Extended { ssrc, blocks: data.get(4..).unwrap_or(&[]) })),
            _ => None,
        };
        known.unwrap_or(Self::Other { kind, data })
    }
}

/// RFC 3550 section 6.6.
#[derive(Clone, Copy, Debug)]
pub struct Bye<'a> {
    count: u8,
    data: &'a [u8],
}

impl<'a> Bye<'a> {
    /// Who leaves.
    pub fn sources(&self) -> impl Iterator<Item = u32> + use<'a> {
        let (words, _) = self.data.as_chunks::<4>();
        words.iter().take(usize::from(self.count)).map(|word| u32::from_be_bytes(*word))
    }

    /// Why, in words; empty if it does not say.
    pub fn reason(&self) -> &'a [u8] {
        let text = self.data.get(usize::from(self.count) * 4..).unwrap_or(&[]);
        match text.split_first() {
            Some((&len, text)) => text.get(..usize::from(len)).unwrap_or(text),
            None => &[],
        }
    }
}

/// RFC 3550 section 6.7.
#[derive(Clone, Copy, Debug)]
pub struct App<'a> {
    /// Defined by the application, 0 to 31.
    pub subtype: u8,
    /// Who sends.
    pub ssrc: u32,
    /// Four ASCII characters.
    pub name: [u8; 4],
    /// Defined by the application.
    pub data: &'a [u8],
}

impl<'a> App<'a> {
    fn new(subtype: u8, data: &'a [u8]) -> Option<Self> {
        let name = *data.get(4..)?.first_chunk::<4>()?;
        Some(Self { subtype, ssrc: word(data, 0)?, name, data: data.get(8..)? })
    }
}
