//! Writes the packets of one worker to the spool.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ringtap_model::{Frame, LinkType, Nanos};

use crate::error::Error;
use crate::files::create_dir;
use crate::segment::marker::{self, Link, RECORD};
use crate::segment::name::Category;
use crate::write::disk::WriterStatus;
use crate::write::packer::Packer;
use crate::write::ring::{EntryWriter, OWNERS};
use crate::write::settings::{LEAST, MOST, WriterSettings};
use crate::write::sys;

/// A stream, or a call's signalling, that is being recorded. Valid until it is finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnerHandle {
    slot: u32,
    serial: u64,
}

/// What was recorded of an owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerTotals {
    /// The owner's key.
    pub owner: u64,
    /// Packets, and their captured bytes.
    pub packets: u64,
    /// See `packets`.
    pub bytes: u64,
    /// Packets that were lost for want of memory or disk throughput.
    pub lost: u64,
}

/// Totals of a writer since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriterCounts {
    /// Packets accepted, and their captured bytes.
    pub packets: u64,
    /// See `packets`.
    pub bytes: u64,
    /// Packets longer than a chunk may be: 68 KiB.
    pub lost_oversized: u64,
    /// Packets that arrived while all memory was waiting for a slow disk.
    pub lost_disk: u64,
    /// Packets that arrived while recording was stopped because the disk was full.
    pub lost_stopped: u64,
    /// Owners beyond the ceiling.
    pub refused: u64,
}

/// The packer sees new entries after so many bytes. It is woken after
const PUBLISH: usize = 4 << 10;
/// so many bytes, or after
const BUNDLE: usize = 256 << 10;
/// this long.
const NAP: Nanos = Nanos::from_millis(5);
/// How often the packer is told the time.
const TICK: Nanos = Nanos::from_millis(100);

/// Totals of one owner.
#[derive(Clone, Default)]
struct OwnerCounts {
    /// 0 while the slot is free.
    serial: u64,
    packets: u64,
    bytes: u64,
    lost: u64,
}

/// Writes one worker's packets. It never waits, unless it is told to: packets that do not fit are counted as
/// lost.
///
/// It copies packets into a ring as they arrive. A second thread, the packer, gathers each owner's packets
/// into chunks, compresses and seals them, and lays them out for the disk thread.
pub struct SpoolWriter {
    settings: WriterSettings,
    link: Link,
    log: EntryWriter,
    owners: Vec<OwnerCounts>,
    keys: Vec<u64>,
    free: Vec<u32>,
    serial: u64,
    packer: Option<JoinHandle<()>>,
    /// Bytes since the packer was woken, and when that was.
    asleep: usize,
    woken: Nanos,
    ticked: Nanos,
    /// Time of the latest packet.
    last: Nanos,
    written: Arc<WriterStatus>,
    counts: WriterCounts,
}

impl SpoolWriter {
    /// Starts the threads that pack and write. All memory is allocated now.
    ///
    /// # Errors
    ///
    /// The directory cannot be created, the link type cannot be stored, or there is too little memory. If
    /// segments are signed: segments that an earlier writer left open cannot be read or sealed. Sealing them
    /// takes as long as reading them.
    pub fn open(settings: WriterSettings) -> Result<Self, Error> {
        let link = Link::of(settings.link).ok_or(Error::Link(settings.link))?;
        if settings.memory < LEAST {
            return Err(Error::Memory { given: settings.memory, least: LEAST });
        }
        create_dir(&settings.dir).map_err(|error| Error::io(&settings.dir, "created", error))?;
        let owners = settings.owners.clamp(1, OWNERS as usize);
        let mut taken = Vec::with_capacity(owners);
        ringtap_cpu::large_pages(taken.spare_capacity_mut());
        taken.resize(owners, OwnerCounts::default());
        let (writer, reader) = sys::ring(settings.memory);
        let (packer, written) = Packer::open(&settings, link, owners, reader)?;
        let packer = thread::Builder::new()
            .name(format!("pack-{}", settings.worker))
            .spawn(move || packer.serve())
            .map_err(|error| Error::io(&settings.dir, "written to by a new thread", error))?;
        Ok(Self {
            link,
            log: EntryWriter::new(writer),
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
            counts: WriterCounts::default(),
            settings,
        })
    }

    /// Begins recording a stream or a call's signalling, which [`key`](crate::key()) names. None at the
    /// ceiling, or while the ring is full: counted.
    pub fn begin(&mut self, category: Category, key: u64) -> Option<OwnerHandle> {
        let slot = self.free.last().copied();
        let begun = slot.filter(|slot| self.write(|log| log.begin(*slot, category, key)));
        let Some(slot) = begun else {
            self.counts.refused += 1;
            return None;
        };
        self.free.pop();
        self.serial += 1;
        self.owners[slot as usize] = OwnerCounts { serial: self.serial, ..OwnerCounts::default() };
        self.keys[slot as usize] = key;
        Some(OwnerHandle { slot, serial: self.serial })
    }

    /// Records a packet. A packet that does not fit is counted as lost, in the totals and for its owner.
    pub fn put(&mut self, owner: OwnerHandle, frame: &Frame<'_>) {
        self.put_bytes(owner, frame.time, frame.wire_len, frame.data);
    }

    /// Prefetches what the owner's next packet needs.
    #[inline]
    pub fn prefetch(&self, owner: OwnerHandle) {
        if let Some(counts) = self.owners.get(owner.slot as usize) {
            ringtap_cpu::prefetch(counts);
        }
    }

    /// Records a packet of which `data` are the first bytes. HOT: one copy, behind the packet before.
    #[inline]
    pub fn put_bytes(&mut self, owner: OwnerHandle, time: Nanos, wire_len: u32, data: &[u8]) {
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
            marker::record_header(header, time, data.len() as u32, wire_len);
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

    /// Tries again if there was no room.
    #[cold]
    fn put_late(&mut self, owner: OwnerHandle, time: Nanos, bytes: usize, fill: impl Fn(&mut [u8])) -> bool {
        if bytes > MOST {
            self.counts.lost_oversized += 1;
        } else if self.write(|log| log.packet(owner.slot, time, bytes, &fill)) {
            return true;
        } else {
            self.counts.lost_disk += 1;
        }
        self.owners[owner.slot as usize].lost += 1;
        false
    }

    /// Advances the time: chunks and blocks that have waited long enough are written.
    pub fn tick(&mut self, now: Nanos) {
        if now.since(self.ticked) >= TICK {
            self.ticked = now;
            // If there is no room, the next tick tells the time.
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

    /// Has the owner's packets on the disk within half a second, rather than after [`WriterSettings::age`]:
    /// somebody listens. Not if the ring is full, or 256 owners are written so already. Each time costs a
    /// block on the disk, however little it has.
    #[cold]
    pub fn hurry(&mut self, owner: OwnerHandle, is_on: bool) {
        let is_taken = self.owners.get(owner.slot as usize).is_some_and(|taken| taken.serial == owner.serial);
        if is_taken {
            self.write(|log| log.hurry(owner.slot, is_on));
        }
    }

    /// Ends an owner: its packets in memory go to the segment.
    pub fn finish(&mut self, owner: OwnerHandle, now: Nanos) -> Option<OwnerTotals> {
        let taken = self.owners.get_mut(owner.slot as usize).filter(|taken| taken.serial == owner.serial)?;
        let OwnerCounts { packets, bytes, lost, .. } = std::mem::take(taken);
        // If there is no room, the owner ends when its slot gets the next one.
        self.write(|log| log.finish(owner.slot, now));
        self.free.push(owner.slot);
        Some(OwnerTotals { owner: self.keys[owner.slot as usize], packets, bytes, lost })
    }

    /// The link type of all frames.
    pub fn link(&self) -> LinkType {
        self.link.number()
    }

    /// Totals since the start.
    pub fn counts(&self) -> WriterCounts {
        self.counts
    }

    /// What has been written; another thread may read it.
    pub fn written(&self) -> Arc<WriterStatus> {
        Arc::clone(&self.written)
    }

    /// Writes everything, closes the segments, and waits for the disk.
    pub fn close(mut self, now: Nanos) -> WriterCounts {
        self.end(now);
        self.counts
    }

    fn end(&mut self, now: Nanos) {
        // Nothing is lost for want of time now.
        self.settings.wait = true;
        self.write(|log| log.end(now));
        self.publish();
        self.wake();
        if let Some(packer) = self.packer.take() {
            // The thread panics only if the standard library does.
            let _ = packer.join();
        }
    }

    /// Appends to the ring; false if there is no room and the writer does not wait.
    fn write(&mut self, put: impl Fn(&mut EntryWriter) -> bool) -> bool {
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

impl Drop for SpoolWriter {
    fn drop(&mut self) {
        if self.packer.is_some() {
            self.end(self.last);
        }
    }
}
