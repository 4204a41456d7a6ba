//! A ring of bytes that one thread writes and another reads: all unsafe code of the crate.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A number on a cache line of its own: the other thread's number is on another.
#[derive(Debug)]
#[repr(align(128))]
struct Apart(AtomicU64);

/// A ring of bytes, counted from the beginning, round after round: byte `n` lies at index `n % size`. The
/// reader owns the bytes from `tail` to `head`, the writer all others.
#[derive(Debug)]
struct Ring {
    start: NonNull<u8>,
    layout: Layout,
    head: Apart,
    tail: Apart,
}

// SAFETY: the numbers are atomic. Only `Writer::place` and `Reader::bytes` touch the memory behind `start`,
// and never the same bytes: see there.
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
        // SAFETY: allocated with this layout; whoever could read or write it had a reference to the ring.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

/// The end that writes.
#[derive(Debug)]
pub(crate) struct Writer {
    ring: Arc<Ring>,
    /// The next byte, and its index.
    at: u64,
    place: usize,
    /// The reader's `tail`, when it was read last.
    tail: u64,
}

/// The end that reads.
#[derive(Debug)]
pub(crate) struct Reader {
    ring: Arc<Ring>,
    /// The writer's `head`, when it was read last.
    head: u64,
    /// The first byte that has not been released, and its index.
    tail: u64,
    place: usize,
}

/// A ring of at least so many bytes, in whole [`UNIT`]s. All of it is touched now, so that no packet waits
/// for the kernel later.
pub(crate) fn ring(bytes: usize) -> (Writer, Reader) {
    let units = bytes.div_ceil(UNIT).max(1);
    let Ok(layout) = Layout::array::<[u8; UNIT]>(units).and_then(|layout| layout.align_to(UNIT)) else {
        // More than the address space: handled as a failed allocation.
        handle_alloc_error(Layout::new::<[u8; UNIT]>())
    };
    // SAFETY: the layout is not empty: it has at least one unit.
    let Some(start) = NonNull::new(unsafe { alloc(layout) }) else { handle_alloc_error(layout) };
    // SAFETY: allocated just now with that length; nothing else points to it, and `MaybeUninit` bytes need no
    // initial value.
    let room: &mut [MaybeUninit<u8>] =
        unsafe { slice::from_raw_parts_mut(start.as_ptr().cast(), layout.size()) };
    ringtap_cpu::large_pages(room);
    // Zeroed memory would only be promised by the kernel.
    room.fill(MaybeUninit::new(0xff));
    let number = || Apart(AtomicU64::new(0));
    let ring = Arc::new(Ring { start, layout, head: number(), tail: number() });
    let writer = Writer { ring: Arc::clone(&ring), at: 0, place: 0, tail: 0 };
    (writer, Reader { ring, head: 0, tail: 0, place: 0 })
}

/// The ring's length is a multiple of this: a cache line.
pub(crate) const UNIT: usize = 64;

/// Bytes between what is written and what is prefetched.
const AHEAD: usize = 1 << 10;

impl Writer {
    /// Bytes of the ring.
    pub(crate) fn size(&self) -> usize {
        self.ring.size()
    }

    /// Bytes up to the end of the ring: the longest contiguous piece.
    pub(crate) fn ahead(&self) -> usize {
        self.size() - self.place
    }

    /// The next bytes, to be written. None while the reader owns some of them, or if they are not contiguous.
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
        // SAFETY: within the allocation, by `ahead`, and initialised when it was made. The reader owns only
        // bytes from `tail` up to `head`, which is at most `at`. These bytes lie behind `at` and end less
        // than `size` after `tail`, so they are none of the reader's. There is one writer, and this borrows
        // it.
        Some(unsafe { slice::from_raw_parts_mut(self.ring.start.as_ptr().add(self.place), bytes) })
    }

    /// Prefetches so many bytes, some packets ahead of the next ones: the processor's own prefetchers stop at
    /// the end of each small page.
    #[inline]
    pub(crate) fn prefetch(&self, bytes: usize) {
        let place = self.place + AHEAD;
        if place + bytes <= self.size() {
            ringtap_cpu::prefetch_to_write(self.ring.start.as_ptr().wrapping_add(place), bytes);
        }
    }

    /// The next bytes are written. INVARIANT: [`Writer::place`] returned that many.
    #[inline]
    pub(crate) fn pass(&mut self, bytes: usize) {
        let bytes = bytes.min(self.ahead());
        self.at += bytes as u64;
        self.place += bytes;
        if self.place == self.size() {
            self.place = 0;
        }
    }

    /// Lets the reader see what is written.
    pub(crate) fn publish(&self) {
        self.ring.head.0.store(self.at, Ordering::Release);
    }

    /// Whether the reader has been dropped.
    pub(crate) fn is_alone(&self) -> bool {
        Arc::strong_count(&self.ring) == 1
    }
}

impl Reader {
    /// Reads how far the writer is: bytes below this one may be read.
    pub(crate) fn look(&mut self) -> u64 {
        self.head = self.ring.head.0.load(Ordering::Acquire);
        self.head
    }

    /// Bytes of the ring.
    pub(crate) fn size(&self) -> usize {
        self.ring.size()
    }

    /// The index of a byte that has not been released.
    #[inline]
    pub(crate) fn place_of(&self, at: u64) -> usize {
        let place = self.place + at.wrapping_sub(self.tail) as usize;
        if place < self.size() { place } else { place.wrapping_sub(self.size()) }
    }

    /// Bytes at an index. Empty unless all of them may be read.
    #[inline]
    pub(crate) fn bytes(&self, place: usize, bytes: usize) -> &[u8] {
        let size = self.size();
        let behind = if place >= self.place { place - self.place } else { place + size - self.place };
        let is_there =
            place < size && bytes <= size - place && (behind + bytes) as u64 <= self.head - self.tail;
        if !is_there {
            return &[];
        }
        // SAFETY: within the allocation. The bytes lie from `tail` up to the published `head`, so the writer
        // wrote them before. It does not write them again before `release`, which needs this borrow to end.
        unsafe { slice::from_raw_parts(self.ring.start.as_ptr().add(place), bytes) }
    }

    /// Returns all bytes below `to` to the writer.
    pub(crate) fn release(&mut self, to: u64) {
        let to = to.clamp(self.tail, self.head);
        self.place = self.place_of(to);
        self.tail = to;
        self.ring.tail.0.store(to, Ordering::Release);
    }

    /// Whether the writer has been dropped.
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
