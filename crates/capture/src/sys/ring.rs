//! Memory shared with the kernel, and the ring of an AF_PACKET socket in it.

use std::io;
use std::os::fd::RawFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// A mapping, unmapped when dropped.
#[derive(Debug)]
pub(super) struct Mapping {
    base: NonNull<u8>,
    length: usize,
}

// SAFETY: this value alone owns the mapping, which is not bound to a thread.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps `length` bytes for reading and writing: shared with the kernel, or private without a descriptor.
    pub(super) fn new(fd: Option<RawFd>, offset: u64, length: usize, flags: i32) -> io::Result<Self> {
        let kind = if fd.is_some() { libc::MAP_SHARED } else { libc::MAP_PRIVATE | libc::MAP_ANONYMOUS };
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the kernel chooses the address of the new mapping, so existing memory is not affected.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                protection,
                kind | flags,
                fd.unwrap_or(-1),
                offset as libc::off_t,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base =
            NonNull::new(base.cast()).ok_or_else(|| io::Error::from(io::ErrorKind::AddrNotAvailable))?;
        Ok(Self { base, length })
    }

    pub(super) fn base(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    pub(super) fn length(&self) -> usize {
        self.length
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range is exactly what was mapped, and borrows of it end before this value does.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.length) };
    }
}

/// The receive ring of an AF_PACKET socket (TPACKET_V3): blocks that the kernel fills and hands over whole.
#[derive(Debug)]
pub(crate) struct Blocks {
    map: Mapping,
    size: usize,
    count: usize,
    next: usize,
}

impl Blocks {
    /// Maps the socket's ring of `count` blocks of `size` bytes.
    pub(crate) fn new(fd: RawFd, size: usize, count: usize) -> io::Result<Self> {
        let length = size.checked_mul(count).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        if size < HEADER || count == 0 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // The kernel's pages cannot be swapped out anyway; populating the map avoids page faults in the first
        // round.
        let map = Mapping::new(Some(fd), 0, length, libc::MAP_POPULATE | libc::MAP_LOCKED)
            .or_else(|_| Mapping::new(Some(fd), 0, length, libc::MAP_POPULATE))?;
        Ok(Self { map, size, count, next: 0 })
    }

    /// The next block, if the kernel has handed it over: its status, and its bytes from [`STATUS_END`] on.
    #[inline]
    pub(crate) fn ready(&mut self) -> Option<(u32, &mut [u8])> {
        let status = self.status(self.next).load(Ordering::Acquire);
        if status & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: the block lies within the map (`new`, `release`). Its status, read with acquire order, says
        // that it is ours and makes all of the kernel's writes visible. The kernel does not touch it until
        // `release` returns it, which needs `&mut self`, so this borrow has ended by then. The slice excludes
        // the status word.
        let bytes = unsafe {
            let block = self.map.base().add(self.next * self.size);
            std::slice::from_raw_parts_mut(block.add(STATUS_END), self.size - STATUS_END)
        };
        Some((status, bytes))
    }

    /// Whether a block waits to be read.
    #[inline]
    pub(crate) fn is_ready(&self) -> bool {
        self.status(self.next).load(Ordering::Relaxed) & libc::TP_STATUS_USER != 0
    }

    /// Returns to the kernel the block that [`ready`](Self::ready) returned.
    #[inline]
    pub(crate) fn release(&mut self) {
        let status = self.status(self.next);
        if status.load(Ordering::Relaxed) & libc::TP_STATUS_USER != 0 {
            status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.next = if self.next + 1 == self.count { 0 } else { self.next + 1 };
        }
    }

    /// The number of blocks that wait to be read, and of all blocks.
    pub(crate) fn waiting(&self) -> (usize, usize) {
        let ours = |block: &usize| self.status(*block).load(Ordering::Relaxed) & libc::TP_STATUS_USER != 0;
        ((0..self.count).filter(ours).count(), self.count)
    }

    #[inline]
    fn status(&self, block: usize) -> &AtomicU32 {
        debug_assert!(block < self.count);
        // SAFETY: the word lies within the map, since `block` is below `count`, and is aligned, since blocks
        // are whole pages. No plain reference to it exists: the slice of `ready` begins after it.
        unsafe { AtomicU32::from_ptr(self.map.base().add(block * self.size + STATUS).cast()) }
    }
}

/// Offset of `block_status` in a block descriptor.
const STATUS: usize = 8;
/// Offset after `block_status`, where the slices of [`Blocks::ready`] begin.
pub(crate) const STATUS_END: usize = 12;
/// Size of a block descriptor.
const HEADER: usize = 48;
