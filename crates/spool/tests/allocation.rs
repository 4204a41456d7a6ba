//! Recording allocates nothing within a segment on the thread that handles packets, also with sealing and
//! packing.
//!
//! zstd allocates its memory in C, with its first chunk, which is compressed at the start; that is not
//! counted here.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use ringtap_model::{Frame, LinkType, Nanos};
use ringtap_spool::{Category, MasterKey, SpoolWriter, WriterSettings};

struct Counting;

thread_local! {
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator unchanged; the counter belongs to the thread and
// allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = CALLS.try_with(|calls| calls.set(calls.get() + 1));
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_chunk_allocates_nothing() {
    for (seal, compress) in [(false, None), (true, None), (false, Some(1)), (true, Some(1))] {
        let dir = tempfile::tempdir().expect("a directory");
        let settings = WriterSettings {
            memory: 2 << 20,
            owners: 1_000,
            wait: true,
            seal: seal.then(|| MasterKey::of([1; 32])),
            compress,
            ..WriterSettings::new(dir.path().to_owned())
        };
        let mut writer = SpoolWriter::open(settings).expect("a spool");
        let data: Vec<u8> = (0..200u32).map(|at| ((at * at) >> 3) as u8).collect();
        let mut now = Nanos::from_secs(1_795_219_200);
        let mut put = |writer: &mut SpoolWriter, owners: std::ops::Range<u64>| {
            for owner in owners {
                let place = writer.begin(Category::Media, owner).expect("a place");
                for _ in 0..50 {
                    now += Nanos::from_micros(10);
                    writer.put(
                        place,
                        &Frame { time: now, number: 1, link: LinkType(1), wire_len: 200, data: &data },
                    );
                }
                assert_eq!(writer.finish(place, now).map(|kept| kept.lost), Some(0));
                writer.tick(now);
            }
        };
        // A segment is opened: its name is allocated.
        put(&mut writer, 0..10);
        let before = CALLS.get();
        put(&mut writer, 10..2_000);
        let after = CALLS.get();
        assert_eq!(after - before, 0, "sealed {seal}, packed {compress:?}");
        let written = writer.written();
        writer.close(now);
        assert_eq!(written.chunks(), 2_000);
    }
}
