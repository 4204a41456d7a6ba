//! Codecs: `a=rtpmap`, and the static payload types, RFC 8866 section 6.6 and RFC 3551 section 6.

use crate::sip::text::{leading_number, number, split_once, word};

/// The codec of a payload type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Codec<'a> {
    /// Encoding name as sent; names are compared in any case (RFC 4855 section 3).
    pub name: &'a [u8],
    /// RTP clock in Hz. For G.722 that is 8000, though it samples at 16000 (RFC 3551 section 4.5.2).
    pub clock: u32,
    /// Audio channels, 1 by default.
    pub channels: u8,
}

impl<'a> Codec<'a> {
    /// Parses the text after `a=rtpmap:`. A clock that is missing or 0 becomes `clock`; for a static type the
    /// line is malformed then, and does not change it.
    pub(super) fn parse(value: &'a [u8], clock: u32) -> Option<(u8, Self)> {
        let (payload_type, rest) = leading_number(value)?;
        let payload_type = u8::try_from(payload_type).ok().filter(|&pt| pt < 128)?;
        let (encoding, _) = word(rest);
        let (name, rest) = split_once(encoding, b'/').unwrap_or((encoding, &[]));
        if name.is_empty() {
            return None;
        }
        let (rate, channels) = split_once(rest, b'/').unwrap_or((rest, &[]));
        let clock = match number(rate).filter(|&hz| hz > 0) {
            Some(hz) => hz,
            None if static_payload(payload_type).is_some() => return None,
            None => clock,
        };
        let channels = number(channels).filter(|&n| n > 0).unwrap_or(1);
        Some((payload_type, Self { name, clock, channels }))
    }

    /// The codec of a static payload type.
    pub fn fixed(payload_type: u8) -> Option<Codec<'static>> {
        static_payload(payload_type).map(|(name, clock, channels)| Codec {
            name: name.as_bytes(),
            clock,
            channels,
        })
    }

    /// Whether it has that name, in any case.
    pub fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name.as_bytes())
    }
}

/// Name, RTP clock in Hz and channels of a static payload type, RFC 3551 tables 4 and 5. Type 2 was G.721
/// (RFC 1890), which became G726-32, and 19 was comfort noise in drafts: both are reserved now but still used
/// that way.
pub const fn static_payload(payload_type: u8) -> Option<(&'static str, u32, u8)> {
    Some(match payload_type {
        0 => ("PCMU", 8000, 1),
        2 => ("G726-32", 8000, 1),
        3 => ("GSM", 8000, 1),
        4 => ("G723", 8000, 1),
        5 => ("DVI4", 8000, 1),
        6 => ("DVI4", 16000, 1),
        7 => ("LPC", 8000, 1),
        8 => ("PCMA", 8000, 1),
        9 => ("G722", 8000, 1),
        10 => ("L16", 44100, 2),
        11 => ("L16", 44100, 1),
        12 => ("QCELP", 8000, 1),
        13 | 19 => ("CN", 8000, 1),
        14 => ("MPA", 90000, 1),
        15 => ("G728", 8000, 1),
        16 => ("DVI4", 11025, 1),
        17 => ("DVI4", 22050, 1),
        18 => ("G729", 8000, 1),
        25 => ("CelB", 90000, 1),
        26 => ("JPEG", 90000, 1),
        28 => ("nv", 90000, 1),
        31 => ("H261", 90000, 1),
        32 => ("MPV", 90000, 1),
        33 => ("MP2T", 90000, 1),
        34 => ("H263", 90000, 1),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(value: &[u8]) -> Option<(u8, &str, u32, u8)> {
        let (payload_type, codec) = Codec::parse(value, 8000)?;
        Some((payload_type, std::str::from_utf8(codec.name).unwrap(), codec.clock, codec.channels))
    }

    #[test]
    fn rtpmaps() {
        assert_eq!(parse(b"96 opus/48000/2"), Some((96, "opus", 48000, 2)));
        assert_eq!(parse(b"101   telephone-event/8000 "), Some((101, "telephone-event", 8000, 1)));
        assert_eq!(parse(b"98 g729a"), Some((98, "g729a", 8000, 1)));
        assert_eq!(parse(b"18 g729a"), None);
        assert_eq!(parse(b"98 G729/0/0"), Some((98, "G729", 8000, 1)));
        assert_eq!(parse(b"18 G729/0/0"), None);
        assert_eq!(parse(b"128 x/8000"), None);
        assert_eq!(parse(b"x PCMU/8000"), None);
        assert_eq!(parse(b"96"), None);
        assert_eq!(parse(b"96 /8000"), None);
    }

    #[test]
    fn static_ones() {
        assert_eq!(Codec::fixed(8).map(|codec| codec.is("pcma")), Some(true));
        assert_eq!(static_payload(9), Some(("G722", 8000, 1)));
        assert_eq!(static_payload(10), Some(("L16", 44100, 2)));
        assert_eq!((1..=1).chain(20..=24).chain(35..=255).find_map(static_payload), None);
    }
}
