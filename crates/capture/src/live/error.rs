//! Why a live source could not be opened, or ended. Each message names the object and the remedy.

use std::io;

/// An error of a live source.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No interface of that name in this network namespace.
    #[error("there is no interface `{interface}`; choose one of: {there}")]
    NoInterface {
        /// As it was given.
        interface: String,
        /// The existing names.
        there: String,
    },
    /// The interface exists but is down.
    #[error("interface `{interface}` is down: run `ip link set dev {interface} up`, then start again")]
    Down {
        /// Its name.
        interface: String,
    },
    /// The interface was removed, or moved to another network namespace, while it was captured.
    #[error("interface `{interface}` is gone: it was removed or moved to another network namespace")]
    Gone {
        /// Its name.
        interface: String,
    },
    /// The process lacks capabilities.
    #[error(
        "no permission to {what} on `{interface}`: run as root, or give the program the capabilities with \
         `setcap {capabilities}+ep` on its file (in a systemd unit: AmbientCapabilities=)"
    )]
    Permission {
        /// The interface's name.
        interface: String,
        /// What was denied.
        what: &'static str,
        /// The capabilities needed, as for setcap(8).
        capabilities: &'static str,
    },
    /// The kernel has no memory for the ring.
    #[error(
        "cannot allocate a ring of {mebibytes} MiB for `{interface}` ({source}): reduce `ring` or the number \
         of workers, \
         or free memory"
    )]
    Ring {
        /// The interface's name.
        interface: String,
        /// Requested size.
        mebibytes: usize,
        /// What the operating system said.
        source: io::Error,
    },
    /// The memory that AF_XDP shares with the kernel exceeds the limit of locked memory.
    #[error(
        "cannot lock {mebibytes} MiB of memory for `{interface}`: use `ulimit -l unlimited` (in a systemd \
         unit: \
         LimitMEMLOCK=infinity), the capability cap_ipc_lock, or a smaller `ring`"
    )]
    Locked {
        /// The interface's name.
        interface: String,
        /// Requested size.
        mebibytes: usize,
    },
    /// A link type that is not supported.
    #[error(
        "interface `{interface}` carries frames of hardware type {hardware}, which ringtap cannot read: \
         capture on an Ethernet, \
         loopback, IP tunnel or PPP interface"
    )]
    Link {
        /// The interface's name.
        interface: String,
        /// `ARPHRD_` of linux/if_arp.h.
        hardware: u16,
    },
    /// An invalid setting.
    #[error("{name} = {value} is not valid: use {right}")]
    Setting {
        /// Its name.
        name: &'static str,
        /// Its value.
        value: String,
        /// The valid values.
        right: String,
    },
    /// A filter expression that libpcap rejects.
    #[error("cannot compile the filter `{expression}`: {what}; see pcap-filter(7) for the syntax")]
    Filter {
        /// As it was given.
        expression: String,
        /// libpcap's message.
        what: String,
    },
    /// libpcap, which compiles filter expressions, is not installed.
    #[error(
        "cannot compile the filter `{expression}` without libpcap ({what}): run `apt install libpcap0.8`"
    )]
    FilterLibrary {
        /// As it was given.
        expression: String,
        /// The loader's message.
        what: String,
    },
    /// The driver or the kernel does not support AF_XDP, or not in the requested mode.
    #[error("AF_XDP does not work on `{interface}` ({what}): {remedy}")]
    Xdp {
        /// The interface's name.
        interface: String,
        /// What failed, and why.
        what: String,
        /// What to do instead.
        remedy: &'static str,
    },
    /// A frame longer than the MTU allows.
    #[error(
        "cannot send a frame of {length} bytes on `{interface}` (MTU {mtu}): raise the MTU or send shorter \
         frames"
    )]
    Length {
        /// The interface's name.
        interface: String,
        /// Bytes of the frame.
        length: usize,
        /// The interface's MTU.
        mtu: u32,
    },
    /// A capture file that cannot be replayed.
    #[error(transparent)]
    File(#[from] crate::Error),
    /// Anything else that the operating system refuses.
    #[error("{what} failed on `{interface}`: {source}")]
    Io {
        /// The interface's name.
        interface: String,
        /// What was tried.
        what: &'static str,
        /// What the operating system said.
        source: io::Error,
    },
}

impl Error {
    /// Converts the error of an operation on an interface; common causes get a message of their own.
    pub(super) fn io(interface: &str, what: &'static str, source: io::Error) -> Self {
        let interface = interface.to_owned();
        match source.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => {
                Self::Permission { interface, what, capabilities: CAPABILITIES }
            }
            Some(libc::ENETDOWN) => Self::Down { interface },
            Some(libc::ENODEV | libc::ENXIO) => Self::Gone { interface },
            _ => Self::Io { interface, what, source },
        }
    }
}

/// For packet sockets; promiscuous mode and NIC timestamps; the AF_XDP program; rings above the limit of
/// locked memory.
const CAPABILITIES: &str = "cap_net_raw,cap_net_admin,cap_bpf,cap_ipc_lock";
