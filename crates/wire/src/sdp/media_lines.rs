//! All lines of a description that say where media goes, in one pass.

use std::net::IpAddr;

use super::candidate::Candidate;
use super::codec::Codec;
use super::lines::{attribute_named, connection, raw_lines, typed};
use super::media::{Direction, Media};

/// A line that says where media goes or in which codec. Lines after a [`MediaLine::Media`] belong to it.
#[derive(Clone, Copy, Debug)]
pub enum MediaLine<'a> {
    /// An `m=` line, without the lines below it, which come next. None if it is empty.
    Media(Option<Media<'a>>),
    /// A `c=` line: an address, or None for a host name.
    Connection(Option<IpAddr>),
    /// The value of an `a=rtpmap` line, see [`rtpmap`].
    Rtpmap(&'a [u8]),
    /// An ICE candidate that has an address.
    Candidate(Candidate<'a>),
    /// Who may send, above the first `m=` line for all media.
    Direction(Direction),
    /// The packet time in ms that the receiver asks for (RFC 8866 section 6.4), up to 255.
    Ptime(u8),
}

/// Iterates over the lines of a description that say where media goes. They hold the same as
/// [`Sdp::media`](super::Sdp::media) and its accessors, which scan the lines on each call.
// HOT: once an offer and once an answer.
pub fn media_lines(bytes: &[u8]) -> impl Iterator<Item = MediaLine<'_>> {
    raw_lines(bytes).filter_map(|(_, line)| {
        let (kind, value) = typed(line)?;
        match kind {
            b'a' => match value.first()? {
                b'r' | b'R' if value.eq_ignore_ascii_case(b"recvonly") => {
                    Some(MediaLine::Direction(Direction::RecvOnly))
                }
                b'r' | b'R' => attribute_named(value, b"rtpmap").map(MediaLine::Rtpmap),
                b'c' | b'C' => {
                    attribute_named(value, b"candidate").and_then(Candidate::parse).map(MediaLine::Candidate)
                }
                b's' | b'S' => match value {
                    _ if value.eq_ignore_ascii_case(b"sendrecv") => Some(Direction::SendRecv),
                    _ if value.eq_ignore_ascii_case(b"sendonly") => Some(Direction::SendOnly),
                    _ => None,
                }
                .map(MediaLine::Direction),
                b'i' | b'I' if value.eq_ignore_ascii_case(b"inactive") => {
                    Some(MediaLine::Direction(Direction::Inactive))
                }
                b'p' | b'P' => attribute_named(value, b"ptime").and_then(number).map(MediaLine::Ptime),
                _ => None,
            },
            b'c' => Some(MediaLine::Connection(connection(value))),
            b'm' => Some(MediaLine::Media(Media::of_line(value))),
            _ => None,
        }
    })
}

/// Whole milliseconds; a fraction is cut off.
fn number(text: &[u8]) -> Option<u8> {
    let digits = text.split(|byte| !byte.is_ascii_digit()).next()?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Payload type and codec in the value of an `a=rtpmap` line below this `m=` line.
pub fn rtpmap<'a>(media: &Media<'_>, value: &'a [u8]) -> Option<(u8, Codec<'a>)> {
    Codec::parse(value, media.clock())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8866 sections 6.4 and 6.7; letter case does not matter, and what only begins so is another
    /// attribute.
    #[test]
    fn who_may_send_and_the_packet_time() {
        let of = |line: &str| match media_lines(line.as_bytes()).next() {
            Some(MediaLine::Direction(direction)) => Some(Ok(direction)),
            Some(MediaLine::Ptime(ptime)) => Some(Err(ptime)),
            _ => None,
        };
        assert_eq!(of("a=sendrecv\r\n"), Some(Ok(Direction::SendRecv)));
        assert_eq!(of("a=SendOnly\r\n"), Some(Ok(Direction::SendOnly)));
        assert_eq!(of("a=recvonly\r\n"), Some(Ok(Direction::RecvOnly)));
        assert_eq!(of("a=inactive\r\n"), Some(Ok(Direction::Inactive)));
        assert_eq!(of("a=ptime:20\r\n"), Some(Err(20)));
        assert_eq!(of("a=ptime:62.5\r\n"), Some(Err(62)));
        for other in ["a=sendonlyx\r\n", "a=ptime:\r\n", "a=ptime:256\r\n", "a=ptimes:20\r\n", "a=i\r\n"] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
