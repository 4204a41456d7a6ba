//! Decompression of gzip (RFC 1952) and zstd (RFC 8878), piece by piece; content before damage is kept.

use std::fmt;
use std::sync::Arc;

use flate2::{Crc, Decompress, FlushDecompress, Status};
use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};

use crate::content::Content;
use crate::error::DamageKind;

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// One or more gzip members.
    Gzip,
    /// One or more zstd frames.
    Zstd,
}

impl Compression {
    /// Detects the compression by the first bytes.
    pub(crate) fn detect(content: &[u8]) -> Option<Self> {
        match content {
            [0x1f, 0x8b, 0x08, ..] => Some(Self::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            // A skippable frame, which parallel compressors put first (RFC 8878 section 3.1.2).
            [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Self::Zstd),
            _ => None,
        }
    }

    /// The command that tests such a file.
    pub(crate) fn tool(self) -> &'static str {
        match self {
            Self::Gzip => "gzip -t",
            Self::Zstd => "zstd -t",
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        })
    }
}

/// Unpacks a content from its beginning, up to a limit: 300 KB can be made to unpack to terabytes.
#[derive(Debug)]
pub(crate) struct Unpacker {
    input: Input,
    decoder: AnyDecoder,
    /// Bytes that may still be unpacked.
    left: u64,
    limit: u64,
    /// Content that was unpacked before it has been returned.
    failure: Option<DamageKind>,
}

enum AnyDecoder {
    Gzip(Gunzip),
    Zstd(Unzstd),
}

impl Unpacker {
    /// Unpacks at most `limit` bytes.
    pub(crate) fn new(content: Arc<Content>, compression: Compression, limit: u64) -> Self {
        let (decoder, failure) = match compression {
            Compression::Gzip => (AnyDecoder::Gzip(Gunzip::Header), None),
            Compression::Zstd => match Decoder::new() {
                Ok(decoder) => (
                    AnyDecoder::Zstd(Unzstd { decoder, wanted: HEADER, is_full: false, has_ended: false }),
                    None,
                ),
                // No memory.
                Err(error) => (AnyDecoder::Gzip(Gunzip::End), Some(DamageKind::Unreadable(error.kind()))),
            },
        };
        Self { input: Input::new(content), decoder, left: limit, limit, failure }
    }

    /// The next bytes of the content; 0 at its end.
    ///
    /// # Errors
    ///
    /// Why the content ends here.
    pub(crate) fn read(&mut self, to: &mut [u8]) -> Result<usize, DamageKind> {
        if let Some(kind) = self.failure {
            return Err(kind);
        }
        let mut written = 0;
        let outcome = match &mut self.decoder {
            AnyDecoder::Gzip(gunzip) => gunzip.read(&mut self.input, to, &mut written),
            AnyDecoder::Zstd(unzstd) => unzstd.read(&mut self.input, to, &mut written),
        };
        self.failure = outcome.err();
        if written as u64 > self.left {
            written = self.left as usize;
            self.failure = Some(DamageKind::TooLarge(self.limit));
        }
        self.left -= written as u64;
        match self.failure {
            Some(kind) if written == 0 => Err(kind),
            _ => Ok(written),
        }
    }

    /// Bytes of the compressed content that were read.
    pub(crate) fn position(&self) -> u64 {
        self.input.at - self.input.rest().len() as u64
    }
}

impl fmt::Debug for AnyDecoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gzip(_) => "Gzip",
            Self::Zstd(_) => "Zstd",
        })
    }
}

/// The compressed bytes that come next.
#[derive(Debug)]
struct Input {
    content: Arc<Content>,
    /// Where the next bytes are read.
    at: u64,
    bytes: Vec<u8>,
    begin: usize,
    has_ended: bool,
}

impl Input {
    fn new(content: Arc<Content>) -> Self {
        Self { content, at: 0, bytes: Vec::new(), begin: 0, has_ended: false }
    }

    fn rest(&self) -> &[u8] {
        &self.bytes[self.begin..]
    }

    fn consume(&mut self, count: usize) {
        self.begin += count;
    }

    /// Makes sure that so many bytes are there, fewer at the end of the content or beyond [`PIECE`].
    fn want(&mut self, count: usize) -> Result<&[u8], DamageKind> {
        let count = count.min(PIECE);
        if self.rest().len() < count && !self.has_ended {
            self.bytes.drain(..self.begin);
            self.begin = 0;
            let left = self.content.size().saturating_sub(self.at);
            let room = left.min((PIECE - self.bytes.len()) as u64) as usize;
            let mut filled = self.bytes.len();
            self.bytes.resize(filled + room, 0);
            while filled < self.bytes.len() {
                match self.content.read_at(self.at, &mut self.bytes[filled..]) {
                    Ok(read) => {
                        filled += read;
                        self.at += read as u64;
                    }
                    Err(kind) => {
                        self.bytes.truncate(filled);
                        return Err(kind);
                    }
                }
            }
            self.has_ended = left == room as u64;
        }
        Ok(self.rest())
    }

    /// What may follow the last member or frame: nothing, or the zeros that tapes and block devices pad with.
    fn padding(&mut self) -> Result<(), DamageKind> {
        loop {
            let rest = self.want(1)?;
            if rest.iter().any(|byte| *byte != 0) {
                return Err(DamageKind::Trailing);
            }
            let count = rest.len();
            if count == 0 {
                return Ok(());
            }
            self.consume(count);
        }
    }
}

/// All members of a gzip file. The readers of `flate2` are not used: they discard what a failing call has
/// already decoded.
enum Gunzip {
    Header,
    Body(Decompress, Crc),
    End,
}

impl Gunzip {
    /// Adds the number of bytes that it unpacks to `written`; none at the end.
    fn read(&mut self, input: &mut Input, to: &mut [u8], written: &mut usize) -> Result<(), DamageKind> {
        while *written == 0 {
            match self {
                Self::Header => {
                    let header = input.want(PIECE)?;
                    // No header of an honest file is longer than a piece.
                    let body = member(header).ok_or(DamageKind::GzipTruncated)?;
                    let length = header.len() - body.len();
                    input.consume(length);
                    *self = Self::Body(Decompress::new(false), Crc::new());
                }
                Self::Body(stream, checksum) => {
                    let rest = input.want(1)?;
                    let before = (stream.total_in(), stream.total_out());
                    let status = stream.decompress(rest, to, FlushDecompress::None);
                    let read = (stream.total_in() - before.0) as usize;
                    *written = (stream.total_out() - before.1) as usize;
                    input.consume(read);
                    checksum.update(&to[..*written]);
                    match status {
                        Ok(Status::StreamEnd) => {
                            let next = trailer(input, checksum)?;
                            *self = next;
                        }
                        Ok(_) if read == 0 && *written == 0 => return Err(DamageKind::GzipTruncated),
                        Ok(_) => {}
                        Err(_) => return Err(DamageKind::Gzip),
                    }
                }
                Self::End => return Ok(()),
            }
        }
        Ok(())
    }
}

/// Checks the trailer of a member (section 2.3.1), and finds what follows it.
fn trailer(input: &mut Input, checksum: &Crc) -> Result<Gunzip, DamageKind> {
    let trailer = input.want(TRAILER)?.first_chunk::<TRAILER>();
    let [a, b, c, d, e, f, g, h] = *trailer.ok_or(DamageKind::GzipTruncated)?;
    let good = u32::from_le_bytes([a, b, c, d]) == checksum.sum()
        && u32::from_le_bytes([e, f, g, h]) == checksum.amount();
    if !good {
        return Err(DamageKind::Gzip);
    }
    input.consume(TRAILER);
    if Compression::detect(input.want(3)?) == Some(Compression::Gzip) {
        return Ok(Gunzip::Header);
    }
    input.padding()?;
    Ok(Gunzip::End)
}

/// The bytes after a member's header (section 2.3.1); `None` if the header is incomplete.
fn member(packed: &[u8]) -> Option<&[u8]> {
    let (header, mut rest) = packed.split_first_chunk::<10>()?;
    let flags = header[3];
    if flags & 0x04 != 0 {
        let length;
        (length, rest) = rest.split_first_chunk()?;
        rest = rest.get(usize::from(u16::from_le_bytes(*length))..)?;
    }
    // File name and comment, each ended by a zero.
    for flag in [0x08, 0x10] {
        if flags & flag != 0 {
            let end = rest.iter().position(|byte| *byte == 0)?;
            rest = &rest[end + 1..];
        }
    }
    if flags & 0x02 != 0 { rest.get(2..) } else { Some(rest) }
}

/// All frames of a zstd file.
///
/// The decoder gets exactly as many bytes as it asks for, one block at a time, and none while it still has
/// content to return, so that a bad block does not lose the blocks before it.
struct Unzstd {
    decoder: Decoder<'static>,
    wanted: usize,
    /// The last call filled its output: the decoder may have more.
    is_full: bool,
    has_ended: bool,
}

impl Unzstd {
    /// Adds the number of bytes that it unpacks to `written`; none at the end.
    fn read(&mut self, input: &mut Input, to: &mut [u8], written: &mut usize) -> Result<(), DamageKind> {
        while *written == 0 && !self.has_ended {
            let rest = input.want(self.wanted)?;
            let given = if self.is_full { 0 } else { self.wanted.min(rest.len()) };
            let mut from = InBuffer::around(&rest[..given]);
            let is_last = rest.is_empty() && !self.is_full;
            let mut output = OutBuffer::around(&mut *to);
            let hint = self.decoder.run(&mut from, &mut output);
            let read = from.pos();
            *written = output.pos();
            self.is_full = *written == to.len();
            input.consume(read);
            match hint {
                Err(_) => return Err(DamageKind::Zstd),
                // The frame is complete and all of it written.
                Ok(0) => {
                    self.wanted = HEADER;
                    if Compression::detect(input.want(4)?) != Some(Compression::Zstd) {
                        input.padding()?;
                        self.has_ended = true;
                    }
                }
                Ok(_) if is_last && *written == 0 => return Err(DamageKind::ZstdTruncated),
                Ok(hint) => self.wanted = hint,
            }
        }
        Ok(())
    }
}

/// Compressed bytes read at once.
const PIECE: usize = 256 << 10;
/// Checksum and length at the end of a gzip member.
const TRAILER: usize = 8;
/// The shortest header of a zstd frame (section 3.1.1): magic number, descriptor.
const HEADER: usize = 5;

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::GzBuilder;
    use flate2::write::GzEncoder;
    use zstd::stream::raw::CParameter;

    use super::*;

    /// Text that compresses, but not to nothing: several deflate and zstd blocks.
    fn plain() -> Vec<u8> {
        let mut state = 1_u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8 & 0x3f
        };
        (0..600_000).map(|_| next()).collect()
    }

    fn gzip(plain: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(plain).expect("a vector takes everything");
        encoder.finish().expect("a vector takes everything")
    }

    fn zstd(plain: &[u8]) -> Vec<u8> {
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).expect("memory");
        encoder.set_parameter(CParameter::ChecksumFlag(true)).expect("a known parameter");
        encoder.write_all(plain).expect("a vector takes everything");
        encoder.finish().expect("a vector takes everything")
    }

    fn unpack(packed: &[u8]) -> (Vec<u8>, Option<DamageKind>) {
        unpack_most(packed, u64::MAX)
    }

    fn unpack_most(packed: &[u8], limit: u64) -> (Vec<u8>, Option<DamageKind>) {
        let compression = Compression::detect(packed).expect("compressed");
        let content = Arc::new(Content::Memory(packed.to_vec()));
        let mut unpacker = Unpacker::new(content, compression, limit);
        let (mut content, mut chunk) = (Vec::new(), vec![0; 50_000]);
        let end = loop {
            match unpacker.read(&mut chunk) {
                Ok(0) => break None,
                Ok(read) => content.extend_from_slice(&chunk[..read]),
                Err(kind) => break Some(kind),
            }
        };
        assert_eq!(unpacker.read(&mut chunk).err(), end, "an end stays the end");
        (content, end)
    }

    #[test]
    fn no_more_is_unpacked_than_the_limit() {
        let plain = plain();
        for pack in [gzip, zstd] {
            let packed = pack(&plain);
            assert_eq!(unpack_most(&packed, 600_000), (plain.clone(), None));
            for limit in [599_999, 123_456, 1, 0] {
                let (content, kind) = unpack_most(&packed, limit);
                assert_eq!((content.len() as u64, kind), (limit, Some(DamageKind::TooLarge(limit))));
                assert!(plain.starts_with(&content));
            }
        }
    }

    #[test]
    fn members_frames_and_padding() {
        let plain = plain();
        for pack in [gzip, zstd] {
            let (front, back) = plain.split_at(123_456);
            let several = [pack(front), pack(b""), pack(back), vec![0; 512]].concat();
            assert_eq!(unpack(&several), (plain.clone(), None));
            let followed = [pack(&plain), b"and more".to_vec()].concat();
            assert_eq!(unpack(&followed), (plain.clone(), Some(DamageKind::Trailing)));
        }
    }

    #[test]
    fn a_header_with_everything_in_it() {
        let mut encoder = GzBuilder::new()
            .filename("ring.pcap")
            .comment("a comment")
            .extra(vec![0; 300])
            .write(Vec::new(), flate2::Compression::default());
        encoder.write_all(b"content").expect("a vector takes everything");
        let packed = encoder.finish().expect("a vector takes everything");
        assert_eq!(unpack(&packed), (b"content".to_vec(), None));
        for end in 3..packed.len() {
            assert_eq!(unpack(&packed[..end]).1, Some(DamageKind::GzipTruncated), "cut at {end}");
        }
    }

    #[test]
    fn skippable_frames_are_skipped() {
        let packed = [b"\x50\x2a\x4d\x18\x04\0\0\0skip".to_vec(), zstd(b"content")].concat();
        assert_eq!(unpack(&packed), (b"content".to_vec(), None));
    }

    #[test]
    fn what_comes_before_a_cut_is_kept() {
        let plain = plain();
        for (pack, what) in
            [(gzip as fn(&[u8]) -> Vec<u8>, DamageKind::GzipTruncated), (zstd, DamageKind::ZstdTruncated)]
        {
            let packed = pack(&plain);
            for part in 1..20 {
                let end = packed.len() * part / 20;
                let (content, kind) = unpack(&packed[..end]);
                assert_eq!(kind, Some(what));
                assert!(plain.starts_with(&content));
                // The content is nearly incompressible; no more than one block of 128 KiB may be missing.
                let due = plain.len() * part / 20;
                assert!(content.len() + (160 << 10) > due, "{} of {due} bytes", content.len());
            }
        }
    }

    #[test]
    fn what_comes_before_wrong_bytes_is_kept() {
        let plain = plain();
        for (pack, what) in [(gzip as fn(&[u8]) -> Vec<u8>, DamageKind::Gzip), (zstd, DamageKind::Zstd)] {
            let mut packed = pack(&plain);
            let middle = packed.len() / 2;
            packed[middle..middle + 64].fill(0xff);
            let (content, kind) = unpack(&packed);
            assert_eq!(kind, Some(what));
            let same = plain.iter().zip(&content).take_while(|(a, b)| a == b).count();
            assert!(same + (160 << 10) > plain.len() / 2, "{same} good bytes");
        }
    }

    #[test]
    fn a_wrong_checksum_is_damage_after_everything() {
        let plain = plain();
        for (pack, back, what) in
            [(gzip as fn(&[u8]) -> Vec<u8>, 8, DamageKind::Gzip), (zstd, 4, DamageKind::Zstd)]
        {
            let mut packed = pack(&plain);
            let at = packed.len() - back;
            packed[at] ^= 1;
            let (content, kind) = unpack(&packed);
            assert!(content == plain && kind == Some(what), "{kind:?} after {} bytes", content.len());
        }
    }
}
