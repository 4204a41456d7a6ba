//! An AF_XDP socket: memory in chunks (UMEM) that is shared with the kernel, and the rings of descriptors
//! that pass chunks to and fro (linux/if_xdp.h; Documentation/networking/af_xdp.rst).

use std::io;
use std::mem::{size_of, zeroed};

use super::ring::Mapping;
use super::socket::{Plain, Socket, check};
use super::xsk_ring::Ring;

// SAFETY: structures of integers, for which every bit pattern is valid.
unsafe impl Plain for libc::xdp_umem_reg {}
// SAFETY: as above.
unsafe impl Plain for libc::xdp_mmap_offsets {}
// SAFETY: as above.
unsafe impl Plain for libc::xdp_statistics {}
// SAFETY: as above.
unsafe impl Plain for libc::xdp_options {}

/// Layout of the memory of a socket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UmemLayout {
    /// Size of a chunk in bytes: 2048 or 4096.
    pub(crate) chunk: usize,
    /// Number of chunks, a power of two.
    pub(crate) chunks: u32,
    /// For receiving; otherwise for sending.
    pub(crate) receives: bool,
    pub(crate) huge: bool,
}

/// A socket with its memory and rings. [`bind`](Self::bind) binds it to a queue.
#[derive(Debug)]
pub(crate) struct Xsk {
    socket: Socket,
    /// The fill ring (receiving) or the TX ring (sending).
    to_kernel: Ring,
    /// The RX ring (receiving) or the completion ring (sending).
    from_kernel: Ring,
    // INVARIANT: declared after the socket, so that it is unmapped after the socket is closed.
    memory: Mapping,
    chunk: usize,
    /// Descriptors of `from_kernel` that were read but not released.
    unreleased: u32,
    /// When sending: the free chunks.
    free: Vec<u64>,
    huge: bool,
}

/// A frame in a chunk, and the metadata that the XDP program wrote before it.
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
        // Both rings belong to the memory and must exist, even if one of them is not used.
        set(libc::XDP_UMEM_FILL_RING, if plan.receives { count } else { 1 })?;
        set(libc::XDP_UMEM_COMPLETION_RING, if plan.receives { 1 } else { count })?;
        set(if plan.receives { libc::XDP_RX_RING } else { libc::XDP_TX_RING }, count)?;
        let offsets: libc::xdp_mmap_offsets = socket.get(libc::SOL_XDP, libc::XDP_MMAP_OFFSETS)?;
        let ring = |offsets: &libc::xdp_ring_offset, page: u64, entry| {
            Ring::new(&socket, offsets, page, plan.chunks, entry)
        };
        let (descriptor, address) = (size_of::<libc::xdp_desc>(), size_of::<u64>());
        let (to_kernel, from_kernel) = if plan.receives {
            let fill = ring(&offsets.fr, libc::XDP_UMEM_PGOFF_FILL_RING, address)?;
            (fill, ring(&offsets.rx, libc::XDP_PGOFF_RX_RING as u64, descriptor)?)
        } else {
            let send = ring(&offsets.tx, libc::XDP_PGOFF_TX_RING as u64, descriptor)?;
            (send, ring(&offsets.cr, libc::XDP_UMEM_PGOFF_COMPLETION_RING, address)?)
        };
        let chunk = plan.chunk;
        let chunks = (0..u64::from(plan.chunks)).map(|index| index * chunk as u64);
        let mut xsk =
            Self { socket, to_kernel, from_kernel, memory, chunk, unreleased: 0, free: Vec::new(), huge };
        if plan.receives {
            for address in chunks {
                xsk.to_kernel.put_address(address);
            }
            xsk.to_kernel.publish();
        } else {
            xsk.free = chunks.collect();
        }
        Ok(xsk)
    }

    /// Whether the memory is in huge pages.
    pub(crate) fn huge(&self) -> bool {
        self.huge
    }

    pub(crate) fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Binds to a queue of an interface.
    pub(crate) fn bind(&self, interface: u32, queue: u32, flags: u16) -> io::Result<()> {
        // SAFETY: a structure of integers, for which all zeros are valid.
        let mut address: libc::sockaddr_xdp = unsafe { zeroed() };
        address.sxdp_family = libc::AF_XDP as u16;
        address.sxdp_flags = flags;
        address.sxdp_ifindex = interface;
        address.sxdp_queue_id = queue;
        let size = size_of::<libc::sockaddr_xdp>() as libc::socklen_t;
        // SAFETY: pointer and size are those of one address that outlives the call.
        check(unsafe { libc::bind(self.socket.fd(), (&raw const address).cast(), size) })?;
        Ok(())
    }

    /// Whether frames wait to be received.
    #[inline]
    pub(crate) fn is_ready(&self) -> bool {
        self.from_kernel.waiting() > 0
    }

    /// The number of frames that wait to be received, and the capacity of the ring.
    pub(crate) fn waiting(&self) -> (u32, u32) {
        (self.from_kernel.waiting(), self.from_kernel.mask + 1)
    }

    /// Fills `frames` with received frames, which stay valid until [`release`](Self::release). Returns their
    /// number, and the number of descriptors that pointed outside the memory.
    #[inline]
    pub(crate) fn receive<'a>(&'a mut self, frames: &mut [Received<'a>]) -> (usize, u64) {
        let waiting = self.from_kernel.waiting().saturating_sub(self.unreleased);
        let mut filled = 0;
        let mut damaged = 0;
        for _ in 0..waiting.min(frames.len() as u32) {
            let descriptor = self.from_kernel.descriptor(self.unreleased);
            self.unreleased += 1;
            let (start, length) = (descriptor.addr as usize, descriptor.len as usize);
            let offset = start % self.chunk;
            let inside = offset >= META && offset + length <= self.chunk && start < self.memory.length();
            if !inside {
                damaged += 1;
                continue;
            }
            // SAFETY: the chunk lies within the memory (its start does, and the memory is whole chunks). The
            // kernel passed it to us with this descriptor, read with acquire order, and passes no chunk
            // twice, so no other slice points into it. It is returned by `release`, which needs `&mut self`,
            // so all borrows have ended by then. The metadata lie before the data; they are cleared, so that
            // a later frame cannot inherit them.
            let (meta, data) = unsafe {
                let bytes = self.memory.base().add(start);
                let meta = bytes.sub(META).cast::<[u64; 2]>();
                let read = meta.read_unaligned();
                meta.write_unaligned([0; 2]);
                (read, std::slice::from_raw_parts(bytes, length))
            };
            if let Some(slot) = frames.get_mut(filled) {
                *slot = Received { meta, data };
                filled += 1;
            }
        }
        (filled, damaged)
    }

    /// Returns the chunks of all frames that were read to the kernel, to be filled again.
    #[inline]
    pub(crate) fn release(&mut self) {
        for index in 0..self.unreleased {
            let address = self.from_kernel.descriptor(index).addr;
            if address < self.memory.length() as u64 {
                self.to_kernel.put_address(address - address % self.chunk as u64);
            }
        }
        self.from_kernel.release(self.unreleased);
        self.to_kernel.publish();
        self.unreleased = 0;
        if self.to_kernel.needs_wakeup() {
            self.wake_receiver();
        }
    }

    /// Wakes the driver to read the fill ring; with busy polling, to receive packets.
    pub(crate) fn wake_receiver(&self) {
        // SAFETY: the call gets neither a buffer nor an address.
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

    /// Queues a frame for the next [`kick`](Self::kick). Returns `false` if no chunk is free.
    ///
    /// # Panics
    ///
    /// If the frame is longer than a chunk.
    pub(crate) fn queue(&mut self, frame: &[u8]) -> bool {
        assert!(frame.len() <= self.chunk);
        let Some(address) = self.free.pop() else { return false };
        // SAFETY: the chunk lies within the memory and has room for the frame, which lies elsewhere. It is
        // free, so the kernel does not read it.
        unsafe {
            let chunk = self.memory.base().add(address as usize);
            chunk.copy_from_nonoverlapping(frame.as_ptr(), frame.len());
        }
        self.to_kernel.put_descriptor(libc::xdp_desc { addr: address, len: frame.len() as u32, options: 0 });
        true
    }

    /// Makes the kernel send the queued frames. `EBUSY` means that the interface dropped one frame, `EAGAIN`
    /// that more frames remain to be sent.
    pub(crate) fn kick(&mut self) -> io::Result<()> {
        self.to_kernel.publish();
        if !self.to_kernel.needs_wakeup() {
            return Ok(());
        }
        // SAFETY: the call gets neither a buffer nor an address.
        let sent = unsafe {
            libc::sendto(self.socket.fd(), std::ptr::null(), 0, libc::MSG_DONTWAIT, std::ptr::null(), 0)
        };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Reclaims the chunks of sent frames.
    pub(crate) fn reclaim(&mut self) {
        let done = self.from_kernel.waiting();
        for index in 0..done {
            let address = self.from_kernel.address(index);
            if address < self.memory.length() as u64 {
                self.free.push(address - address % self.chunk as u64);
            }
        }
        self.from_kernel.release(done);
    }

    /// Queued frames that the kernel has not read yet.
    pub(crate) fn unsent(&self) -> u32 {
        self.to_kernel.unconsumed()
    }

    /// Queued frames whose chunks have not been reclaimed yet.
    pub(crate) fn in_flight(&self) -> usize {
        (self.to_kernel.mask as usize + 1).saturating_sub(self.free.len())
    }
}

/// Allocates memory for chunks, populated in advance. Also returns whether it is in huge pages.
fn memory(length: usize, huge: bool) -> io::Result<(Mapping, bool)> {
    let length = length.next_multiple_of(1 << 21);
    if huge && let Ok(map) = Mapping::new(None, 0, length, libc::MAP_HUGETLB | libc::MAP_POPULATE) {
        return Ok((map, true));
    }
    Ok((Mapping::new(None, 0, length, libc::MAP_POPULATE)?, false))
}

/// Bytes of metadata before a frame: two words.
const META: usize = 16;
