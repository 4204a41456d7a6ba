//! System calls without a safe form: the ethtool ioctl, generic netlink, the state of the clock, and the size
//! of a file system.

use std::ffi::{CString, c_char};
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

/// Size of the buffer for an ethtool answer in 32-bit words: 8,192 strings of 32 bytes, twice the number that
/// [`super::ethtool`] accepts.
pub(crate) const ANSWER: usize = 8_192 * 8 + 64;

/// A socket for requests about interfaces.
pub(crate) struct Control {
    socket: OwnedFd,
}

impl Control {
    pub(crate) fn open() -> io::Result<Self> {
        Ok(Self { socket: socket(libc::AF_INET, libc::SOCK_DGRAM, 0)? })
    }

    /// Makes one ethtool request: `words` holds the request, and then the answer.
    ///
    /// The buffer has the same size for every request, because the kernel writes the whole structure of the
    /// request and, for strings and statistics, as many as the driver has.
    pub(crate) fn ethtool(&self, interface: &str, words: &mut [u32; ANSWER]) -> io::Result<()> {
        // SAFETY: all-zero bytes are a valid `ifreq`.
        let mut request: libc::ifreq = unsafe { zeroed() };
        // The last byte stays 0: the kernel expects a terminated name.
        if interface.len() >= request.ifr_name.len() || interface.as_bytes().contains(&0) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes()) {
            *to = from as c_char;
        }
        request.ifr_ifru.ifru_data = words.as_mut_ptr().cast();
        // SAFETY: the socket is open, `request` outlives the call, and `ifru_data` points to ANSWER words
        // that only this call writes. No fixed structure of ethtool is larger than 1 KiB. Before it requests
        // strings or statistics, the caller reads their number and rejects more than half of what fits here.
        match unsafe { libc::ioctl(self.socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) } {
            0.. => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// A generic netlink socket.
pub(crate) struct Netlink {
    socket: OwnedFd,
}

impl Netlink {
    /// Opens the socket. It waits at most one second for each answer.
    pub(crate) fn open() -> io::Result<Self> {
        let socket = socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_GENERIC)?;
        let second = libc::timeval { tv_sec: 1, tv_usec: 0 };
        // SAFETY: the option's value is a `timeval` that outlives the call, and the length is its size.
        let set = unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_RCVTIMEO,
                (&raw const second).cast(),
                size_of::<libc::timeval>() as libc::socklen_t,
            )
        };
        if set == 0 { Ok(Self { socket }) } else { Err(io::Error::last_os_error()) }
    }

    pub(crate) fn send(&self, message: &[u8]) -> io::Result<()> {
        // SAFETY: pointer and length are those of a slice that outlives the call. Without an address the
        // message goes to the kernel.
        let sent = unsafe { libc::send(self.socket.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) };
        if sent == message.len() as isize { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Receives the next datagram of the answer into `buffer`.
    pub(crate) fn receive<'a>(&self, buffer: &'a mut [u8]) -> io::Result<&'a [u8]> {
        // SAFETY: the kernel writes at most as many bytes as the slice has.
        let got = unsafe { libc::recv(self.socket.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
        match usize::try_from(got) {
            Ok(got) => Ok(&buffer[..got.min(buffer.len())]),
            Err(_) => Err(io::Error::last_os_error()),
        }
    }
}

fn socket(family: i32, kind: i32, protocol: i32) -> io::Result<OwnedFd> {
    // SAFETY: the call takes no pointer.
    let socket = unsafe { libc::socket(family, kind | libc::SOCK_CLOEXEC, protocol) };
    if socket < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel just returned this descriptor, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(socket) })
}

/// Whether NTP or PTP synchronises the kernel's clock, and its maximum error.
pub(crate) fn clock() -> Option<(bool, Duration)> {
    // SAFETY: all-zero bytes are a valid `timex`; with `modes` 0 the call sets nothing.
    let mut state: libc::timex = unsafe { zeroed() };
    // SAFETY: the structure outlives the call, which fills it.
    let result = unsafe { libc::adjtimex(&raw mut state) };
    if result < 0 {
        return None;
    }
    let error = Duration::from_micros(u64::try_from(state.maxerror).unwrap_or(0));
    Some((result != libc::TIME_ERROR && state.status & libc::STA_UNSYNC == 0, error))
}

/// Size of the file system that holds `path`, and the space that this process may still use, in bytes.
pub(crate) fn space(path: &Path) -> io::Result<(u64, u64)> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: all-zero bytes are a valid `statvfs`.
    let mut state: libc::statvfs = unsafe { zeroed() };
    // SAFETY: the path ends with 0, and both arguments outlive the call.
    if unsafe { libc::statvfs(path.as_ptr(), &raw mut state) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // The types of these fields differ between platforms.
    let bytes = |blocks: u64| blocks.saturating_mul(state.f_frsize as u64);
    Ok((bytes(state.f_blocks as u64), bytes(state.f_bavail as u64)))
}
