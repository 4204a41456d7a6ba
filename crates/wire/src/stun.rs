//! STUN (RFC 8489 and its predecessor RFC 3489) and data relayed by TURN (RFC 8656), distinguished from media
//! on the same ports.
//!
//! ```
//! use ringtap_wire::stun;
//!
//! let binding = [0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
//! assert!(stun::is_stun(&binding));
//! assert_eq!(stun::relayed(b"\x40\x01\x00\x03rtp"), Some(&b"rtp"[..]));
//! ```

use crate::{rtcp, rtp};

/// Type, length, magic cookie, transaction (RFC 8489 section 5).
const HEADER: usize = 20;
/// Fixed since RFC 5389.
const COOKIE: u32 = 0x2112_a442;
/// Send indication: client to relay.
const SEND: u16 = 0x0016;
/// Data indication: relay to client.
const DATA: u16 = 0x0017;
/// Attribute of both that holds the relayed data.
const ATTRIBUTE_DATA: u16 = 0x0013;
/// Bytes of content that ChannelData has to have, and may have, to be recognised: those of a packet.
const MIN_CONTENT: usize = 8;
const MAX_CONTENT: usize = 2048;
/// Binding and shared secret requests, their responses and errors (RFC 3489 section 11.1).
const CLASSIC: [u16; 6] = [0x0001, 0x0101, 0x0111, 0x0002, 0x0102, 0x0112];

/// Whether a datagram is a STUN message, also one of TURN or ICE.
///
/// With the magic cookie, a datagram that the capture truncated passes. Without it (RFC 3489), type, length
/// and the layout of every attribute must fit, since a media packet could look the same.
pub fn is_stun(data: &[u8]) -> bool {
    let Some((head, attributes)) = data.split_first_chunk::<HEADER>() else {
        return false;
    };
    let kind = u16::from_be_bytes([head[0], head[1]]);
    let len = usize::from(u16::from_be_bytes([head[2], head[3]]));
    if kind & 0xc000 != 0 || len % 4 != 0 {
        return false;
    }
    if u32::from_be_bytes([head[4], head[5], head[6], head[7]]) == COOKIE {
        return attributes.len() <= len;
    }
    CLASSIC.contains(&kind) && attributes.len() == len && attributes_fit(attributes)
}

/// The data that TURN relays in a datagram: ChannelData's application data, or the DATA attribute of a Send
/// or Data indication.
///
/// ChannelData is recognised by a number range and a length alone, which other protocols share (GTPv2-C
/// does): the caller must check the content.
pub fn relayed(data: &[u8]) -> Option<&[u8]> {
    let (&[k0, k1, l0, l1], rest) = data.split_first_chunk::<4>()?;
    let len = usize::from(u16::from_be_bytes([l0, l1]));
    match u16::from_be_bytes([k0, k1]) {
        // RFC 8656 section 12.4. Over UDP padding is not required, but some pad to four bytes as over TCP.
        // Channels from 0x5000 on are those of RFC 5766.
        0x4000..=0x7fff => {
            let padding = rest.len().checked_sub(len)?;
            if padding < 4 { rest.get(..len) } else { None }
        }
        SEND | DATA if is_stun(data) => {
            let attributes = Attributes { rest: data.get(HEADER..)? };
            attributes.into_iter().find(|(kind, _)| *kind == ATTRIBUTE_DATA).map(|(_, value)| value)
        }
        _ => None,
    }
}

/// What the bytes of a TCP connection that carries TURN begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnFraming {
    /// An incomplete message.
    Incomplete,
    /// A message.
    Message {
        /// Its length, without padding.
        len: usize,
        /// Where the next begins.
        next: usize,
    },
    /// No message: bytes before it are missing.
    OutOfStep,
}

/// Splits the bytes of one direction of a TCP connection into STUN messages and ChannelData (RFC 8656 section
/// 12.5): both tell their length, and ChannelData is padded to four bytes.
pub fn turn_framing(bytes: &[u8]) -> TurnFraming {
    let Some(&[k0, k1, l0, l1]) = bytes.first_chunk::<4>() else { return TurnFraming::Incomplete };
    let stated = usize::from(u16::from_be_bytes([l0, l1]));
    let (len, next) = match u16::from_be_bytes([k0, k1]) {
        0..=0x3fff if bytes.len() < 8 || is_stun_head(bytes) => (HEADER + stated, HEADER + stated),
        0x4000..=0x7fff => (4 + stated, 4 + stated.next_multiple_of(4)),
        _ => return TurnFraming::OutOfStep,
    };
    if bytes.len() < next { TurnFraming::Incomplete } else { TurnFraming::Message { len, next } }
}

/// What is known of bytes in which [`find_turn`] looks for a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnHint {
    /// Nothing.
    None,
    /// The connection has TURN's port: a message that is incomplete may begin at the first byte.
    Port,
    /// The connection uses this channel.
    Channel(u16),
}

/// Offset of the first TURN message in bytes of a TCP connection that were not seen from its beginning, or
/// not without a hole.
///
/// A STUN message has its magic cookie. ChannelData has two bytes of number, which are of 0x4000 to 0x4fff,
/// and a length, which much else has: its content has to look like media, STUN or DTLS, and what follows it
/// has to be the end of the bytes, STUN, or the same channel again. Of a channel that is known the beginning
/// is enough.
pub fn find_turn(bytes: &[u8], hint: TurnHint) -> Option<usize> {
    (0..bytes.len()).find(|&at| {
        let hint = if at > 0 && hint == TurnHint::Port { TurnHint::None } else { hint };
        begins_turn(&bytes[at..], hint)
    })
}

/// Whether bytes begin with a TURN message, see [`find_turn`].
#[inline]
pub fn begins_turn(bytes: &[u8], hint: TurnHint) -> bool {
    match bytes.first() {
        Some(0..=0x3f) => is_stun_head(bytes),
        Some(0x40..=0x4f) => begins_channel_data(bytes, hint),
        _ => false,
    }
}

/// The magic cookie where RFC 8489 section 5 has it.
fn is_stun_head(bytes: &[u8]) -> bool {
    bytes.get(4..8) == Some(&COOKIE.to_be_bytes())
}

#[inline(never)]
fn begins_channel_data(bytes: &[u8], hint: TurnHint) -> bool {
    let Some((&[k0, k1, l0, l1], rest)) = bytes.split_first_chunk::<4>() else { return false };
    let (channel, len) = (u16::from_be_bytes([k0, k1]), usize::from(u16::from_be_bytes([l0, l1])));
    let is_content = |content: &[u8]| {
        rtp::looks_like_rtp(content)
            || rtcp::looks_like_rtcp(content)
            || is_stun_head(content) && content[0] < 0x40
            || matches!(content, [20..=26, 0xfe, ..])
    };
    if !(MIN_CONTENT..=MAX_CONTENT).contains(&len) {
        return false;
    }
    let Some(content) = rest.get(..len) else {
        let is_known = hint == TurnHint::Port || hint == TurnHint::Channel(channel);
        return is_known && matches!(rest, [0x80..=0xbf, ..]);
    };
    if !is_content(content) {
        return false;
    }
    match rest.get(len.next_multiple_of(4)..) {
        None | Some([]) => true,
        Some(next @ [_, _, _, _, ..]) => {
            let same =
                next[..2] == [k0, k1] && usize::from(u16::from_be_bytes([next[2], next[3]])) <= MAX_CONTENT;
            same || next[0] < 0x40 && (next.len() < 8 || is_stun_head(next))
        }
        Some(next) => next[0] == k0 || next[0] < 0x40,
    }
}

/// Whether the attributes end exactly where the message does.
fn attributes_fit(attributes: &[u8]) -> bool {
    let mut walk = Attributes { rest: attributes };
    while walk.next().is_some() {}
    walk.rest.is_empty()
}

/// Attributes (RFC 8489 section 14): type, length, value padded to four bytes. Stops at the first that does
/// not fit.
struct Attributes<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Attributes<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (&[k0, k1, l0, l1], rest) = self.rest.split_first_chunk::<4>()?;
        let len = usize::from(u16::from_be_bytes([l0, l1]));
        let value = rest.get(..len)?;
        self.rest = rest.get(len.next_multiple_of(4)..).unwrap_or(&[]);
        Some((u16::from_be_bytes([k0, k1]), value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message with the magic cookie.
    fn message(kind: u16, attributes: &[u8]) -> Vec<u8> {
        let mut bytes = kind.to_be_bytes().to_vec();
        bytes.extend((attributes.len() as u16).to_be_bytes());
        bytes.extend(COOKIE.to_be_bytes());
        bytes.extend([7; 12]);
        bytes.extend(attributes);
        bytes
    }

    #[test]
    fn messages_with_the_cookie() {
        let software = [0x80, 0x22, 0, 3, b'a', b'b', b'c', 0];
        let whole = message(0x0001, &software);
        assert!(is_stun(&whole));
        assert!(is_stun(&whole[..22]), "cut by the capture");
        assert!(!is_stun(&whole[..19]));
        let mut longer = whole.clone();
        longer.extend([0; 4]);
        assert!(!is_stun(&longer), "bytes behind the message");
        let mut odd = whole.clone();
        odd[3] = 7;
        assert!(!is_stun(&odd));
        let mut rtp = whole;
        rtp[0] = 0x80;
        assert!(!is_stun(&rtp));
    }

    #[test]
    fn classic_messages_have_to_fit() {
        let mut classic = message(0x0101, &[0, 1, 0, 8, 0, 1, 0x13, 0xc4, 192, 0, 2, 1]);
        classic[4] = 0x99;
        assert!(is_stun(&classic));
        assert!(!is_stun(&classic[..28]));
        classic[23] = 9;
        assert!(!is_stun(&classic), "an attribute longer than the message");
        let mut other = message(0x0003, &[]);
        other[4] = 0x99;
        assert!(!is_stun(&other), "no type of RFC 3489");
    }

    #[test]
    fn channel_data() {
        assert_eq!(relayed(&[0x40, 0, 0, 2, 8, 9]), Some(&[8u8, 9][..]));
        assert_eq!(relayed(&[0x7f, 0xff, 0, 2, 8, 9, 0, 0]), Some(&[8u8, 9][..]), "padded to four");
        assert_eq!(relayed(&[0x40, 0, 0, 2, 8, 9, 0, 0, 0, 0]), None);
        assert_eq!(relayed(&[0x40, 0, 0, 3, 8, 9]), None);
        assert_eq!(relayed(&[0x80, 0, 0, 2, 8, 9]), None);
    }

    /// RTP of 12 bytes in channel 0x4001, and again.
    #[test]
    fn messages_are_found_in_a_stream_by_what_follows_them() {
        let rtp = [0x80, 0, 0, 1, 0, 0, 0, 160, 0, 0, 0, 7];
        let data = [&[0x40, 1, 0, 12][..], &rtp].concat();
        let twice = [&data[..], &data].concat();
        let none = |bytes: &[u8]| find_turn(bytes, TurnHint::None);
        assert_eq!(none(&data), Some(0), "to the end");
        assert_eq!(none(&[&[0x40, 1, 0][..], &twice].concat()), Some(3));
        assert_eq!(none(&[&data[7..], &data, &data[..6]].concat()), Some(9), "the next is incomplete");
        assert_eq!(none(&[&data[..], &message(1, &[])].concat()), Some(0), "STUN follows");
        assert_eq!(none(&[&data[..], b"GET / HTTP/1.1"].concat()), None, "something else follows");
        assert_eq!(none(&data[..10]), None, "not enough to tell");
        assert_eq!(find_turn(&data[..10], TurnHint::Port), Some(0));
        assert_eq!(find_turn(&[&[9][..], &data[..10]].concat(), TurnHint::Port), None);
        assert_eq!(find_turn(&[&[9][..], &data[..10]].concat(), TurnHint::Channel(0x4001)), Some(1));
        assert_eq!(find_turn(&[&[9][..], &data[..10]].concat(), TurnHint::Channel(0x4002)), None);
        assert_eq!(none(&[&[9, 9][..], &message(1, &[])].concat()), Some(2));
        for text in ["HTTP/1.1 200 OK\r\n\r\n", "INVITE sip:a@example.com SIP/2.0\r\n", "GET / HTTP/1.1\r\n"]
        {
            assert_eq!(none(text.as_bytes()), None);
        }
        let mut out = message(1, &[]);
        assert_eq!(turn_framing(&out[..19]), TurnFraming::Incomplete);
        assert_eq!(turn_framing(&out), TurnFraming::Message { len: 20, next: 20 });
        out[4] = 0;
        assert_eq!(turn_framing(&out), TurnFraming::OutOfStep, "no cookie");
        assert_eq!(turn_framing(&rtp), TurnFraming::OutOfStep);
        assert_eq!(turn_framing(&[0x40, 1, 0, 1, 7, 0, 0]), TurnFraming::Incomplete);
        assert_eq!(turn_framing(&[0x40, 1, 0, 1, 7, 0, 0, 0]), TurnFraming::Message { len: 5, next: 8 });
    }

    #[test]
    fn indications() {
        // XOR-PEER-ADDRESS, then DATA of three bytes and one of padding.
        let attributes =
            [0, 0x12, 0, 8, 0, 1, 0x32, 0xd6, 0xe1, 0x12, 0xa6, 0x43, 0, 0x13, 0, 3, 0x80, 0, 1, 0];
        for kind in [SEND, DATA] {
            assert_eq!(relayed(&message(kind, &attributes)), Some(&[0x80u8, 0, 1][..]));
        }
        assert_eq!(relayed(&message(0x0001, &attributes)), None, "a request relays nothing");
        assert_eq!(relayed(&message(DATA, &attributes[..12])), None);
    }
}
