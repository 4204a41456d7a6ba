//! The thread between the packets and the disk: reads the ring, gathers each owner's packets into chunks, and
//! has them laid out in blocks.
//!
//! It may wait for the disk, which the thread that handles packets may not. Meanwhile the ring fills.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ringtap_model::Nanos;

use crate::error::Error;
use crate::segment::marker::Link;
use crate::segment::name::Category;
use crate::trust::chain::{Chain, Remembered};
use crate::trust::chunk_sealer::ChunkSealer;
use crate::trust::{seal, unsigned_list};
use crate::write::chunk_writer::ChunkWriter;
use crate::write::disk::{DiskWriter, WriterStatus};
use crate::write::growing::{GrowingChunks, IncomingPacket};
use crate::write::job::{Block, Job, KEY_BLOCK, block_length};
use crate::write::owner_keys::OwnerKeys;
use crate::write::ring::{self, Entry, HEAD};
use crate::write::series::{BlockPool, ROWS, SegmentSeries};
use crate::write::settings::{LIMIT, MOST, WriterSettings};
use crate::write::sys::Reader;

/// How long the thread sleeps if nobody wakes it.
const IDLE: Duration = Duration::from_millis(50);
/// Packets handled together: the entries of their owners are prefetched, then the blocks for their offsets.
const BATCH: usize = 32;
/// Packets of owners that somebody waits for are written so often, at the next tick.
const SOON: Nanos = Nanos::from_millis(300);
/// Owners of one worker that are written so often, at most.
const HURRIED: usize = 256;
/// Gathers packets into chunks.
pub(crate) struct Packer {
    reader: Reader,
    /// Bytes of the ring that have been read.
    at: u64,
    ended: bool,
    /// Bytes of the ring from the oldest chunk's first packet on, at most.
    window: u64,
    age: Nanos,
    /// Slots whose packets are written soon, and when they were last.
    hurried: Vec<u32>,
    hurried_at: Nanos,
    growing: GrowingChunks,
    chunks: ChunkWriter,
    disk: JoinHandle<()>,
    written: Arc<WriterStatus>,
}

impl Packer {
    /// Starts the disk thread.
    pub(crate) fn open(
        settings: &WriterSettings,
        link: Link,
        owners: usize,
        reader: Reader,
    ) -> Result<(Self, Arc<WriterStatus>), Error> {
        let keys = settings.seal.as_ref().map(|master| OwnerKeys::new(master, owners)).transpose()?;
        let is_wrapped = keys.is_some() || settings.compress.is_some();
        let sealer = is_wrapped.then(|| ChunkSealer::new(link, MOST, settings.compress)).transpose()?;
        // Each category fills one block and may need a second one; before a block go the keys of its chunks.
        let count = settings.blocks.max(2 * Category::ALL.len());
        let block = block_length(settings.memory);
        let (jobs, todo) = sync_channel(2 * count + 16);
        let (spare, back) = channel();
        let (spare_keys, keys_back) = channel();
        let key_count = if keys.is_some() { count } else { 0 };
        let (rows_back, spare_rows) = channel();
        let written = Arc::new(WriterStatus::default());
        let chains = chains(settings)?;
        chains.iter().flatten().filter_map(Chain::head).for_each(|head| written.set_head(head));
        written
            .set_quarantined(chains.iter().flatten().flat_map(|chain| chain.quarantined.clone()).collect());
        written.set_disagreements(chains.iter().flatten().flat_map(|chain| chain.findings.clone()).collect());
        let disk = DiskWriter {
            chains,
            dir: settings.dir.clone(),
            link,
            direct: settings.direct,
            spare,
            spare_keys,
            spare_rows: rows_back.clone(),
            written: Arc::clone(&written),
        };
        // A second list, for use while the first becomes an index.
        let _ = rows_back.send(Vec::with_capacity(ROWS));
        let disk = start(disk, todo, settings)?;
        let chunks = ChunkWriter {
            link,
            worker: settings.worker,
            span: settings.span,
            bytes: settings.bytes,
            series: Category::ALL.map(SegmentSeries::new),
            padded: Nanos::ZERO,
            keys,
            sealer,
            blocks: BlockPool { spare: (0..count).map(|_| Block::new(block)).collect(), back },
            block,
            key_blocks: BlockPool {
                spare: (0..key_count).map(|_| Block::new(KEY_BLOCK)).collect(),
                back: keys_back,
            },
            spare_rows,
            jobs,
            scratch: vec![0xff; MOST],
        };
        let packer = Self {
            at: 0,
            ended: false,
            window: window(reader.size()),
            age: settings.age,
            hurried: Vec::with_capacity(HURRIED),
            hurried_at: Nanos::ZERO,
            growing: GrowingChunks::new(owners, reader.size()),
            reader,
            chunks,
            disk,
            written: Arc::clone(&written),
        };
        Ok((packer, written))
    }

    /// Runs until the writer is gone and everything is on the disk.
    pub(crate) fn serve(mut self) {
        loop {
            // In this order: what was written before the writer ended is still read.
            let is_alone = self.reader.is_alone();
            let head = self.reader.look();
            if self.at < head {
                self.read(head);
            } else if is_alone || self.ended {
                break;
            } else {
                thread::park_timeout(IDLE);
            }
        }
        let Self { chunks, disk, .. } = self;
        drop(chunks);
        // The thread panics only if the standard library does.
        let _ = disk.join();
    }

    /// Reads the ring up to `head`.
    fn read(&mut self, head: u64) {
        while self.at < head {
            let (mut batch, mut count, mut order) = ([IncomingPacket::default(); BATCH], 0, None);
            while count < BATCH && order.is_none() && self.at < head {
                // What has been published is complete.
                let Some((entry, next)) = ring::entry(&self.reader, self.at) else { return };
                let at = std::mem::replace(&mut self.at, next);
                if let Entry::Packet { slot, time, place, bytes } = entry {
                    self.growing.prefetch(slot);
                    batch[count] = IncomingPacket { slot, bytes: bytes as u32, place, time, at };
                    count += 1;
                } else {
                    order = Some(entry);
                }
            }
            batch[..count].iter().for_each(|packet| self.growing.prefetch_block(packet.slot));
            batch[..count].iter().for_each(|packet| self.add(packet));
            order.into_iter().for_each(|order| self.obey(order));
            let oldest = self.growing.oldest().map(|(_, _, begun)| begun);
            self.reader.release(oldest.unwrap_or(self.at));
        }
    }

    fn obey(&mut self, order: Entry) {
        match order {
            Entry::Packet { .. } | Entry::Skip => {}
            Entry::Begin { slot, category, key } => {
                self.end(slot, None);
                self.growing.begin(slot, category, key);
            }
            Entry::Finish { slot, now } => self.end(slot, Some(now)),
            Entry::Hurry { slot, is_on } => self.hurry(slot, is_on),
            Entry::Tick(now) => self.tick(now),
            Entry::End(now) => {
                while let Some((oldest, ..)) = self.growing.oldest() {
                    self.flush(oldest, now);
                }
                Category::ALL.into_iter().for_each(|category| self.chunks.end_segment(category, now));
                self.ended = true;
            }
        }
    }

    /// Has the packets of a slot written soon, or as others again. Beyond the ceiling they wait as others do.
    fn hurry(&mut self, slot: u32, is_on: bool) {
        self.hurried.retain(|other| *other != slot);
        if is_on && self.hurried.len() < HURRIED && self.growing.is_taken(slot) {
            self.hurried.push(slot);
        }
    }

    /// Ends the owner of a slot, if there is one.
    fn end(&mut self, slot: u32, now: Option<Nanos>) {
        if let Some(last) = self.growing.end(slot) {
            self.hurried.retain(|other| *other != slot);
            self.flush(slot, now.unwrap_or(last));
            self.chunks.forget_key(slot);
        }
    }

    /// Adds a packet to its owner's chunk.
    #[inline]
    fn add(&mut self, packet: &IncomingPacket) {
        let IncomingPacket { slot, bytes, time, at, .. } = *packet;
        let fill = self.growing.bytes(slot);
        if fill > 0 && (fill + bytes) as usize > LIMIT {
            self.flush(slot, time);
        }
        // The oldest chunks make room in the ring.
        while let Some((oldest, _, begun)) = self.growing.oldest() {
            if at - begun <= self.window {
                break;
            }
            self.flush(oldest, time);
        }
        if !self.growing.is_taken(slot) {
            return;
        }
        // There are more blocks than owners: if none is free, the oldest chunk has some. It may be this one,
        // which begins anew then.
        while !self.growing.add(packet) {
            let Some((oldest, ..)) = self.growing.oldest() else { return };
            self.flush(oldest, time);
        }
    }

    fn tick(&mut self, now: Nanos) {
        while let Some((oldest, first, _)) = self.growing.oldest() {
            if first + self.age > now {
                break;
            }
            self.flush(oldest, now);
        }
        if !self.hurried.is_empty() && now.since(self.hurried_at) >= SOON {
            self.hurried_at = now;
            self.flush_hurried(now);
        }
        self.chunks.tick(now);
    }

    /// Writes the chunks of owners that somebody waits for, and the blocks that they are in.
    fn flush_hurried(&mut self, now: Nanos) {
        let mut flushed = [false; Category::ALL.len()];
        for place in 0..self.hurried.len() {
            let slot = self.hurried[place];
            if let Some(category) = self.growing.category(slot) {
                flushed[category as usize] = true;
                self.flush(slot, now);
            }
        }
        let flushed = Category::ALL.into_iter().filter(|category| flushed[*category as usize]);
        flushed.for_each(|category| self.chunks.submit_padded(category, now));
    }

    /// Writes the chunk of a slot to its segment, and begins the owner's next one.
    fn flush(&mut self, slot: u32, now: Nanos) {
        let Some((category, chunk)) = self.growing.take(slot) else { return };
        let packets = self.growing.gathered(&self.reader);
        match self.chunks.write_chunk(slot, category, chunk, packets, now) {
            true => self.written.packed(),
            false => self.written.lose(category, &chunk),
        }
    }
}

/// The chains of a worker, if segments are signed.
fn chains(settings: &WriterSettings) -> Result<[Option<Chain>; Category::ALL.len()], Error> {
    let mut chains = Category::ALL.map(|_| None);
    if let Some(signer) = &settings.sign {
        let remembered = Remembered { heads: &settings.known_heads, signers: &settings.known_signers };
        if remembered.heads.is_empty() {
            unsigned_list::begin(&settings.dir, signer, seal::now())?;
        }
        for (chain, category) in chains.iter_mut().zip(Category::ALL) {
            let signer = Arc::clone(signer);
            let master = settings.seal.as_ref();
            *chain =
                Some(Chain::resume(&settings.dir, settings.worker, category, signer, master, remembered)?);
        }
    }
    Ok(chains)
}

fn start(disk: DiskWriter, todo: Receiver<Job>, settings: &WriterSettings) -> Result<JoinHandle<()>, Error> {
    thread::Builder::new()
        .name(format!("spool-{}", settings.worker))
        .spawn(move || disk.serve(&todo))
        .map_err(|error| Error::io(&settings.dir, "written to by a new thread", error))
}

/// How much of the ring may lie behind the oldest chunk's first packet: what remains holds the longest
/// packet, even if the end of the ring stays empty for it, and what arrives while the disk pauses.
fn window(size: usize) -> u64 {
    (size - size / 8).saturating_sub(2 * (MOST + HEAD)) as u64
}
