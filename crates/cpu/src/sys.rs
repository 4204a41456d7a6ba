//! The one place with `unsafe`.

/// Bytes of a cache line.
pub(crate) const LINE: usize = 64;

/// A hint; the address is never read.
#[inline(always)]
pub(crate) fn prefetch(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch never faults, whatever the address; nothing is read through the pointer.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// A hint that the line will be written; the address is never read.
#[inline(always)]
pub(crate) fn prefetch_to_write(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
        // SAFETY: a prefetch never faults, whatever the address; nothing is read through the pointer.
        unsafe { _mm_prefetch::<_MM_HINT_ET0>(at.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// Copies past the caches what fills whole lines of `to`, the rest as usual. Both have the same length.
#[cfg(target_arch = "x86_64")]
pub(crate) fn copy_past_caches(to: &mut [u8], from: &[u8]) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};
    let before = to.as_ptr().align_offset(LINE).min(to.len());
    let after = to.len() - (to.len() - before) % LINE;
    to[..before].copy_from_slice(&from[..before]);
    to[after..].copy_from_slice(&from[after..]);
    for (to, from) in to[before..after].chunks_exact_mut(16).zip(from[before..after].chunks_exact(16)) {
        // SAFETY: both have 16 bytes, and those of `to` begin at a multiple of 16. Every x86-64 has SSE2.
        unsafe { _mm_stream_si128(to.as_mut_ptr().cast(), _mm_loadu_si128(from.as_ptr().cast::<__m128i>())) };
    }
    // SAFETY: as above. Without it, another processor could see what is stored later before these bytes.
    unsafe { _mm_sfence() };
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn copy_past_caches(to: &mut [u8], from: &[u8]) {
    to.copy_from_slice(from);
}

/// Advises large pages for the whole large pages in `bytes` bytes from `start` on.
#[cfg(target_os = "linux")]
pub(crate) fn large_pages(start: *mut u8, bytes: usize) {
    let before = start.align_offset(LARGE_PAGE);
    let whole = bytes.saturating_sub(before) / LARGE_PAGE * LARGE_PAGE;
    if whole > 0 {
        // SAFETY: these pages lie within one object of the caller's, and this advice changes neither what is
        // in them nor where they are. That it is not taken is no error.
        let _ = unsafe { libc::madvise(start.wrapping_add(before).cast(), whole, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn large_pages(_: *mut u8, _: usize) {}

/// Keeps the whole pages in these bytes out of swap space and core dumps. Whether the system did both.
#[cfg(target_os = "linux")]
pub(crate) fn keep_in_memory(start: *mut u8, bytes: usize) -> bool {
    // SAFETY: these pages lie within one object of the caller's, and neither call changes what is in them nor
    // where they are.
    unsafe {
        let dumped = libc::madvise(start.cast(), bytes, libc::MADV_DONTDUMP) != 0;
        libc::mlock(start.cast(), bytes) == 0 && !dumped
    }
}

/// Keeps the whole pages of `page` bytes in `bytes` bytes from `start` on out of swap space and core dumps.
/// Whether the system did both.
pub(crate) fn keep_pages_in_memory(start: *mut u8, bytes: usize, page: usize) -> bool {
    let before = start.align_offset(page);
    let whole = bytes.saturating_sub(before) / page * page;
    whole == 0 || keep_in_memory(start.wrapping_add(before), whole)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn keep_in_memory(_: *mut u8, _: usize) -> bool {
    false
}

/// Raises the nice value of this thread, which on Linux has one of its own.
#[cfg(target_os = "linux")]
pub(crate) fn give_way(nice: i32) {
    // SAFETY: neither call touches memory. That a system refuses is no error.
    unsafe {
        if libc::getpriority(libc::PRIO_PROCESS, 0) < nice {
            libc::setpriority(libc::PRIO_PROCESS, 0, nice);
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn give_way(_: i32) {}

/// Sets the slice of this thread: sched_setattr(2), `sched_runtime` of SCHED_OTHER.
#[cfg(target_os = "linux")]
pub(crate) fn short_slices() {
    const SHORTEST_NS: u64 = 100_000;
    let mut now = libc::sched_attr {
        size: 0,
        sched_policy: 0,
        sched_flags: 0,
        sched_nice: 0,
        sched_priority: 0,
        sched_runtime: 0,
        sched_deadline: 0,
        sched_period: 0,
    };
    let size = size_of::<libc::sched_attr>() as u32;
    // SAFETY: the kernel writes at most `size` bytes into `now`.
    let read = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut now, size, 0) };
    if read == 0 && now.sched_policy == libc::SCHED_OTHER as u32 {
        now.size = size;
        now.sched_runtime = SHORTEST_NS;
        // SAFETY: the kernel reads `size` bytes of `now`. That it refuses is no error.
        unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const now, 0) };
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn short_slices() {}

/// On x86-64, and on AArch64 with 4 KiB pages; a multiple of every other page size.
#[cfg(target_os = "linux")]
const LARGE_PAGE: usize = 2 << 20;

#[cfg(target_arch = "x86_64")]
pub(crate) fn crc32c(before: u32, bytes: &[u8]) -> u32 {
    if bytes.len() >= 3 * 8 * SHORT
        && is_x86_feature_detected!("sse4.2")
        && is_x86_feature_detected!("pclmulqdq")
    {
        // SAFETY: the processor has the instructions.
        unsafe { three_at_once(before, bytes) }
    } else if is_x86_feature_detected!("sse4.2") {
        // SAFETY: the processor has the instruction.
        unsafe { instruction(before, bytes) }
    } else {
        table(before, bytes)
    }
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn crc32c(before: u32, bytes: &[u8]) -> u32 {
    table(before, bytes)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse4.2")]
fn instruction(before: u32, bytes: &[u8]) -> u32 {
    use std::arch::x86_64::{_mm_crc32_u8, _mm_crc32_u64};
    let (words, rest) = bytes.as_chunks::<8>();
    let crc =
        words.iter().fold(u64::from(!before), |crc, word| _mm_crc32_u64(crc, u64::from_le_bytes(*word)));
    !rest.iter().fold(crc as u32, |crc, byte| _mm_crc32_u8(crc, *byte))
}

/// Words of each of the three parts in which a longer piece is gone through, and of a shorter one.
#[cfg(target_arch = "x86_64")]
const LONG: usize = 170;
#[cfg(target_arch = "x86_64")]
const SHORT: usize = 21;

/// The instruction has a latency of three cycles and a throughput of one per cycle, so three parts are
/// processed in parallel and then combined: each checksum is advanced over the bytes that follow its part.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse4.2,pclmulqdq")]
fn three_at_once(before: u32, bytes: &[u8]) -> u32 {
    let mut crc = !before;
    let rest = parts::<LONG>(&mut crc, bytes);
    let rest = parts::<SHORT>(&mut crc, rest);
    instruction(!crc, rest)
}

/// Processes groups of three parts of `WORDS` words each; returns the remaining bytes.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse4.2,pclmulqdq")]
fn parts<'a, const WORDS: usize>(crc: &mut u32, mut bytes: &'a [u8]) -> &'a [u8] {
    use std::arch::x86_64::{_mm_clmulepi64_si128, _mm_crc32_u64, _mm_cvtsi64_si128, _mm_cvtsi128_si64};
    // A product is one bit shorter than its register, and the instruction multiplies by x^32: 33 less than
    // the distance.
    let (one, two) = const { (power(64 * WORDS as u32 - 33), power(128 * WORDS as u32 - 33)) };
    let moved = |crc: u64, by: u32| {
        let product = _mm_clmulepi64_si128::<0>(_mm_cvtsi64_si128(crc as i64), _mm_cvtsi64_si128(by.into()));
        _mm_crc32_u64(0, _mm_cvtsi128_si64(product) as u64)
    };
    while let Some((head, rest)) = bytes.split_at_checked(24 * WORDS) {
        let words = head.as_chunks::<8>().0;
        let (first, others) = words.split_at(WORDS);
        let (second, third) = others.split_at(WORDS);
        let (mut a, mut b, mut c) = (u64::from(*crc), 0, 0);
        for ((x, y), z) in first.iter().zip(second).zip(third) {
            a = _mm_crc32_u64(a, u64::from_le_bytes(*x));
            b = _mm_crc32_u64(b, u64::from_le_bytes(*y));
            c = _mm_crc32_u64(c, u64::from_le_bytes(*z));
        }
        *crc = (moved(a, two) ^ moved(b, one) ^ c) as u32;
        bytes = rest;
    }
    bytes
}

/// x to the power of `n`, modulo the polynomial, bits reversed.
#[cfg(target_arch = "x86_64")]
const fn power(n: u32) -> u32 {
    let mut value = 1 << 31;
    let mut at = 0;
    while at < n {
        value = if value & 1 != 0 { value >> 1 ^ 0x82f6_3b78 } else { value >> 1 };
        at += 1;
    }
    value
}

/// A byte at a time.
#[cfg_attr(target_arch = "x86_64", cold)]
pub(crate) fn table(before: u32, bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!before, |crc, byte| TABLE[usize::from(crc as u8 ^ byte)] ^ crc >> 8)
}

/// The polynomial 0x1edc6f41, bits reversed.
const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 != 0 { crc >> 1 ^ 0x82f6_3b78 } else { crc >> 1 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn cycles() -> u64 {
    // SAFETY: every x86-64 processor has the instruction, and systems leave it to user programs.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub(crate) fn cycles() -> u64 {
    let count;
    // SAFETY: reads a counter that Linux leaves to user programs; touches neither memory nor flags.
    unsafe {
        std::arch::asm!("mrs {}, cntvct_el0", out(reg) count, options(nomem, nostack, preserves_flags))
    };
    count
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) fn cycles() -> u64 {
    0
}

/// What jemalloc reads at its start, where it is linked. Two arenas: each keeps memory of its own, and few
/// threads allocate much at once. What is free goes back to the system at once, as a small machine needs it:
/// `docs/decisions/023-files-on-all-cores.md`.
// SAFETY: jemalloc looks for a pointer to a text of this name, which ends with a zero and stays as it is.
#[unsafe(export_name = "malloc_conf")]
pub(crate) static ALLOCATOR: &[u8; 44] = b"narenas:2,dirty_decay_ms:0,muzzy_decay_ms:0\0";

/// Sets how long what is free is kept: of arenas to come, and of the two.
#[cfg(all(feature = "jemalloc", target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
pub(crate) fn keep_free_memory() {
    const KEPT_MS: isize = 1_000;
    for name in [c"arenas.dirty_decay_ms", c"arena.0.dirty_decay_ms", c"arena.1.dirty_decay_ms"] {
        let mut kept = KEPT_MS;
        // SAFETY: the name ends with a zero, the setting is read as a number of the size given, and nothing
        // is written. That there is no such arena is no error.
        unsafe {
            tikv_jemalloc_sys::mallctl(
                name.as_ptr(),
                std::ptr::null_mut(),
                std::ptr::null_mut(),
                (&raw mut kept).cast(),
                size_of_val(&kept),
            );
        }
    }
}

#[cfg(not(all(feature = "jemalloc", target_arch = "x86_64", target_os = "linux", target_env = "gnu")))]
pub(crate) fn keep_free_memory() {}
