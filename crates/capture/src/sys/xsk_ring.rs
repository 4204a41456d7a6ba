//! A ring of descriptors or addresses that an AF_XDP socket shares with the kernel (linux/if_xdp.h).

use std::io;
use std::mem::size_of;
use std::sync::atomic::{AtomicU32, Ordering};

use super::ring::Mapping;
use super::socket::Socket;

/// A ring of entries between two counters, of which we advance one and the kernel the other.
#[derive(Debug)]
pub(crate) struct Ring {
    map: Mapping,
    producer: usize,
    consumer: usize,
    flags: usize,
    entries: usize,
    pub(crate) mask: u32,
    /// Our counter: that which the kernel sees, plus the entries not published yet.
    local: u32,
}

impl Ring {
    pub(crate) fn new(
        socket: &Socket,
        offsets: &libc::xdp_ring_offset,
        page: u64,
        count: u32,
        entry: usize,
    ) -> io::Result<Self> {
        let length = offsets.desc as usize + count as usize * entry;
        let map = Mapping::new(Some(socket.fd()), page, length, libc::MAP_POPULATE)?;
        let inside = |offset: u64| offset as usize + size_of::<u32>() <= length && offset.is_multiple_of(4);
        if !count.is_power_of_two()
            || ![offsets.producer, offsets.consumer, offsets.flags].into_iter().all(inside)
            || !offsets.desc.is_multiple_of(8)
        {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(Self {
            map,
            producer: offsets.producer as usize,
            consumer: offsets.consumer as usize,
            flags: offsets.flags as usize,
            entries: offsets.desc as usize,
            mask: count - 1,
            local: 0,
        })
    }

    fn word(&self, offset: usize) -> &AtomicU32 {
        // SAFETY: the word is within the map and aligned (`new`), and no plain reference to it exists.
        unsafe { AtomicU32::from_ptr(self.map.base().add(offset).cast()) }
    }

    /// Entries that the kernel has added and that have not been released.
    #[inline]
    pub(crate) fn waiting(&self) -> u32 {
        self.word(self.producer).load(Ordering::Acquire).wrapping_sub(self.local).min(self.mask + 1)
    }

    #[inline]
    fn entry<T>(&self, index: u32) -> *mut T {
        let offset = (index & self.mask) as usize * size_of::<T>();
        // SAFETY: the map has room for `mask + 1` entries after `entries` (in `new`: a ring has one type of
        // entry).
        unsafe { self.map.base().add(self.entries + offset).cast() }
    }

    /// The entry `index` after the first waiting one, of a ring of descriptors.
    #[inline]
    pub(crate) fn descriptor(&self, index: u32) -> libc::xdp_desc {
        // SAFETY: the entry is within the map and holds integers; the kernel does not write to it until it is
        // released.
        unsafe { self.entry::<libc::xdp_desc>(self.local.wrapping_add(index)).read() }
    }

    /// The same, of a ring of addresses.
    pub(crate) fn address(&self, index: u32) -> u64 {
        // SAFETY: as above.
        unsafe { self.entry::<u64>(self.local.wrapping_add(index)).read() }
    }

    pub(crate) fn release(&mut self, count: u32) {
        self.local = self.local.wrapping_add(count);
        self.word(self.consumer).store(self.local, Ordering::Release);
    }

    // A ring to the kernel has as many entries as there are chunks, so it always has room for one more.
    #[inline]
    pub(crate) fn put_address(&mut self, address: u64) {
        // SAFETY: the entry is within the map; the kernel does not read it before `publish`.
        unsafe { self.entry::<u64>(self.local).write(address) };
        self.local = self.local.wrapping_add(1);
    }

    pub(crate) fn put_descriptor(&mut self, descriptor: libc::xdp_desc) {
        // SAFETY: as above.
        unsafe { self.entry::<libc::xdp_desc>(self.local).write(descriptor) };
        self.local = self.local.wrapping_add(1);
    }

    pub(crate) fn publish(&self) {
        self.word(self.producer).store(self.local, Ordering::Release);
    }

    /// Published entries that the kernel has not consumed.
    pub(crate) fn unconsumed(&self) -> u32 {
        self.local.wrapping_sub(self.word(self.consumer).load(Ordering::Acquire))
    }

    pub(crate) fn needs_wakeup(&self) -> bool {
        self.word(self.flags).load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }
}
