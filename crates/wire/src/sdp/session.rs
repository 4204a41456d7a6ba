//! The description as a whole, RFC 8866 section 5.

use std::net::IpAddr;

use super::lines::{attributes, connection, lines, raw_lines, typed};
use super::media::{Direction, MAX_MEDIA, Media};
use crate::sip::text::word;

/// Why bytes are not a session description.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ParseError {
    /// There is no `v=`, `o=` or `m=` line.
    NoLines,
}

impl ParseError {
    /// Name for a counter.
    pub const fn name(self) -> &'static str {
        match self {
            ParseError::NoLines => "sdp_no_lines",
        }
    }
}

/// A session description. A missing or malformed line loses only its own information.
#[derive(Clone, Copy, Debug)]
pub struct Sdp<'a> {
    /// Lines before the first `m=`.
    session: &'a [u8],
    /// From the first `m=` line on.
    media: &'a [u8],
    /// None without a `c=` line, Some(None) if it gives a host name.
    connection: Option<Option<IpAddr>>,
}

/// `o=`, RFC 8866 section 5.2: its fields together identify a session, through any relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin<'a> {
    /// All of the line behind `o=`.
    pub raw: &'a [u8],
    /// User name, `-` for none.
    pub user: &'a [u8],
    /// Identifies the session together with user and address. Digits by the RFC, text here: it may exceed 64
    /// bits.
    pub session_id: &'a [u8],
    /// Grows with each new description of the session.
    pub version: &'a [u8],
    /// Address or host name of its creator.
    pub address: &'a [u8],
}

impl<'a> Sdp<'a> {
    /// Parses a description: a body or a body part.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ParseError> {
        let (mut known, mut connected) = (false, None);
        let mut media_at = bytes.len();
        for (at, line) in raw_lines(bytes) {
            match typed(line) {
                Some((b'm', _)) => {
                    media_at = at;
                    known = true;
                    break;
                }
                Some((b'v' | b'o', _)) => known = true,
                Some((b'c', value)) if connected.is_none() => connected = Some(connection(value)),
                _ => {}
            }
        }
        if !known {
            return Err(ParseError::NoLines);
        }
        let (session, media) = bytes.split_at(media_at);
        Ok(Self { session, media, connection: connected })
    }

    /// The origin.
    pub fn origin(&self) -> Option<Origin<'a>> {
        let (_, raw) = lines(self.session).find(|(kind, _)| *kind == b'o')?;
        let (user, rest) = word(raw);
        let (session_id, rest) = word(rest);
        let (version, rest) = word(rest);
        let (_net, rest) = word(rest);
        let (_kind, rest) = word(rest);
        let (address, _) = word(rest);
        Some(Origin { raw, user, session_id, version, address })
    }

    /// The address of the session's `c=` line; None without one, or if it gives a host name.
    pub fn connection(&self) -> Option<IpAddr> {
        self.connection.flatten()
    }

    /// The direction of media that give none themselves.
    pub fn direction(&self) -> Option<Direction> {
        Direction::of(self.session)
    }

    /// The media in order, the first [`MAX_MEDIA`] of them.
    pub fn media(&self) -> impl Iterator<Item = Media<'a>> + use<'a> {
        let Self { session, media, connection } = *self;
        let mut rest = media;
        let sections = std::iter::from_fn(move || {
            let mut starts =
                raw_lines(rest).filter(|(_, l)| matches!(typed(l), Some((b'm', _)))).map(|(at, _)| at);
            let first = starts.next()?;
            let end = starts.next().unwrap_or(rest.len());
            let section = &rest[first..end];
            rest = &rest[end..];
            Some(section)
        });
        sections.take(MAX_MEDIA).filter_map(move |section| Media::new(section, session, connection))
    }

    /// The value of a session attribute; empty for one without value.
    pub fn attribute(&self, name: &'a [u8]) -> Option<&'a [u8]> {
        self.attributes(name).next()
    }

    /// The value of each session attribute of that name.
    pub fn attributes(&self, name: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        attributes(self.session, name)
    }

    /// The value of the first session line of that type: `s`, `t`, `b`, ...
    pub fn line(&self, kind: u8) -> Option<&'a [u8]> {
        lines(self.session).find(|(k, _)| *k == kind).map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origin_and_session_lines() {
        let sdp = Sdp::parse(
            b"v=0\no=bob 971731711378798081 28 IN IP6 2001:db8::20\ns=\na=group:BUNDLE 0 1\na=inactive",
        )
        .unwrap();
        let origin = sdp.origin().unwrap();
        assert_eq!((origin.user, origin.session_id), (&b"bob"[..], &b"971731711378798081"[..]));
        assert_eq!((origin.version, origin.address), (&b"28"[..], &b"2001:db8::20"[..]));
        assert_eq!(origin.raw, b"bob 971731711378798081 28 IN IP6 2001:db8::20");
        assert_eq!(sdp.attribute(b"group"), Some(&b"BUNDLE 0 1"[..]));
        assert_eq!((sdp.direction(), sdp.connection()), (Some(Direction::Inactive), None));
        assert_eq!((sdp.line(b's'), sdp.line(b't'), sdp.media().count()), (Some(&b""[..]), None, 0));
    }

    #[test]
    fn what_is_no_description() {
        for bytes in [&b""[..], b"\r\n", b"<xml v=0>", b"s=x\r\na=y", b"hello"] {
            assert_eq!(Sdp::parse(bytes).err(), Some(ParseError::NoLines), "{}", bytes.escape_ascii());
        }
        assert!(Sdp::parse(b"m=audio 1 RTP/AVP 0").is_ok());
    }
}
