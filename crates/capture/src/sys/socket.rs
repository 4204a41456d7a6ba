//! A socket, its options, and its requests about interfaces.

use std::ffi::CString;
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// A type that may be copied to and from the kernel as raw bytes.
///
/// # Safety
///
/// Every bit pattern must be a valid value of the type.
pub(crate) unsafe trait Plain: Copy {}

// SAFETY: integers and C structures of integers, for which every bit pattern is valid.
unsafe impl Plain for libc::c_int {}
// SAFETY: as above.
unsafe impl Plain for libc::c_uint {}
// SAFETY: as above.
unsafe impl Plain for libc::tpacket_req3 {}
// SAFETY: as above.
unsafe impl Plain for libc::tpacket_stats_v3 {}
// SAFETY: as above.
unsafe impl Plain for libc::packet_mreq {}

/// A socket, closed when dropped.
#[derive(Debug)]
pub(crate) struct Socket(OwnedFd);

impl Socket {
    /// Opens a socket that is closed on exec.
    pub(crate) fn open(domain: i32, kind: i32, protocol: i32) -> io::Result<Self> {
        // SAFETY: the call takes only integers.
        let fd = check(unsafe { libc::socket(domain, kind | libc::SOCK_CLOEXEC, protocol) })?;
        // SAFETY: the kernel just returned this descriptor, and nothing else owns it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// The descriptor, to map its rings.
    pub(crate) fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// `setsockopt`.
    pub(crate) fn set<T: Plain>(&self, level: i32, name: i32, value: &T) -> io::Result<()> {
        let size = size_of::<T>() as libc::socklen_t;
        // SAFETY: pointer and size are those of one value that outlives the call; the kernel only reads it.
        check(unsafe { libc::setsockopt(self.fd(), level, name, (&raw const *value).cast(), size) })?;
        Ok(())
    }

    /// `getsockopt`; bytes that the kernel does not fill stay zero.
    pub(crate) fn get<T: Plain>(&self, level: i32, name: i32) -> io::Result<T> {
        // SAFETY: `Plain`: all zeros are valid.
        let mut value: T = unsafe { zeroed() };
        let mut size = size_of::<T>() as libc::socklen_t;
        // SAFETY: the kernel writes at most `size` bytes into a value that outlives the call, and every bit
        // pattern is valid (`Plain`).
        check(unsafe { libc::getsockopt(self.fd(), level, name, (&raw mut value).cast(), &raw mut size) })?;
        Ok(value)
    }

    /// Attaches a classic BPF program with a socket option that takes one (`SO_ATTACH_FILTER`,
    /// `PACKET_FANOUT_DATA`).
    pub(crate) fn program(&self, level: i32, name: i32, program: &[libc::sock_filter]) -> io::Result<()> {
        let length =
            u16::try_from(program.len()).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        let head = libc::sock_fprog { len: length, filter: program.as_ptr().cast_mut() };
        let size = size_of::<libc::sock_fprog>() as libc::socklen_t;
        // SAFETY: the kernel copies `length` instructions from a slice of that length and does not write to
        // it.
        check(unsafe { libc::setsockopt(self.fd(), level, name, (&raw const head).cast(), size) })?;
        Ok(())
    }

    /// Binds a packet socket to an interface and a protocol (in host byte order). Packets arrive from then
    /// on.
    pub(crate) fn bind_packet(&self, interface: u32, protocol: u16) -> io::Result<()> {
        // SAFETY: a structure of integers, for which all zeros are valid.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = protocol.to_be();
        address.sll_ifindex = interface as i32;
        let size = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: pointer and size are those of one address that outlives the call.
        check(unsafe { libc::bind(self.fd(), (&raw const address).cast(), size) })?;
        Ok(())
    }

    /// Waits until the socket is readable, has an error, or the time is over. Returns the events; `None`
    /// after a timeout or a signal.
    pub(crate) fn wait(&self, wait: Duration) -> io::Result<Option<i16>> {
        let mut poll = libc::pollfd { fd: self.fd(), events: libc::POLLIN | libc::POLLERR, revents: 0 };
        let wait = libc::timespec {
            tv_sec: wait.as_secs().min(i32::MAX as u64) as libc::time_t,
            tv_nsec: wait.subsec_nanos().into(),
        };
        // SAFETY: one pollfd and one timespec, which outlive the call, and no signal mask.
        let ready = unsafe { libc::ppoll(&raw mut poll, 1, &raw const wait, std::ptr::null()) };
        match check(ready) {
            Ok(0) => Ok(None),
            Ok(_) => Ok(Some(poll.revents)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns and clears the socket's pending error.
    pub(crate) fn error(&self) -> io::Result<Option<io::Error>> {
        let code: i32 = self.get(libc::SOL_SOCKET, libc::SO_ERROR)?;
        Ok((code != 0).then(|| io::Error::from_raw_os_error(code)))
    }

    /// Sends up to [`SEND`] frames in one call without blocking, and returns how many the kernel accepted.
    pub(crate) fn send(&self, frames: &[&[u8]]) -> io::Result<usize> {
        // SAFETY: pointers and integers, for which all zeros are valid (no address, no control data).
        let mut buffers: [libc::iovec; SEND] = unsafe { zeroed() };
        // SAFETY: as above.
        let mut messages: [libc::mmsghdr; SEND] = unsafe { zeroed() };
        let count = frames.len().min(SEND);
        for ((frame, buffer), message) in frames.iter().zip(&mut buffers).zip(&mut messages) {
            buffer.iov_base = frame.as_ptr().cast_mut().cast();
            buffer.iov_len = frame.len();
            message.msg_hdr.msg_iov = buffer;
            message.msg_hdr.msg_iovlen = 1;
        }
        // SAFETY: each of the first `count` messages points to its own buffer, which points to a frame that
        // outlives the call. The kernel only reads the frames and writes only to `messages`.
        let sent = check(unsafe {
            libc::sendmmsg(self.fd(), messages.as_mut_ptr(), count as libc::c_uint, libc::MSG_DONTWAIT)
        })?;
        Ok(sent as usize)
    }

    /// `SIOCGIFMTU`: the largest packet of an interface, excluding its link header.
    pub(crate) fn mtu(&self, interface: &str) -> io::Result<u32> {
        let mut request = request(interface)?;
        self.ioctl(libc::SIOCGIFMTU, &mut request)?;
        // SAFETY: the call succeeded, so the kernel has set this member.
        Ok(unsafe { request.ifr_ifru.ifru_mtu } as u32)
    }

    /// `SIOCGIFFLAGS`: the flags of an interface, such as `IFF_UP`.
    pub(crate) fn flags(&self, interface: &str) -> io::Result<u32> {
        let mut request = request(interface)?;
        self.ioctl(libc::SIOCGIFFLAGS, &mut request)?;
        // SAFETY: the call succeeded, so the kernel has set this member.
        Ok(u32::from(unsafe { request.ifr_ifru.ifru_flags } as u16))
    }

    /// `SIOCGIFHWADDR`: the `ARPHRD_` type of an interface.
    pub(crate) fn hardware(&self, interface: &str) -> io::Result<u16> {
        let mut request = request(interface)?;
        self.ioctl(libc::SIOCGIFHWADDR, &mut request)?;
        // SAFETY: the call succeeded, so the kernel has set this member.
        Ok(unsafe { request.ifr_ifru.ifru_hwaddr }.sa_family)
    }

    /// `SIOCSHWTSTAMP`: asks the driver to timestamp every received packet; returns the filter that it chose.
    pub(crate) fn timestamp_in_hardware(&self, interface: &str) -> io::Result<i32> {
        let mut config = libc::hwtstamp_config {
            flags: 0,
            tx_type: libc::HWTSTAMP_TX_OFF as i32,
            rx_filter: libc::HWTSTAMP_FILTER_ALL as i32,
        };
        let mut request = request(interface)?;
        request.ifr_ifru.ifru_data = (&raw mut config).cast();
        self.ioctl(libc::SIOCSHWTSTAMP, &mut request)?;
        Ok(config.rx_filter)
    }

    /// `ETHTOOL_GCHANNELS`: the number of receive queues in use.
    pub(crate) fn queues(&self, interface: &str) -> io::Result<u32> {
        let mut channels = [0u32; 9];
        channels[0] = ETHTOOL_GCHANNELS;
        let mut request = request(interface)?;
        request.ifr_ifru.ifru_data = channels.as_mut_ptr().cast();
        self.ioctl(libc::SIOCETHTOOL, &mut request)?;
        // After the command come the maxima (receive, send, other, combined), then the current numbers.
        Ok(channels[5].saturating_add(channels[8]))
    }

    fn ioctl(&self, operation: libc::c_ulong, request: &mut libc::ifreq) -> io::Result<()> {
        // SAFETY: each of the requests above takes one `ifreq`; a value that it points to outlives the call.
        check(unsafe { libc::ioctl(self.fd(), operation as _, &raw mut *request) })?;
        Ok(())
    }
}

/// Index of an interface in this thread's network namespace.
pub(crate) fn interface_index(interface: &str) -> io::Result<u32> {
    let name = CString::new(interface)?;
    // SAFETY: the name is a terminated string.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index),
    }
}

/// Whether this thread's network namespace has an interface with that index.
pub(crate) fn interface_exists(index: u32) -> bool {
    let mut name = [0; libc::IF_NAMESIZE];
    // SAFETY: the buffer has room for the longest name and its terminating zero.
    !unsafe { libc::if_indextoname(index, name.as_mut_ptr()) }.is_null()
}

/// An `ifreq` with the terminated name of an interface.
fn request(interface: &str) -> io::Result<libc::ifreq> {
    // SAFETY: integers, and a union of integers and one pointer, for which all zeros are valid.
    let mut request: libc::ifreq = unsafe { zeroed() };
    if interface.len() >= request.ifr_name.len() {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    Ok(request)
}

/// Returns the last error of the operating system if `result` is negative.
pub(super) fn check(result: i32) -> io::Result<i32> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Most frames that one call sends; their headers are on the stack.
pub(crate) const SEND: usize = 64;
/// From linux/ethtool.h; the structure has nine words.
const ETHTOOL_GCHANNELS: u32 = 0x3c;
