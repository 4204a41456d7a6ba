//! Chunks that grow: where each owner's packets are in the ring.

use ringtap_model::Nanos;

use crate::segment::marker::{Chunk, RECORD};
use crate::segment::name::Category;
use crate::write::ring::{self, HEAD};
use crate::write::settings::MOST;
use crate::write::sys::Reader;

const NONE: u32 = u32::MAX;

/// The chunk of an owner that grows: where its packets are in the ring. One cache line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Growing {
    first: Nanos,
    last: Nanos,
    /// Where its first packet is in the ring.
    begun: u64,
    key: u64,
    /// Bytes of the packet records.
    bytes: u32,
    packets: u32,
    /// The first and the last block of offsets.
    head: u32,
    tail: u32,
    /// Neighbours in the order in which the chunks began.
    older: u32,
    newer: u32,
    number: u32,
    category: Category,
    /// The slot has an owner.
    is_taken: bool,
}

const _: () = assert!(size_of::<Growing>() == 64);

impl Growing {
    const FREE: Self = Self {
        first: Nanos::ZERO,
        last: Nanos::ZERO,
        begun: 0,
        key: 0,
        bytes: 0,
        packets: 0,
        head: NONE,
        tail: NONE,
        older: NONE,
        newer: NONE,
        number: 0,
        category: Category::Media,
        is_taken: false,
    };
}

/// Offsets of packets in the ring, in multiples of [`HEAD`]; the last number is that of the next block.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct OffsetBlock([u32; OFFSETS + 1]);

/// Offsets in a block.
const OFFSETS: usize = 15;

/// Bytes that a voice packet takes in the ring, at least; if too many packets are shorter, chunks end
/// earlier.
const USUAL: usize = 112;

/// A packet that has been read from the ring.
#[derive(Clone, Copy, Default)]
pub(crate) struct IncomingPacket {
    pub(crate) slot: u32,
    pub(crate) bytes: u32,
    pub(crate) place: usize,
    pub(crate) time: Nanos,
    pub(crate) at: u64,
}

/// The growing chunks of all owners, in the order of their age.
pub(crate) struct GrowingChunks {
    growing: Vec<Growing>,
    blocks: Vec<OffsetBlock>,
    free: Vec<u32>,
    oldest: u32,
    newest: u32,
    /// Offsets of the packets of the chunk that is being written.
    gathered: Vec<u32>,
}

impl GrowingChunks {
    /// For so many owners, and a ring of so many bytes. Allocates all memory now.
    pub(crate) fn new(owners: usize, ring_bytes: usize) -> Self {
        let mut growing = Vec::with_capacity(owners);
        ringtap_cpu::large_pages(growing.spare_capacity_mut());
        growing.resize(owners, Growing::FREE);
        // One block for each chunk, and more for as many voice packets as the ring holds.
        let count = (owners + ring_bytes / (OFFSETS * USUAL)).min(NONE as usize - 1);
        let mut blocks = Vec::with_capacity(count);
        ringtap_cpu::large_pages(blocks.spare_capacity_mut());
        blocks.resize(count, OffsetBlock([NONE; OFFSETS + 1]));
        Self {
            growing,
            free: (0..blocks.len() as u32).rev().collect(),
            blocks,
            oldest: NONE,
            newest: NONE,
            gathered: Vec::with_capacity(MOST / RECORD),
        }
    }

    /// Prefetches the chunk of an owner.
    #[inline]
    pub(crate) fn prefetch(&self, slot: u32) {
        if let Some(growing) = self.growing.get(slot as usize) {
            ringtap_cpu::prefetch(growing);
        }
    }

    /// Prefetches the block that the owner's next offset goes to.
    #[inline]
    pub(crate) fn prefetch_block(&self, slot: u32) {
        let tail = self.growing.get(slot as usize).map_or(NONE, |growing| growing.tail);
        if let Some(block) = self.blocks.get(tail as usize) {
            ringtap_cpu::prefetch(block);
        }
    }

    /// Gives a slot to an owner.
    pub(crate) fn begin(&mut self, slot: u32, category: Category, key: u64) {
        if let Some(growing) = self.growing.get_mut(slot as usize) {
            *growing = Growing { key, category, is_taken: true, ..Growing::FREE };
        }
    }

    /// Ends the owner of a slot, and returns the time of its last packet. None if the slot has no owner.
    pub(crate) fn end(&mut self, slot: u32) -> Option<Nanos> {
        let growing = self.growing.get_mut(slot as usize).filter(|growing| growing.is_taken)?;
        growing.is_taken = false;
        Some(growing.last)
    }

    /// Whether the slot has an owner.
    #[inline]
    pub(crate) fn is_taken(&self, slot: u32) -> bool {
        self.growing.get(slot as usize).is_some_and(|growing| growing.is_taken)
    }

    /// The category of the owner's chunk; None while it has no packets.
    pub(crate) fn category(&self, slot: u32) -> Option<Category> {
        self.growing.get(slot as usize).filter(|growing| growing.packets > 0).map(|growing| growing.category)
    }

    /// Bytes of the owner's chunk.
    #[inline]
    pub(crate) fn bytes(&self, slot: u32) -> u32 {
        self.growing.get(slot as usize).map_or(0, |growing| growing.bytes)
    }

    /// The slot of the oldest chunk, the time of its first packet, and where that is in the ring.
    #[inline]
    pub(crate) fn oldest(&self) -> Option<(u32, Nanos, u64)> {
        let growing = self.growing.get(self.oldest as usize)?;
        Some((self.oldest, growing.first, growing.begun))
    }

    /// Adds a packet to the chunk of its owner. False, and nothing is done, if there is no room for its
    /// offset: the oldest chunk has to be taken. INVARIANT: the slot has an owner.
    #[inline]
    pub(crate) fn add(&mut self, packet: &IncomingPacket) -> bool {
        let IncomingPacket { slot, bytes, place, time, at } = *packet;
        let packets = self.growing[slot as usize].packets;
        if packets.is_multiple_of(OFFSETS as u32) && !self.add_block(slot) {
            return false;
        }
        if packets == 0 {
            self.join(slot, time, at);
        }
        let growing = &mut self.growing[slot as usize];
        let free = packets as usize % OFFSETS;
        self.blocks[growing.tail as usize].0[free] = (place / HEAD) as u32;
        growing.first = growing.first.min(time);
        growing.last = growing.last.max(time);
        growing.packets += 1;
        growing.bytes += bytes;
        true
    }

    /// Removes the chunk of a slot and gathers its packets; the owner's next chunk begins. None if it has no
    /// packets.
    pub(crate) fn take(&mut self, slot: u32) -> Option<(Category, Chunk)> {
        let before = self.growing.get(slot as usize).copied().filter(|growing| growing.packets > 0)?;
        self.leave(slot);
        self.gather(&before);
        let Growing { key, category, is_taken, number, .. } = before;
        self.growing[slot as usize] =
            Growing { key, category, is_taken, number: number + 1, ..Growing::FREE };
        let chunk = Chunk {
            owner: key,
            number,
            packets: before.packets,
            length: before.bytes,
            crc: 0,
            flags: 0,
            key: 0,
            plain: before.bytes,
            first: before.first,
            last: before.last,
        };
        Some((category, chunk))
    }

    /// The packets of the chunk that was taken last.
    pub(crate) fn gathered<'a>(&'a self, reader: &'a Reader) -> GatheredPackets<'a> {
        GatheredPackets { reader, offsets: &self.gathered }
    }

    /// Adds a block of offsets to the chunk. False if none is free.
    fn add_block(&mut self, slot: u32) -> bool {
        let Some(block) = self.free.pop() else { return false };
        self.blocks[block as usize].0[OFFSETS] = NONE;
        let growing = &mut self.growing[slot as usize];
        let before = std::mem::replace(&mut growing.tail, block);
        match self.blocks.get_mut(before as usize) {
            Some(before) => before.0[OFFSETS] = block,
            None => growing.head = block,
        }
        true
    }

    /// Adds a chunk to the order of age, with its first packet.
    fn join(&mut self, slot: u32, time: Nanos, at: u64) {
        let newest = std::mem::replace(&mut self.newest, slot);
        let growing = &mut self.growing[slot as usize];
        (growing.first, growing.last, growing.begun) = (time, time, at);
        (growing.older, growing.newer) = (newest, NONE);
        match self.growing.get_mut(newest as usize) {
            Some(other) => other.newer = slot,
            None => self.oldest = slot,
        }
    }

    fn leave(&mut self, slot: u32) {
        let Growing { older, newer, .. } = self.growing[slot as usize];
        match self.growing.get_mut(older as usize) {
            Some(other) => other.newer = newer,
            None => self.oldest = newer,
        }
        match self.growing.get_mut(newer as usize) {
            Some(other) => other.older = older,
            None => self.newest = older,
        }
    }

    /// Collects the offsets of a chunk's packets, and frees its blocks.
    fn gather(&mut self, growing: &Growing) {
        self.gathered.clear();
        let (mut block, mut left) = (growing.head, growing.packets as usize);
        while let Some(offsets) = self.blocks.get(block as usize) {
            let some = left.min(OFFSETS);
            self.gathered.extend_from_slice(&offsets.0[..some]);
            self.free.push(block);
            left -= some;
            block = offsets.0[OFFSETS];
            if let Some(next) = self.blocks.get(block as usize) {
                ringtap_cpu::prefetch(next);
            }
        }
    }
}

/// The packets of a chunk, in the ring.
#[derive(Clone, Copy)]
pub(crate) struct GatheredPackets<'a> {
    reader: &'a Reader,
    offsets: &'a [u32],
}

impl GatheredPackets<'_> {
    /// Copies the packet records, one behind the other.
    pub(crate) fn copy(&self, mut room: &mut [u8]) {
        let Self { reader, offsets } = *self;
        let head = |offset: &u32| reader.bytes(*offset as usize * HEAD - HEAD, HEAD);
        // Their lengths are not known yet: a voice packet lies on five cache lines, or on four.
        let fetch = |offset: &u32| {
            let head = head(offset);
            (0..LINES).for_each(|line| ringtap_cpu::prefetch_byte(head, line * ringtap_cpu::LINE));
        };
        offsets.iter().take(AHEAD).for_each(fetch);
        for (at, offset) in offsets.iter().enumerate() {
            offsets.get(at + AHEAD).into_iter().for_each(fetch);
            let bytes = ring::length(head(offset));
            let record = reader.bytes(*offset as usize * HEAD, bytes);
            // INVARIANT: the records add up to the chunk's length.
            let Some((next, rest)) = room.split_at_mut_checked(record.len()) else { return };
            next.copy_from_slice(record);
            room = rest;
        }
    }
}

/// Packets of a chunk that are prefetched while it is copied.
const AHEAD: usize = 6;
/// Cache lines of each that are prefetched.
const LINES: usize = 5;
