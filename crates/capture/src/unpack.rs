//! Decompression of gzip (RFC 1952) and zstd (RFC 8878); content before damage is kept.

use std::fmt;

use flate2::{Crc, Decompress, FlushDecompress, Status};
use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};

use crate::content::{CHUNK, Content, Failure, MEMORY, Store};
use crate::error::{Damage, DamageKind};

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

    /// Decompresses; the damage is an offset in the decompressed content.
    pub(crate) fn unpack(self, packed: &[u8]) -> Result<(Content, Option<Damage>), Failure> {
        let mut store = Store::new(MEMORY);
        let kind = match self {
            Self::Gzip => gunzip(packed, &mut store)?,
            Self::Zstd => unzstd(packed, &mut store)?,
        };
        let damage = kind.map(|kind| Damage { offset: store.size(), kind });
        Ok((store.finish()?, damage))
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

/// All members of a gzip file. The readers of `flate2` are not used: they discard what a failing call has
/// already decoded.
fn gunzip(packed: &[u8], store: &mut Store) -> Result<Option<DamageKind>, Failure> {
    let mut rest = packed;
    loop {
        let Some(body) = member(rest) else { return Ok(Some(DamageKind::GzipTruncated)) };
        let after = match inflate(body, store)? {
            Ok(after) => after,
            Err(kind) => return Ok(Some(kind)),
        };
        match Compression::detect(after) {
            Some(Compression::Gzip) => rest = after,
            // Tapes and block devices pad with zeros.
            _ if after.iter().all(|byte| *byte == 0) => return Ok(None),
            _ => return Ok(Some(DamageKind::Trailing)),
        }
    }
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

/// Decompresses one deflate stream with its trailer; returns the bytes after it, or what is wrong.
fn inflate<'p>(body: &'p [u8], store: &mut Store) -> Result<Result<&'p [u8], DamageKind>, Failure> {
    let mut stream = Decompress::new(false);
    let mut checksum = Crc::new();
    let mut chunk = vec![0; CHUNK];
    let mut rest = body;
    loop {
        let (read, written) = (stream.total_in(), stream.total_out());
        let status = stream.decompress(rest, &mut chunk, FlushDecompress::None);
        let read = (stream.total_in() - read) as usize;
        let written = (stream.total_out() - written) as usize;
        rest = &rest[read..];
        checksum.update(&chunk[..written]);
        store.push(&chunk[..written])?;
        match status {
            Ok(Status::StreamEnd) => break,
            Ok(_) if read == 0 && written == 0 => return Ok(Err(DamageKind::GzipTruncated)),
            Ok(_) => {}
            Err(_) => return Ok(Err(DamageKind::Gzip)),
        }
    }
    let Some((trailer, after)) = rest.split_first_chunk::<8>() else {
        return Ok(Err(DamageKind::GzipTruncated));
    };
    let [a, b, c, d, e, f, g, h] = *trailer;
    let good = u32::from_le_bytes([a, b, c, d]) == checksum.sum()
        && u32::from_le_bytes([e, f, g, h]) == checksum.amount();
    Ok(if good { Ok(after) } else { Err(DamageKind::Gzip) })
}

/// All frames of a zstd file.
///
/// The decoder gets exactly as many bytes as it asks for, one block at a time, so that a bad block does not
/// lose the blocks before it.
fn unzstd(packed: &[u8], store: &mut Store) -> Result<Option<DamageKind>, Failure> {
    let mut decoder = Decoder::new().map_err(Failure::Unpack)?;
    let mut chunk = vec![0; CHUNK];
    let mut rest = packed;
    let mut wanted = MIN_FRAME_HEADER;
    loop {
        let given = wanted.min(rest.len());
        let mut input = InBuffer::around(&rest[..given]);
        let mut output = OutBuffer::around(&mut chunk[..]);
        let hint = decoder.run(&mut input, &mut output);
        let (read, written) = (input.pos(), output.pos());
        rest = &rest[read..];
        store.push(&chunk[..written])?;
        match hint {
            Err(_) => return Ok(Some(DamageKind::Zstd)),
            // The frame is complete and all of it written.
            Ok(0) if rest.is_empty() => return Ok(None),
            Ok(0) if Compression::detect(rest) != Some(Compression::Zstd) => {
                let padding = rest.iter().all(|byte| *byte == 0);
                return Ok(if padding { None } else { Some(DamageKind::Trailing) });
            }
            Ok(0) => wanted = MIN_FRAME_HEADER,
            Ok(_) if rest.is_empty() && written == 0 => return Ok(Some(DamageKind::ZstdTruncated)),
            Ok(hint) => wanted = hint,
        }
    }
}

/// Bytes that the decoder needs to determine the size of a frame header.
const MIN_FRAME_HEADER: usize = 5;

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
        let compression = Compression::detect(packed).expect("compressed");
        let (content, damage) = compression.unpack(packed).expect("memory");
        assert!(damage.is_none_or(|damage| damage.offset == content.len() as u64));
        (content.to_vec(), damage.map(|damage| damage.kind))
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
            assert_eq!(unpack(&packed), (plain.clone(), Some(what)));
        }
    }
}
