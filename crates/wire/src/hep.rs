//! HEP version 3 (Homer Encapsulation Protocol), which capture agents in proxies and switches send.
//!
//! `HEP3` or the older `EEP3`, a total length, then chunks of vendor, type, length and content (HEP
//! specification, revision 37, sections 3 and 4). A packet holds one message and the addresses between which
//! it was seen.
//!
//! ```
//! use ringtap_wire::hep::View;
//!
//! let packet = b"HEP3\x00\x16\x00\x00\x00\x07\x00\x08\x13\xc4\x00\x00\x00\x0f\x00\x08\r\n";
//! let view = View::parse(packet).expect("two chunks");
//! assert_eq!((view.src_port(), view.payload()), (5060, &b"\r\n"[..]));
//! ```

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Magic and total length.
const HEADER: usize = 6;
/// Vendor, type and length of a chunk, which its length counts.
const CHUNK_HEADER: usize = 6;
/// Chunks that the specification itself defines.
const GENERIC: u16 = 0;

/// Protocol types (chunk 0x0b) of what is carried as it was on the wire.
pub mod proto_type {
    /// SIP.
    pub const SIP: u8 = 1;
    /// SDP by itself.
    pub const SDP: u8 = 3;
    /// RTP.
    pub const RTP: u8 = 4;
    /// RTCP, by most agents as JSON.
    pub const RTCP: u8 = 5;
}

/// Why bytes are not a HEP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParseError {
    /// Does not begin with `HEP3` or `EEP3`.
    NotHep,
    /// Shorter than the header, or than the total length that it states.
    Truncated,
    /// The total length is smaller than the header.
    BadLength,
    /// A chunk shorter than its own header, or longer than what is left.
    BadChunk,
}

/// The length that a packet states, header included: its length in a TCP stream.
///
/// `None` while fewer than six bytes have arrived.
///
/// # Errors
///
/// [`ParseError::NotHep`] and [`ParseError::BadLength`]: the stream is out of step.
pub fn total_len(data: &[u8]) -> Result<Option<usize>, ParseError> {
    let magic = data.get(..4).unwrap_or(data);
    if !b"HEP3".starts_with(magic) && !b"EEP3".starts_with(magic) {
        return Err(ParseError::NotHep);
    }
    let Some(&[_, _, _, _, high, low]) = data.first_chunk::<HEADER>() else {
        return Ok(None);
    };
    match usize::from(u16::from_be_bytes([high, low])) {
        len if len < HEADER => Err(ParseError::BadLength),
        len => Ok(Some(len)),
    }
}

/// A HEP packet. If a chunk is absent or has the wrong size for its type, its field is `None`, 0 or empty.
#[derive(Clone, Copy, Debug, Default)]
pub struct View<'a> {
    total_len: usize,
    family: u8,
    proto: u8,
    src: Option<IpAddr>,
    dst: Option<IpAddr>,
    src_port: u16,
    dst_port: u16,
    seconds: u32,
    micros: u32,
    proto_type: u8,
    capture_id: u32,
    vlan: Option<u16>,
    node: &'a [u8],
    correlation_id: &'a [u8],
    payload: &'a [u8],
    compressed: bool,
}

impl<'a> View<'a> {
    /// Reads all chunks and ignores bytes after the total length.
    ///
    /// # Errors
    ///
    /// Why the bytes are no HEP packet.
    pub fn parse(data: &'a [u8]) -> Result<Self, ParseError> {
        let total_len = total_len(data)?.ok_or(ParseError::Truncated)?;
        let mut rest = data.get(HEADER..total_len).ok_or(ParseError::Truncated)?;
        let mut view = Self { total_len, ..Self::default() };
        while !rest.is_empty() {
            let Some(&[v0, v1, t0, t1, l0, l1]) = rest.first_chunk::<CHUNK_HEADER>() else {
                return Err(ParseError::BadChunk);
            };
            let len = usize::from(u16::from_be_bytes([l0, l1]));
            let content = rest.get(CHUNK_HEADER..len).ok_or(ParseError::BadChunk)?;
            if u16::from_be_bytes([v0, v1]) == GENERIC {
                view.generic(u16::from_be_bytes([t0, t1]), content);
            }
            // INVARIANT: len >= 6, so each iteration consumes bytes.
            rest = rest.get(len..).unwrap_or(&[]);
        }
        Ok(view)
    }

    /// HEP specification, section 4.1.
    fn generic(&mut self, kind: u16, content: &'a [u8]) {
        match kind {
            0x01 => set(&mut self.family, octet(content)),
            0x02 => set(&mut self.proto, octet(content)),
            0x03 => set(&mut self.src, v4(content).map(Some)),
            0x04 => set(&mut self.dst, v4(content).map(Some)),
            0x05 => set(&mut self.src, v6(content).map(Some)),
            0x06 => set(&mut self.dst, v6(content).map(Some)),
            0x07 => set(&mut self.src_port, short(content)),
            0x08 => set(&mut self.dst_port, short(content)),
            0x09 => set(&mut self.seconds, long(content)),
            0x0a => set(&mut self.micros, long(content)),
            0x0b => set(&mut self.proto_type, octet(content)),
            0x0c => set(&mut self.capture_id, long(content)),
            0x0f => (self.payload, self.compressed) = (content, false),
            0x10 => (self.payload, self.compressed) = (content, true),
            0x11 => self.correlation_id = content,
            0x12 => self.vlan = short(content),
            0x13 => self.node = content,
            _ => {}
        }
    }

    /// Stated length of the packet, header included.
    pub const fn total_len(&self) -> usize {
        self.total_len
    }

    /// Address family: 2 IPv4, 10 IPv6. [`View::src`] and [`View::dst`] do not depend on it.
    pub const fn family(&self) -> u8 {
        self.family
    }

    /// IANA protocol number of the transport: 6 TCP, 17 UDP, 132 SCTP.
    pub const fn proto(&self) -> u8 {
        self.proto
    }

    /// Source address.
    pub const fn src(&self) -> Option<IpAddr> {
        self.src
    }

    /// Destination address.
    pub const fn dst(&self) -> Option<IpAddr> {
        self.dst
    }

    /// Source port, 0 if absent.
    pub const fn src_port(&self) -> u16 {
        self.src_port
    }

    /// Destination port, 0 if absent.
    pub const fn dst_port(&self) -> u16 {
        self.dst_port
    }

    /// Time at which the agent saw the message: seconds since 1970, 0 if absent.
    pub const fn seconds(&self) -> u32 {
        self.seconds
    }

    /// Microseconds to add; untrusted, may exceed a second.
    pub const fn micros(&self) -> u32 {
        self.micros
    }

    /// What the payload is, see [`proto_type`].
    pub const fn proto_type(&self) -> u8 {
        self.proto_type
    }

    /// Number of the agent.
    pub const fn capture_id(&self) -> u32 {
        self.capture_id
    }

    /// VLAN identifier.
    pub const fn vlan(&self) -> Option<u16> {
        self.vlan
    }

    /// Name of the agent's node, empty if absent.
    pub const fn node(&self) -> &'a [u8] {
        self.node
    }

    /// Correlation identifier, most often a Call-ID; empty if absent.
    pub const fn correlation_id(&self) -> &'a [u8] {
        self.correlation_id
    }

    /// The message, empty if absent. zlib data where [`View::compressed`] says so.
    pub const fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The payload came in chunk 0x10.
    pub const fn compressed(&self) -> bool {
        self.compressed
    }
}

fn set<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}

fn octet(content: &[u8]) -> Option<u8> {
    <[u8; 1]>::try_from(content).ok().map(|[octet]| octet)
}

fn short(content: &[u8]) -> Option<u16> {
    content.try_into().ok().map(u16::from_be_bytes)
}

fn long(content: &[u8]) -> Option<u32> {
    content.try_into().ok().map(u32::from_be_bytes)
}

fn v4(content: &[u8]) -> Option<IpAddr> {
    <[u8; 4]>::try_from(content).ok().map(|octets| Ipv4Addr::from(octets).into())
}

fn v6(content: &[u8]) -> Option<IpAddr> {
    <[u8; 16]>::try_from(content).ok().map(|octets| Ipv6Addr::from(octets).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet of the chunks given as (vendor, type, content).
    fn packet(magic: &[u8; 4], chunks: &[(u16, u16, &[u8])]) -> Vec<u8> {
        let mut bytes = magic.to_vec();
        bytes.extend([0, 0]);
        for (vendor, kind, content) in chunks {
            bytes.extend(vendor.to_be_bytes());
            bytes.extend(kind.to_be_bytes());
            bytes.extend((content.len() as u16 + 6).to_be_bytes());
            bytes.extend(*content);
        }
        let len = (bytes.len() as u16).to_be_bytes();
        bytes[4..6].copy_from_slice(&len);
        bytes
    }

    const CHUNKS: [(u16, u16, &[u8]); 15] = [
        (0, 0x01, &[2]),
        (0, 0x02, &[17]),
        (0, 0x03, &[192, 0, 2, 1]),
        (0, 0x04, &[192, 0, 2, 2]),
        (0, 0x07, &[0x13, 0xc4]),
        (0, 0x08, &[0x13, 0xc5]),
        (0, 0x09, &[0x41, 0xe6, 0xb5, 0x4a]),
        (0, 0x0a, &[0, 0x0e, 0xbd, 0x78]),
        (0, 0x0b, &[1]),
        (0, 0x0c, &[0, 0, 0x07, 0xd1]),
        (0, 0x0e, b"secret"),
        (2, 0x0f, b"another vendor's"),
        (0, 0x11, b"a84b4c76e66710"),
        (0, 0x13, b"node-1"),
        (0, 0x0f, b"OPTIONS sip:a@b SIP/2.0\r\n\r\n"),
    ];

    #[test]
    fn every_chunk_that_is_read() {
        for magic in [b"HEP3", b"EEP3"] {
            let bytes = packet(magic, &CHUNKS);
            let view = View::parse(&bytes).unwrap();
            assert_eq!(view.total_len(), bytes.len());
            assert_eq!((view.family(), view.proto(), view.proto_type()), (2, 17, proto_type::SIP));
            assert_eq!(view.src(), Some([192, 0, 2, 1].into()));
            assert_eq!(view.dst(), Some([192, 0, 2, 2].into()));
            assert_eq!((view.src_port(), view.dst_port()), (5060, 5061));
            assert_eq!((view.seconds(), view.micros()), (1_105_638_730, 966_008));
            assert_eq!((view.capture_id(), view.vlan()), (2001, None));
            assert_eq!((view.correlation_id(), view.node()), (&b"a84b4c76e66710"[..], &b"node-1"[..]));
            assert_eq!(view.payload(), b"OPTIONS sip:a@b SIP/2.0\r\n\r\n");
            assert!(!view.compressed());
        }
    }

    #[test]
    fn ipv6_and_compressed_payload() {
        let address = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
        let bytes = packet(b"HEP3", &[(0, 1, &[10]), (0, 5, &address), (0, 6, &address), (0, 16, b"zlib")]);
        let view = View::parse(&bytes).unwrap();
        assert_eq!(view.src().unwrap().to_string(), "2001:db8::1");
        assert_eq!(view.dst(), view.src());
        assert_eq!((view.payload(), view.compressed()), (&b"zlib"[..], true));
    }

    #[test]
    fn a_chunk_of_the_wrong_size_leaves_its_field() {
        let bytes = packet(b"HEP3", &[(0, 7, &[1, 2, 3]), (0, 3, &[1]), (0, 9, &[]), (0, 8, &[0, 9])]);
        let view = View::parse(&bytes).unwrap();
        assert_eq!((view.src_port(), view.src(), view.seconds(), view.dst_port()), (0, None, 0, 9));
    }

    #[test]
    fn what_is_not_hep_says_why() {
        let reason = |bytes: &[u8]| View::parse(bytes).map(|_| ()).unwrap_err();
        assert_eq!(reason(b"INVITE sip:"), ParseError::NotHep);
        assert_eq!(reason(b"HEP"), ParseError::Truncated);
        assert_eq!(reason(b"HEP3\0\x05"), ParseError::BadLength);
        assert_eq!(reason(b"HEP3\0\x0d\0\0\0\x01\0\x07"), ParseError::Truncated);
        assert_eq!(reason(b"HEP3\0\x0c\0\0\0\x01\0\x05"), ParseError::BadChunk, "shorter than its header");
        assert_eq!(reason(b"HEP3\0\x0c\0\0\0\x01\0\x07"), ParseError::BadChunk, "longer than the rest");
        assert_eq!(reason(b"HEP3\0\x09\0\0\0"), ParseError::BadChunk);
    }

    #[test]
    fn framing_of_a_stream() {
        assert_eq!(total_len(b""), Ok(None));
        assert_eq!(total_len(b"HEP3\x01"), Ok(None));
        assert_eq!(total_len(b"HEP3\x01\x02more"), Ok(Some(258)));
        assert_eq!(total_len(b"HEX"), Err(ParseError::NotHep));
        assert_eq!(total_len(b"EEP3\0\0"), Err(ParseError::BadLength));
        // What follows a packet is the next one's.
        let mut bytes = packet(b"HEP3", &CHUNKS);
        let len = bytes.len();
        bytes.extend(b"HEP3");
        assert_eq!(View::parse(&bytes).unwrap().total_len(), len);
    }
}
