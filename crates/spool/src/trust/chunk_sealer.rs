//! The packets of a sealed or packed chunk on the disk: in an envelope, one packet record that other programs
//! skip.
//!
//! They are packed first (zstd), then sealed (AES-256-GCM). The nonce is the chunk's number: each owner has a
//! key of its own, and its chunks are numbered. The marker's fields are authenticated, so that no chunk can
//! take another's place.

use aes_gcm::aead::{AeadInOut, Key, KeyInit};
use aes_gcm::{AeadCore, Aes256Gcm, Nonce, Tag};
use zstd::bulk::Compressor;

use crate::error::Error;
use crate::segment::marker::{self, Chunk, Link};
use crate::trust::keys::OwnerKey;

/// Bytes of the tag of AES-GCM.
const TAG: usize = 16;
/// No chunk has more bytes than this.
const MOST: usize = 1 << 20;

/// Bytes that a chunk may grow by.
pub(crate) const fn overhead(link: Link) -> usize {
    marker::envelope(link) + TAG
}

/// Packs and seals chunks. It allocates all memory at once.
pub(crate) struct ChunkSealer {
    link: Link,
    /// The envelope, the packets, the tag.
    raw: Box<[u8]>,
    /// The same for packed packets.
    packed: Box<[u8]>,
    compressor: Option<Compressor<'static>>,
}

impl ChunkSealer {
    /// For chunks of at most so many bytes, packed at that level.
    pub(crate) fn new(link: Link, most: usize, level: Option<i32>) -> Result<Self, Error> {
        let room = |bytes: usize| vec![0xff; bytes + overhead(link)].into_boxed_slice();
        let mut wrap = Self { link, raw: room(most), packed: Box::default(), compressor: None };
        if let Some(level) = level {
            let failed = |error| Error::io(std::path::Path::new("zstd"), "set up", error);
            wrap.packed = room(most);
            let mut compressor = Compressor::new(level).map_err(failed)?;
            // The first and longest chunk makes the compressor allocate its memory.
            let at = marker::envelope(link);
            let _ = compressor.compress_to_buffer(&wrap.raw[at..at + most], &mut wrap.packed[at..]);
            wrap.compressor = Some(compressor);
        }
        Ok(wrap)
    }

    /// The buffer for the packets of the next chunk.
    pub(crate) fn packets(&mut self, bytes: usize) -> &mut [u8] {
        let at = marker::envelope(self.link);
        &mut self.raw[at..at + bytes]
    }

    /// Packs and seals the packets in the buffer, and completes the marker. None if they stay as they are:
    /// there is no key, and packing does not make them shorter.
    pub(crate) fn close(&mut self, chunk: &mut Chunk, key: Option<&OwnerKey>) -> Option<&[u8]> {
        let head = marker::envelope(self.link);
        let plain = chunk.plain as usize;
        let Self { raw, packed, compressor, .. } = self;
        let room = plain.saturating_sub(head + 1);
        let shorter = compressor.as_mut().and_then(|compressor| {
            let room = packed.get_mut(head..head + room)?;
            // Packets that do not fit into this room do not become shorter.
            compressor.compress_to_buffer(&raw[head..head + plain], room).ok()
        });
        let (bytes, body) = match shorter {
            Some(length) => (packed, length),
            None => (raw, plain),
        };
        let length = head + body + if key.is_some() { TAG } else { 0 };
        let flag = |set: bool, flag| if set { flag } else { 0 };
        chunk.flags = flag(shorter.is_some(), Chunk::PACKED) | flag(key.is_some(), Chunk::SEALED);
        chunk.length = length as u32;
        if chunk.is_plain() {
            chunk.length = chunk.plain;
            return None;
        }
        if let Some(key) = key {
            let cipher = Aes256Gcm::new(&Key::<Aes256Gcm>::from(**key));
            let sealed = &mut bytes[head..head + body];
            // It fails only for 64 GiB and more.
            let tag = cipher.encrypt_inout_detached(&nonce(chunk), &chunk.bound(), sealed.into()).ok()?;
            bytes[head + body..length].copy_from_slice(&tag);
        }
        let bytes = &mut bytes[..length];
        marker::write_envelope(self.link, chunk.first, bytes);
        chunk.crc = ringtap_cpu::crc32c(0, bytes);
        Some(bytes)
    }
}

/// The packets of a chunk, from its bytes behind the marker. None if they are not what was sealed, or cannot
/// be unpacked.
pub(crate) fn open(link: Link, chunk: &Chunk, bytes: &[u8], key: Option<&OwnerKey>) -> Option<Vec<u8>> {
    let known = Chunk::SEALED | Chunk::PACKED;
    if chunk.flags & !known != 0 || chunk.plain as usize > MOST {
        return None;
    }
    let mut body = bytes.get(marker::envelope(link)..)?.to_vec();
    if chunk.is_sealed() {
        let end = body.len().checked_sub(TAG)?;
        let tag: [u8; TAG] = body[end..].try_into().ok()?;
        body.truncate(end);
        let cipher = Aes256Gcm::new(&Key::<Aes256Gcm>::from(**key?));
        let (nonce, bound) = (nonce(chunk), chunk.bound());
        cipher.decrypt_inout_detached(&nonce, &bound, (&mut body[..]).into(), &Tag::from(tag)).ok()?;
    }
    if chunk.flags & Chunk::PACKED != 0 {
        body = zstd::bulk::decompress(&body, chunk.plain as usize).ok()?;
    }
    (body.len() == chunk.plain as usize).then_some(body)
}

fn nonce(chunk: &Chunk) -> Nonce<<Aes256Gcm as AeadCore>::NonceSize> {
    let mut nonce = [0; 12];
    nonce[..4].copy_from_slice(&chunk.number.to_le_bytes());
    nonce.into()
}

#[cfg(test)]
mod tests {
    use ringtap_model::Nanos;

    use super::*;
    use crate::segment::marker::Marker;

    const KEY: [u8; 32] = [9; 32];

    fn chunk(plain: u32) -> Chunk {
        let first = Nanos(1_795_219_200_000_000_001);
        Chunk {
            owner: 5,
            number: 2,
            packets: 3,
            length: plain,
            crc: 0,
            flags: 0,
            key: 4,
            plain,
            first,
            last: first,
        }
    }

    #[test]
    fn what_is_closed_is_opened_by_its_key_alone() {
        for link in [Link::Ethernet, Link::Raw] {
            for (level, sealed) in [(None, true), (Some(1), true), (Some(1), false), (None, false)] {
                let mut wrap = ChunkSealer::new(link, 70_000, level).unwrap();
                for (length, dull) in [(0u32, true), (1, true), (300, true), (70_000, true), (70_000, false)]
                {
                    let mut seed = 1u32;
                    let mut noise = || {
                        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                        (seed >> 24) as u8
                    };
                    let plain: Vec<u8> = (0..length).map(|_| if dull { b'x' } else { noise() }).collect();
                    let mut chunk = chunk(length);
                    wrap.packets(plain.len()).copy_from_slice(&plain);
                    let key = OwnerKey::from(KEY);
                    let key = sealed.then_some(&key);
                    let Some(bytes) = wrap.close(&mut chunk, key).map(<[u8]>::to_vec) else {
                        assert!(!sealed && chunk.is_plain() && chunk.length == length);
                        continue;
                    };
                    assert_eq!((bytes.len(), chunk.is_sealed()), (chunk.length as usize, sealed));
                    let packed = chunk.flags & Chunk::PACKED != 0;
                    assert!(!packed || bytes.len() < plain.len() + TAG);
                    assert!(packed || level.is_none() || length < 100 || !dull);
                    // One packet record, and no marker.
                    let (_, captured, _) = marker::read_record(&bytes).unwrap();
                    assert_eq!(captured as usize + marker::RECORD, bytes.len());
                    assert_eq!(Marker::read(link, &bytes), None);
                    assert_eq!(open(link, &chunk, &bytes, key), Some(plain.clone()));
                    if !sealed {
                        continue;
                    }
                    assert_eq!(open(link, &chunk, &bytes, Some(&OwnerKey::from([8; 32]))), None);
                    assert_eq!(open(link, &chunk, &bytes, None), None);
                    let elsewhere = [
                        Chunk { owner: 6, ..chunk },
                        Chunk { number: 3, ..chunk },
                        Chunk { first: Nanos(1), ..chunk },
                        Chunk { packets: 4, ..chunk },
                    ];
                    assert!(elsewhere.iter().all(|chunk| open(link, chunk, &bytes, key).is_none()));
                    let mut bad = bytes.clone();
                    *bad.last_mut().unwrap() ^= 1;
                    assert_eq!(open(link, &chunk, &bad, key), None);
                }
            }
        }
    }

    #[test]
    fn a_length_that_is_a_lie_takes_no_memory() {
        let huge = Chunk { flags: Chunk::PACKED, ..chunk(u32::MAX) };
        assert_eq!(open(Link::Ethernet, &huge, &[0; 100], None), None);
        let unknown = Chunk { flags: 4, ..chunk(10) };
        assert_eq!(open(Link::Ethernet, &unknown, &[0; 100], None), None);
    }
}
