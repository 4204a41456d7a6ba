//! Why a live source could not be opened, or ended. Each message names the thing and the remedy.

use std::io;

/// What keeps a live source from working.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No interface of that name in this network namespace.
    #[error("there is no interface `{interface}` here; there are: {there}")]
    NoInterface {
        /// As it was given.
        interface: String,
        /// The names that there are.
        there: String,
    },
    /// The interface is there but not up.
    #[error("interface `{interface}` is down: `ip link set dev {interface} up`, then start again")]
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
        /// What was refused.
        what: &'static str,
        /// What it takes, as setcap(8) writes it.
        capabilities: &'static str,
    },
    /// The kernel has no room for the ring.
    #[error(
        "the kernel gives no ring of {mebibytes} MiB for `{interface}` ({source}): make `ring` or the number of workers \
         smaller, or free memory"
    )]
    Ring {
        /// The interface's name.
        interface: String,
        /// Size that was asked for.
        mebibytes: usize,
        /// What the operating system said.
        source: io::Error,
    },
    /// Memory that AF_XDP shares with the kernel is beyond the limit of locked memory.
    #[error(
        "{mebibytes} MiB for `{interface}` are more than this process may lock: `ulimit -l unlimited` (in a systemd unit: \
         LimitMEMLOCK=infinity), the capability cap_ipc_lock, or a smaller `ring`"
    )]
    Locked {
        /// The interface's name.
        interface: String,
        /// Size that was asked for.
        mebibytes: usize,
    },
    /// A link type that is not followed.
    #[error(
        "interface `{interface}` carries frames of hardware type {hardware}, which ringtap cannot read: capture on an Ethernet, \
         loopback, IP tunnel or PPP interface"
    )]
    Link {
        /// The interface's name.
        interface: String,
        /// `ARPHRD_` of linux/if_arp.h.
        hardware: u16,
    },
    /// A setting that cannot be.
    #[error("{name} = {value} cannot be: {right}")]
    Setting {
        /// Its key.
        name: &'static str,
        /// What was given.
        value: String,
        /// What would be right.
        right: String,
    },
    /// A filter expression that libpcap refuses.
    #[error("the filter `{expression}` is wrong: {what}; the syntax is that of pcap-filter(7)")]
    Filter {
        /// As it was given.
        expression: String,
        /// What libpcap says of it.
        what: String,
    },
    /// libpcap, which reads filter expressions, is not installed.
    #[error(
        "the filter `{expression}` needs libpcap to be read, which is not installed ({what}): `apt install libpcap0.8`"
    )]
    FilterLibrary {
        /// As it was given.
        expression: String,
        /// What the loader said.
        what: String,
    },
    /// The driver or the kernel has no AF_XDP, or not in the mode asked for.
    #[error("AF_XDP does not work on `{interface}` ({what}): {remedy}")]
    Xdp {
        /// The interface's name.
        interface: String,
        /// What was refused, and how.
        what: String,
        /// What to do instead.
        remedy: &'static str,
    },
    /// A frame that no interface sends.
    #[error(
        "a frame of {length} bytes is longer than `{interface}` sends (MTU {mtu}): raise the MTU or send shorter ones"
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
    /// The error of a step on an interface, with what it most often means.
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

/// Packet sockets; promiscuous mode and time stamps of the NIC; the program of AF_XDP; rings beyond the limit of locked memory.
const CAPABILITIES: &str = "cap_net_raw,cap_net_admin,cap_bpf,cap_ipc_lock";
