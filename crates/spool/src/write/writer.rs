//! What is to be kept, packet by packet: written down as it comes, for the packer.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ringtap_model::{Frame, LinkType, Nanos};

use crate::error::Error;
use crate::segment::mark::{self, Link, RECORD};
use crate::segment::name::Category;
use crate::write::disk::Written;
use crate::write::packer::Packer;
use crate::write::ring::{Log, OWNERS};
use crate::write::settings::{LEAST, MOST, Settings};
use crate::write::sys;

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
    /// Packets that are longer than a chunk may be: 68 KiB.
    pub lost_memory: u64,
    /// Packets that came while all memory was waiting for a disk that does not keep up.
    pub lost_disk: u64,
    /// Packets that came while recording was stopped, for want of room.
    pub lost_stopped: u64,
    /// Owners that found no place.
    pub refused: u64,
}

/// The packer sees what there is after so many bytes, and is woken after
const PUBLISH: usize = 4 << 10;
/// so many, or after
const BUNDLE: usize = 256 << 10;
/// this long.
const NAP: Nanos = Nanos::from_millis(5);
/// How often the packer is told what time it is.
const TICK: Nanos = Nanos::from_millis(100);

/// What was taken of an owner.
#[derive(Clone, Default)]
struct Taken {
    /// 0 while the place is free.
    serial: u64,
    packets: u64,
    bytes: u64,
    lost: u64,
}

/// Keeps one worker's packets. It never waits, unless it is told to: what does not fit is counted.
///
/// It writes them down one after the other, as they come. A second thread, the packer, gathers each owner's into chunks, checks,
/// packs and seals them, and lines them up for the disk.
pub struct Keeper {
    settings: Settings,
    link: Link,
    log: Log,
    owners: Vec<Taken>,
    keys: Vec<u64>,
    free: Vec<u32>,
    serial: u64,
    packer: Option<JoinHandle<()>>,
    /// Bytes since the packer was woken, and when that was.
    asleep: usize,
    woken: Nanos,
    ticked: Nanos,
    /// The latest packet's.
    last: Nanos,
    written: Arc<Written>,
    counts: Counts,
}

impl Keeper {
    /// Starts the threads that pack and write. All memory is taken now.
    ///
    /// # Errors
    ///
    /// A directory that cannot be made, a link type without a place in a segment, too little memory. Where segments are signed: what
    /// the writer before left cannot be read, or sealed. That may take as long as reading a segment takes.
    pub fn open(settings: Settings) -> Result<Self, Error> {
        let link = Link::of(settings.link).ok_or(Error::Link(settings.link))?;
        if settings.memory < LEAST {
            return Err(Error::Memory { given: settings.memory, least: LEAST });
        }
        std::fs::create_dir_all(&settings.dir).map_err(|error| Error::io(&settings.dir, "created", error))?;
        let owners = settings.owners.clamp(1, OWNERS as usize);
        let mut taken = Vec::with_capacity(owners);
        ringtap_cpu::large_pages(taken.spare_capacity_mut());
        taken.resize(owners, Taken::default());
        let (writer, reader) = sys::ring(settings.memory);
        let (packer, written) = Packer::open(&settings, link, owners, reader)?;
        let packer = thread::Builder::new()
            .name(format!("pack-{}", settings.worker))
            .spawn(move || packer.serve())
            .map_err(|error| Error::io(&settings.dir, "served by a thread", error))?;
        Ok(Self {
            link,
            log: Log::new(writer),
            owners: taken,
            keys: vec![0; owners],
            free: (0..owners as u32).rev().collect(),
            serial: 0,
            packer: Some(packer),
            asleep: 0,
            woken: Nanos::ZERO,
            ticked: Nanos::ZERO,
            last: Nanos::ZERO,
            written,
            counts: Counts::default(),
            settings,
        })
    }

    /// A place for the packets of a stream or a call's signalling, which [`key`](crate::key()) names. None at the ceiling, or where
    /// the disk is so far behind that not even this can be written down: counted.
    pub fn begin(&mut self, category: Category, key: u64) -> Option<Owner> {
        let slot = self.free.last().copied();
        let begun = slot.filter(|slot| self.write(|log| log.begin(*slot, category, key)));
        let Some(slot) = begun else {
            self.counts.refused += 1;
            return None;
        };
        self.free.pop();
        self.serial += 1;
        self.owners[slot as usize] = Taken { serial: self.serial, ..Taken::default() };
        self.keys[slot as usize] = key;
        Some(Owner { slot, serial: self.serial })
    }

    /// Keeps a packet. What finds no room is counted, and told when the owner is finished.
    pub fn put(&mut self, owner: Owner, frame: &Frame<'_>) {
        self.put_parts(owner, frame.time, frame.wire_len, frame.data);
    }

    /// Keeps the first bytes of a packet: `data` is what is left of it. HOT: one copy, to where the one before went.
    #[inline]
    pub fn put_parts(&mut self, owner: Owner, time: Nanos, wire_len: u32, data: &[u8]) {
        let Some(taken) = self.owners.get_mut(owner.slot as usize) else { return };
        if taken.serial != owner.serial {
            return;
        }
        if self.written.is_stopped() {
            taken.lost += 1;
            self.counts.lost_stopped += 1;
            return;
        }
        let bytes = RECORD + data.len();
        let fill = |record: &mut [u8]| {
            let (header, body) = record.split_at_mut(RECORD);
            mark::record_header(header, time, data.len() as u32, wire_len);
            body.copy_from_slice(data);
        };
        let is_written = bytes <= MOST && self.log.packet(owner.slot, time, bytes, fill);
        if !is_written && !self.put_late(owner, time, bytes, fill) {
            return;
        }
        let taken = &mut self.owners[owner.slot as usize];
        taken.packets += 1;
        taken.bytes += data.len() as u64;
        self.counts.packets += 1;
        self.counts.bytes += data.len() as u64;
        self.last = time;
        if self.log.unseen >= PUBLISH {
            self.publish();
        }
    }

    /// The same where there is no room at once.
    #[cold]
    fn put_late(&mut self, owner: Owner, time: Nanos, bytes: usize, fill: impl Fn(&mut [u8])) -> bool {
        if bytes > MOST {
            self.counts.lost_memory += 1;
        } else if self.write(|log| log.packet(owner.slot, time, bytes, &fill)) {
            return true;
        } else {
            self.counts.lost_disk += 1;
        }
        self.owners[owner.slot as usize].lost += 1;
        false
    }

    /// Time has passed: what has waited long enough is written.
    pub fn tick(&mut self, now: Nanos) {
        if now.since(self.ticked) >= TICK {
            self.ticked = now;
            // One that finds no room is told by the next.
            self.write(|log| log.tick(now));
        }
        if self.log.unseen > 0 {
            self.publish();
        }
        if self.asleep > 0 && now.since(self.woken) >= NAP {
            self.woken = now;
            self.wake();
        }
    }

    /// The owner is over: what it still has in memory goes to the segment.
    pub fn finish(&mut self, owner: Owner, now: Nanos) -> Option<Kept> {
        let taken = self.owners.get_mut(owner.slot as usize).filter(|taken| taken.serial == owner.serial)?;
        let Taken { packets, bytes, lost, .. } = std::mem::take(taken);
        // Where that finds no room, it is over when its place has its next owner.
        self.write(|log| log.finish(owner.slot, now));
        self.free.push(owner.slot);
        Some(Kept { owner: self.keys[owner.slot as usize], packets, bytes, lost })
    }

    /// Of all frames.
    pub fn link(&self) -> LinkType {
        self.link.number()
    }

    /// Since the start.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// What the disk has taken; may be read from another thread.
    pub fn written(&self) -> Arc<Written> {
        Arc::clone(&self.written)
    }

    /// Writes everything, closes the segment, waits for the disk.
    pub fn close(mut self, now: Nanos) -> Counts {
        self.end(now);
        self.counts
    }

    fn end(&mut self, now: Nanos) {
        // There is time now.
        self.settings.wait = true;
        self.write(|log| log.end(now));
        self.publish();
        self.wake();
        if let Some(packer) = self.packer.take() {
            // It panics only where the standard library does.
            let _ = packer.join();
        }
    }

    /// Writes something down; false where there is no room, and nobody is to wait for it.
    fn write(&mut self, put: impl Fn(&mut Log) -> bool) -> bool {
        while !put(&mut self.log) {
            self.publish();
            if !self.settings.wait || self.log.is_alone() {
                return false;
            }
            self.wake();
            thread::sleep(Duration::from_micros(50));
        }
        true
    }

    fn publish(&mut self) {
        self.asleep += self.log.unseen;
        self.log.publish();
        if self.asleep >= BUNDLE {
            self.wake();
        }
    }

    fn wake(&mut self) {
        self.asleep = 0;
        if let Some(packer) = &self.packer {
            packer.thread().unpark();
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        if self.packer.is_some() {
            self.end(self.last);
        }
    }
}
