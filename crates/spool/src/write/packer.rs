//! The thread between packets and the disk: reads what the keeper wrote down, gathers each owner's packets into chunks, and lines these
//! up in blocks.
//!
//! It may wait for the disk, which the thread that has the packets may not. Meanwhile the log grows.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ringtap_model::Nanos;

use crate::error::Error;
use crate::segment::index::Row;
use crate::segment::mark::{self, Chunk, Link, Mark};
use crate::segment::name::{Category, Segment};
use crate::trust::keys::Bytes;
use crate::trust::seal::Chain;
use crate::trust::wrap::Wrap;
use crate::write::disk::{ALIGN, BLOCK, Block, Disk, Job, Written};
use crate::write::ring::{self as log, Entry, HEAD};
use crate::write::sealer::Sealer;
use crate::write::settings::{LIMIT, MOST, Settings};
use crate::write::sys::Reader;

/// A block that has begun is written after this long; where several wait, one after the other: a packet waits for as many
/// times this as there are categories, and for its key as long again.
const PATIENCE: Nanos = Nanos::from_secs(1);
/// Chunks of one segment.
const ROWS: usize = 1 << 21;
/// How long it sleeps where nobody wakes it.
const IDLE: Duration = Duration::from_millis(50);
const NONE: u32 = u32::MAX;

/// The chunk of an owner that grows: where its packets are in the log. A line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Growing {
    first: Nanos,
    last: Nanos,
    /// Where in the log its first packet is.
    begun: u64,
    key: u64,
    /// Of the packets' records.
    bytes: u32,
    packets: u32,
    /// Blocks of places, the first and the last.
    head: u32,
    tail: u32,
    /// Neighbours in the order in which chunks began.
    older: u32,
    newer: u32,
    number: u32,
    category: Category,
    /// Somebody has the place.
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

/// Places of packets in the log, in multiples of [`HEAD`]; the last number is that of the next block.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Places([u32; PLACES + 1]);

/// Packets whose places a block holds.
const PLACES: usize = 15;

/// Bytes that a packet of voice takes of the log, at least; where there are too many that are shorter, chunks end earlier.
const USUAL: usize = 112;

/// A packet that is looked at.
#[derive(Clone, Copy, Default)]
struct Coming {
    slot: u32,
    bytes: u32,
    place: usize,
    time: Nanos,
    at: u64,
}

/// Packets looked at together: what is known of their owners is asked for, then where their places go, and both are there when their
/// turn comes.
const BATCH: usize = 32;
/// Packets of a chunk that are asked for ahead of their turn.
const AHEAD: usize = 6;

/// The segment that is being written.
struct Current {
    opened: Nanos,
    /// Bytes given to the disk; the block's come behind them.
    offset: u64,
    chunks: u32,
}

/// The segments of one category, one after the other.
struct Series {
    category: Category,
    current: Option<Current>,
    /// Number of the next segment.
    next: u64,
    block: Option<Block>,
    filled: usize,
    /// When the first byte came into the block.
    since: Nanos,
    rows: Vec<Row>,
    keys: Rows,
}

/// The keys that a segment lists.
#[derive(Default)]
struct Rows {
    /// None while none waits.
    block: Option<Block>,
    filled: usize,
    /// When the first byte came into the block.
    since: Nanos,
    /// Bytes given to the disk.
    offset: u64,
    listed: u32,
    /// Of the blocks that were not full, one of keys was written last.
    last: bool,
}

impl Series {
    fn new(category: Category) -> Self {
        Self {
            category,
            current: None,
            next: 0,
            block: None,
            filled: 0,
            since: Nanos::ZERO,
            rows: Vec::with_capacity(ROWS),
            keys: Rows::default(),
        }
    }
}

/// Blocks that wait for something to hold.
struct Blocks {
    spare: Vec<Block>,
    back: Receiver<Block>,
}

impl Blocks {
    /// Waits where all of them are on their way to the disk. None where the thread that writes is gone.
    fn take(&mut self) -> Option<Block> {
        self.spare.extend(self.back.try_iter());
        // The one that came back last is the likeliest to be in a cache.
        self.spare.pop().or_else(|| self.back.recv().ok())
    }
}

/// Lines chunks up for the disk.
pub(crate) struct Packer {
    link: Link,
    worker: u16,
    span: Nanos,
    bytes: u64,
    /// In the order of [`Category::ALL`].
    series: [Series; Category::ALL.len()],
    /// When a block that was not full was written last.
    padded: Nanos,
    sealer: Option<Sealer>,
    /// Where chunks are sealed or packed.
    wrap: Option<Wrap>,
    blocks: Blocks,
    spare_rows: Receiver<Vec<Row>>,
    jobs: SyncSender<Job>,
    disk: JoinHandle<()>,
    written: Arc<Written>,
    reader: Reader,
    /// Of the log, what has been read.
    at: u64,
    ended: bool,
    /// What the log may hold from the oldest chunk's first packet on.
    window: u64,
    age: Nanos,
    growing: Vec<Growing>,
    places: Vec<Places>,
    free: Vec<u32>,
    oldest: u32,
    newest: u32,
    /// Of the chunk that is written.
    gathered: Vec<u32>,
    scratch: Vec<u8>,
}

impl Packer {
    /// Starts the thread that writes.
    pub(crate) fn open(
        settings: &Settings,
        link: Link,
        owners: usize,
        reader: Reader,
    ) -> Result<(Self, Arc<Written>), Error> {
        let sealer = settings.seal.as_ref().map(|master| Sealer::new(master, owners)).transpose()?;
        let wraps = sealer.is_some() || settings.compress.is_some();
        let wrap = wraps.then(|| Wrap::new(link, MOST, settings.compress)).transpose()?;
        let mut growing = Vec::with_capacity(owners);
        ringtap_cpu::large_pages(growing.spare_capacity_mut());
        growing.resize(owners, Growing::FREE);
        // One for each chunk, and for as many packets as there are where they are voice.
        let count = (owners + reader.size() / (PLACES * USUAL)).min(NONE as usize - 1);
        let mut places = Vec::with_capacity(count);
        ringtap_cpu::large_pages(places.spare_capacity_mut());
        places.resize(count, Places([NONE; PLACES + 1]));
        // Each category has one to fill and takes one to go on in, for packets and for keys.
        let blocks = settings.blocks.max(4 * Category::ALL.len());
        let (jobs, todo) = sync_channel(blocks + 16);
        let (spare, back) = channel();
        let (rows_back, spare_rows) = channel();
        let written = Arc::new(Written::default());
        let mut chains = Category::ALL.map(|_| None);
        if let Some(signer) = &settings.sign {
            for (chain, category) in chains.iter_mut().zip(Category::ALL) {
                let signer = Arc::clone(signer);
                *chain = Some(Chain::resume(&settings.dir, settings.worker, category, signer)?);
            }
        }
        let disk = Disk {
            chains,
            dir: settings.dir.clone(),
            link,
            direct: settings.direct,
            spare,
            spare_rows: rows_back.clone(),
            written: Arc::clone(&written),
        };
        // A further list for while the first is made into an index.
        let _ = rows_back.send(Vec::with_capacity(ROWS));
        let disk = thread::Builder::new()
            .name(format!("spool-{}", settings.worker))
            .spawn(move || disk.serve(&todo))
            .map_err(|error| Error::io(&settings.dir, "served by a thread", error))?;
        let packer = Self {
            link,
            worker: settings.worker,
            span: settings.span,
            bytes: settings.bytes,
            series: Category::ALL.map(Series::new),
            padded: Nanos::ZERO,
            sealer,
            wrap,
            blocks: Blocks { spare: (0..blocks).map(|_| Block::new()).collect(), back },
            spare_rows,
            jobs,
            disk,
            written: Arc::clone(&written),
            at: 0,
            ended: false,
            window: window(reader.size()),
            age: settings.age,
            growing,
            free: (0..places.len() as u32).rev().collect(),
            places,
            oldest: NONE,
            newest: NONE,
            gathered: Vec::with_capacity(MOST / mark::RECORD),
            scratch: vec![0xff; MOST],
            reader,
        };
        Ok((packer, written))
    }

    /// Until the keeper is gone, and what it left is on the disk.
    pub(crate) fn serve(mut self) {
        loop {
            // In this order: what came before the keeper went is there to be read.
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
        let Self { jobs, disk, .. } = self;
        drop(jobs);
        // It panics only where the standard library does.
        let _ = disk.join();
    }

    /// Reads the log up to there.
    fn read(&mut self, head: u64) {
        while self.at < head {
            let (mut batch, mut count, mut order) = ([Coming::default(); BATCH], 0, None);
            while count < BATCH && order.is_none() && self.at < head {
                // What was published is whole.
                let Some((entry, next)) = log::entry(&self.reader, self.at) else { return };
                let at = std::mem::replace(&mut self.at, next);
                if let Entry::Packet { slot, time, place, bytes } = entry {
                    if let Some(growing) = self.growing.get(slot as usize) {
                        ringtap_cpu::prefetch(growing);
                    }
                    batch[count] = Coming { slot, bytes: bytes as u32, place, time, at };
                    count += 1;
                } else {
                    order = Some(entry);
                }
            }
            for coming in &batch[..count] {
                let tail = self.growing.get(coming.slot as usize).map_or(NONE, |growing| growing.tail);
                if let Some(places) = self.places.get(tail as usize) {
                    ringtap_cpu::prefetch(places);
                }
            }
            batch[..count].iter().for_each(|coming| self.grow(coming));
            order.into_iter().for_each(|order| self.obey(order));
            let oldest = self.growing.get(self.oldest as usize).map(|growing| growing.begun);
            self.reader.release(oldest.unwrap_or(self.at));
        }
    }

    fn obey(&mut self, order: Entry) {
        match order {
            Entry::Packet { .. } | Entry::Skip => {}
            Entry::Begin { slot, category, key } => {
                self.over(slot, None);
                if let Some(growing) = self.growing.get_mut(slot as usize) {
                    *growing = Growing { key, category, is_taken: true, ..Growing::FREE };
                }
            }
            Entry::Finish { slot, now } => self.over(slot, Some(now)),
            Entry::Tick(now) => self.tick(now),
            Entry::End(now) => {
                while self.oldest != NONE {
                    self.flush(self.oldest, now);
                }
                Category::ALL.into_iter().for_each(|category| self.end_segment(category, now));
                self.ended = true;
            }
        }
    }

    /// The owner at that place is over, if there is one.
    fn over(&mut self, slot: u32, now: Option<Nanos>) {
        let Some(growing) = self.growing.get_mut(slot as usize).filter(|growing| growing.is_taken) else {
            return;
        };
        growing.is_taken = false;
        let now = now.unwrap_or(growing.last);
        self.flush(slot, now);
        if let Some(sealer) = &mut self.sealer {
            sealer.forget(slot);
        }
    }

    /// A packet joins its owner's chunk.
    #[inline]
    fn grow(&mut self, coming: &Coming) {
        let Coming { slot, bytes, place, time, at } = *coming;
        let fill = self.growing.get(slot as usize).map_or(0, |growing| growing.bytes);
        if fill > 0 && (fill + bytes) as usize > LIMIT {
            self.flush(slot, time);
        }
        // The oldest make room in the log.
        while let Some(oldest) = self.growing.get(self.oldest as usize) {
            if at - oldest.begun <= self.window {
                break;
            }
            self.flush(self.oldest, time);
        }
        if self.growing.get(slot as usize).is_none_or(|growing| !growing.is_taken) {
            return;
        }
        // There are more blocks than owners: where none is left, the oldest has some. It may be this one, which begins anew then.
        while self.growing[slot as usize].packets.is_multiple_of(PLACES as u32) && !self.more_places(slot) {
            self.flush(self.oldest, time);
        }
        if self.growing[slot as usize].packets == 0 {
            self.join(slot, time, at);
        }
        let growing = &mut self.growing[slot as usize];
        let free = growing.packets as usize % PLACES;
        self.places[growing.tail as usize].0[free] = (place / HEAD) as u32;
        growing.first = growing.first.min(time);
        growing.last = growing.last.max(time);
        growing.packets += 1;
        growing.bytes += bytes;
    }

    /// A further block of places for the chunk. False where there is none.
    fn more_places(&mut self, slot: u32) -> bool {
        let Some(block) = self.free.pop() else { return false };
        self.places[block as usize].0[PLACES] = NONE;
        let growing = &mut self.growing[slot as usize];
        let before = std::mem::replace(&mut growing.tail, block);
        match self.places.get_mut(before as usize) {
            Some(before) => before.0[PLACES] = block,
            None => growing.head = block,
        }
        true
    }

    /// Into the order of age, with a chunk's first packet.
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

    /// A chunk goes into the segment, and begins anew.
    fn flush(&mut self, slot: u32, now: Nanos) {
        let Some(before) = self.growing.get(slot as usize).copied() else { return };
        if before.packets == 0 {
            return;
        }
        self.leave(slot);
        self.gather(&before);
        let chunk = Chunk {
            owner: before.key,
            number: before.number,
            packets: before.packets,
            length: before.bytes,
            crc: 0,
            flags: 0,
            key: 0,
            plain: before.bytes,
            first: before.first,
            last: before.last,
        };
        match self.write_chunk(slot, before.category, chunk, now) {
            true => self.written.packed(),
            false => self.written.lose(before.category, &chunk),
        }
        let Growing { key, category, is_taken, .. } = before;
        self.growing[slot as usize] =
            Growing { key, category, is_taken, number: before.number + 1, ..Growing::FREE };
    }

    /// Looks up where a chunk's packets are, and gives its blocks of places back.
    fn gather(&mut self, growing: &Growing) {
        self.gathered.clear();
        let (mut block, mut left) = (growing.head, growing.packets as usize);
        while let Some(places) = self.places.get(block as usize) {
            let some = left.min(PLACES);
            self.gathered.extend_from_slice(&places.0[..some]);
            self.free.push(block);
            left -= some;
            block = places.0[PLACES];
            if let Some(next) = self.places.get(block as usize) {
                ringtap_cpu::prefetch(next);
            }
        }
    }

    fn tick(&mut self, now: Nanos) {
        while let Some(growing) = self.growing.get(self.oldest as usize) {
            if growing.first + self.age > now {
                break;
            }
            self.flush(self.oldest, now);
        }
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

    fn series(&mut self, category: Category) -> &mut Series {
        &mut self.series[category as usize]
    }

    /// One write a second at most for blocks that are not full: the one that has waited longest.
    fn pad_oldest(&mut self, now: Nanos) {
        let blocks = self.series.iter().filter(|series| series.filled > 0);
        let blocks = blocks.map(|series| (series.since, series.category, false));
        let keys = self.series.iter().filter(|series| series.keys.filled > 0);
        let keys = keys.map(|series| (series.keys.since, series.category, true));
        let waiting = blocks.chain(keys).filter(|(since, ..)| now.since(*since) >= PATIENCE);
        let Some((_, category, is_keys)) = waiting.min_by_key(|(since, ..)| *since) else { return };
        // Keys before the chunks that they open, and in turn with them: whoever is killed in between has keys too many.
        let keys = &mut self.series[category as usize].keys;
        let keys_now = is_keys || keys.filled > 0 && !keys.last;
        keys.last = keys_now;
        match keys_now {
            true => self.submit_keys(category),
            false => self.submit_padded(category, now),
        }
        self.padded = now;
    }

    /// The chunk whose packets are gathered goes into the segment. False where it cannot.
    fn write_chunk(&mut self, slot: u32, category: Category, mut chunk: Chunk, now: Nanos) -> bool {
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
        let Some(key) = self.list_key(slot, category, &chunk, now) else { return false };
        chunk.key = key;
        let series = self.series(category);
        let Some(current) = &series.current else { return false };
        let offset = current.offset + series.filled as u64;
        if !self.append_wrapped(slot, category, &mut chunk) {
            // INVARIANT: nothing goes to the disk as it is where it is to be sealed.
            if self.sealer.is_some() {
                return false;
            }
            self.append_plain(category, &mut chunk);
        }
        let series = self.series(category);
        series.rows.push(Row { offset, chunk });
        if let Some(current) = &mut series.current {
            current.chunks += 1;
        }
        true
    }

    /// The packets as they are.
    fn append_plain(&mut self, category: Category, chunk: &mut Chunk) {
        let (link, plain) = (self.link, chunk.plain as usize);
        let Self { series, blocks, reader, gathered, .. } = self;
        let series = &mut series[category as usize];
        if series.filled == 0 {
            series.since = chunk.last;
        }
        if series.block.is_none() {
            series.block = blocks.take();
        }
        // As a rule all of it fits into the block.
        let from = series.filled + mark::len(link);
        if let Some(block) = series.block.as_mut().filter(|_| from + plain < BLOCK) {
            let (before, room) = block.data_mut()[..from + plain].split_at_mut(from);
            copy(reader, gathered, room);
            chunk.crc = ringtap_cpu::crc32c(0, room);
            Mark::Chunk(*chunk).write(link, &mut before[series.filled..]);
            series.filled = from + plain;
            return;
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        copy(&self.reader, &self.gathered, &mut scratch[..plain]);
        chunk.crc = ringtap_cpu::crc32c(0, &scratch[..plain]);
        self.append_chunk_mark(category, chunk);
        self.append(category, &scratch[..plain], chunk.last);
        self.scratch = scratch;
    }

    /// The packets sealed, packed or both. Not where they stay as they are.
    fn append_wrapped(&mut self, slot: u32, category: Category, chunk: &mut Chunk) -> bool {
        let Some(mut wrap) = self.wrap.take() else { return false };
        copy(&self.reader, &self.gathered, wrap.packets(chunk.plain as usize));
        let key = self.sealer.as_ref().and_then(|sealer| sealer.key(slot));
        let wrapped = match self.sealer.is_some() && key.is_none() {
            true => None,
            false => wrap.close(chunk, key),
        };
        let is_wrapped = wrapped.is_some();
        if let Some(bytes) = wrapped {
            self.append_chunk_mark(category, chunk);
            self.append(category, bytes, chunk.last);
        }
        self.wrap = Some(wrap);
        is_wrapped
    }

    fn append_chunk_mark(&mut self, category: Category, chunk: &Chunk) {
        let mut bytes = [0; 128];
        let bytes = &mut bytes[..mark::len(self.link)];
        Mark::Chunk(*chunk).write(self.link, bytes);
        self.append(category, bytes, chunk.last);
    }

    /// The row of the owner's key in the segment, which lists it from now on. None where there can be no key; 0 where none is
    /// needed.
    fn list_key(&mut self, slot: u32, category: Category, chunk: &Chunk, now: Nanos) -> Option<u32> {
        let Some(sealer) = &mut self.sealer else { return Some(0) };
        let series = &mut self.series[category as usize];
        // The number of the segment that is open.
        let segment = series.next;
        let (row, listed) = sealer.row(slot, chunk.owner, chunk.first, segment)?;
        if let Some(number) = listed {
            return Some(number);
        }
        let keys = &mut series.keys;
        if keys.block.is_none() {
            keys.block = self.blocks.take();
            (keys.filled, keys.since) = (0, now);
        }
        let block = keys.block.as_mut()?;
        let mut put = |bytes: &Bytes| {
            block.data_mut()[keys.filled..keys.filled + bytes.len()].copy_from_slice(bytes);
            keys.filled += bytes.len();
        };
        if keys.offset == 0 && keys.listed == 0 {
            put(sealer.header());
        }
        put(&row);
        let number = keys.listed;
        keys.listed += 1;
        sealer.listed(slot, segment, number);
        if keys.filled + 2 * row.len() > BLOCK {
            self.submit_keys(category);
        }
        Some(number)
    }

    /// Gives the keys that wait to the disk.
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
        series.current = Some(Current { opened: now, offset: 0, chunks: 0 });
        let _ = self.jobs.send(Job::Open(category, Segment::new(at, worker, category, number)));
        self.append(category, &mark::global_header(link), at);
        let start = Mark::Start { worker, segment: number, at };
        self.append_mark(category, &start, mark::len(link), at);
    }

    fn end_segment(&mut self, category: Category, now: Nanos) {
        let Some(current) = &self.series(category).current else { return };
        let chunks = current.chunks;
        self.submit_keys(category);
        self.append_mark(category, &Mark::End { chunks, at: now }, mark::len(self.link), now);
        self.submit_padded(category, now);
        // The disk may not have made the last index yet: rarely, and only where segments are very short.
        let spare = self.spare_rows.try_recv().unwrap_or_else(|_| Vec::with_capacity(ROWS));
        let series = self.series(category);
        series.current = None;
        series.keys = Rows::default();
        let rows = std::mem::replace(&mut series.rows, spare);
        let _ = self.jobs.send(Job::Close(category, rows));
    }

    /// Fills up to what a direct write takes, and gives the block to the disk.
    fn submit_padded(&mut self, category: Category, now: Nanos) {
        let head = mark::len(self.link);
        let filled = self.series(category).filled;
        if filled == 0 {
            return;
        }
        if !filled.is_multiple_of(ALIGN) {
            let padding = (filled + head).next_multiple_of(ALIGN) - filled;
            let mark = Mark::Padding { at: now, length: padding as u32 };
            self.append_mark(category, &mark, padding, now);
        }
        // Padding may have filled the block to the end: then the disk has it already.
        self.submit(category);
    }

    fn append_mark(&mut self, category: Category, mark: &Mark, len: usize, now: Nanos) {
        let mut bytes = [0; 2 * ALIGN];
        let len = len.min(bytes.len());
        mark.write(self.link, &mut bytes[..len]);
        self.append(category, &bytes[..len], now);
    }

    /// Appends to the block; a full one goes to the disk and the next takes its place.
    fn append(&mut self, category: Category, mut bytes: &[u8], now: Nanos) {
        while !bytes.is_empty() {
            let Self { series, blocks, .. } = self;
            let series = &mut series[category as usize];
            if series.filled == 0 {
                series.since = now;
            }
            if series.block.is_none() {
                series.block = blocks.take();
            }
            let Some(block) = &mut series.block else { return };
            let some = bytes.len().min(BLOCK - series.filled);
            block.data_mut()[series.filled..series.filled + some].copy_from_slice(&bytes[..some]);
            series.filled += some;
            bytes = &bytes[some..];
            if series.filled == BLOCK {
                self.submit(category);
            }
        }
    }

    /// Gives the block to the disk, if anything is in it.
    fn submit(&mut self, category: Category) {
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

/// How much of a log the oldest chunk may hold back: while it does, there is room for the longest packet, also where the ring's end has to
/// be left empty for it; and for what comes while the disk pauses.
fn window(size: usize) -> u64 {
    (size - size / 8).saturating_sub(2 * (MOST + HEAD)) as u64
}

/// Copies packets' records out of the log, one behind the other.
fn copy(reader: &Reader, places: &[u32], mut room: &mut [u8]) {
    let head = |place: &u32| reader.bytes(*place as usize * HEAD - HEAD, HEAD);
    // Their lengths are not known yet: voice is in four lines.
    let fetch = |place: &u32| {
        let head = head(place);
        (0..4).for_each(|line| ringtap_cpu::prefetch_byte(head, line * ringtap_cpu::LINE));
    };
    places.iter().take(AHEAD).for_each(fetch);
    for (at, place) in places.iter().enumerate() {
        places.get(at + AHEAD).into_iter().for_each(fetch);
        let bytes = log::length(head(place));
        let record = reader.bytes(*place as usize * HEAD, bytes);
        // INVARIANT: they make up the chunk's length, as it was counted.
        let Some((next, rest)) = room.split_at_mut_checked(record.len()) else { return };
        next.copy_from_slice(record);
        room = rest;
    }
}
