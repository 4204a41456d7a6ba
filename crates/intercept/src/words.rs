//! Memory that one thread writes while another one reads it, without a lock.

use std::sync::atomic::{AtomicU64, Ordering};

use ringtap_model::{Frame, LinkType, Nanos};

/// Words of 64 bits, a power of two of them; places go on for ever, and wrap around.
#[derive(Debug)]
pub(crate) struct Words {
    words: Box<[AtomicU64]>,
}

/// What stands before the bytes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) time: Nanos,
    pub(crate) number: u64,
    pub(crate) link: LinkType,
    pub(crate) wire_len: u32,
    /// Bytes of the frame.
    pub(crate) len: u32,
    /// What the writer says of it.
    pub(crate) is_marked: bool,
}

impl Head {
    pub(crate) fn of(frame: &Frame<'_>, is_marked: bool) -> Self {
        let Frame { time, number, link, wire_len, data } = *frame;
        Self { time, number, link, wire_len, len: data.len() as u32, is_marked }
    }

    /// Words of the frame with its head.
    pub(crate) fn words(&self) -> u64 {
        HEAD + u64::from(self.len).div_ceil(8)
    }
}

impl Words {
    /// So many bytes, or up to half of it: a power of two. At least 64 KiB.
    pub(crate) fn new(bytes: u64) -> Self {
        let words = 1 << (bytes.max(LEAST) / 8).ilog2();
        let words: Vec<AtomicU64> = (0..words).map(|_| AtomicU64::new(0)).collect();
        Self { words: words.into() }
    }

    pub(crate) fn len(&self) -> u64 {
        self.words.len() as u64
    }

    /// Keeps it out of swap space and core dumps. Whether the system does.
    pub(crate) fn keep_in_memory(&mut self) -> bool {
        ringtap_cpu::keep_table_in_memory(&mut self.words)
    }

    fn at(&self, place: u64) -> &AtomicU64 {
        &self.words[(place & (self.len() - 1)) as usize]
    }

    // HOT: once a frame that is passed on or remembered. It allocates nothing.
    pub(crate) fn put(&self, place: u64, head: &Head, data: &[u8]) {
        let first = u64::from(head.len) | u64::from(head.link.0) << 32 | u64::from(head.is_marked) << 48;
        let head = [first, head.time.0, head.number, u64::from(head.wire_len)];
        for (place, word) in (place..).zip(head) {
            self.at(place).store(word, Ordering::Relaxed);
        }
        let (whole, rest) = data.as_chunks::<8>();
        let mut place = place + HEAD;
        for bytes in whole {
            self.at(place).store(u64::from_le_bytes(*bytes), Ordering::Relaxed);
            place += 1;
        }
        if !rest.is_empty() {
            let mut bytes = [0; 8];
            bytes[..rest.len()].copy_from_slice(rest);
            self.at(place).store(u64::from_le_bytes(bytes), Ordering::Relaxed);
        }
    }

    pub(crate) fn head(&self, place: u64) -> Head {
        let [first, time, number, wire_len] =
            [0, 1, 2, 3].map(|offset| self.at(place + offset).load(Ordering::Relaxed));
        Head {
            time: Nanos(time),
            number,
            link: LinkType((first >> 32) as u16),
            wire_len: wire_len as u32,
            len: first as u32,
            is_marked: first >> 48 & 1 == 1,
        }
    }

    /// The bytes of a frame.
    pub(crate) fn data(&self, place: u64, head: &Head, into: &mut Vec<u8>) {
        into.clear();
        let words = u64::from(head.len).div_ceil(8);
        let place = place + HEAD;
        into.extend(
            (place..place + words).flat_map(|place| self.at(place).load(Ordering::Relaxed).to_le_bytes()),
        );
        into.truncate(head.len as usize);
    }
}

/// Words of a head.
const HEAD: u64 = 4;
const LEAST: u64 = 1 << 16;
