//! RTP, RFC 3550 section 5, and telephone events, RFC 4733.

/// Bytes before contributing sources and extension.
const FIXED: usize = 12;

/// Whether bytes have the shape of RTP: version 2, room for the fixed header, and not RTCP.
///
/// The second octet tells RTP and RTCP on one port apart: 192 to 223 is RTCP (RFC 5761 section 4). Much else
/// passes this test, so a stream needs more evidence.
// HOT: every UDP datagram that is not signalling.
#[inline]
pub fn looks_like_rtp(data: &[u8]) -> bool {
    matches!(data.first_chunk::<FIXED>(), Some(head) if head[0] >> 6 == 2 && !matches!(head[1], 192..=223))
}

/// Why bytes are not an RTP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParseError {
    /// Shorter than the fixed header and the contributing sources that it counts.
    TooShort,
    /// Not version 2.
    Version,
    /// The second octet is an RTCP packet type.
    Rtcp,
    /// The header extension is longer than the packet.
    BadExtension,
}

/// An RTP packet; the capture may have truncated the payload, but the header is whole.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    head: &'a [u8; FIXED],
    extension: Option<Extension<'a>>,
    payload: &'a [u8],
    payload_len: usize,
    padding: u8,
}

/// A header extension (RFC 3550 section 5.3.1); one of RFC 8285 if the profile is 0xBEDE or 0x100x.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extension<'a> {
    /// Defined by profile.
    pub profile: u16,
    /// Captured words.
    pub data: &'a [u8],
}

impl<'a> View<'a> {
    /// Reads the header. `declared_len` is the length of the UDP payload on the wire, of which `data` was
    /// captured.
    ///
    /// Padding with an impossible count stays in the payload: in SRTP the octet that holds the count is
    /// encrypted.
    ///
    /// # Errors
    ///
    /// Why the bytes are no RTP packet.
    // HOT: every media packet.
    #[inline]
    pub fn parse(data: &'a [u8], declared_len: usize) -> Result<Self, ParseError> {
        let declared_len = declared_len.max(data.len());
        let (head, rest) = data.split_first_chunk::<FIXED>().ok_or(ParseError::TooShort)?;
        if head[0] >> 6 != 2 {
            return Err(ParseError::Version);
        }
        if matches!(head[1], 192..=223) {
            return Err(ParseError::Rtcp);
        }
        // Any CSRC, extension or padding: rare in telephony.
        if head[0] & 0x3f != 0 {
            return Self::parse_rest(head, rest, declared_len);
        }
        let payload_len = declared_len - FIXED;
        Ok(Self { head, extension: None, payload: rest, payload_len, padding: 0 })
    }

    #[cold]
    fn parse_rest(head: &'a [u8; FIXED], rest: &'a [u8], declared_len: usize) -> Result<Self, ParseError> {
        let whole = declared_len == FIXED + rest.len();
        let sources = usize::from(head[0] & 0x0f) * 4;
        let mut payload_len = (declared_len - FIXED).checked_sub(sources).ok_or(ParseError::TooShort)?;
        let mut payload = rest.get(sources..).ok_or(ParseError::TooShort)?;
        let mut extension = None;
        if head[0] & 0x10 != 0 {
            payload_len = payload_len.checked_sub(4).ok_or(ParseError::BadExtension)?;
            // The capture ends before the extension's length: only its presence is known.
            let (found, rest) = match payload.split_first_chunk::<4>() {
                Some((&[p0, p1, l0, l1], words)) => {
                    let len = usize::from(u16::from_be_bytes([l0, l1])) * 4;
                    payload_len = payload_len.checked_sub(len).ok_or(ParseError::BadExtension)?;
                    let (data, rest) = words.split_at_checked(len).unwrap_or((words, &[]));
                    (Some(Extension { profile: u16::from_be_bytes([p0, p1]), data }), rest)
                }
                None => (None, &[][..]),
            };
            (extension, payload) = (found, rest);
        }
        let padding = match payload.last() {
            Some(&count) if head[0] & 0x20 != 0 && whole && usize::from(count) <= payload.len() => count,
            _ => 0,
        };
        let kept = payload.len() - usize::from(padding);
        let payload = payload.get(..kept).unwrap_or(payload);
        Ok(Self { head, extension, payload, payload_len: payload_len - usize::from(padding), padding })
    }

    /// The first eight octets as one number: from the version in the uppermost bits to the timestamp in the
    /// lowest.
    #[inline]
    pub fn head(&self) -> u64 {
        self.head.first_chunk().map_or(0, |octets| u64::from_be_bytes(*octets))
    }

    /// Marker bit: in most profiles the first packet of a talkspurt (RFC 3551 section 4.1).
    #[inline]
    pub const fn marker(&self) -> bool {
        self.head[1] & 0x80 != 0
    }

    /// Payload type, 0 to 127.
    #[inline]
    pub const fn payload_type(&self) -> u8 {
        self.head[1] & 0x7f
    }

    /// Sequence number.
    #[inline]
    pub const fn sequence(&self) -> u16 {
        u16::from_be_bytes([self.head[2], self.head[3]])
    }

    /// Timestamp, in units of the payload's clock.
    #[inline]
    pub const fn timestamp(&self) -> u32 {
        u32::from_be_bytes([self.head[4], self.head[5], self.head[6], self.head[7]])
    }

    /// Synchronisation source.
    #[inline]
    pub const fn ssrc(&self) -> u32 {
        u32::from_be_bytes([self.head[8], self.head[9], self.head[10], self.head[11]])
    }

    /// How many contributing sources the header lists.
    #[inline]
    pub const fn csrc_count(&self) -> u8 {
        self.head[0] & 0x0f
    }

    /// Captured payload: no header, contributing sources, extension or padding.
    #[inline]
    pub const fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Declared payload length, without padding if the padding's count was captured.
    #[inline]
    pub const fn payload_len(&self) -> usize {
        self.payload_len
    }

    /// Bytes of padding that were removed, 0 if none or not known.
    #[inline]
    pub const fn padding(&self) -> u8 {
        self.padding
    }

    /// Header extension, if there is one and its header was captured.
    #[inline]
    pub const fn extension(&self) -> Option<Extension<'a>> {
        self.extension
    }
}

/// A telephone event (RFC 4733 section 2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TelephoneEvent {
    /// 0 to 9 the digits, 10 `*`, 11 `#`, 12 to 15 A to D, 16 flash; RFC 4733 section 3 and IANA have the
    /// rest.
    pub code: u8,
    /// The event has ended; this packet is sent three times.
    pub end: bool,
    /// Power below 0 dBm0, in dB: 0 to 63.
    pub volume: u8,
    /// How long so far, in timestamp units.
    pub duration: u16,
}

impl TelephoneEvent {
    /// Reads a payload of type telephone-event; `None` if it is shorter than an event.
    pub fn parse(payload: &[u8]) -> Option<Self> {
        let &[code, bits, high, low] = payload.first_chunk::<4>()?;
        let duration = u16::from_be_bytes([high, low]);
        Some(Self { code, end: bits & 0x80 != 0, volume: bits & 0x3f, duration })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PCMU, marker, sequence 4660, timestamp 160, SSRC 0xdeadbeef.
    const PLAIN: [u8; 16] = [0x80, 0x80, 0x12, 0x34, 0, 0, 0, 160, 0xde, 0xad, 0xbe, 0xef, 1, 2, 3, 4];

    #[test]
    fn plain_header() {
        assert!(looks_like_rtp(&PLAIN));
        let view = View::parse(&PLAIN, 16).unwrap();
        assert!(view.marker());
        assert_eq!((view.payload_type(), view.sequence(), view.timestamp()), (0, 0x1234, 160));
        assert_eq!((view.ssrc(), view.csrc_count(), view.padding()), (0xdead_beef, 0, 0));
        assert_eq!((view.payload(), view.payload_len()), (&[1u8, 2, 3, 4][..], 4));
        assert_eq!(view.extension(), None);
    }

    #[test]
    fn sources_extension_and_padding_come_off() {
        let data = [
            0xb1, 0x08, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, // V=2 P X CC=1, PCMA
            0, 0, 0, 9, // CSRC
            0xbe, 0xde, 0, 1, 0x10, 0xff, 0, 0, // one word of extension
            7, 8, 9, 0, 0, 3, // three bytes and three of padding
        ];
        let view = View::parse(&data, data.len()).unwrap();
        assert_eq!((view.payload(), view.payload_len(), view.padding()), (&[7u8, 8, 9][..], 3, 3));
        assert_eq!(view.extension(), Some(Extension { profile: 0xbede, data: &[0x10, 0xff, 0, 0] }));
        assert_eq!(view.csrc_count(), 1);
        // Cut in the padding: its count is unknown, so it stays in the declared length.
        let cut = View::parse(&data[..28], data.len()).unwrap();
        assert_eq!((cut.payload(), cut.payload_len(), cut.padding()), (&[7u8, 8, 9, 0][..], 6, 0));
        // Cut in the extension: no payload was captured, its length is known all the same.
        let cut = View::parse(&data[..22], data.len()).unwrap();
        assert_eq!((cut.payload(), cut.payload_len()), (&[][..], 6));
    }

    #[test]
    fn padding_that_makes_no_sense_stays() {
        let mut data = PLAIN;
        data[0] = 0xa0;
        data[15] = 200;
        let view = View::parse(&data, 16).unwrap();
        assert_eq!((view.payload_len(), view.padding()), (4, 0));
    }

    #[test]
    fn what_is_not_rtp_says_why() {
        let with = |at: usize, byte: u8| {
            let mut data = PLAIN;
            data[at] = byte;
            View::parse(&data, 16).map(|_| ()).unwrap_err()
        };
        assert_eq!(with(0, 0x40), ParseError::Version);
        assert_eq!(with(1, 200), ParseError::Rtcp);
        assert_eq!(with(0, 0x82), ParseError::TooShort, "two contributing sources in four bytes");
        assert_eq!(with(0, 0x90), ParseError::BadExtension, "an extension of 772 words");
        assert_eq!(View::parse(&PLAIN[..11], 172).map(|_| ()).unwrap_err(), ParseError::TooShort);
        assert!(!looks_like_rtp(&PLAIN[..11]));
        assert!(!looks_like_rtp(&[0; 12]));
    }

    #[test]
    fn the_second_octet_tells_rtcp() {
        for second in 0..=255 {
            let mut data = PLAIN;
            data[1] = second;
            assert_eq!(looks_like_rtp(&data), !(192..=223).contains(&second));
            assert_eq!(View::parse(&data, 16).is_ok(), looks_like_rtp(&data));
        }
    }

    #[test]
    fn telephone_event() {
        let star = TelephoneEvent::parse(&[10, 0x8a, 0x03, 0x20]);
        assert_eq!(star, Some(TelephoneEvent { code: 10, end: true, volume: 10, duration: 800 }));
        assert_eq!(TelephoneEvent::parse(&[5, 0x0a, 0]), None);
    }
}
