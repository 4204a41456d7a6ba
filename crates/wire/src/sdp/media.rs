//! Media descriptions, RFC 8866 section 5.14.

use std::net::IpAddr;

use super::candidate::Candidate;
use super::codec::Codec;
use super::crypto::Crypto;
use super::lines::{attributes, connection, lines};
use crate::sip::text::{leading_number, number, split_once, word};

/// One `m=` line and the lines below it.
#[derive(Clone, Copy, Debug)]
pub struct Media<'a> {
    /// What it carries.
    pub media_type: MediaType,
    /// Port of the first stream; 0 for rejected media (RFC 3264 section 6) and if it is missing.
    pub port: u16,
    /// Number of consecutive port pairs, 1 by default.
    pub port_count: u16,
    /// `RTP/AVP`, `RTP/SAVPF`, `udptl`, ..., as written.
    pub proto: &'a [u8],
    /// Payload types, or `t38` and the like, separated by spaces.
    pub formats: &'a [u8],
    /// The `m=` line and all lines below it, as written.
    pub lines: &'a [u8],
    /// Lines of the session: defaults for the media.
    session: &'a [u8],
    /// None without a `c=` line, Some(None) where that gives a name.
    session_connection: Option<Option<IpAddr>>,
}

/// The media type, RFC 8866 section 5.14.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MediaType {
    /// Sound.
    Audio,
    /// Video.
    Video,
    /// Fax, RFC 3362.
    Image,
    /// BFCP, data channels, ...
    Application,
    /// Any other: `text`, `message`, ...
    Other,
}

/// Who may send, RFC 8866 section 6.7, from the point of view of the description's sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Both.
    SendRecv,
    /// It sends.
    SendOnly,
    /// It receives.
    RecvOnly,
    /// Neither.
    Inactive,
}

impl<'a> Media<'a> {
    /// `section` begins with the `m=` line. None if that line is empty.
    pub(super) fn new(
        section: &'a [u8],
        session: &'a [u8],
        session_connection: Option<Option<IpAddr>>,
    ) -> Option<Self> {
        let (_, line) = lines(section).next()?;
        Self::of_line(line).map(|media| Self { lines: section, session, session_connection, ..media })
    }

    /// Parses the `m=` line alone. None if it is empty.
    pub(super) fn of_line(line: &'a [u8]) -> Option<Self> {
        let (media_type, rest) = word(line);
        let (ports, rest) = word(rest);
        let (proto, formats) = word(rest);
        let (port, count) = split_once(ports, b'/').unwrap_or((ports, b"1"));
        if media_type.is_empty() {
            return None;
        }
        Some(Self {
            media_type: MediaType::parse(media_type),
            port: number(port).unwrap_or(0),
            port_count: number(count).filter(|&n| n > 0).unwrap_or(1),
            proto,
            formats,
            lines: &[],
            session: &[],
            session_connection: None,
        })
    }

    /// Where the sender of the description wants to receive: the media's `c=`, else the session's. None if it
    /// is missing or gives a host name. 0.0.0.0 is the old way to put a party on hold (RFC 3264 section 8.4).
    pub fn connection(&self) -> Option<IpAddr> {
        let own = lines(self.lines).find(|(kind, _)| *kind == b'c').map(|(_, value)| connection(value));
        own.or(self.session_connection).flatten()
    }

    /// Who may send: the media's attribute, else the session's, else both.
    pub fn direction(&self) -> Direction {
        Direction::of(self.lines).or_else(|| Direction::of(self.session)).unwrap_or(Direction::SendRecv)
    }

    /// Port and, if given, address for RTCP, RFC 3605.
    pub fn rtcp(&self) -> Option<(u16, Option<IpAddr>)> {
        let value = self.attribute(b"rtcp")?;
        let (port, address) = word(value);
        Some((number(port)?, connection(address)))
    }

    /// RTP and RTCP share a port, RFC 5761.
    pub fn rtcp_mux(&self) -> bool {
        self.attribute(b"rtcp-mux").is_some()
    }

    /// Milliseconds of media in a packet; the media's attribute, else the session's. Fractions are allowed.
    pub fn ptime(&self) -> Option<f64> {
        let value = self.attribute(b"ptime").or_else(|| attributes(self.session, b"ptime").next())?;
        let ms: f64 = std::str::from_utf8(word(value).0).ok()?.parse().ok()?;
        (ms.is_finite() && ms > 0.0).then_some(ms)
    }

    /// RTP payload types in order of preference, each once.
    pub fn payload_types(&self) -> impl Iterator<Item = u8> + use<'a> {
        let mut seen = 0u128;
        self.format_words().filter_map(number::<u8>).filter(move |&payload_type| {
            let bit = 1u128.checked_shl(u32::from(payload_type)).unwrap_or(0);
            let new = bit & !seen != 0;
            seen |= bit;
            new
        })
    }

    fn format_words(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.formats.split(u8::is_ascii_whitespace).filter(|text| !text.is_empty())
    }

    /// The codec of an `a=rtpmap` line. Its clock defaults to 8000, for video to 90000.
    pub fn rtpmap(&self, payload_type: u8) -> Option<Codec<'a>> {
        self.rtpmaps().find(|(number, _)| *number == payload_type).map(|(_, codec)| codec)
    }

    /// The codec of every `a=rtpmap` line in order, with its payload type. [`Media::rtpmap`] uses the first
    /// of a payload type.
    pub fn rtpmaps(&self) -> impl Iterator<Item = (u8, Codec<'a>)> + use<'a> {
        let clock = self.clock();
        attributes(self.lines, b"rtpmap").filter_map(move |value| Codec::parse(value, clock))
    }

    /// The default clock of an `a=rtpmap` line.
    pub(super) fn clock(&self) -> u32 {
        if self.media_type == MediaType::Video { 90000 } else { 8000 }
    }

    /// The codec of a payload type: from `a=rtpmap`, else the static assignment.
    pub fn codec(&self, payload_type: u8) -> Option<Codec<'a>> {
        self.rtpmap(payload_type).or_else(|| Codec::fixed(payload_type))
    }

    /// Parameters of a format, RFC 8866 section 6.15.
    pub fn fmtp(&self, payload_type: u8) -> Option<&'a [u8]> {
        attributes(self.lines, b"fmtp").find_map(|value| {
            let (number, rest) = leading_number(value)?;
            (number == u64::from(payload_type)).then(|| rest.trim_ascii_start())
        })
    }

    /// SRTP keys, RFC 4568.
    pub fn crypto(&self) -> impl Iterator<Item = Crypto<'a>> + use<'a> {
        attributes(self.lines, b"crypto").filter_map(Crypto::parse)
    }

    /// The protocol encrypts: SRTP (`SAVP`), or anything over TLS or DTLS.
    pub fn is_secure(&self) -> bool {
        let holds = |part: &[u8]| self.proto.windows(part.len()).any(|text| text.eq_ignore_ascii_case(part));
        holds(b"SAVP") || holds(b"TLS")
    }

    /// The label by which other documents refer to the media, such as SIPREC metadata, RFC 4574.
    pub fn label(&self) -> Option<&'a [u8]> {
        self.attribute(b"label")
    }

    /// The media identification inside the description, RFC 5888.
    pub fn mid(&self) -> Option<&'a [u8]> {
        self.attribute(b"mid")
    }

    /// Addresses at which media may be received, RFC 8839, without those given by host name.
    pub fn candidates(&self) -> impl Iterator<Item = Candidate<'a>> + use<'a> {
        attributes(self.lines, b"candidate").filter_map(Candidate::parse)
    }

    /// SSRCs that the sender of the description announces, RFC 5576; several lines may give the same one.
    pub fn ssrcs(&self) -> impl Iterator<Item = u32> + use<'a> {
        attributes(self.lines, b"ssrc").filter_map(|value| number(word(value).0))
    }

    /// Fax over UDPTL or TCP, ITU-T T.38 annex D.
    pub fn is_t38(&self) -> bool {
        let last = memchr::memrchr(b'/', self.proto).map_or(self.proto, |at| &self.proto[at + 1..]);
        last.eq_ignore_ascii_case(b"udptl")
            || self.media_type == MediaType::Image
                && self.format_words().any(|text| text.eq_ignore_ascii_case(b"t38"))
    }

    /// The value of an attribute of the media; empty if it has none.
    pub fn attribute(&self, name: &'a [u8]) -> Option<&'a [u8]> {
        self.attributes(name).next()
    }

    /// The value of each attribute of that name.
    pub fn attributes(&self, name: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        attributes(self.lines, name)
    }
}

impl MediaType {
    fn parse(text: &[u8]) -> Self {
        let known: [(&[u8], Self); 4] = [
            (b"audio", Self::Audio),
            (b"video", Self::Video),
            (b"image", Self::Image),
            (b"application", Self::Application),
        ];
        known.iter().find(|(name, _)| text.eq_ignore_ascii_case(name)).map_or(Self::Other, |&(_, kind)| kind)
    }
}

impl Direction {
    /// The first direction among the attributes of `bytes`.
    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        let known: [(&[u8], Self); 4] = [
            (b"sendrecv", Self::SendRecv),
            (b"sendonly", Self::SendOnly),
            (b"recvonly", Self::RecvOnly),
            (b"inactive", Self::Inactive),
        ];
        lines(bytes).filter(|(kind, _)| *kind == b'a').find_map(|(_, text)| {
            known.iter().find(|(name, _)| text.eq_ignore_ascii_case(name)).map(|&(_, direction)| direction)
        })
    }
}

/// Media descriptions that are read; conferences and recording clients send far fewer.
pub const MAX_MEDIA: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sdp::{CandidateType, Sdp};

    fn media(bytes: &[u8]) -> Vec<Media<'_>> {
        Sdp::parse(bytes).unwrap().media().collect()
    }

    const OFFER: &[u8] =
        b"v=0\r\no=- 1 2 IN IP4 192.0.2.1\r\ns=-\r\nc=IN IP4 192.0.2.1\r\nt=0 0\r\na=sendonly\r\n\
        a=ptime:30\r\nm=audio 49170/2 RTP/SAVP 0 8 96 96 18 200 x\r\na=rtpmap:96 opus/48000/2\r\n\
        a=rtpmap:0 PCMU/8000\r\na=fmtp:18 annexb=no\r\na=fmtp:1 8\r\na=rtcp:53020 IN IP6 2001:db8::1\r\n\
        a=rtcp-mux\r\na=ptime:2.5\r\na=label:7\r\na=mid:0\r\na=recvonly\r\na=ssrc:4294967295 cname:x\r\n\
        a=crypto:1 AES_CM_128_HMAC_SHA1_32 inline:abc\r\na=crypto:2 F8_128_HMAC_SHA1_32 inline:def\r\n\
        a=candidate:1 1 udp 2130706431 192.0.2.9 5000 typ host\r\n\
        a=candidate:2 1 udp 1 x.local 5000 typ host\r\n\
        m=video 0 RTP/AVP 31\r\nc=IN IP4 video.example.com\r\na=rtpmap:31 H261\r\n\
        m=image 4000 udptl t38\r\nc=IN IP4 0.0.0.0\r\na=inactive\r\n";

    #[test]
    fn what_the_audio_says() {
        let audio = media(OFFER)[0];
        assert_eq!((audio.media_type, audio.port, audio.port_count), (MediaType::Audio, 49170, 2));
        assert_eq!((audio.proto, audio.is_secure(), audio.is_t38()), (&b"RTP/SAVP"[..], true, false));
        assert_eq!(audio.connection(), "192.0.2.1".parse().ok());
        assert_eq!(audio.direction(), Direction::RecvOnly);
        assert_eq!(audio.payload_types().collect::<Vec<_>>(), [0, 8, 96, 18]);
        assert_eq!(audio.codec(96), Some(Codec { name: b"opus", clock: 48000, channels: 2 }));
        assert_eq!((audio.rtpmap(8), audio.codec(8)), (None, Codec::fixed(8)));
        assert_eq!(
            (audio.fmtp(18), audio.fmtp(1), audio.fmtp(8)),
            (Some(&b"annexb=no"[..]), Some(&b"8"[..]), None)
        );
        assert_eq!(audio.rtcp(), "2001:db8::1".parse().ok().map(|ip| (53020, Some(ip))));
        assert_eq!((audio.rtcp_mux(), audio.ptime()), (true, Some(2.5)));
        assert_eq!((audio.label(), audio.mid()), (Some(&b"7"[..]), Some(&b"0"[..])));
        assert_eq!(audio.crypto().map(|crypto| crypto.tag).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(audio.ssrcs().collect::<Vec<_>>(), [u32::MAX]);
        let candidates: Vec<_> = audio.candidates().map(|c| (c.port, c.typ)).collect();
        assert_eq!(candidates, [(5000, CandidateType::Host)]);
    }

    #[test]
    fn refused_named_and_held() {
        let [_, video, fax] = media(OFFER)[..] else { panic!("three media") };
        assert_eq!((video.media_type, video.port, video.connection()), (MediaType::Video, 0, None));
        assert_eq!((video.direction(), video.ptime()), (Direction::SendOnly, Some(30.0)));
        assert_eq!(video.codec(31).map(|codec| codec.clock), Some(90000));
        assert!(fax.is_t38() && !fax.is_secure());
        assert_eq!((fax.media_type, fax.direction()), (MediaType::Image, Direction::Inactive));
        assert_eq!(fax.connection(), "0.0.0.0".parse().ok());
        assert_eq!(fax.payload_types().count(), 0);
    }

    #[test]
    fn lines_of_one_media_are_not_anothers() {
        let [audio, video, _] = media(OFFER)[..] else { panic!("three media") };
        assert!(audio.lines.starts_with(b"m=audio") && audio.lines.ends_with(b"typ host\r\n"));
        assert_eq!((video.rtcp_mux(), video.crypto().count()), (false, 0));
    }

    #[test]
    fn damaged() {
        let found = media(
            b"m=\nm=audio\nm=audio x RTP/AVP\nm=AUDIO 70000/0 rtp/avp 0\na=ptime:nan\na=ptime:0\na=rtcp:x",
        );
        let [bare, no_port, large] = found[..] else { panic!("the empty one is left out") };
        assert_eq!((bare.port, bare.proto, no_port.port), (0, &b""[..], 0));
        assert_eq!((large.media_type, large.port, large.port_count), (MediaType::Audio, 0, 1));
        assert_eq!((large.ptime(), large.rtcp(), large.connection()), (None, None, None));
        assert_eq!(large.direction(), Direction::SendRecv);
    }

    #[test]
    fn t38_in_its_forms() {
        for (line, expected) in [
            (&b"m=image 4000 UDPTL t38"[..], true),
            (b"m=image 4000 udptl T38", true),
            (b"m=image 4000 TCP t38", true),
            (b"m=image 4000 UDP/TLS/UDPTL t38", true),
            (b"m=image 0 udptl", true),
            (b"m=image 4000 RTP/AVP 99", false),
            (b"m=audio 4000 RTP/AVP 0", false),
        ] {
            assert_eq!(media(line)[0].is_t38(), expected, "{}", line.escape_ascii());
        }
    }

    #[test]
    fn there_is_a_ceiling() {
        assert_eq!(media(&b"m=audio 1 RTP/AVP 0\n".repeat(1000)).len(), MAX_MEDIA);
    }
}
