//! Markers: records about a segment, among its packets.
//!
//! A segment is an ordinary pcap, so everything in it is a packet record. So is a marker: an Ethernet frame
//! with the type for local experiments (IEEE 802, 0x88b5), or an IPv4 packet with the protocol for
//! experiments (253, RFC 3692) if the link type has no Ethernet header. Other programs show it as such.

use ringtap_model::{LinkType, Nanos};

/// Bytes of a pcap record's header.
pub(crate) const RECORD: usize = 16;
/// Bytes of a pcap file's header.
pub(crate) const GLOBAL: usize = 24;
/// The longest captured length that a reader accepts.
pub(crate) const MAX_CAPTURED: u32 = 256 << 10;

/// pcap with nanoseconds, in the byte order of the writer: little endian here.
const NANO: u32 = 0xa1b2_3c4d;
pub(crate) const MAGIC: [u8; 4] = *b"RTSP";
/// The magic of an envelope: a sealed or packed chunk has it where a marker has its own.
const ENVELOPE: [u8; 4] = *b"RTSE";
const VERSION: u8 = 2;
const ETHERNET: u16 = 1;
const RAW: u16 = 101;
/// Ethernet header: to nobody, from a locally administered address, for local experiments.
const ETHERNET_HEADER: [u8; 14] = [2, 0, 0, 0, 0, 0, 2, 0x72, 0x69, 0x6e, 0x67, 0, 0x88, 0xb5];
const IPV4_HEADER: usize = 20;
/// Magic, version, kind, flags, length of the fields.
const HEAD: usize = 8;
const CRC: usize = 4;
const SECOND: u64 = 1_000_000_000;

/// The headers in front of a marker, for each link type that can have markers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    Ethernet,
    Raw,
}

impl Link {
    /// None if a segment cannot hold frames of the link type.
    pub(crate) fn of(link: LinkType) -> Option<Self> {
        match link.0 {
            ETHERNET => Some(Self::Ethernet),
            RAW => Some(Self::Raw),
            _ => None,
        }
    }

    pub(crate) const fn number(self) -> LinkType {
        match self {
            Self::Ethernet => LinkType(ETHERNET),
            Self::Raw => LinkType(RAW),
        }
    }

    const fn header(self) -> usize {
        match self {
            Self::Ethernet => ETHERNET_HEADER.len(),
            Self::Raw => IPV4_HEADER,
        }
    }
}

/// The header of a chunk: it precedes the packet records of one owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// The key of the owner.
    pub owner: u64,
    /// Number of the chunk among the owner's, from 0.
    pub number: u32,
    /// Packet records in it.
    pub packets: u32,
    /// Bytes of them on the disk, behind the marker.
    pub length: u32,
    /// CRC32C of these bytes.
    pub crc: u32,
    /// [`SEALED`](Self::SEALED), [`PACKED`](Self::PACKED), neither or both: packed first, then sealed.
    pub flags: u32,
    /// If it is sealed: the row of its key in the segment's key file.
    pub key: u32,
    /// Bytes of the packet records: `length` if it is neither sealed nor packed.
    pub plain: u32,
    /// Earliest and latest timestamp in it.
    pub first: Nanos,
    /// See `first`.
    pub last: Nanos,
}

impl Chunk {
    /// The bytes are encrypted.
    pub const SEALED: u32 = 1;
    /// The bytes are compressed.
    pub const PACKED: u32 = 2;

    /// Whether reading it needs a key.
    pub fn is_sealed(&self) -> bool {
        self.flags & Self::SEALED != 0
    }

    /// Whether the packet records are on the disk as they are.
    pub fn is_plain(&self) -> bool {
        self.flags == 0
    }

    /// The fields as they stand in a marker.
    fn fields(&self) -> [u8; FIELDS] {
        let mut fields = [0; FIELDS];
        let mut put = |at: usize, bytes: &[u8]| fields[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &self.owner.to_le_bytes());
        put(8, &self.first.0.to_le_bytes());
        put(16, &self.last.0.to_le_bytes());
        let words = [self.number, self.packets, self.length, self.crc, self.flags, self.key, self.plain];
        words.iter().zip(0..).for_each(|(word, place)| put(24 + 4 * place, &word.to_le_bytes()));
        fields
    }

    /// The fields that the encryption authenticates: all but the checksum of its result.
    pub(crate) fn bound(&self) -> [u8; FIELDS] {
        Self { crc: 0, ..*self }.fields()
    }

    fn of_fields(fields: &[u8]) -> Option<Self> {
        Some(Self {
            owner: u64_at(fields, 0)?,
            first: Nanos(u64_at(fields, 8)?),
            last: Nanos(u64_at(fields, 16)?),
            number: u32_at(fields, 24)?,
            packets: u32_at(fields, 28)?,
            length: u32_at(fields, 32)?,
            crc: u32_at(fields, 36)?,
            flags: u32_at(fields, 40)?,
            key: u32_at(fields, 44)?,
            plain: u32_at(fields, 48)?,
        })
    }
}

/// A marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marker {
    /// First in a segment: the worker, and the number of the segment.
    Start { worker: u16, segment: u64, at: Nanos },
    /// Before the packets of a chunk.
    Chunk(Chunk),
    /// Before the zeros that replaced a chunk's packets. As a packet record it covers them as well.
    Erased(Chunk),
    /// Fills a block to its end; as a packet record it has so many bytes.
    Padding { at: Nanos, length: u32 },
    /// Last in a segment that was closed: how many chunks it holds.
    End { chunks: u32, at: Nanos },
}

impl Marker {
    fn at(&self) -> Nanos {
        match *self {
            Self::Start { at, .. } | Self::Padding { at, .. } | Self::End { at, .. } => at,
            Self::Chunk(chunk) | Self::Erased(chunk) => chunk.first,
        }
    }

    /// Bytes of the packet record: the marker, and the zeros that it covers.
    fn record(&self, link: Link) -> usize {
        match self {
            Self::Erased(chunk) => len(link) + chunk.length as usize,
            Self::Padding { length, .. } => *length as usize,
            _ => len(link),
        }
    }

    /// Whether these bytes, a marker as a packet record, are what it is written as: its headers have no
    /// checksum.
    pub(crate) fn is_written_as(&self, link: Link, bytes: &[u8]) -> bool {
        let mut expected = [0; 128];
        let expected = &mut expected[..len(link)];
        self.write(link, expected);
        bytes.get(..len(link)) == Some(expected)
    }

    /// Writes the marker as a packet record: [`len`] bytes, or more if padding is to fill them.
    pub(crate) fn write(&self, link: Link, to: &mut [u8]) {
        frame(link, self.at(), to, self.record(link).saturating_sub(to.len()));
        let marker = &mut to[before_magic(link)..];
        marker.fill(0);
        let (kind, fields) = self.fields();
        marker[..4].copy_from_slice(&MAGIC);
        marker[4] = VERSION;
        marker[5] = kind;
        marker[6..8].copy_from_slice(&(FIELDS as u16).to_le_bytes());
        marker[HEAD..HEAD + FIELDS].copy_from_slice(&fields);
        let crc = ringtap_cpu::crc32c(0, &marker[..HEAD + FIELDS]);
        marker[HEAD + FIELDS..HEAD + FIELDS + CRC].copy_from_slice(&crc.to_le_bytes());
    }

    fn fields(&self) -> (u8, [u8; FIELDS]) {
        let mut fields = [0; FIELDS];
        let mut put = |at: usize, bytes: &[u8]| fields[at..at + bytes.len()].copy_from_slice(bytes);
        let kind = match *self {
            Self::Start { worker, segment, at } => {
                put(0, &segment.to_le_bytes());
                put(8, &at.0.to_le_bytes());
                put(16, &worker.to_le_bytes());
                0
            }
            Self::Chunk(chunk) => return (1, chunk.fields()),
            Self::Erased(chunk) => return (4, chunk.fields()),
            Self::Padding { at, length } => {
                put(0, &length.to_le_bytes());
                put(8, &at.0.to_le_bytes());
                2
            }
            Self::End { chunks, at } => {
                put(0, &chunks.to_le_bytes());
                put(8, &at.0.to_le_bytes());
                3
            }
        };
        (kind, fields)
    }

    /// Reads the packet record at the beginning of `bytes` as a marker, and returns its length too. Padding
    /// and erased bytes may be missing from `bytes`. None if the record is no marker, or is damaged.
    pub(crate) fn read(link: Link, bytes: &[u8]) -> Option<(Self, usize)> {
        let captured = u32_at(bytes, 8)?;
        let length = RECORD + usize::try_from(captured).ok()?;
        let marker = bytes.get(RECORD + link.header()..length.min(bytes.len()))?;
        let crc = u32_at(marker, HEAD + FIELDS)?;
        let sound = marker[..4] == MAGIC
            && marker[4] == VERSION
            && marker[6..8] == (FIELDS as u16).to_le_bytes()
            && ringtap_cpu::crc32c(0, &marker[..HEAD + FIELDS]) == crc;
        if !sound {
            return None;
        }
        let fields = &marker[HEAD..HEAD + FIELDS];
        let at = Nanos(u64_at(fields, 8)?);
        let read = match marker[5] {
            0 => Self::Start { worker: u32_at(fields, 16)? as u16, segment: u64_at(fields, 0)?, at },
            1 => Self::Chunk(Chunk::of_fields(fields)?),
            2 => Self::Padding { at, length: u32_at(fields, 0)? },
            3 => Self::End { chunks: u32_at(fields, 0)?, at },
            4 => Self::Erased(Chunk::of_fields(fields)?),
            _ => return None,
        };
        // The record's own header has no checksum.
        (length == read.record(link)).then_some((read, length))
    }
}

/// Bytes of the fields of any marker.
pub(crate) const FIELDS: usize = 56;

/// Bytes of a marker as a packet record.
pub(crate) const fn len(link: Link) -> usize {
    RECORD + link.header() + HEAD + FIELDS + CRC
}

/// Bytes of a marker before its magic.
pub(crate) const fn before_magic(link: Link) -> usize {
    RECORD + link.header()
}

/// Writes the header of a packet record and of the frame in it. The record is `beyond` bytes longer than
/// `to`.
fn frame(link: Link, at: Nanos, to: &mut [u8], beyond: usize) {
    let body = to.len() - RECORD + beyond;
    record_header(&mut to[..RECORD], at, body as u32, body as u32);
    let frame = &mut to[RECORD..];
    match link {
        Link::Ethernet => frame[..ETHERNET_HEADER.len()].copy_from_slice(&ETHERNET_HEADER),
        Link::Raw => ipv4_header(frame, body),
    }
}

/// Bytes before those of a sealed or packed chunk: such a chunk is one packet record, as a marker is.
pub(crate) const fn envelope(link: Link) -> usize {
    before_magic(link) + ENVELOPE.len()
}

/// Makes all of `to` such a record.
pub(crate) fn write_envelope(link: Link, at: Nanos, to: &mut [u8]) {
    frame(link, at, to, 0);
    to[before_magic(link)..envelope(link)].copy_from_slice(&ENVELOPE);
}

/// The header of the file.
pub(crate) fn global_header(link: Link) -> [u8; GLOBAL] {
    let mut header = [0; GLOBAL];
    header[0..4].copy_from_slice(&NANO.to_le_bytes());
    header[4..6].copy_from_slice(&2_u16.to_le_bytes());
    header[6..8].copy_from_slice(&4_u16.to_le_bytes());
    header[16..20].copy_from_slice(&MAX_CAPTURED.to_le_bytes());
    header[20..22].copy_from_slice(&link.number().0.to_le_bytes());
    header
}

/// The link type in a file's header, if it is the header of a segment.
pub(crate) fn link_of(header: &[u8]) -> Option<Link> {
    let known = u32_at(header, 0)? == NANO && header.len() >= GLOBAL;
    known.then(|| Link::of(LinkType(u16::from_le_bytes([header[20], header[21]]))))?
}

/// Writes the header of a packet record. A time after the year 2106 becomes the last second of the format.
pub(crate) fn record_header(to: &mut [u8], time: Nanos, captured: u32, wire: u32) {
    let secs = u32::try_from(time.0 / SECOND).unwrap_or(u32::MAX);
    to[0..4].copy_from_slice(&secs.to_le_bytes());
    to[4..8].copy_from_slice(&((time.0 % SECOND) as u32).to_le_bytes());
    to[8..12].copy_from_slice(&captured.to_le_bytes());
    to[12..16].copy_from_slice(&wire.to_le_bytes());
}

/// Time, captured length and length on the wire of the packet record at the beginning of `bytes`.
pub(crate) fn read_record(bytes: &[u8]) -> Option<(Nanos, u32, u32)> {
    let (secs, nanos) = (u32_at(bytes, 0)?, u32_at(bytes, 4)?);
    let time = Nanos(u64::from(secs) * SECOND + u64::from(nanos));
    Some((time, u32_at(bytes, 8)?, u32_at(bytes, 12)?))
}

fn ipv4_header(frame: &mut [u8], total: usize) {
    let total = u16::try_from(total).unwrap_or(u16::MAX).to_be_bytes();
    // Version 4, no options; protocol 253; from and to 192.0.2.0 (RFC 5737).
    let mut header = [0x45, 0, total[0], total[1], 0, 0, 0x40, 0, 1, 253, 0, 0, 192, 0, 2, 0, 192, 0, 2, 0];
    let sum: u32 = header.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    frame[..IPV4_HEADER].copy_from_slice(&header);
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes)
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CHUNK: Chunk = Chunk {
        owner: 7,
        number: 3,
        packets: 11,
        length: 2_530,
        crc: 0xdead_beef,
        flags: Chunk::SEALED,
        key: 9,
        plain: 2_498,
        first: Nanos(1_795_219_200_000_000_001),
        last: Nanos(1_795_219_200_200_000_000),
    };

    #[test]
    fn every_mark_comes_back() {
        let at = CHUNK.first;
        for link in [Link::Ethernet, Link::Raw] {
            for marker in [
                Marker::Start { worker: 3, segment: 1 << 40, at },
                Marker::Chunk(CHUNK),
                Marker::Erased(CHUNK),
                Marker::Padding { at, length: 500 },
                Marker::End { chunks: 9, at },
            ] {
                let padded = if matches!(marker, Marker::Padding { .. }) { 500 } else { len(link) };
                let mut bytes = vec![0xff; padded];
                marker.write(link, &mut bytes);
                assert_eq!(Marker::read(link, &bytes), Some((marker, marker.record(link))));
                assert!(marker.is_written_as(link, &bytes));
                for at in 0..len(link) {
                    bytes[at] ^= 1;
                    assert!(!marker.is_written_as(link, &bytes), "byte {at}");
                    bytes[at] ^= 1;
                }
                for at in RECORD + link.header()..len(link) {
                    bytes[at] ^= 1;
                    assert_eq!(Marker::read(link, &bytes), None, "byte {at}");
                    bytes[at] ^= 1;
                }
            }
        }
    }

    #[test]
    fn the_ipv4_header_has_its_checksum() {
        let mut frame = [0; 100];
        ipv4_header(&mut frame, 100);
        let sum: u32 =
            frame[..20].chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff);
    }

    proptest! {
        #[test]
        fn any_bytes_are_no_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = (Marker::read(Link::Ethernet, &bytes), Marker::read(Link::Raw, &bytes), link_of(&bytes));
        }
    }
}
