//! What a writer tells the packer, in order: packet records, and which owners begin and end.
//!
//! An entry is a head of 16 bytes (its kind or its owner's slot, its length, its time) and a body. Entries
//! begin at multiples of 16.

use ringtap_model::Nanos;

use crate::segment::name::Category;
use crate::write::sys::{Reader, Writer};

/// Bytes of an entry's head; entries begin at multiples of this.
pub(crate) const HEAD: usize = 16;
/// Bytes between the entry that is read and the one whose head is prefetched: it lies in the cache of the
/// writer's processor.
const AHEAD: usize = 2 << 10;
/// Slots of owners are below this.
pub(crate) const OWNERS: u32 = u32::MAX - 15;

// The kind of an entry that is no packet. Any other value is the slot of the packet's owner.
const SKIP: u32 = u32::MAX;
const TICK: u32 = u32::MAX - 1;
const END: u32 = u32::MAX - 2;
const BEGIN: u32 = u32::MAX - 3;
const FINISH: u32 = u32::MAX - 4;
const HURRY: u32 = u32::MAX - 5;

/// The end of the ring that writes.
pub(crate) struct EntryWriter {
    writer: Writer,
    /// Bytes that the packer does not see yet.
    pub(crate) unseen: usize,
}

impl EntryWriter {
    pub(crate) fn new(writer: Writer) -> Self {
        Self { writer, unseen: 0 }
    }

    /// Appends an entry, whose body `fill` writes. False if there is no room now. HOT.
    #[inline]
    fn put(&mut self, what: u32, time: Nanos, bytes: usize, fill: impl FnOnce(&mut [u8])) -> bool {
        let whole = (HEAD + bytes).next_multiple_of(HEAD);
        if whole > self.writer.ahead() && !self.skip() {
            return false;
        }
        self.writer.prefetch(whole);
        let Some(place) = self.writer.place(whole) else { return false };
        let (head, body) = place.split_at_mut(HEAD);
        head[..4].copy_from_slice(&what.to_le_bytes());
        head[4..8].copy_from_slice(&(bytes as u32).to_le_bytes());
        head[8..].copy_from_slice(&time.0.to_le_bytes());
        fill(&mut body[..bytes]);
        self.writer.pass(whole);
        self.unseen += whole;
        true
    }

    /// Leaves the end of the ring empty.
    #[cold]
    fn skip(&mut self) -> bool {
        let ahead = self.writer.ahead();
        let Some(place) = self.writer.place(ahead) else { return false };
        place[..4].copy_from_slice(&SKIP.to_le_bytes());
        self.writer.pass(ahead);
        self.unseen += ahead;
        true
    }

    /// Appends a packet's record. HOT.
    #[inline]
    pub(crate) fn packet(
        &mut self,
        slot: u32,
        time: Nanos,
        bytes: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> bool {
        self.put(slot, time, bytes, fill)
    }

    pub(crate) fn begin(&mut self, slot: u32, category: Category, key: u64) -> bool {
        self.put(BEGIN, Nanos::ZERO, 16, |body| {
            body[..4].copy_from_slice(&slot.to_le_bytes());
            body[4..8].copy_from_slice(&(category as u32).to_le_bytes());
            body[8..].copy_from_slice(&key.to_le_bytes());
        })
    }

    pub(crate) fn finish(&mut self, slot: u32, now: Nanos) -> bool {
        self.put(FINISH, now, 4, |body| body.copy_from_slice(&slot.to_le_bytes()))
    }

    pub(crate) fn hurry(&mut self, slot: u32, is_on: bool) -> bool {
        self.put(HURRY, Nanos::ZERO, 8, |body| {
            body[..4].copy_from_slice(&slot.to_le_bytes());
            body[4..].copy_from_slice(&u32::from(is_on).to_le_bytes());
        })
    }

    pub(crate) fn tick(&mut self, now: Nanos) -> bool {
        self.put(TICK, now, 0, |_| ())
    }

    pub(crate) fn end(&mut self, now: Nanos) -> bool {
        self.put(END, now, 0, |_| ())
    }

    /// Lets the packer see all entries.
    #[inline]
    pub(crate) fn publish(&mut self) {
        self.writer.publish();
        self.unseen = 0;
    }

    /// Whether the packer has ended.
    pub(crate) fn is_alone(&self) -> bool {
        self.writer.is_alone()
    }
}

/// An entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// A packet of the owner in that slot: its record is at `place` and has so many bytes.
    Packet { slot: u32, time: Nanos, place: usize, bytes: usize },
    /// A new owner for the slot.
    Begin { slot: u32, category: Category, key: u64 },
    /// The owner in the slot has ended.
    Finish { slot: u32, now: Nanos },
    /// The packets of the owner in the slot are written soon after they arrive, or as others again.
    Hurry { slot: u32, is_on: bool },
    /// The time.
    Tick(Nanos),
    /// No entry follows.
    End(Nanos),
    /// An empty end of the ring.
    Skip,
}

/// The entry at a position, and the position of the next one. None if no entry can be read there.
#[inline]
pub(crate) fn entry(reader: &Reader, at: u64) -> Option<(Entry, u64)> {
    let place = reader.place_of(at);
    let bytes = reader.bytes(place, HEAD);
    ringtap_cpu::prefetch_byte(bytes, AHEAD);
    let (head, _) = bytes.split_first_chunk::<HEAD>()?;
    let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let (what, bytes) = (word(0), word(4) as usize);
    let time = Nanos(u64::from(word(8)) | u64::from(word(12)) << 32);
    if what == SKIP {
        return Some((Entry::Skip, at + (reader.size() - place) as u64));
    }
    let next = at + (HEAD + bytes).next_multiple_of(HEAD) as u64;
    let place = place + HEAD;
    if what < OWNERS {
        return Some((Entry::Packet { slot: what, time, place, bytes }, next));
    }
    let body = reader.bytes(place, bytes);
    let slot = || body.first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
    let entry = match what {
        TICK => Entry::Tick(time),
        END => Entry::End(time),
        FINISH => Entry::Finish { slot: slot()?, now: time },
        HURRY => Entry::Hurry { slot: slot()?, is_on: body.get(4) == Some(&1) },
        BEGIN => Entry::Begin {
            slot: slot()?,
            category: *Category::ALL.get(usize::from(*body.get(4)?))?,
            key: u64::from_le_bytes(*body.last_chunk()?),
        },
        _ => Entry::Skip,
    };
    Some((entry, next))
}

/// The length in an entry's head.
#[inline]
pub(crate) fn length(head: &[u8]) -> usize {
    head.get(4..8)
        .and_then(|bytes| bytes.first_chunk())
        .map_or(0, |bytes| u32::from_le_bytes(*bytes) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::sys::ring;

    #[test]
    fn entries_come_as_they_went() {
        let (writer, mut reader) = ring(256);
        let mut log = EntryWriter::new(writer);
        let (mut at, mut round) = (0, 0u32);
        let mut skipped = 0;
        while round < 100 {
            let now = Nanos(u64::from(round) << 33 | 5);
            let bytes = 1 + round as usize % 60;
            assert!(log.begin(round, Category::ALL[round as usize % 2], u64::MAX - 3));
            assert!(log.packet(OWNERS - 1, now, bytes, |body| body.fill(round as u8)));
            assert!(log.finish(round, now));
            assert!(log.tick(now) && log.end(now));
            log.publish();
            reader.look();
            let mut next = || loop {
                let (entry, next) = entry(&reader, at).expect("published");
                at = next;
                match entry {
                    Entry::Skip => skipped += 1,
                    other => return other,
                }
            };
            let category = Category::ALL[round as usize % 2];
            assert_eq!(next(), Entry::Begin { slot: round, category, key: u64::MAX - 3 });
            let Entry::Packet { slot, time, place, bytes: length } = next() else { panic!("no packet") };
            assert_eq!((slot, time, length), (OWNERS - 1, now, bytes));
            assert_eq!(next(), Entry::Finish { slot: round, now });
            assert_eq!((next(), next()), (Entry::Tick(now), Entry::End(now)));
            assert_eq!(reader.bytes(place, bytes), vec![round as u8; bytes]);
            assert!(entry(&reader, at).is_none());
            reader.release(at);
            round += 1;
        }
        assert!(skipped > 10);
        // Until the ring is full.
        let mut put = 0;
        while log.packet(1, Nanos::ZERO, 40, |body| body.fill(9)) {
            put += 1;
        }
        assert!((3..=5).contains(&put), "{put}");
    }

    #[test]
    fn who_is_waited_for_is_told() {
        let (writer, mut reader) = ring(256);
        let mut log = EntryWriter::new(writer);
        assert!(log.hurry(7, true) && log.hurry(8, false));
        log.publish();
        reader.look();
        let (first, next) = entry(&reader, 0).expect("published");
        assert_eq!(first, Entry::Hurry { slot: 7, is_on: true });
        assert_eq!(entry(&reader, next).expect("published").0, Entry::Hurry { slot: 8, is_on: false });
    }
}
