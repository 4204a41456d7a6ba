//! All `unsafe` code of this crate but that of `host`: memory maps and prefetching here, the kernel's sockets
//! and rings in the modules below.

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
mod xsk_ring;

use std::fs::File;
use std::io;

use memmap2::{Advice, Mmap};

/// Maps a regular file for reading and tells the kernel that it is read sequentially.
pub(crate) fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: the map is private to this process, read-only, and only read as bytes, for which every value is
    // valid; all lengths found in it are checked against the length of the map. Another process may still
    // change the file: changed bytes give other packets, and a truncated file ends the process with SIGBUS,
    // as with every program that maps its input. Capture programs only append.
    let map = unsafe { Mmap::map(file)? };
    // Read-ahead is a hint: a file system that refuses it is only slower.
    let _ = map.advise(Advice::Sequential);
    Ok(map)
}

/// Prefetches the cache lines of the records to be read next.
///
/// The start of a record is known only from the record before it, so the processor cannot prefetch far enough
/// by itself. Without this, each record from the page cache costs a memory access, which takes five times as
/// long as all other work on it.
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

/// Distance in bytes: a few records. Half and twice this distance measure the same.
#[cfg(target_arch = "x86_64")]
const AHEAD: usize = 1024;
/// Cache lines of a voice packet.
#[cfg(target_arch = "x86_64")]
const LINES: usize = 4;
