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

pub use description::{CNAME, Item, Items, Sdes};
pub use extended::{Extended, VoipMetrics};

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
/// Transport-layer feedback (RFC 4585 section 6.2).
pub const RTPFB: u8 = 205;
/// Payload-specific feedback (RFC 4585 section 6.3).
pub const PSFB: u8 = 206;
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
    /// Feedback, not interpreted.
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
    fn new(count: u8, data: &'a [u8]) -> Option<Self> {
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
    fn new(count: u8, data: &'a [u8], offset: usize) -> Self {
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
    fn new(block: &[u8; 24]) -> Self {
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

/// RFC 4585 section 6.1.
#[derive(Clone, Copy, Debug)]
pub struct Feedback<'a> {
    /// [`RTPFB`] or [`PSFB`].
    pub kind: u8,
    /// Feedback message type, 0 to 31: generic NACK is 1 of RTPFB, picture loss indication 1 of PSFB.
    pub format: u8,
    /// Who sends it.
    pub sender: u32,
    /// Whose media it is about.
    pub media: u32,
    /// Feedback control information.
    pub control: &'a [u8],
}

impl<'a> Feedback<'a> {
    fn new(kind: u8, format: u8, data: &'a [u8]) -> Option<Self> {
        let (sender, media) = (word(data, 0)?, word(data, 4)?);
        Some(Self { kind, format, sender, media, control: data.get(8..)? })
    }
}

/// Big-endian word at an offset.
fn word(data: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*data.get(at..)?.first_chunk::<4>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sender report with one block, then a source description: the datagram that most phones send.
    const COMPOUND: [u8; 72] = [
        0x81, 200, 0, 12, 0, 0, 0, 1, // SR of source 1, 13 words
        0xc5, 0x91, 0, 2, 0x80, 0, 0, 3, // NTP
        0, 0, 0, 160, 0, 0, 0, 50, 0, 0, 0x1f, 0x40, // RTP time, packets, octets
        0, 0, 0, 2, 0x40, 0xff, 0xff, 0xfe, 0, 1, 0,
        9, // source 2: a quarter lost, -2 in all, sequence 65545
        0, 0, 0, 33, 0, 2, 0x80, 0, 0, 1, 0, 0, // jitter, LSR, DLSR of one second
        0x81, 202, 0, 4, 0, 0, 0, 1, 1, 3, b'a', b'@', b'b', 6, 1, b't', 0, 0, 0, 0, // SDES
    ];

    fn packets(data: &[u8]) -> Vec<Packet<'_>> {
        Compound::parse(data).unwrap().packets().collect()
    }

    #[test]
    fn sender_report_and_description() {
        assert!(looks_like_rtcp(&COMPOUND));
        assert!(Compound::parse(&COMPOUND).unwrap().is_exact());
        let packets = packets(&COMPOUND);
        let [Packet::SenderReport(sr), Packet::Sdes(sdes)] = packets[..] else { panic!("{packets:?}") };
        assert_eq!((sr.ssrc, sr.ntp, sr.ntp_middle()), (1, 0xc591_0002_8000_0003, 0x0002_8000));
        assert_eq!((sr.rtp_timestamp, sr.packets, sr.octets), (160, 50, 8000));
        let report = Report {
            ssrc: 2,
            fraction_lost: 64,
            cumulative_lost: -2,
            highest_sequence: 65545,
            jitter: 33,
            last_sr: 0x0002_8000,
            delay_since_last_sr: 65536,
        };
        assert_eq!(sr.reports.iter().collect::<Vec<_>>(), [report]);
        assert_eq!(sdes.cname(), Some((1, &b"a@b"[..])));
        assert_eq!(sdes.items().nth(1), Some(Item { ssrc: 1, kind: 6, text: b"t" }));
        assert_eq!(sdes.items().count(), 2);
    }

    #[test]
    fn a_few_bytes_behind_the_last_packet_leave_it_readable() {
        let with = |extra: usize| [&COMPOUND[..], &vec![0; extra]].concat();
        let is_readable = |data: &[u8]| Compound::parse(data).unwrap().is_readable();
        assert!(is_readable(&COMPOUND) && is_readable(&with(2)) && is_readable(&with(7)));
        assert!(!is_readable(&with(8)) && !is_readable(&with(14)), "an SRTCP index and tag");
        let index = [0x80, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
        assert!(!is_readable(&[&COMPOUND[..], &index].concat()), "the index of an encrypted packet");
        assert!(!is_readable(&COMPOUND[..60]), "cut");
    }

    #[test]
    fn a_cut_capture_gives_what_is_there() {
        let cut = &COMPOUND[..40];
        let packets = packets(cut);
        let [Packet::SenderReport(sr)] = packets[..] else { panic!("{packets:?}") };
        assert!(sr.reports.is_empty(), "the block was not whole");
        assert!(!looks_like_rtcp(cut));
        assert!(!Compound::parse(cut).unwrap().is_exact());
    }

    #[test]
    fn receiver_report_goodbye_and_application() {
        let data = [
            0x80, 201, 0, 1, 0, 0, 0, 7, // RR without blocks
            0x82, 203, 0, 3, 0, 0, 0, 7, 0, 0, 0, 8, 3, b'e', b'n', b'd', // BYE of two
            0x85, 204, 0, 3, 0, 0, 0, 7, b'P', b'o', b'C', b'1', 1, 2, 3, 4, // APP
        ];
        let packets = packets(&data);
        let [Packet::ReceiverReport(rr), Packet::Bye(bye), Packet::App(app)] = packets[..] else {
            panic!("{packets:?}")
        };
        assert_eq!((rr.ssrc, rr.reports.len()), (7, 0));
        assert_eq!((bye.sources().collect::<Vec<_>>(), bye.reason()), (vec![7, 8], &b"end"[..]));
        assert_eq!((app.subtype, app.ssrc, &app.name, app.data), (5, 7, b"PoC1", &[1u8, 2, 3, 4][..]));
    }

    #[test]
    fn feedback_comes_first_in_reduced_size() {
        let nack = [0x81, 205, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 9, 0, 0];
        assert!(looks_like_rtcp(&nack));
        let packets = packets(&nack);
        let [Packet::Feedback(feedback)] = packets[..] else { panic!("{packets:?}") };
        assert_eq!((feedback.kind, feedback.format), (RTPFB, 1));
        assert_eq!((feedback.sender, feedback.media, feedback.control), (1, 2, &[0u8, 9, 0, 0][..]));
    }

    #[test]
    fn what_is_not_rtcp_says_why() {
        let reason = |data: &[u8]| Compound::parse(data).map(|_| ()).unwrap_err();
        assert_eq!(reason(&COMPOUND[..7]), ParseError::TooShort);
        assert_eq!(reason(&[0x40, 200, 0, 1, 0, 0, 0, 0]), ParseError::Version);
        assert_eq!(reason(&[0x80, 0, 0, 1, 0, 0, 0, 0]), ParseError::NotRtcp);
        let encrypted = [&COMPOUND[..], &[0x80, 0, 0, 1, 1, 2, 3, 4]].concat();
        assert!(!Compound::parse(&encrypted[..76]).unwrap().is_exact(), "an SRTCP index behind");
    }

    #[test]
    fn a_type_too_short_for_its_own_is_other() {
        let data = [0x80, 200, 0, 1, 0, 0, 0, 1, 0x80, 195, 0, 0];
        let packets = packets(&data);
        let [Packet::Other { kind: 200, data }, Packet::Other { kind: 195, .. }] = packets[..] else {
            panic!("{packets:?}")
        };
        assert_eq!(data, &[0, 0, 0, 1]);
    }
}
