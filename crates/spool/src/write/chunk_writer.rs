//! Lays out chunks in blocks for the disk thread, segment by segment.

use std::sync::mpsc::{Receiver, SyncSender};

use ringtap_model::Nanos;

use crate::segment::index::IndexRow;
use crate::segment::marker::{self, Chunk, Link, Marker};
use crate::segment::name::{Category, Segment};
use crate::trust::chunk_sealer::ChunkSealer;
use crate::trust::keys::Bytes;
use crate::write::growing::GatheredPackets;
use crate::write::job::{ALIGN, Job, KEY_BLOCK};
use crate::write::owner_keys::OwnerKeys;
use crate::write::series::{BlockPool, KeyRows, OpenSegment, ROWS, SegmentSeries};

/// A block that is not full is written after this long. If several wait, one is written each time: a packet
/// waits at most this long for each category.
const PATIENCE: Nanos = Nanos::from_secs(1);

/// Writes chunks to the segments of all categories.
pub(crate) struct ChunkWriter {
    pub(crate) link: Link,
    pub(crate) worker: u16,
    pub(crate) span: Nanos,
    pub(crate) bytes: u64,
    /// In the order of [`Category::ALL`].
    pub(crate) series: [SegmentSeries; Category::ALL.len()],
    /// When a block that was not full was written last.
    pub(crate) padded: Nanos,
    /// None if chunks are not sealed.
    pub(crate) keys: Option<OwnerKeys>,
    /// None if chunks are neither sealed nor packed.
    pub(crate) sealer: Option<ChunkSealer>,
    pub(crate) blocks: BlockPool,
    /// Bytes of a block.
    pub(crate) block: usize,
    pub(crate) key_blocks: BlockPool,
    pub(crate) spare_rows: Receiver<Vec<IndexRow>>,
    pub(crate) jobs: SyncSender<Job>,
    pub(crate) scratch: Vec<u8>,
}

impl ChunkWriter {
    /// Advances the time: writes a block that has waited long enough, and ends segments that are old enough.
    pub(crate) fn tick(&mut self, now: Nanos) {
        if now.since(self.padded) >= PATIENCE {
            self.pad_oldest(now);
        }
        for category in Category::ALL {
            let current = &self.series[category as usize].current;
            if current.as_ref().is_some_and(|current| now.since(current.opened) >= self.span) {
                self.end_segment(category, now);
            }
        }
    }

    /// Erases the key of an owner that has ended.
    pub(crate) fn forget_key(&mut self, slot: u32) {
        if let Some(keys) = &mut self.keys {
            keys.forget(slot);
        }
    }

    fn series(&mut self, category: Category) -> &mut SegmentSeries {
        &mut self.series[category as usize]
    }

    /// Writes at most one block a second that is not full: the one that has waited longest.
    fn pad_oldest(&mut self, now: Nanos) {
        let blocks = self.series.iter().filter(|series| series.filled > 0);
        let waiting = blocks.filter(|series| now.since(series.since) >= PATIENCE);
        let Some(oldest) = waiting.min_by_key(|series| series.since) else { return };
        self.submit_padded(oldest.category, now);
        self.padded = now;
    }

    /// Writes the chunk whose packets are gathered. False if it cannot be written.
    pub(crate) fn write_chunk(
        &mut self,
        slot: u32,
        category: Category,
        mut chunk: Chunk,
        packets: GatheredPackets<'_>,
        now: Nanos,
    ) -> bool {
        let (span, bytes) = (self.span, self.bytes);
        let series = self.series(category);
        let due = series.current.as_ref().is_some_and(|current| {
            now.since(current.opened) >= span
                || current.offset + series.filled as u64 >= bytes
                || series.rows.len() == series.rows.capacity()
        });
        if due {
            self.end_segment(category, now);
        }
        self.open_segment(category, chunk.first, now);
        let Some(key) = self.list_key(slot, category, &chunk) else { return false };
        chunk.key = key;
        let series = self.series(category);
        let Some(current) = &series.current else { return false };
        let offset = current.offset + series.filled as u64;
        if !self.append_sealed(slot, category, &mut chunk, packets) {
            // INVARIANT: if chunks are to be sealed, none goes to the disk unsealed.
            if self.keys.is_some() {
                return false;
            }
            self.append_plain(category, &mut chunk, packets);
        }
        let series = self.series(category);
        series.rows.push(IndexRow { offset, chunk });
        if let Some(current) = &mut series.current {
            current.chunks += 1;
        }
        true
    }

    /// Appends the packets as they are. They are gathered where the cache has them for the checksum.
    fn append_plain(&mut self, category: Category, chunk: &mut Chunk, packets: GatheredPackets<'_>) {
        let plain = chunk.plain as usize;
        let mut scratch = std::mem::take(&mut self.scratch);
        packets.copy(&mut scratch[..plain]);
        chunk.crc = ringtap_cpu::crc32c(0, &scratch[..plain]);
        self.append_chunk_marker(category, chunk);
        self.append(category, &scratch[..plain], chunk.last);
        self.scratch = scratch;
    }

    /// Appends the packets sealed, packed or both. False if they stay as they are.
    fn append_sealed(
        &mut self,
        slot: u32,
        category: Category,
        chunk: &mut Chunk,
        packets: GatheredPackets<'_>,
    ) -> bool {
        let Some(mut sealer) = self.sealer.take() else { return false };
        packets.copy(sealer.packets(chunk.plain as usize));
        let key = self.keys.as_ref().and_then(|keys| keys.key(slot));
        let wrapped = match self.keys.is_some() && key.is_none() {
            true => None,
            false => sealer.close(chunk, key),
        };
        let is_wrapped = wrapped.is_some();
        if let Some(bytes) = wrapped {
            self.append_chunk_marker(category, chunk);
            self.append(category, bytes, chunk.last);
        }
        self.sealer = Some(sealer);
        is_wrapped
    }

    fn append_chunk_marker(&mut self, category: Category, chunk: &Chunk) {
        let mut bytes = [0; 128];
        let bytes = &mut bytes[..marker::len(self.link)];
        Marker::Chunk(*chunk).write(self.link, bytes);
        self.append(category, bytes, chunk.last);
    }

    /// Lists the owner's key in the segment, and returns the number of its row: 0 if chunks are not sealed,
    /// None if there can be no key.
    fn list_key(&mut self, slot: u32, category: Category, chunk: &Chunk) -> Option<u32> {
        let Some(owner_keys) = &mut self.keys else { return Some(0) };
        let series = &mut self.series[category as usize];
        // The number of the open segment.
        let segment = series.next;
        let (row, listed) = owner_keys.row(slot, chunk.owner, chunk.first, segment)?;
        if let Some(number) = listed {
            return Some(number);
        }
        let keys = &mut series.keys;
        if keys.block.is_none() {
            keys.block = self.key_blocks.acquire();
            keys.filled = 0;
        }
        let block = keys.block.as_mut()?;
        let mut put = |bytes: &Bytes| {
            block.data_mut()[keys.filled..keys.filled + bytes.len()].copy_from_slice(bytes);
            keys.filled += bytes.len();
        };
        if keys.offset == 0 && keys.listed == 0 {
            put(owner_keys.header());
        }
        put(&row);
        let number = keys.listed;
        keys.listed += 1;
        owner_keys.listed(slot, segment, number);
        if keys.filled + 2 * row.len() > KEY_BLOCK {
            self.submit_keys(category);
        }
        Some(number)
    }

    /// Gives waiting keys to the disk thread, which syncs them before it writes a block.
    fn submit_keys(&mut self, category: Category) {
        let keys = &mut self.series[category as usize].keys;
        if let Some(block) = keys.block.take() {
            let len = std::mem::take(&mut keys.filled);
            let _ = self.jobs.send(Job::Keys { category, block, len, offset: keys.offset });
            keys.offset += len as u64;
        }
    }

    fn open_segment(&mut self, category: Category, at: Nanos, now: Nanos) {
        let (worker, link) = (self.worker, self.link);
        let series = self.series(category);
        if series.current.is_some() {
            return;
        }
        let number = series.next;
        series.next += 1;
        series.current = Some(OpenSegment { opened: now, offset: 0, chunks: 0 });
        let _ = self.jobs.send(Job::Open(category, Segment::new(at, worker, category, number)));
        self.append(category, &marker::global_header(link), at);
        let start = Marker::Start { worker, segment: number, at };
        self.append_marker(category, &start, marker::len(link), at);
    }

    pub(crate) fn end_segment(&mut self, category: Category, now: Nanos) {
        let Some(current) = &self.series(category).current else { return };
        let chunks = current.chunks;
        self.append_marker(category, &Marker::End { chunks, at: now }, marker::len(self.link), now);
        self.submit_padded(category, now);
        // The disk thread may not have returned the last list yet: rarely, and only if segments are very
        // short.
        let spare = self.spare_rows.try_recv().unwrap_or_else(|_| Vec::with_capacity(ROWS));
        let series = self.series(category);
        series.current = None;
        series.keys = KeyRows::default();
        let rows = std::mem::replace(&mut series.rows, spare);
        let _ = self.jobs.send(Job::Close(category, rows));
    }

    /// Pads the block to a length that direct writes accept, and gives it to the disk thread.
    pub(crate) fn submit_padded(&mut self, category: Category, now: Nanos) {
        let head = marker::len(self.link);
        let filled = self.series(category).filled;
        if filled == 0 {
            return;
        }
        if !filled.is_multiple_of(ALIGN) {
            let padding = (filled + head).next_multiple_of(ALIGN) - filled;
            let marker = Marker::Padding { at: now, length: padding as u32 };
            self.append_marker(category, &marker, padding, now);
        }
        // If padding filled the block to its end, the disk thread has it already.
        self.submit(category);
    }

    fn append_marker(&mut self, category: Category, marker: &Marker, len: usize, now: Nanos) {
        let mut bytes = [0; 2 * ALIGN];
        let len = len.min(bytes.len());
        marker.write(self.link, &mut bytes[..len]);
        self.append(category, &bytes[..len], now);
    }

    /// Appends to the block; a full block goes to the disk thread and the next one takes its place.
    fn append(&mut self, category: Category, mut bytes: &[u8], now: Nanos) {
        while !bytes.is_empty() {
            let Self { series, blocks, block: most, .. } = self;
            let series = &mut series[category as usize];
            if series.filled == 0 {
                series.since = now;
            }
            if series.block.is_none() {
                series.block = blocks.acquire();
            }
            let Some(block) = &mut series.block else { return };
            let some = bytes.len().min(*most - series.filled);
            ringtap_cpu::copy_past_caches(&mut block.data_mut()[series.filled..], &bytes[..some]);
            series.filled += some;
            bytes = &bytes[some..];
            if series.filled == *most {
                self.submit(category);
            }
        }
    }

    /// Gives the block to the disk thread, if it is not empty.
    ///
    /// INVARIANT: the keys of its chunks go first. A kill or a power cut may leave keys without a chunk, but
    /// no chunk without its key.
    fn submit(&mut self, category: Category) {
        self.submit_keys(category);
        let series = &mut self.series[category as usize];
        if let (Some(current), Some(block)) =
            (&mut series.current, series.block.take_if(|_| series.filled > 0))
        {
            let len = std::mem::take(&mut series.filled);
            let _ = self.jobs.send(Job::Write { category, block, len, offset: current.offset });
            current.offset += len as u64;
        }
    }
}
