//! What is to be kept, packet by packet: chunks grow in memory and go to the segment whole.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};

use ringtap_model::{Frame, LinkType, Nanos};

use crate::disk::{ALIGN, BLOCK, Block, Disk, Job, Written};
use crate::error::Error;
use crate::index::Row;
use crate::keys::Bytes;
use crate::mark::{self, Chunk, GLOBAL, Link, Mark, RECORD};
use crate::master::MasterKey;
use crate::name::{Category, Segment};
use crate::pages::{PAGE, Pool};
use crate::seal::Chain;
use crate::sealer::Sealer;
use crate::sign::Signer;
use crate::wrap::{self, Wrap};

/// How a worker keeps.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The spool's directory; created where it does not exist.
    pub dir: PathBuf,
    /// Names the worker's segments.
    pub worker: u16,
    /// Of all frames.
    pub link: LinkType,
    /// Bytes in which chunks grow. 52,000 calls in both directions fill chunks of 8 KiB in 1.2 GB.
    pub memory: usize,
    /// Streams and signallings kept at once.
    pub owners: usize,
    /// A chunk that has begun is written after this long, however small.
    pub age: Nanos,
    /// A segment ends after this long, or
    pub span: Nanos,
    /// with this many bytes.
    pub bytes: u64,
    /// Blocks of 1 MiB between the packets and the disk: what a disk that pauses may fall behind.
    pub blocks: usize,
    /// Write around the kernel's page cache, where the file system can.
    pub direct: bool,
    /// Encrypt what is kept: under a key for each owner, wrapped by this one.
    pub seal: Option<MasterKey>,
    /// Sign each segment when it is closed, in a chain.
    pub sign: Option<Arc<Signer>>,
    /// Compress what is kept, at this level of zstd (1 to 19): signalling to a third, media to two thirds or three quarters.
    pub compress: Option<i32>,
    /// Wait for a disk that does not keep up, instead of losing packets: for packets that come out of a file.
    pub wait: bool,
}

impl Settings {
    /// For the first worker, with what a link of a gigabit needs.
    pub fn new(dir: PathBuf) -> Self {
        Self {
            dir,
            worker: 0,
            link: LinkType(1),
            memory: 256 << 20,
            owners: 200_000,
            age: Nanos::from_secs(10),
            span: Nanos::from_secs(60),
            bytes: 4 << 30,
            blocks: 64,
            direct: true,
            seal: None,
            sign: None,
            compress: None,
            wait: false,
        }
    }
}

/// Whose packets: a stream's, or a call's signalling. Good until it is finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    slot: u32,
    serial: u64,
}

/// What was kept of an owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The owner's key.
    pub owner: u64,
    /// Packets, and their captured bytes.
    pub packets: u64,
    /// See `packets`.
    pub bytes: u64,
    /// Packets that found no room in memory or on the way to the disk.
    pub lost: u64,
}

/// What the keeper did since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets taken, and their captured bytes.
    pub packets: u64,
    /// See `packets`.
    pub bytes: u64,
    /// Chunks given to the disk.
    pub chunks: u64,
    /// Packets for which memory had no page.
    pub lost_memory: u64,
    /// Packets that waited for a disk that did not keep up.
    pub lost_disk: u64,
    /// Packets that came while recording was stopped, for want of room.
    pub lost_stopped: u64,
    /// Owners that found no place.
    pub refused: u64,
}

/// Pages of the longest chunk, but for one frame that is longer.
const MOST: usize = 16;
/// With one frame of 64 KiB and its header.
const PAGES: usize = MOST + 1;
const NONE: u32 = u32::MAX;
/// A block that has begun is written after this long; where several wait, one after the other: a packet waits for as many
/// times this as there are categories, and for its key as long again.
const PATIENCE: Nanos = Nanos::from_secs(1);
/// Blocks that a chunk may begin: one of packets, one of keys.
const SPARES: usize = 2;
/// Chunks of one segment.
const ROWS: usize = 1 << 21;

struct Entry {
    /// 0 while the place is free.
    serial: u64,
    key: u64,
    category: Category,
    pages: [u32; PAGES],
    held: u32,
    fill: u32,
    packets: u32,
    number: u32,
    first: Nanos,
    last: Nanos,
    kept_packets: u64,
    kept_bytes: u64,
    lost: u64,
    /// Neighbours in the order in which chunks began.
    older: u32,
    newer: u32,
}

impl Entry {
    const FREE: Self = Self {
        serial: 0,
        key: 0,
        category: Category::Media,
        pages: [NONE; PAGES],
        held: 0,
        fill: 0,
        packets: 0,
        number: 0,
        first: Nanos::ZERO,
        last: Nanos::ZERO,
        kept_packets: 0,
        kept_bytes: 0,
        lost: 0,
        older: NONE,
        newer: NONE,
    };
}

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

/// A packet that is on its way into its chunk.
#[derive(Clone, Copy)]
struct Coming {
    owner: Owner,
    time: Nanos,
    /// Of its record in the chunk.
    length: u32,
    place: usize,
}

/// Packets between the moment at which they pass and that at which they go into their chunks. Chunks grow in far more memory than
/// caches hold, so every packet would wait for its owner's entry, then for the place where the chunk goes on. Here a few
/// wait together: the entry is asked for when a packet comes, the place a few packets later, and both are there when its turn comes.
struct Landing {
    /// Records as they will stand in their chunks.
    bytes: Vec<u8>,
    coming: [Option<Coming>; LANDING],
    /// Packets so far.
    count: usize,
    /// When all of them went on last.
    settled: Nanos,
}

impl Landing {
    fn new() -> Self {
        let bytes = vec![0; LANDING * RUNWAY];
        Self { bytes, coming: [None; LANDING], count: 0, settled: Nanos::ZERO }
    }
}

/// Packets that wait together; each goes on when half as many have come after it.
const LANDING: usize = 16;
/// The longest record that waits: voice. Others go straight into their chunks.
const RUNWAY: usize = 384;
/// A packet waits no longer than this for others.
const HASTE: Nanos = Nanos::from_millis(10);

/// Keeps one worker's packets. It never waits: what does not fit is counted.
pub struct Keeper {
    settings: Settings,
    link: Link,
    pool: Pool,
    landing: Landing,
    entries: Vec<Entry>,
    /// Bytes that a chunk may have, see [`Keeper::limit`].
    limit: usize,
    free: Vec<u32>,
    serial: u64,
    oldest: u32,
    newest: u32,
    /// In the order of [`Category::ALL`].
    series: [Series; Category::ALL.len()],
    /// When a block that was not full was written last.
    padded: Nanos,
    sealer: Option<Sealer>,
    /// Where chunks are sealed or packed.
    wrap: Option<Wrap>,
    spare: Vec<Block>,
    spares: Receiver<Block>,
    spare_rows: Receiver<Vec<Row>>,
    jobs: Option<SyncSender<Job>>,
    thread: Option<JoinHandle<()>>,
    written: Arc<Written>,
    counts: Counts,
}

impl Keeper {
    /// Starts the thread that writes. All memory is taken now.
    ///
    /// # Errors
    ///
    /// A directory that cannot be made, a link type without a place in a segment, too little memory. Where segments are signed: what
    /// the writer before left cannot be read, or sealed. That may take as long as reading a segment takes.
    pub fn open(settings: Settings) -> Result<Self, Error> {
        let link = Link::of(settings.link).ok_or(Error::Link(settings.link))?;
        let least = 2 * PAGES * PAGE;
        if settings.memory < least {
            return Err(Error::Memory { given: settings.memory, least });
        }
        std::fs::create_dir_all(&settings.dir).map_err(|error| Error::io(&settings.dir, "created", error))?;
        let owners = settings.owners.clamp(1, NONE as usize - 1);
        let mut entries = Vec::with_capacity(owners);
        ringtap_cpu::large_pages(entries.spare_capacity_mut());
        entries.extend((0..owners).map(|_| Entry::FREE));
        let sealer = settings.seal.as_ref().map(|master| Sealer::new(master, owners)).transpose()?;
        let wraps = sealer.is_some() || settings.compress.is_some();
        let wrap = wraps.then(|| Wrap::new(link, PAGES * PAGE, settings.compress)).transpose()?;
        // Each category has one to fill and takes one to go on in, for packets and for keys.
        let blocks = settings.blocks.max(4 * Category::ALL.len());
        let (jobs, todo) = sync_channel(blocks + 16);
        let (spare, spares) = channel();
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
        let thread = thread::Builder::new()
            .name(format!("spool-{}", settings.worker))
            .spawn(move || disk.serve(&todo))
            .map_err(|error| Error::io(&settings.dir, "served by a thread", error))?;
        Ok(Self {
            link,
            pool: Pool::new(settings.memory),
            landing: Landing::new(),
            entries,
            limit: PAGE,
            free: (0..owners as u32).rev().collect(),
            serial: 0,
            oldest: NONE,
            newest: NONE,
            series: Category::ALL.map(Series::new),
            padded: Nanos::ZERO,
            sealer,
            wrap,
            spare: (0..blocks).map(|_| Block::new()).collect(),
            spares,
            spare_rows,
            jobs: Some(jobs),
            thread: Some(thread),
            written,
            counts: Counts::default(),
            settings,
        })
    }

    /// A place for the packets of a stream or a call's signalling, which [`key`](crate::key()) names. None at the ceiling,
    /// which is counted.
    pub fn begin(&mut self, category: Category, key: u64) -> Option<Owner> {
        let Some(slot) = self.free.pop() else {
            self.counts.refused += 1;
            return None;
        };
        self.serial += 1;
        self.entries[slot as usize] = Entry { serial: self.serial, key, category, ..Entry::FREE };
        self.limit = self.limit();
        Some(Owner { slot, serial: self.serial })
    }

    /// Keeps a packet. What finds no room is counted, and told when the owner is finished.
    pub fn put(&mut self, owner: Owner, frame: &Frame<'_>) {
        self.put_parts(owner, frame.time, frame.wire_len, frame.data);
    }

    /// Keeps the first bytes of a packet: `data` is what is left of it. HOT: three copies, nothing else; it waits for no memory
    /// where packets of several owners come one after the other.
    pub fn put_parts(&mut self, owner: Owner, time: Nanos, wire_len: u32, data: &[u8]) {
        let length = RECORD + data.len();
        let mut header = [0; RECORD];
        mark::record_header(&mut header, time, data.len() as u32, wire_len);
        if length > RUNWAY {
            self.settle();
            return self.keep(owner, time, &[&header, data]);
        }
        let at = self.landing.count % LANDING;
        if let Some(entry) = self.entries.get(owner.slot as usize) {
            ringtap_cpu::prefetch(entry);
        }
        self.land(at);
        self.approach((at + LANDING / 2) % LANDING);
        let place = at * RUNWAY;
        let record = &mut self.landing.bytes[place..place + length];
        record[..RECORD].copy_from_slice(&header);
        record[RECORD..].copy_from_slice(data);
        self.landing.coming[at] = Some(Coming { owner, time, length: length as u32, place });
        self.landing.count += 1;
    }

    /// All that is on its way goes into its chunks.
    fn settle(&mut self) {
        let (half, next) = (LANDING / 2, self.landing.count);
        (half..LANDING).for_each(|at| self.approach((next + at) % LANDING));
        (0..LANDING).for_each(|at| self.land((next + at) % LANDING));
    }

    /// Asks for the place in its chunk where a packet will go.
    #[inline]
    fn approach(&self, at: usize) {
        let Some(Coming { owner, length, .. }) = self.landing.coming[at] else { return };
        let Some(entry) = self.entries.get(owner.slot as usize) else { return };
        let (page, from) = (entry.fill as usize / PAGE, entry.fill as usize % PAGE);
        if page < entry.held as usize {
            let page = self.pool.page(entry.pages[page]);
            let mut line = from;
            while line < from + length as usize {
                ringtap_cpu::prefetch_byte(page, line);
                line += ringtap_cpu::LINE;
            }
        }
    }

    /// A packet goes into its chunk.
    #[inline]
    fn land(&mut self, at: usize) {
        let Some(Coming { owner, time, length, place }) = self.landing.coming[at].take() else { return };
        let bytes = std::mem::take(&mut self.landing.bytes);
        self.keep(owner, time, &[&bytes[place..place + length as usize]]);
        self.landing.bytes = bytes;
    }

    /// Appends a record, which may be in parts, to the owner's chunk.
    fn keep(&mut self, owner: Owner, time: Nanos, record: &[&[u8]]) {
        if self.entry(owner).is_none() {
            return;
        }
        let slot = owner.slot;
        if self.written.is_stopped() {
            self.entries[slot as usize].lost += 1;
            self.counts.lost_stopped += 1;
            return;
        }
        let need = record.iter().map(|part| part.len()).sum();
        let fill = self.entries[slot as usize].fill as usize;
        if fill > 0 && fill + need > self.limit {
            self.flush(slot, time);
        }
        if need > PAGES * PAGE || !self.make_room(slot, need, time) {
            self.entries[slot as usize].lost += 1;
            self.counts.lost_memory += 1;
            return;
        }
        let entry = &self.entries[slot as usize];
        if entry.fill == 0 {
            self.join(slot, time);
        }
        record.iter().for_each(|part| self.append_to_chunk(slot, part));
        let entry = &mut self.entries[slot as usize];
        entry.first = entry.first.min(time);
        entry.last = entry.last.max(time);
        entry.packets += 1;
        entry.kept_packets += 1;
        entry.kept_bytes += (need - RECORD) as u64;
        self.counts.packets += 1;
        self.counts.bytes += (need - RECORD) as u64;
    }

    /// Time has passed: what has waited long enough is written.
    pub fn tick(&mut self, now: Nanos) {
        if now.since(self.landing.settled) >= HASTE {
            self.settle();
            self.landing.settled = now;
        }
        while let Some(entry) = self.entries.get(self.oldest as usize) {
            if entry.first + self.settings.age > now {
                break;
            }
            self.flush(self.oldest, now);
        }
        if now.since(self.padded) >= PATIENCE {
            self.pad_oldest(now);
        }
        for category in Category::ALL {
            let current = self.series(category).current.as_ref();
            if current.is_some_and(|current| now.since(current.opened) >= self.settings.span) {
                self.end_segment(category, now);
            }
        }
    }

    /// The owner is over: what it still has in memory goes to the segment.
    pub fn finish(&mut self, owner: Owner, now: Nanos) -> Option<Kept> {
        self.settle();
        self.entry(owner)?;
        self.flush(owner.slot, now);
        let entry = std::mem::replace(&mut self.entries[owner.slot as usize], Entry::FREE);
        self.free.push(owner.slot);
        self.limit = self.limit();
        if let Some(sealer) = &mut self.sealer {
            sealer.forget(owner.slot);
        }
        Some(Kept {
            owner: entry.key,
            packets: entry.kept_packets,
            bytes: entry.kept_bytes,
            lost: entry.lost,
        })
    }

    /// Of all frames.
    pub fn link(&self) -> LinkType {
        self.link.number()
    }

    /// Since the start; a packet is counted when it goes into its chunk, at the latest with the next owner that is finished or 10 ms
    /// later.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// What the disk has taken; may be read from another thread.
    pub fn written(&self) -> Arc<Written> {
        Arc::clone(&self.written)
    }

    /// Writes everything, closes the segment, waits for the disk.
    pub fn close(mut self, now: Nanos) -> Counts {
        self.flush_all(now);
        self.counts
    }

    fn flush_all(&mut self, now: Nanos) {
        self.settle();
        while self.oldest != NONE {
            let oldest = self.oldest;
            self.wait_for_blocks(SPARES);
            self.flush(oldest, now);
        }
        for category in Category::ALL {
            self.wait_for_blocks(SPARES);
            self.end_segment(category, now);
        }
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // It panics only where the standard library does.
            let _ = thread.join();
        }
    }

    fn wait_for_blocks(&mut self, wanted: usize) {
        while self.spare.len() < wanted {
            match self.spares.recv() {
                Ok(block) => self.spare.push(block),
                Err(_) => return,
            }
        }
    }

    fn series(&self, category: Category) -> &Series {
        &self.series[category as usize]
    }

    fn series_mut(&mut self, category: Category) -> &mut Series {
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

    fn entry(&self, owner: Owner) -> Option<&Entry> {
        self.entries.get(owner.slot as usize).filter(|entry| entry.serial == owner.serial)
    }

    /// Bytes that a chunk may have: a fair share of the memory, 4 to 64 KiB.
    fn limit(&self) -> usize {
        let live = self.entries.len() - self.free.len();
        (self.pool.total() * 3 / 4 / live.max(1)).clamp(1, MOST) * PAGE
    }

    /// Gives the chunk enough pages; the oldest chunks make room.
    fn make_room(&mut self, slot: u32, need: usize, now: Nanos) -> bool {
        let wanted = (self.entries[slot as usize].fill as usize + need).div_ceil(PAGE);
        if wanted > PAGES {
            return false;
        }
        while (self.entries[slot as usize].held as usize) < wanted {
            match self.pool.take() {
                Some(page) => {
                    let entry = &mut self.entries[slot as usize];
                    entry.pages[entry.held as usize] = page;
                    entry.held += 1;
                }
                // The oldest may be this one: then it has no pages left and the loop goes on with free ones.
                None if self.oldest != NONE => self.flush(self.oldest, now),
                None => return false,
            }
            if self.entries[slot as usize].fill == 0 && self.entries[slot as usize].held == 0 {
                return self.make_room(slot, need, now);
            }
        }
        true
    }

    fn append_to_chunk(&mut self, slot: u32, mut bytes: &[u8]) {
        let entry = &mut self.entries[slot as usize];
        while !bytes.is_empty() {
            let (page, at) = (entry.fill as usize / PAGE, entry.fill as usize % PAGE);
            let some = bytes.len().min(PAGE - at);
            self.pool.page_mut(entry.pages[page])[at..at + some].copy_from_slice(&bytes[..some]);
            entry.fill += some as u32;
            bytes = &bytes[some..];
        }
    }

    /// Into the order of age, with a chunk's first packet.
    fn join(&mut self, slot: u32, time: Nanos) {
        let newest = std::mem::replace(&mut self.newest, slot);
        let entry = &mut self.entries[slot as usize];
        (entry.first, entry.last) = (time, time);
        (entry.older, entry.newer) = (newest, NONE);
        match self.entries.get_mut(newest as usize) {
            Some(other) => other.newer = slot,
            None => self.oldest = slot,
        }
    }

    fn leave(&mut self, slot: u32) {
        let Entry { older, newer, fill, .. } = self.entries[slot as usize];
        if fill == 0 {
            return;
        }
        match self.entries.get_mut(older as usize) {
            Some(other) => other.newer = newer,
            None => self.oldest = newer,
        }
        match self.entries.get_mut(newer as usize) {
            Some(other) => other.older = older,
            None => self.newest = older,
        }
    }

    fn release(&mut self, slot: u32) {
        let entry = &mut self.entries[slot as usize];
        for page in &mut entry.pages[..entry.held as usize] {
            self.pool.give(std::mem::replace(page, NONE));
        }
        (entry.held, entry.fill, entry.packets) = (0, 0, 0);
    }

    /// Moves a chunk into the segment.
    fn flush(&mut self, slot: u32, now: Nanos) {
        let Entry { fill, category, .. } = self.entries[slot as usize];
        if fill == 0 {
            return;
        }
        self.leave(slot);
        let series = self.series(category);
        let due = series.current.as_ref().is_some_and(|current| {
            now.since(current.opened) >= self.settings.span
                || current.offset + series.filled as u64 >= self.settings.bytes
                || series.rows.len() == series.rows.capacity()
        });
        if due {
            self.end_segment(category, now);
        }
        if !self.write_chunk(slot, now) {
            let entry = &mut self.entries[slot as usize];
            let packets = u64::from(entry.packets);
            entry.lost += packets;
            entry.kept_packets -= packets;
            entry.kept_bytes -= u64::from(entry.fill) - packets * RECORD as u64;
            self.counts.lost_disk += u64::from(entry.packets);
        }
        self.release(slot);
    }

    fn write_chunk(&mut self, slot: u32, now: Nanos) -> bool {
        let head = mark::len(self.link);
        let Entry { fill, first, category, .. } = self.entries[slot as usize];
        let fill = fill as usize;
        // The beginning of a segment and the padding behind it must fit as well.
        if !self.has_room(category, GLOBAL + 3 * head + ALIGN + fill + wrap::overhead(self.link))
            || !self.open_segment(category, first, now)
        {
            return false;
        }
        let Some(key) = self.list_key(slot, now) else { return false };
        let series = self.series(category);
        let Some(current) = &series.current else { return false };
        let offset = current.offset + series.filled as u64;
        let entry = &self.entries[slot as usize];
        let mut chunk = Chunk {
            owner: entry.key,
            number: entry.number,
            packets: entry.packets,
            length: entry.fill,
            crc: 0,
            flags: 0,
            key,
            plain: entry.fill,
            first: entry.first,
            last: entry.last,
        };
        if !self.append_wrapped(slot, &mut chunk) {
            // INVARIANT: nothing goes to the disk as it is where it is to be sealed.
            if self.sealer.is_some() {
                return false;
            }
            self.append_plain(slot, &mut chunk);
        }
        let series = self.series_mut(category);
        series.rows.push(Row { offset, chunk });
        if let Some(current) = &mut series.current {
            current.chunks += 1;
        }
        self.counts.chunks += 1;
        let entry = &mut self.entries[slot as usize];
        entry.number += 1;
        true
    }

    /// The packets as they are.
    fn append_plain(&mut self, slot: u32, chunk: &mut Chunk) {
        let category = self.entries[slot as usize].category;
        let fill = chunk.plain as usize;
        let used = |page: usize| PAGE.min(fill - page * PAGE);
        let pages = self.entries[slot as usize].pages;
        let pages = pages.iter().enumerate().take(fill.div_ceil(PAGE));
        chunk.crc = pages
            .clone()
            .fold(0, |crc, (place, page)| ringtap_cpu::crc32c(crc, &self.pool.page(*page)[..used(place)]));
        self.append_chunk_mark(category, chunk);
        for (place, page) in pages {
            append(
                &mut self.series[category as usize],
                &mut self.spare,
                &self.jobs,
                &self.pool.page(*page)[..used(place)],
            );
        }
    }

    /// The packets sealed, packed or both. Not where they stay as they are.
    fn append_wrapped(&mut self, slot: u32, chunk: &mut Chunk) -> bool {
        let Some(mut wrap) = self.wrap.take() else { return false };
        let Entry { pages, category, .. } = self.entries[slot as usize];
        let packets = wrap.packets(chunk.plain as usize);
        for (to, page) in packets.chunks_mut(PAGE).zip(pages) {
            to.copy_from_slice(&self.pool.page(page)[..to.len()]);
        }
        let key = self.sealer.as_ref().and_then(|sealer| sealer.key(slot));
        let wrapped = match self.sealer.is_some() && key.is_none() {
            true => None,
            false => wrap.close(chunk, key),
        };
        if let Some(bytes) = wrapped {
            self.append_chunk_mark(category, chunk);
            append(&mut self.series[category as usize], &mut self.spare, &self.jobs, bytes);
        }
        let done = wrapped.is_some();
        self.wrap = Some(wrap);
        done
    }

    fn append_chunk_mark(&mut self, category: Category, chunk: &Chunk) {
        let mut bytes = [0; 128];
        let bytes = &mut bytes[..mark::len(self.link)];
        Mark::Chunk(*chunk).write(self.link, bytes);
        self.append(category, bytes, chunk.last);
    }

    /// The row of the owner's key in the segment, which lists it from now on. None where there can be no key; 0 where none is
    /// needed.
    fn list_key(&mut self, slot: u32, now: Nanos) -> Option<u32> {
        let Some(sealer) = &mut self.sealer else { return Some(0) };
        let Entry { key, category, first, .. } = self.entries[slot as usize];
        let series = &mut self.series[category as usize];
        // The number of the segment that is open.
        let segment = series.next;
        let (row, listed) = sealer.row(slot, key, first, segment)?;
        if let Some(number) = listed {
            return Some(number);
        }
        let keys = &mut series.keys;
        if keys.block.is_none() {
            keys.block = self.spare.pop();
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
        if let (Some(block), Some(jobs)) = (keys.block.take(), &self.jobs) {
            let len = std::mem::take(&mut keys.filled);
            let _ = jobs.send(Job::Keys { category, block, len, offset: keys.offset });
            keys.offset += len as u64;
        }
    }

    /// Whether so many bytes fit into this block and one more, and a key into its block.
    fn has_room(&mut self, category: Category, bytes: usize) -> bool {
        while let Ok(block) = self.spares.try_recv() {
            self.spare.push(block);
        }
        let at = category as usize;
        let for_keys = usize::from(self.sealer.is_some() && self.series[at].keys.block.is_none());
        // One for now, one to go on in.
        if self.settings.wait && self.series[at].block.is_none() {
            self.wait_for_blocks(1);
        }
        if self.series[at].block.is_none() {
            self.series[at].block = self.spare.pop();
            self.series[at].filled = 0;
        }
        if self.settings.wait {
            self.wait_for_blocks(1 + for_keys);
        }
        let series = &self.series[at];
        let for_packets = usize::from(series.filled + bytes >= BLOCK);
        series.block.is_some() && self.spare.len() >= for_packets + for_keys
    }

    fn open_segment(&mut self, category: Category, at: Nanos, now: Nanos) -> bool {
        let worker = self.settings.worker;
        let Some(jobs) = &self.jobs else { return false };
        let series = &mut self.series[category as usize];
        if series.current.is_some() {
            return true;
        }
        let number = series.next;
        if jobs.try_send(Job::Open(category, Segment::new(at, worker, category, number))).is_err() {
            return false;
        }
        series.next += 1;
        series.current = Some(Current { opened: now, offset: 0, chunks: 0 });
        self.append(category, &mark::global_header(self.link), at);
        let start = Mark::Start { worker, segment: number, at };
        self.append_mark(category, &start, mark::len(self.link), at);
        true
    }

    fn end_segment(&mut self, category: Category, now: Nanos) {
        let head = mark::len(self.link);
        if self.series(category).current.is_none() || !self.has_room(category, 2 * head + ALIGN) {
            return;
        }
        self.submit_keys(category);
        let chunks = self.series(category).current.as_ref().map_or(0, |current| current.chunks);
        self.append_mark(category, &Mark::End { chunks, at: now }, head, now);
        self.submit_padded(category, now);
        // The disk may not have made the last index yet: rarely, and only where segments are very short.
        let spare = self.spare_rows.try_recv().unwrap_or_else(|_| Vec::with_capacity(ROWS));
        let series = self.series_mut(category);
        series.current = None;
        series.keys = Rows::default();
        let rows = std::mem::replace(&mut series.rows, spare);
        if let Some(jobs) = &self.jobs {
            // The channel has room for every block and some more; what waits there is bounded by the blocks.
            let _ = jobs.send(Job::Close(category, rows));
        }
    }

    /// Fills up to what a direct write takes, and gives the block to the disk.
    fn submit_padded(&mut self, category: Category, now: Nanos) {
        let head = mark::len(self.link);
        if self.series(category).filled == 0 || !self.has_room(category, head + ALIGN) {
            return;
        }
        let filled = self.series(category).filled;
        if !filled.is_multiple_of(ALIGN) {
            let padding = (filled + head).next_multiple_of(ALIGN) - filled;
            let mark = Mark::Padding { at: now, length: padding as u32 };
            self.append_mark(category, &mark, padding, now);
        }
        let series = &mut self.series[category as usize];
        if let (Some(block), Some(current), Some(jobs)) =
            (series.block.take(), &mut series.current, &self.jobs)
        {
            let len = std::mem::take(&mut series.filled);
            if len == 0 {
                series.block = Some(block);
                return;
            }
            let _ = jobs.send(Job::Write { category, block, len, offset: current.offset });
            current.offset += len as u64;
        }
    }

    fn append_mark(&mut self, category: Category, mark: &Mark, len: usize, now: Nanos) {
        let mut bytes = [0; 2 * ALIGN];
        let len = len.min(bytes.len());
        mark.write(self.link, &mut bytes[..len]);
        self.append(category, &bytes[..len], now);
    }

    fn append(&mut self, category: Category, bytes: &[u8], now: Nanos) {
        let series = &mut self.series[category as usize];
        if series.filled == 0 {
            series.since = now;
        }
        append(series, &mut self.spare, &self.jobs, bytes);
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        if self.thread.is_some() {
            self.settle();
            let now = self.entries.iter().map(|entry| entry.last).max().unwrap_or_default();
            self.flush_all(now);
        }
    }
}

/// Appends to the block; a full one goes to the disk and the next takes its place. INVARIANT: [`Keeper::has_room`] was asked.
fn append(series: &mut Series, spare: &mut Vec<Block>, jobs: &Option<SyncSender<Job>>, mut bytes: &[u8]) {
    let category = series.category;
    while !bytes.is_empty() {
        let Some(open) = series.block.as_mut() else { return };
        let some = bytes.len().min(BLOCK - series.filled);
        open.data_mut()[series.filled..series.filled + some].copy_from_slice(&bytes[..some]);
        series.filled += some;
        bytes = &bytes[some..];
        if series.filled == BLOCK {
            if let (Some(block), Some(current), Some(jobs)) = (series.block.take(), &mut series.current, jobs)
            {
                let _ = jobs.send(Job::Write { category, block, len: BLOCK, offset: current.offset });
                current.offset += BLOCK as u64;
            }
            series.filled = 0;
            series.block = spare.pop();
        }
    }
}
