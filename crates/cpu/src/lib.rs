//! Features of processor and system that the language lacks, as safe functions: prefetch, CRC32C, the cycle
//! counter, tables in large pages, how urgent a thread is, and what the allocator keeps.
//!
//! Not here: anything that could be written without them.
//!
//! Invariant: every function gives the same result on every processor, except [`cycles`], which is only
//! compared with itself. Prefetching, large pages, urgency and the allocator have no result.
//!
//! ```
//! let record = [0u64; 24];
//! ringtap_cpu::prefetch(&record);
//! assert_eq!(ringtap_cpu::crc32c(0, b"123456789"), 0xe306_9283);
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `sys` | instructions, system calls, the settings of the allocator, and fallbacks for other platforms |
#![deny(unsafe_code)]

#[expect(unsafe_code, reason = "the instructions are not in the language")]
mod sys;

/// Bytes of a cache line on x86-64 and AArch64.
pub const LINE: usize = sys::LINE;

/// Prefetches every cache line of an object.
#[inline(always)]
pub fn prefetch<T>(object: &T) {
    let start = std::ptr::from_ref(object).cast::<u8>();
    let mut at = 0;
    while at < size_of::<T>() {
        sys::prefetch(start.wrapping_add(at));
        at += LINE;
    }
}

/// Prefetches the cache line that holds the byte at `offset`; outside the slice this has no effect.
#[inline(always)]
pub fn prefetch_byte(bytes: &[u8], offset: usize) {
    sys::prefetch(bytes.as_ptr().wrapping_add(offset));
}

/// Prefetches the cache lines of these bytes, which are about to be written: a hint, no byte is touched. The
/// processor then need not wait for what it would only write over, nor ask other processors for it later.
#[inline(always)]
pub fn prefetch_to_write(start: *const u8, bytes: usize) {
    let mut at = 0;
    while at < bytes {
        sys::prefetch_to_write(start.wrapping_add(at));
        at += LINE;
    }
}

/// Copies bytes to the beginning of `to`, which this processor does not read soon: where there are many, past
/// its caches, so that it need not fetch lines that it only writes over. What does not fit is not copied.
pub fn copy_past_caches(to: &mut [u8], from: &[u8]) {
    let length = to.len().min(from.len());
    let (to, from) = (&mut to[..length], &from[..length]);
    if length < MANY { to.copy_from_slice(from) } else { sys::copy_past_caches(to, from) }
}

/// Bytes that are many: fewer are copied sooner to a cache.
const MANY: usize = 4 << 10;

/// Asks the system to keep a large table in large pages (2 MiB, on Linux), so that random accesses do not
/// also miss the TLB. Call it before the memory is first used: pages already in use stay small for now.
/// Memory that does not fill a large page is left as it is; so is everything if the system has no such pages
/// or may not use them (`/sys/kernel/mm/transparent_hugepage/enabled` is `never`).
pub fn large_pages<T>(table: &mut [T]) {
    sys::large_pages(table.as_mut_ptr().cast(), size_of_val(table));
}

/// Keeps memory that is free for a second, for a process that soon needs as much again: giving it back at
/// once, as the program's allocator does otherwise, takes half the time of a search by a key. Without the
/// feature `jemalloc` this does nothing.
pub fn keep_free_memory() {
    sys::keep_free_memory();
}

/// Makes this thread give way to others at least as much as that nice value says; one that gives way more
/// stays so. Where the system has no nice values, this does nothing.
pub fn give_way(nice: i32) {
    sys::give_way(nice);
}

/// Has this thread, and those that it starts, run in slices of a tenth of a millisecond: by EEVDF, the
/// scheduler of Linux since 6.6, whoever wants little is served soon, and no more of the processor goes to
/// them. Without effect before Linux 6.12 and on threads with a real-time priority.
pub fn short_slices() {
    sys::short_slices();
}

/// Bytes of a page; a multiple of it where pages are larger.
pub const PAGE: usize = 4096;

/// A page for a secret, with nothing else in it.
#[derive(Debug)]
#[repr(C, align(4096))]
pub struct SecretPage(pub [u8; PAGE]);

/// Keeps a secret out of swap space and core dumps, where the system permits it: returns whether it does. The
/// page must not be moved afterwards, so it lies in a box.
pub fn keep_in_memory(page: &mut Box<SecretPage>) -> bool {
    sys::keep_in_memory(page.0.as_mut_ptr(), PAGE)
}

/// The same with a table, which must not be moved afterwards either: with the whole pages in it. Whether the
/// system permits it.
pub fn keep_table_in_memory<T>(table: &mut [T]) -> bool {
    sys::keep_pages_in_memory(table.as_mut_ptr().cast(), size_of_val(table), PAGE)
}

/// CRC32C (Castagnoli, RFC 3720 appendix B.4) of bytes; `before` is the checksum of the preceding bytes, 0 at
/// first.
///
/// Detects accidental changes only: it is linear, so collisions are easy to construct for any start value.
pub fn crc32c(before: u32, bytes: &[u8]) -> u32 {
    sys::crc32c(before, bytes)
}

/// A counter with a constant rate, usually close to the processor's nominal clock; not ordered with
/// surrounding instructions. Always 0 on platforms other than x86-64 and AArch64.
#[inline(always)]
pub fn cycles() -> u64 {
    sys::cycles()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// RFC 3720 appendix B.4.
    #[test]
    fn vectors_of_the_standard() {
        let rising: Vec<u8> = (0..32).collect();
        let falling: Vec<u8> = (0..32).rev().collect();
        assert_eq!(crc32c(0, &[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(0, &[0xff; 32]), 0x62a8_ab43);
        assert_eq!(crc32c(0, &rising), 0x46dd_794e);
        assert_eq!(crc32c(0, &falling), 0x113f_db5c);
        assert_eq!(crc32c(0, &[]), 0);
    }

    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    #[test]
    #[cfg_attr(miri, ignore = "Miri has no cycle counter")]
    fn cycles_go_on() {
        let before = cycles();
        let sum: u64 = (0..100_000u64).map(std::hint::black_box).sum();
        assert!(sum > 0 && cycles() > before);
    }

    #[test]
    fn memory_can_be_had_as_before() {
        keep_free_memory();
        let large: Vec<u64> = (0..1 << 18).collect();
        assert_eq!(large[12_345], 12_345);
    }

    #[test]
    fn prefetching_outside_is_harmless() {
        prefetch(&[0u8; 200]);
        prefetch_byte(&[], usize::MAX);
        prefetch_byte(&[1, 2, 3], 1 << 40);
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no madvise")]
    fn large_pages_change_nothing() {
        large_pages(&mut [0u8; 0]);
        large_pages(&mut [1u8, 2]);
        let mut table: Vec<u64> = (0..1 << 20).collect();
        large_pages(&mut table);
        large_pages(&mut table[3..]);
        large_pages(table.spare_capacity_mut());
        assert!((0..1 << 20).eq(table));
    }

    proptest! {
        #[test]
        fn instruction_and_table_agree_however_cut(bytes in proptest::collection::vec(any::<u8>(), 0..9_000),
            cut in 0usize..9_000) {
            let whole = sys::table(0, &bytes);
            prop_assert_eq!(crc32c(0, &bytes), whole);
            let (a, b) = bytes.split_at(cut.min(bytes.len()));
            prop_assert_eq!(crc32c(crc32c(0, a), b), whole);
        }

        #[test]
        #[cfg_attr(miri, ignore = "Miri has no streaming stores")]
        fn a_copy_past_the_caches_is_one(from in proptest::collection::vec(any::<u8>(), 0..9_000),
            at in 0usize..200, room in 0usize..9_000) {
            let mut to = vec![0xa5; at + room + 100];
            copy_past_caches(&mut to[at..at + room], &from);
            let copied = room.min(from.len());
            prop_assert_eq!(&to[at..at + copied], &from[..copied]);
            prop_assert!(to[..at].iter().chain(&to[at + copied..]).all(|byte| *byte == 0xa5));
        }
    }
}
