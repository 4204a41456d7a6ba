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

// SAFETY: the mapping belongs to this value alone and to no thread in particular.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps `length` bytes, to read and write, shared with the kernel or (without a descriptor) of this
    /// process alone.
    pub(super) fn new(fd: Option<RawFd>, offset: u64, length: usize, flags: i32) -> io::Result<Self> {
        let kind = if fd.is_some() { libc::MAP_SHARED } else { libc::MAP_PRIVATE | libc::MAP_ANONYMOUS };
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping where the kernel likes: no memory that exists is touched.
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
        // SAFETY: exactly what was mapped; borrows of it end before the value does.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.length) };
    }
}

/// The receive ring of an AF_PACKET socket in version 3: blocks that the kernel fills and hands over whole.
#[derive(Debug)]
pub(crate) struct Blocks {
    map: Mapping,
    size: usize,
    count: usize,
    next: usize,
}

impl Blocks {
    /// Maps the ring of `count` blocks of `size` bytes that the socket was given.
    pub(crate) fn new(fd: RawFd, size: usize, count: usize) -> io::Result<Self> {
        let length = size.checked_mul(count).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        if size < HEADER || count == 0 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // The kernel's pages cannot be swapped out; to populate is what spares the first round its page
        // faults.
        let map = Mapping::new(Some(fd), 0, length, libc::MAP_POPULATE | libc::MAP_LOCKED)
            .or_else(|_| Mapping::new(Some(fd), 0, length, libc::MAP_POPULATE))?;
        Ok(Self { map, size, count, next: 0 })
    }

    /// The block that is next in turn, when the kernel has handed it over: its status, and its bytes from
    /// [`STATUS_END`] on.
    #[inline]
    pub(crate) fn ready(&mut self) -> Option<(u32, &mut [u8])> {
        let status = self.status(self.next).load(Ordering::Acquire);
        if status & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: the block lies within the map (`new`, `release`). Its status says that it is ours, read
        // with acquire order, so that all the kernel wrote is seen; the kernel does not touch it until
        // `release` gives it back, which needs `&mut self` and so outlives this borrow. The status word
        // itself is left out.
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

    /// Gives the block that [`ready`](Self::ready) gave back to the kernel.
    #[inline]
    pub(crate) fn release(&mut self) {
        let status = self.status(self.next);
        if status.load(Ordering::Relaxed) & libc::TP_STATUS_USER != 0 {
            status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.next = if self.next + 1 == self.count { 0 } else { self.next + 1 };
        }
    }

    /// Blocks that wait to be read, out of how many.
    pub(crate) fn waiting(&self) -> (usize, usize) {
        let ours = |block: &usize| self.status(*block).load(Ordering::Relaxed) & libc::TP_STATUS_USER != 0;
        ((0..self.count).filter(ours).count(), self.count)
    }

    #[inline]
    fn status(&self, block: usize) -> &AtomicU32 {
        debug_assert!(block < self.count);
        // SAFETY: within the map, since `block` is below `count`; aligned, since blocks are whole pages;
        // nobody has a plain reference to this word: the slice of `ready` begins after it.
        unsafe { AtomicU32::from_ptr(self.map.base().add(block * self.size + STATUS).cast()) }
    }
}

/// `block_status` in a block's descriptor.
const STATUS: usize = 8;
/// The byte after it, with which the slices of [`Blocks::ready`] begin.
pub(crate) const STATUS_END: usize = 12;
/// A block's descriptor.
const HEADER: usize = 48;
