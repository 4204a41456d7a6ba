//! All `unsafe` code of this crate but that of `host`: prefetching here, the kernel's sockets and rings in
//! the modules below.

#[cfg(target_os = "linux")]
pub(crate) mod bpf;
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
