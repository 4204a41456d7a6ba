//! System calls that have no safe form: ethtool's ioctl, generic netlink, the clock's state, a file system's
//! size.

use std::ffi::{CString, c_char};
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

/// The largest answer of ethtool that is asked for, in 32-bit words: 8,192 strings of 32 bytes, twice what
/// [`super::ethtool`] accepts as their number.
pub(crate) const ANSWER: usize = 8_192 * 8 + 64;

/// A socket to ask the kernel about interfaces through.
pub(crate) struct Control {
    socket: OwnedFd,
}

impl Control {
    pub(crate) fn open() -> io::Result<Self> {
        Ok(Self { socket: socket(libc::AF_INET, libc::SOCK_DGRAM, 0)? })
    }

    /// One request of ethtool: its words go in, the answer takes their place.
    ///
    /// The buffer has one size whatever the request, since the kernel writes as much as the request's
    /// structure has, and for strings and statistics as many as the driver has.
    pub(crate) fn ethtool(&self, interface: &str, words: &mut [u32; ANSWER]) -> io::Result<()> {
        // SAFETY: all-zero bytes are a valid `ifreq`.
        let mut request: libc::ifreq = unsafe { zeroed() };
        // One byte stays 0: the kernel's names end so.
        if interface.len() >= request.ifr_name.len() || interface.as_bytes().contains(&0) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes()) {
            *to = from as c_char;
        }
        request.ifr_ifru.ifru_data = words.as_mut_ptr().cast();
        // SAFETY: the socket is open; `request` lives through the call; `ifru_data` points at ANSWER words
        // that this call alone may write. No fixed structure of ethtool has more than 1 KiB; for strings and
        // statistics the caller first asked for their number and refused more than half of what fits here.
        match unsafe { libc::ioctl(self.socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) } {
            0.. => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// A conversation with generic netlink.
pub(crate) struct Netlink {
    socket: OwnedFd,
}

impl Netlink {
    /// A socket whose answers are waited for a second at most.
    pub(crate) fn open() -> io::Result<Self> {
        let socket = socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_GENERIC)?;
        let second = libc::timeval { tv_sec: 1, tv_usec: 0 };
        // SAFETY: the option's value is a `timeval` that lives through the call, and its length is given.
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
        // SAFETY: pointer and length are those of a slice that lives through the call. Without an address it
        // goes to the kernel.
        let sent = unsafe { libc::send(self.socket.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) };
        if sent == message.len() as isize { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// The next datagram of the answer, in `buffer`.
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
    // SAFETY: takes no pointer.
    let socket = unsafe { libc::socket(family, kind | libc::SOCK_CLOEXEC, protocol) };
    if socket < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel just gave this descriptor to us, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(socket) })
}

/// Whether the kernel's clock is kept in step by something (NTP, PTP), and by how much it may be off at most.
pub(crate) fn clock() -> Option<(bool, Duration)> {
    // SAFETY: all-zero bytes are a valid `timex`; with `modes` 0 nothing is set.
    let mut state: libc::timex = unsafe { zeroed() };
    // SAFETY: the structure lives through the call, which fills it.
    let result = unsafe { libc::adjtimex(&raw mut state) };
    if result < 0 {
        return None;
    }
    let error = Duration::from_micros(u64::try_from(state.maxerror).unwrap_or(0));
    Some((result != libc::TIME_ERROR && state.status & libc::STA_UNSYNC == 0, error))
}

/// Bytes of the file system that holds `path`: all, and those that this process may still fill.
pub(crate) fn space(path: &Path) -> io::Result<(u64, u64)> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: all-zero bytes are a valid `statvfs`.
    let mut state: libc::statvfs = unsafe { zeroed() };
    // SAFETY: the path ends with 0, and both live through the call.
    if unsafe { libc::statvfs(path.as_ptr(), &raw mut state) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // The types differ between platforms.
    let bytes = |blocks: u64| blocks.saturating_mul(state.f_frsize as u64);
    Ok((bytes(state.f_blocks as u64), bytes(state.f_bavail as u64)))
}
