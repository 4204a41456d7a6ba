//! Feedback (RFC 4585): what a receiver asks of a sender.

use super::word::word;

/// Transport-layer feedback (RFC 4585 section 6.2).
pub const RTPFB: u8 = 205;

/// Payload-specific feedback (RFC 4585 section 6.3).
pub const PSFB: u8 = 206;

/// RFC 4585 section 6.1.
#[derive(Clone, Copy, Debug)]
pub struct Feedback<'a> {
    /// [`RTPFB`] or [`PSFB`].
    pub kind: u8,
    /// Feedback message type, 0 to 31: generic NACK is 1 of RTPFB, picture loss indication 1 of PSFB.
    pub format: u8,
    /// Who sends it.
    pub sender: u32,
    /// Whose media it is about; 0 where the control information names the sources.
    pub media: u32,
    /// Feedback control information.
    pub control: &'a [u8],
}

/// What feedback asks for or tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FeedbackKind {
    /// Packets to be sent again (RFC 4585 section 6.2.1).
    Nack,
    /// A lower or higher bit rate (RFC 5104 section 4.2.1).
    Tmmbr,
    /// The answer to that (RFC 5104 section 4.2.2).
    Tmmbn,
    /// When each packet came (draft-holmer-rmcat-transport-wide-cc-extensions-01).
    TransportCc,
    /// A picture was lost (RFC 4585 section 6.3.1).
    Pli,
    /// A slice of a picture was lost (RFC 4585 section 6.3.2).
    Sli,
    /// Which reference picture to use (RFC 4585 section 6.3.3).
    Rpsi,
    /// A whole picture is needed (RFC 5104 section 4.3.1).
    Fir,
    /// The bit rate that the receiver estimates (draft-alvestrand-rmcat-remb-03).
    Remb,
    /// Another format of transport-layer feedback.
    OtherTransport,
    /// Another format of payload-specific feedback.
    OtherPayload,
}

impl FeedbackKind {
    /// Every kind, in the order of its number.
    pub const ALL: [Self; 11] = [
        Self::Nack,
        Self::Tmmbr,
        Self::Tmmbn,
        Self::TransportCc,
        Self::Pli,
        Self::Sli,
        Self::Rpsi,
        Self::Fir,
        Self::Remb,
        Self::OtherTransport,
        Self::OtherPayload,
    ];

    /// Its abbreviation in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nack => "nack",
            Self::Tmmbr => "tmmbr",
            Self::Tmmbn => "tmmbn",
            Self::TransportCc => "transport-cc",
            Self::Pli => "pli",
            Self::Sli => "sli",
            Self::Rpsi => "rpsi",
            Self::Fir => "fir",
            Self::Remb => "remb",
            Self::OtherTransport => "rtpfb",
            Self::OtherPayload => "psfb",
        }
    }
}

impl<'a> Feedback<'a> {
    pub(super) fn new(kind: u8, format: u8, data: &'a [u8]) -> Option<Self> {
        let (sender, media) = (word(data, 0)?, word(data, 4)?);
        Some(Self { kind, format, sender, media, control: data.get(8..)? })
    }

    /// What it asks for or tells.
    pub fn what(&self) -> FeedbackKind {
        match (self.kind, self.format) {
            (RTPFB, 1) => FeedbackKind::Nack,
            (RTPFB, 3) => FeedbackKind::Tmmbr,
            (RTPFB, 4) => FeedbackKind::Tmmbn,
            (RTPFB, 15) => FeedbackKind::TransportCc,
            (PSFB, 1) => FeedbackKind::Pli,
            (PSFB, 2) => FeedbackKind::Sli,
            (PSFB, 3) => FeedbackKind::Rpsi,
            (PSFB, 4) => FeedbackKind::Fir,
            (PSFB, 15) if self.control.starts_with(b"REMB") => FeedbackKind::Remb,
            (RTPFB, _) => FeedbackKind::OtherTransport,
            _ => FeedbackKind::OtherPayload,
        }
    }

    /// The sources that it is about: that of the header, or those that the control information names.
    pub fn sources(&self) -> impl Iterator<Item = u32> + use<'a> {
        let (skip, step) = match self.what() {
            // Entries of a source and four bytes more (RFC 5104 sections 4.2.1.1 and 4.3.1.1).
            FeedbackKind::Fir | FeedbackKind::Tmmbr | FeedbackKind::Tmmbn => (0, 8),
            // Name, number of sources and bit rate, then the sources.
            FeedbackKind::Remb => (8, 4),
            _ => (self.control.len(), 4),
        };
        let named = self.control.get(skip..).unwrap_or(&[]).chunks_exact(step);
        let most = if self.what() == FeedbackKind::Remb {
            usize::from(self.control.get(4).copied().unwrap_or(0))
        } else {
            usize::MAX
        };
        let header = (self.media != 0).then_some(self.media);
        let listed = named.take(most).filter_map(|entry| word(entry, 0));
        // The same source may be named in both places.
        header.into_iter().chain(listed.filter(move |ssrc| Some(*ssrc) != header))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Compound, Packet};
    use super::*;

    fn feedback(data: &[u8]) -> (FeedbackKind, Vec<u32>) {
        let Some(Packet::Feedback(feedback)) = Compound::parse(data).unwrap().packets().next() else {
            panic!("no feedback")
        };
        (feedback.what(), feedback.sources().collect())
    }

    #[test]
    fn kinds_and_sources() {
        let nack = [0x81, 205, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 9, 0, 0];
        assert_eq!(feedback(&nack), (FeedbackKind::Nack, vec![2]));
        let pli = [0x81, 206, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2];
        assert_eq!(feedback(&pli), (FeedbackKind::Pli, vec![2]));
        // The header names no source: both are in the control information.
        let mut fir = vec![0x84, 206, 0, 6, 0, 0, 0, 1, 0, 0, 0, 0];
        fir.extend([0, 0, 0, 5, 1, 0, 0, 0, 0, 0, 0, 6, 1, 0, 0, 0]);
        assert_eq!(feedback(&fir), (FeedbackKind::Fir, vec![5, 6]));
        let mut remb = vec![0x8f, 206, 0, 5, 0, 0, 0, 1, 0, 0, 0, 0];
        remb.extend(*b"REMB\x01\x03\xff\xff\0\0\0\x07");
        assert_eq!(feedback(&remb), (FeedbackKind::Remb, vec![7]));
        let tmmbr = [0x83, 205, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 8, 1, 2, 3, 4];
        assert_eq!(feedback(&tmmbr), (FeedbackKind::Tmmbr, vec![8]));
    }

    #[test]
    fn what_a_format_does_not_say_is_counted_as_other() {
        let unknown = [0x8f, 206, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2, b'R', b'E', b'M', b'X'];
        assert_eq!(feedback(&unknown), (FeedbackKind::OtherPayload, vec![2]));
        let transport = [0x8f, 205, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2];
        assert_eq!(feedback(&transport), (FeedbackKind::TransportCc, vec![2]));
        let ecn = [0x88, 205, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2];
        assert_eq!(feedback(&ecn), (FeedbackKind::OtherTransport, vec![2]));
        for (number, kind) in FeedbackKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, number, "{}", kind.name());
        }
    }
}
