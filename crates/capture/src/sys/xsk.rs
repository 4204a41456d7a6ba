//! An AF_XDP socket: memory of chunks that is shared with the kernel, and four rings of descriptors that pass
//! them on (linux/if_xdp.h; Documentation/networking/af_xdp.rst).

use std::io;
use std::mem::{size_of, zeroed};
use std::sync::atomic::{AtomicU32, Ordering};

use super::ring::Mapping;
use super::socket::{Plain, Socket, check};

// SAFETY: integers; any bits are a value.
unsafe impl Plain for libc::xdp_umem_reg {}
// SAFETY: as above.
unsafe impl Plain for libc::xdp_mmap_offsets {}
// SAFETY: as above.
unsafe impl Plain for libc::xdp_statistics {}
// SAFETY: as above.
unsafe impl Plain for libc::xdp_options {}

/// What is to be made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UmemLayout {
    /// Bytes of a chunk: 2048 or 4096.
    pub(crate) chunk: usize,
    /// Chunks, a power of two.
    pub(crate) chunks: u32,
    /// To receive; else to send.
    pub(crate) receives: bool,
    pub(crate) huge: bool,
}

/// A socket with its memory and rings, still to be bound to a queue.
#[derive(Debug)]
pub(crate) struct Xsk {
    socket: Socket,
    /// Chunks to fill (receiving) or to send.
    give: Ring,
    /// Chunks filled, or sent.
    take: Ring,
    // INVARIANT: declared after the socket, so that it is unmapped after the socket is closed.
    memory: Mapping,
    chunk: usize,
    /// Descriptors of `take` that were looked at but not given back.
    looked: u32,
    /// When sending: chunks that are free.
    free: Vec<u64>,
    huge: bool,
}

/// A frame in a chunk, and the metadata that a program put before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Received<'a> {
    pub(crate) meta: [u64; 2],
    pub(crate) data: &'a [u8],
}

impl Xsk {
    pub(crate) fn new(plan: &UmemLayout) -> io::Result<Self> {
        let socket = Socket::open(libc::AF_XDP, libc::SOCK_RAW, 0)?;
        let length = plan.chunk * plan.chunks as usize;
        let (memory, huge) = memory(length, plan.huge)?;
        let registration = libc::xdp_umem_reg {
            addr: memory.base() as u64,
            len: length as u64,
            chunk_size: plan.chunk as u32,
            headroom: 0,
            flags: 0,
            tx_metadata_len: 0,
        };
        socket.set(libc::SOL_XDP, libc::XDP_UMEM_REG, &registration)?;
        let count = plan.chunks as i32;
        let set = |name, count: i32| socket.set(libc::SOL_XDP, name, &count);
        // Both belong to the memory and have to be there, also where one of them is not used.
        set(libc::XDP_UMEM_FILL_RING, if plan.receives { count } else { 1 })?;
        set(libc::XDP_UMEM_COMPLETION_RING, if plan.receives { 1 } else { count })?;
        set(if plan.receives { libc::XDP_RX_RING } else { libc::XDP_TX_RING }, count)?;
        let offsets: libc::xdp_mmap_offsets = socket.get(libc::SOL_XDP, libc::XDP_MMAP_OFFSETS)?;
        let ring = |offsets: &libc::xdp_ring_offset, page: u64, entry| {
            Ring::new(&socket, offsets, page, plan.chunks, entry)
        };
        let (descriptor, address) = (size_of::<libc::xdp_desc>(), size_of::<u64>());
        let (give, take) = if plan.receives {
            let fill = ring(&offsets.fr, libc::XDP_UMEM_PGOFF_FILL_RING, address)?;
            (fill, ring(&offsets.rx, libc::XDP_PGOFF_RX_RING as u64, descriptor)?)
        } else {
            let send = ring(&offsets.tx, libc::XDP_PGOFF_TX_RING as u64, descriptor)?;
            (send, ring(&offsets.cr, libc::XDP_UMEM_PGOFF_COMPLETION_RING, address)?)
        };
        let chunk = plan.chunk;
        let chunks = (0..u64::from(plan.chunks)).map(|index| index * chunk as u64);
        let mut xsk = Self { socket, give, take, memory, chunk, looked: 0, free: Vec::new(), huge };
        if plan.receives {
            for address in chunks {
                xsk.give.put_address(address);
            }
            xsk.give.publish();
        } else {
            xsk.free = chunks.collect();
        }
        Ok(xsk)
    }

    /// Whether the memory is of huge pages.
    pub(crate) fn huge(&self) -> bool {
        self.huge
    }

    pub(crate) fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Binds to a queue of an interface.
    pub(crate) fn bind(&self, interface: u32, queue: u32, flags: u16) -> io::Result<()> {
        // SAFETY: integers only; all zeros are a value.
        let mut address: libc::sockaddr_xdp = unsafe { zeroed() };
        address.sxdp_family = libc::AF_XDP as u16;
        address.sxdp_flags = flags;
        address.sxdp_ifindex = interface;
        address.sxdp_queue_id = queue;
        let size = size_of::<libc::sockaddr_xdp>() as libc::socklen_t;
        // SAFETY: the pointer and the size are those of one living address.
        check(unsafe { libc::bind(self.socket.fd(), (&raw const address).cast(), size) })?;
        Ok(())
    }

    /// Whether frames wait to be received.
    #[inline]
    pub(crate) fn is_ready(&self) -> bool {
        self.take.waiting() > 0
    }

    /// Frames that wait to be received, out of how many there is room for.
    pub(crate) fn waiting(&self) -> (u32, u32) {
        (self.take.waiting(), self.take.mask + 1)
    }

    /// Looks at frames that were received, up to the room in `frames`; they stay until
    /// [`release`](Self::release). Also gives how many descriptors lay outside the memory.
    #[inline]
    pub(crate) fn receive<'a>(&'a mut self, frames: &mut [Received<'a>]) -> (usize, u64) {
        let waiting = self.take.waiting().saturating_sub(self.looked);
        let mut filled = 0;
        let mut damaged = 0;
        for _ in 0..waiting.min(frames.len() as u32) {
            let descriptor = self.take.descriptor(self.looked);
            self.looked += 1;
            let (begin, length) = (descriptor.addr as usize, descriptor.len as usize);
            let within = begin % self.chunk;
            let inside = within >= META && within + length <= self.chunk && begin < self.memory.length();
            if !inside {
                damaged += 1;
                continue;
            }
            // SAFETY: the chunk lies within the memory (its begin does, and the memory is whole chunks). The
            // kernel gave it to us with this descriptor, read with acquire order, and gives no chunk twice,
            // so that no other slice is of it; it gets it back by `release`, which needs `&mut self` and so
            // outlives all borrows. The metadata lie before the data; they are cleared, so that none are
            // taken for those of a later frame.
            let (meta, data) = unsafe {
                let start = self.memory.base().add(begin);
                let meta = start.sub(META).cast::<[u64; 2]>();
                let read = meta.read_unaligned();
                meta.write_unaligned([0; 2]);
                (read, std::slice::from_raw_parts(start, length))
            };
            if let Some(place) = frames.get_mut(filled) {
                *place = Received { meta, data };
                filled += 1;
            }
        }
        (filled, damaged)
    }

    /// Gives the chunks of all that was looked at back, to be filled again.
    #[inline]
    pub(crate) fn release(&mut self) {
        for index in 0..self.looked {
            let address = self.take.descriptor(index).addr;
            if address < self.memory.length() as u64 {
                self.give.put_address(address - address % self.chunk as u64);
            }
        }
        self.take.release(self.looked);
        self.give.publish();
        self.looked = 0;
        if self.give.needs_wakeup() {
            self.wake_receiver();
        }
    }

    /// Has the driver look at the ring of chunks to fill; where busy polling is on, has it receive.
    pub(crate) fn wake_receiver(&self) {
        // SAFETY: no buffer, no address.
        let _ = unsafe {
            libc::recvfrom(
                self.socket.fd(),
                std::ptr::null_mut(),
                0,
                libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            )
        };
    }

    /// Puts a frame into the ring to send; `false` when there is no room. Sent from the next
    /// [`kick`](Self::kick) on.
    ///
    /// # Panics
    ///
    /// When the frame is longer than a chunk.
    pub(crate) fn queue(&mut self, frame: &[u8]) -> bool {
        assert!(frame.len() <= self.chunk);
        let Some(address) = self.free.pop() else { return false };
        // SAFETY: the chunk lies within the memory, is free, so that the kernel does not look at it, and
        // holds the frame, which lies elsewhere.
        unsafe {
            let chunk = self.memory.base().add(address as usize);
            chunk.copy_from_nonoverlapping(frame.as_ptr(), frame.len());
        }
        self.give.put_descriptor(libc::xdp_desc { addr: address, len: frame.len() as u32, options: 0 });
        true
    }

    /// Has the kernel send what was queued. `EBUSY` says that one frame was dropped by the interface,
    /// `EAGAIN` that more is to be sent.
    pub(crate) fn kick(&mut self) -> io::Result<()> {
        self.give.publish();
        if !self.give.needs_wakeup() {
            return Ok(());
        }
        // SAFETY: no buffer, no address.
        let sent = unsafe {
            libc::sendto(self.socket.fd(), std::ptr::null(), 0, libc::MSG_DONTWAIT, std::ptr::null(), 0)
        };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Takes back the chunks of frames that were sent.
    pub(crate) fn reclaim(&mut self) {
        let done = self.take.waiting();
        for index in 0..done {
            let address = self.take.address(index);
            if address < self.memory.length() as u64 {
                self.free.push(address - address % self.chunk as u64);
            }
        }
        self.take.release(done);
    }

    /// Frames that the kernel has not looked at yet.
    pub(crate) fn unsent(&self) -> u32 {
        self.give.unseen()
    }

    /// Frames queued whose chunks did not come back yet.
    pub(crate) fn under_way(&self) -> usize {
        (self.give.mask as usize + 1).saturating_sub(self.free.len())
    }
}

/// Memory for chunks, present before it is used; and whether it is of huge pages.
fn memory(length: usize, huge: bool) -> io::Result<(Mapping, bool)> {
    let length = length.next_multiple_of(1 << 21);
    if huge && let Ok(map) = Mapping::new(None, 0, length, libc::MAP_HUGETLB | libc::MAP_POPULATE) {
        return Ok((map, true));
    }
    Ok((Mapping::new(None, 0, length, libc::MAP_POPULATE)?, false))
}

/// One ring: descriptors between two counters, of which we move one and the kernel the other.
#[derive(Debug)]
struct Ring {
    map: Mapping,
    producer: usize,
    consumer: usize,
    flags: usize,
    entries: usize,
    mask: u32,
    /// Our counter, ahead of the one that the kernel sees by what is not published yet.
    ours: u32,
}

impl Ring {
    fn new(
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
            ours: 0,
        })
    }

    fn word(&self, offset: usize) -> &AtomicU32 {
        // SAFETY: within the map and aligned (`new`); nobody has a plain reference to it.
        unsafe { AtomicU32::from_ptr(self.map.base().add(offset).cast()) }
    }

    /// Entries that the kernel has put in and that were not released.
    #[inline]
    fn waiting(&self) -> u32 {
        self.word(self.producer).load(Ordering::Acquire).wrapping_sub(self.ours).min(self.mask + 1)
    }

    #[inline]
    fn at<T>(&self, index: u32) -> *mut T {
        let place = (index & self.mask) as usize * size_of::<T>();
        // SAFETY: the map has room for `mask + 1` entries after `entries` (`new`: each of its rings has one
        // type of entry).
        unsafe { self.map.base().add(self.entries + place).cast() }
    }

    /// The entry `index` after the first that waits, of a ring of descriptors.
    #[inline]
    fn descriptor(&self, index: u32) -> libc::xdp_desc {
        // SAFETY: within the map; integers; the kernel does not write to what it has put in until it is
        // released.
        unsafe { self.at::<libc::xdp_desc>(self.ours.wrapping_add(index)).read() }
    }

    /// The same, of a ring of addresses.
    fn address(&self, index: u32) -> u64 {
        // SAFETY: as above.
        unsafe { self.at::<u64>(self.ours.wrapping_add(index)).read() }
    }

    fn release(&mut self, count: u32) {
        self.ours = self.ours.wrapping_add(count);
        self.word(self.consumer).store(self.ours, Ordering::Release);
    }

    // Rings to the kernel have as many entries as there are chunks, so that there always is room for one more
    // chunk.
    #[inline]
    fn put_address(&mut self, address: u64) {
        // SAFETY: within the map; the kernel does not look at it before `publish`.
        unsafe { self.at::<u64>(self.ours).write(address) };
        self.ours = self.ours.wrapping_add(1);
    }

    fn put_descriptor(&mut self, descriptor: libc::xdp_desc) {
        // SAFETY: as above.
        unsafe { self.at::<libc::xdp_desc>(self.ours).write(descriptor) };
        self.ours = self.ours.wrapping_add(1);
    }

    fn publish(&self) {
        self.word(self.producer).store(self.ours, Ordering::Release);
    }

    /// Entries published that the kernel has not taken.
    fn unseen(&self) -> u32 {
        self.ours.wrapping_sub(self.word(self.consumer).load(Ordering::Acquire))
    }

    fn needs_wakeup(&self) -> bool {
        self.word(self.flags).load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }
}

/// Bytes of metadata before a frame: two words.
const META: usize = 16;
