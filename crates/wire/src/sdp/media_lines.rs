//! All lines of a description that say where media goes, in one pass.

use std::net::IpAddr;

use super::candidate::Candidate;
use super::codec::Codec;
use super::lines::{attribute_named, connection, raw_lines, typed};
use super::media::Media;

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
}

/// Iterates over the lines of a description that say where media goes. They hold the same as
/// [`Sdp::media`](super::Sdp::media) and its accessors, which scan the lines on each call.
// HOT: once an offer and once an answer.
pub fn media_lines(bytes: &[u8]) -> impl Iterator<Item = MediaLine<'_>> {
    raw_lines(bytes).filter_map(|(_, line)| {
        let (kind, value) = typed(line)?;
        match kind {
            b'a' => match value.first()? {
                b'r' | b'R' => attribute_named(value, b"rtpmap").map(MediaLine::Rtpmap),
                b'c' | b'C' => {
                    attribute_named(value, b"candidate").and_then(Candidate::parse).map(MediaLine::Candidate)
                }
                _ => None,
            },
            b'c' => Some(MediaLine::Connection(connection(value))),
            b'm' => Some(MediaLine::Media(Media::of_line(value))),
            _ => None,
        }
    })
}

/// Payload type and codec in the value of an `a=rtpmap` line below this `m=` line.
pub fn rtpmap<'a>(media: &Media<'_>, value: &'a [u8]) -> Option<(u8, Codec<'a>)> {
    Codec::parse(value, media.clock())
}
