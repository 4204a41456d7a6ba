//! The one place with `unsafe`.

/// A hint; what it points to is never read.
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

/// What is whole large pages of so many bytes from `start` on.
#[cfg(target_os = "linux")]
pub(crate) fn large_pages(start: *mut u8, bytes: usize) {
    let before = start.align_offset(LARGE_PAGE);
    let whole = bytes.saturating_sub(before) / LARGE_PAGE * LARGE_PAGE;
    if whole > 0 {
        // SAFETY: these pages lie within one object of the caller's, and this advice changes neither what is in them nor
        // where they are. That it is not taken is no error.
        let _ = unsafe { libc::madvise(start.wrapping_add(before).cast(), whole, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn large_pages(_: *mut u8, _: usize) {}

/// Of x86-64, and of AArch64 with pages of 4 KiB; a multiple of every other page.
#[cfg(target_os = "linux")]
const LARGE_PAGE: usize = 2 << 20;

#[cfg(target_arch = "x86_64")]
pub(crate) fn crc32c(before: u32, bytes: &[u8]) -> u32 {
    if is_x86_feature_detected!("sse4.2") {
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
