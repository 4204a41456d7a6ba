//! Memory that one thread writes and another reads: all unsafe code.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A number in a line of its own: the other thread's is in another.
#[derive(Debug)]
#[repr(align(128))]
struct Apart(AtomicU64);

/// Bytes in a ring. They are counted from the beginning, round after round: byte `n` lies at place `n % size`. The writer has the
/// `size` bytes from `tail` on, but for those below `head`, which the reader has.
#[derive(Debug)]
struct Ring {
    start: NonNull<u8>,
    layout: Layout,
    head: Apart,
    tail: Apart,
}

// SAFETY: the numbers are atomic; the memory behind `start` is touched by `Writer::place` and `Reader::bytes` alone, never the same
// bytes by both: see there.
unsafe impl Send for Ring {}
// SAFETY: as above.
unsafe impl Sync for Ring {}

impl Ring {
    fn size(&self) -> usize {
        self.layout.size()
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout; whoever could look into it had a reference to the ring.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

/// The one that writes.
#[derive(Debug)]
pub(crate) struct Writer {
    ring: Arc<Ring>,
    /// The next byte, and its place.
    at: u64,
    place: usize,
    /// The reader's, when it was looked at last.
    tail: u64,
}

/// The one that reads.
#[derive(Debug)]
pub(crate) struct Reader {
    ring: Arc<Ring>,
    /// The writer's, when it was looked at last.
    head: u64,
    /// The first byte that is not given back, and its place.
    tail: u64,
    place: usize,
}

/// A ring of at least so many bytes, in whole [`UNIT`]s, touched now so that no packet waits for the kernel later.
pub(crate) fn ring(bytes: usize) -> (Writer, Reader) {
    let units = bytes.div_ceil(UNIT).max(1);
    let Ok(layout) = Layout::array::<[u8; UNIT]>(units).and_then(|layout| layout.align_to(UNIT)) else {
        // More than there are addresses: as an allocation that fails.
        handle_alloc_error(Layout::new::<[u8; UNIT]>())
    };
    // SAFETY: the layout has a length, there being a unit at least.
    let Some(start) = NonNull::new(unsafe { alloc(layout) }) else { handle_alloc_error(layout) };
    // SAFETY: allocated just now with that length; nothing else points to it, and bytes that may be anything need not be written
    // before.
    let room: &mut [MaybeUninit<u8>] =
        unsafe { slice::from_raw_parts_mut(start.as_ptr().cast(), layout.size()) };
    ringtap_cpu::large_pages(room);
    // Not zeroed memory, which the kernel would only promise.
    room.fill(MaybeUninit::new(0xff));
    let number = || Apart(AtomicU64::new(0));
    let ring = Arc::new(Ring { start, layout, head: number(), tail: number() });
    let writer = Writer { ring: Arc::clone(&ring), at: 0, place: 0, tail: 0 };
    (writer, Reader { ring, head: 0, tail: 0, place: 0 })
}

/// What the ring's length is a multiple of: a line.
pub(crate) const UNIT: usize = 64;

impl Writer {
    /// Bytes in all.
    pub(crate) fn size(&self) -> usize {
        self.ring.size()
    }

    /// Bytes from the next one to the end of the ring: what lies in one piece.
    pub(crate) fn ahead(&self) -> usize {
        self.size() - self.place
    }

    /// The next bytes, to be written. None while the reader has some of them, and where they do not lie in one piece.
    #[inline]
    pub(crate) fn place(&mut self, bytes: usize) -> Option<&mut [u8]> {
        let end = self.at + bytes as u64;
        if bytes > self.ahead() {
            return None;
        }
        if end - self.tail > self.size() as u64 {
            self.tail = self.ring.tail.0.load(Ordering::Acquire);
            if end - self.tail > self.size() as u64 {
                return None;
            }
        }
        // SAFETY: within the allocation, by `ahead`, and written when it was made. The reader has only bytes from `tail` up to `head`,
        // which is `at` at most; these are behind that and, being fewer than `size` from `tail` on, none of those a round before.
        // There is one writer, and this borrows it.
        Some(unsafe { slice::from_raw_parts_mut(self.ring.start.as_ptr().add(self.place), bytes) })
    }

    /// The next bytes are written, as far as they ever will be. INVARIANT: [`Writer::place`] gave that many.
    #[inline]
    pub(crate) fn pass(&mut self, bytes: usize) {
        let bytes = bytes.min(self.ahead());
        self.at += bytes as u64;
        self.place += bytes;
        if self.place == self.size() {
            self.place = 0;
        }
    }

    /// Gives the reader what is written.
    pub(crate) fn publish(&self) {
        self.ring.head.0.store(self.at, Ordering::Release);
    }

    /// Whether nobody reads any more.
    pub(crate) fn is_alone(&self) -> bool {
        Arc::strong_count(&self.ring) == 1
    }
}

impl Reader {
    /// Looks how far the writer is: bytes below this one may be read.
    pub(crate) fn look(&mut self) -> u64 {
        self.head = self.ring.head.0.load(Ordering::Acquire);
        self.head
    }

    /// Bytes in all.
    pub(crate) fn size(&self) -> usize {
        self.ring.size()
    }

    /// Where a byte lies that is not given back.
    #[inline]
    pub(crate) fn place_of(&self, at: u64) -> usize {
        let place = self.place + at.wrapping_sub(self.tail) as usize;
        if place < self.size() { place } else { place.wrapping_sub(self.size()) }
    }

    /// Bytes at a place. Empty where they are not all to be read.
    #[inline]
    pub(crate) fn bytes(&self, place: usize, bytes: usize) -> &[u8] {
        let size = self.size();
        let behind = if place >= self.place { place - self.place } else { place + size - self.place };
        let is_there =
            place < size && bytes <= size - place && (behind + bytes) as u64 <= self.head - self.tail;
        if !is_there {
            return &[];
        }
        // SAFETY: within the allocation; from `tail` up to the `head` that was published, in the order of which the writer was there
        // before. It does not come back before `release`, which cannot be called while this lives.
        unsafe { slice::from_raw_parts(self.ring.start.as_ptr().add(place), bytes) }
    }

    /// Gives back what lies below that byte.
    pub(crate) fn release(&mut self, to: u64) {
        let to = to.clamp(self.tail, self.head);
        self.place = self.place_of(to);
        self.tail = to;
        self.ring.tail.0.store(to, Ordering::Release);
    }

    /// Whether nobody writes any more.
    pub(crate) fn is_alone(&self) -> bool {
        Arc::strong_count(&self.ring) == 1
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn bytes_go_round_and_none_is_written_over() {
        let (mut writer, mut reader) = ring(200);
        assert_eq!((writer.size(), writer.ahead(), writer.place(257).is_none()), (256, 256, true));
        writer.place(200).unwrap().fill(1);
        writer.pass(200);
        assert_eq!((reader.look(), reader.bytes(0, 1).len()), (0, 0), "not published");
        writer.publish();
        assert_eq!((reader.look(), reader.bytes(0, 200)), (200, &[1; 200][..]));
        assert_eq!((reader.bytes(0, 201).len(), reader.bytes(250, 10).len()), (0, 0));
        assert!(writer.place(57).is_none(), "not in one piece");
        writer.place(56).unwrap().fill(2);
        writer.pass(56);
        assert!(writer.place(1).is_none(), "the reader has not been there");
        writer.publish();
        reader.look();
        reader.release(100);
        assert_eq!((reader.bytes(99, 1).len(), reader.bytes(100, 1)), (0, &[1][..]));
        assert_eq!((writer.place(101).is_none(), writer.place(100).is_some()), (true, true));
        writer.place(100).unwrap().fill(3);
        writer.pass(100);
        writer.publish();
        reader.look();
        assert_eq!((reader.place_of(256), reader.place_of(255)), (0, 255));
        assert_eq!((reader.bytes(0, 100), reader.bytes(200, 56)), (&[3; 100][..], &[2; 56][..]));
        assert_eq!(reader.bytes(0, 101).len(), 0);
        reader.release(u64::MAX);
        assert_eq!(reader.bytes(0, 1).len(), 0);
        assert!(!reader.is_alone());
        drop(writer);
        assert!(reader.is_alone());
    }

    #[test]
    fn two_threads() {
        let (mut writer, mut reader) = ring(1 << 10);
        let sender = thread::spawn(move || {
            for number in 0..100_000u32 {
                let place = loop {
                    match writer.place(16) {
                        Some(place) => break place,
                        None => thread::yield_now(),
                    }
                };
                place[..4].copy_from_slice(&number.to_le_bytes());
                place[12..].copy_from_slice(&(!number).to_le_bytes());
                writer.pass(16);
                if number % 7 == 0 {
                    writer.publish();
                }
            }
            writer.publish();
        });
        let mut next = 0u64;
        while next < 1_600_000 {
            let head = reader.look();
            while next < head {
                let bytes = reader.bytes(reader.place_of(next), 16);
                let number = (next / 16) as u32;
                assert_eq!(
                    (&bytes[..4], &bytes[12..]),
                    (&number.to_le_bytes()[..], &(!number).to_le_bytes()[..])
                );
                next += 16;
            }
            reader.release(next);
            thread::yield_now();
        }
        sender.join().unwrap();
    }
}
