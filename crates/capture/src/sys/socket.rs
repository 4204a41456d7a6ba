//! A socket, its options, and the questions about interfaces that go through one.

use std::ffi::CString;
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// What may cross to the kernel and back as the bytes that it is.
///
/// # Safety
///
/// Every pattern of bits has to be a value of the type.
pub(crate) unsafe trait Plain: Copy {}

// SAFETY: integers and C structures of integers; any bits are a value.
unsafe impl Plain for libc::c_int {}
// SAFETY: as above.
unsafe impl Plain for libc::c_uint {}
// SAFETY: as above.
unsafe impl Plain for libc::tpacket_req3 {}
// SAFETY: as above.
unsafe impl Plain for libc::tpacket_stats_v3 {}
// SAFETY: as above.
unsafe impl Plain for libc::packet_mreq {}

/// One socket, closed when dropped.
#[derive(Debug)]
pub(crate) struct Socket(OwnedFd);

impl Socket {
    /// Opens a socket that is closed on exec.
    pub(crate) fn open(domain: i32, kind: i32, protocol: i32) -> io::Result<Self> {
        // SAFETY: takes integers only.
        let fd = check(unsafe { libc::socket(domain, kind | libc::SOCK_CLOEXEC, protocol) })?;
        // SAFETY: the kernel just gave this descriptor, nobody else owns it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// The descriptor, for maps of it.
    pub(crate) fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// `setsockopt`.
    pub(crate) fn set<T: Plain>(&self, level: i32, name: i32, value: &T) -> io::Result<()> {
        let size = size_of::<T>() as libc::socklen_t;
        // SAFETY: the pointer and the size are those of one living value, which the kernel only reads.
        check(unsafe { libc::setsockopt(self.fd(), level, name, (&raw const *value).cast(), size) })?;
        Ok(())
    }

    /// `getsockopt`; what the kernel does not fill stays zero.
    pub(crate) fn get<T: Plain>(&self, level: i32, name: i32) -> io::Result<T> {
        // SAFETY: `Plain`: all zeros are a value.
        let mut value: T = unsafe { zeroed() };
        let mut size = size_of::<T>() as libc::socklen_t;
        // SAFETY: the kernel writes at most `size` bytes into one living value, and any bytes are a value
        // (`Plain`).
        check(unsafe { libc::getsockopt(self.fd(), level, name, (&raw mut value).cast(), &raw mut size) })?;
        Ok(value)
    }

    /// Attaches a classic BPF program under an option that takes one (`SO_ATTACH_FILTER`,
    /// `PACKET_FANOUT_DATA`).
    pub(crate) fn program(&self, level: i32, name: i32, program: &[libc::sock_filter]) -> io::Result<()> {
        let length =
            u16::try_from(program.len()).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        let head = libc::sock_fprog { len: length, filter: program.as_ptr().cast_mut() };
        let size = size_of::<libc::sock_fprog>() as libc::socklen_t;
        // SAFETY: the kernel copies `length` instructions from a slice of that many; it writes to none of
        // them.
        check(unsafe { libc::setsockopt(self.fd(), level, name, (&raw const head).cast(), size) })?;
        Ok(())
    }

    /// Binds a packet socket to an interface and a protocol (in host order), which is when packets begin to
    /// come.
    pub(crate) fn bind_packet(&self, interface: u32, protocol: u16) -> io::Result<()> {
        // SAFETY: integers only; all zeros are a value.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = protocol.to_be();
        address.sll_ifindex = interface as i32;
        let size = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: the pointer and the size are those of one living address.
        check(unsafe { libc::bind(self.fd(), (&raw const address).cast(), size) })?;
        Ok(())
    }

    /// Waits until the socket can be read, has an error, or the time is over. Nothing for time over and for a
    /// signal.
    pub(crate) fn wait(&self, wait: Duration) -> io::Result<Option<i16>> {
        let mut poll = libc::pollfd { fd: self.fd(), events: libc::POLLIN | libc::POLLERR, revents: 0 };
        let wait = libc::timespec {
            tv_sec: wait.as_secs().min(i32::MAX as u64) as libc::time_t,
            tv_nsec: wait.subsec_nanos().into(),
        };
        // SAFETY: one living pollfd, one living timespec, no signal mask.
        let ready = unsafe { libc::ppoll(&raw mut poll, 1, &raw const wait, std::ptr::null()) };
        match check(ready) {
            Ok(0) => Ok(None),
            Ok(_) => Ok(Some(poll.revents)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The pending error of the socket, which is cleared by asking.
    pub(crate) fn error(&self) -> io::Result<Option<io::Error>> {
        let code: i32 = self.get(libc::SOL_SOCKET, libc::SO_ERROR)?;
        Ok((code != 0).then(|| io::Error::from_raw_os_error(code)))
    }

    /// Sends up to [`SEND`] frames by one call, without waiting; gives how many the kernel took.
    pub(crate) fn send(&self, frames: &[&[u8]]) -> io::Result<usize> {
        // SAFETY: pointers and integers; all zeros are a value (no address, no control data).
        let mut parts: [libc::iovec; SEND] = unsafe { zeroed() };
        // SAFETY: as above.
        let mut messages: [libc::mmsghdr; SEND] = unsafe { zeroed() };
        let count = frames.len().min(SEND);
        for ((frame, part), message) in frames.iter().zip(&mut parts).zip(&mut messages) {
            part.iov_base = frame.as_ptr().cast_mut().cast();
            part.iov_len = frame.len();
            message.msg_hdr.msg_iov = part;
            message.msg_hdr.msg_iovlen = 1;
        }
        // SAFETY: the first `count` messages point each to its own part, which points to a living frame; the
        // kernel only reads the frames, and writes to `messages` alone.
        let sent = check(unsafe {
            libc::sendmmsg(self.fd(), messages.as_mut_ptr(), count as libc::c_uint, libc::MSG_DONTWAIT)
        })?;
        Ok(sent as usize)
    }

    /// `SIOCGIFMTU`: the largest packet of an interface, without its link header.
    pub(crate) fn mtu(&self, interface: &str) -> io::Result<u32> {
        let mut request = request(interface)?;
        self.ioctl(libc::SIOCGIFMTU, &mut request)?;
        // SAFETY: the call succeeded, so the kernel has filled this member.
        Ok(unsafe { request.ifr_ifru.ifru_mtu } as u32)
    }

    /// `SIOCGIFFLAGS`: `IFF_UP` and its like.
    pub(crate) fn flags(&self, interface: &str) -> io::Result<u32> {
        let mut request = request(interface)?;
        self.ioctl(libc::SIOCGIFFLAGS, &mut request)?;
        // SAFETY: the call succeeded, so the kernel has filled this member.
        Ok(u32::from(unsafe { request.ifr_ifru.ifru_flags } as u16))
    }

    /// `SIOCGIFHWADDR`: the `ARPHRD_` type of an interface.
    pub(crate) fn hardware(&self, interface: &str) -> io::Result<u16> {
        let mut request = request(interface)?;
        self.ioctl(libc::SIOCGIFHWADDR, &mut request)?;
        // SAFETY: the call succeeded, so the kernel has filled this member.
        Ok(unsafe { request.ifr_ifru.ifru_hwaddr }.sa_family)
    }

    /// `SIOCSHWTSTAMP`: asks the driver to stamp every packet that arrives; the filter it chose.
    pub(crate) fn stamp_in_hardware(&self, interface: &str) -> io::Result<i32> {
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

    /// `ETHTOOL_GCHANNELS`: receive queues in use.
    pub(crate) fn queues(&self, interface: &str) -> io::Result<u32> {
        let mut channels = [0u32; 9];
        channels[0] = ETHTOOL_GCHANNELS;
        let mut request = request(interface)?;
        request.ifr_ifru.ifru_data = channels.as_mut_ptr().cast();
        self.ioctl(libc::SIOCETHTOOL, &mut request)?;
        // After the command: the most there can be (receive, send, other, combined), then as many as there
        // are.
        Ok(channels[5].saturating_add(channels[8]))
    }

    fn ioctl(&self, what: libc::c_ulong, request: &mut libc::ifreq) -> io::Result<()> {
        // SAFETY: each of the requests above takes one `ifreq`; where it points further, the caller's value
        // lives.
        check(unsafe { libc::ioctl(self.fd(), what as _, &raw mut *request) })?;
        Ok(())
    }
}

/// Index of an interface in the network namespace of this thread.
pub(crate) fn interface_index(interface: &str) -> io::Result<u32> {
    let name = CString::new(interface)?;
    // SAFETY: a string that ends with zero.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index),
    }
}

/// Whether the network namespace of this thread has an interface of that index.
pub(crate) fn interface_exists(index: u32) -> bool {
    let mut name = [0; libc::IF_NAMESIZE];
    // SAFETY: room for the longest name that there is, and the zero at its end.
    !unsafe { libc::if_indextoname(index, name.as_mut_ptr()) }.is_null()
}

/// An `ifreq` with the name in it, which leaves room for the zero at its end.
fn request(interface: &str) -> io::Result<libc::ifreq> {
    // SAFETY: integers, and a union of integers and one pointer; all zeros are a value.
    let mut request: libc::ifreq = unsafe { zeroed() };
    if interface.len() >= request.ifr_name.len() {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    Ok(request)
}

/// The error of a call that gave -1.
pub(super) fn check(result: i32) -> io::Result<i32> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Frames that one call sends at most: their headers stay on the stack.
pub(crate) const SEND: usize = 64;
/// linux/ethtool.h; its structure is nine words.
const ETHTOOL_GCHANNELS: u32 = 0x3c;
