//! The formats of capture files.

use std::fmt;

/// The format of a capture file, detected by its content, not its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Classic pcap: micro- or nanoseconds, either byte order, also the "modified" variant.
    Pcap,
    /// pcapng.
    PcapNg,
    /// Endace ERF records.
    Erf,
    /// Solaris' snoop (RFC 1761).
    Snoop,
    /// Microsoft Network Monitor, format version 2.
    NetMon,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pcap => "pcap",
            Self::PcapNg => "pcapng",
            Self::Erf => "ERF",
            Self::Snoop => "snoop",
            Self::NetMon => "NetMon 2",
        })
    }
}
