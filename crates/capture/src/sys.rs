//! The one place with `unsafe`: memory maps and prefetching here, sockets and rings of the kernel below.

#[cfg(target_os = "linux")]
pub(crate) mod bpf;
#[cfg(target_os = "linux")]
pub(crate) mod owned_merge;
#[cfg(target_os = "linux")]
pub(crate) mod pcap;
#[cfg(target_os = "linux")]
pub(crate) mod ring;
#[cfg(target_os = "linux")]
pub(crate) mod socket;
#[cfg(target_os = "linux")]
pub(crate) mod thread;
#[cfg(target_os = "linux")]
pub(crate) mod xsk;

use std::fs::File;
use std::io;

use memmap2::{Advice, Mmap};

/// Maps a whole regular file for reading and tells the kernel that it is read from front to back.
pub(crate) fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: the map is private to this process, read-only, and only ever read as bytes, for which every
    // value is valid; all lengths found in it are checked against the length of the map. What remains is a
    // file that another process changes meanwhile: changed bytes give other packets, a file made shorter ends
    // the process with SIGBUS, as it does for every program that maps its input. Capture programs only
    // append.
    let map = unsafe { Mmap::map(file)? };
    // Read-ahead is a hint: a file system that refuses it is only slower.
    let _ = map.advise(Advice::Sequential);
    Ok(map)
}

/// Asks for the cache lines that readers of records come to next.
///
/// Where a record begins is known only from the one before it, so the processor cannot see far enough ahead
/// by itself: without this, a record from the page cache costs the latency of memory, five times as much as
/// all the rest.
#[inline(always)]
pub(crate) fn prefetch(rest: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..LINES {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let ahead = rest.as_ptr().wrapping_add(AHEAD + line * 64);
        // SAFETY: a prefetch is a hint that never faults, whatever the address; nothing is read through the
        // pointer.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(ahead.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = rest;
}

/// A few records ahead; half and twice as far measure the same.
#[cfg(target_arch = "x86_64")]
const AHEAD: usize = 1024;
/// As many lines as a voice packet has.
#[cfg(target_arch = "x86_64")]
const LINES: usize = 4;
