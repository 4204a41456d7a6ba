//! What a driver says of its interface: settings and abilities.

/// The driver of an interface (`ETHTOOL_GDRVINFO`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Driver {
    /// Its name.
    pub name: String,
    /// Its version: for drivers that come with the kernel, the kernel's.
    pub version: String,
    /// Firmware of the card.
    pub firmware: String,
    /// Its bus address.
    pub bus: String,
}

/// Descriptors of the receive and send rings (`ETHTOOL_GRINGPARAM`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rings {
    /// Receive descriptors.
    pub rx: u32,
    /// As many as it could be told to.
    pub rx_max: u32,
    /// Send descriptors.
    pub tx: u32,
    /// As many as it could be told to.
    pub tx_max: u32,
}

/// Interrupt coalescing (`ETHTOOL_GCOALESCE`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coalescing {
    /// Delay after a packet, in microseconds.
    pub rx_usecs: u32,
    /// After this many packets.
    pub rx_frames: u32,
    /// Whether the driver adapts both to the load.
    pub adaptive_rx: bool,
}

/// Ethernet flow control (`ETHTOOL_GPAUSEPARAM`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pause {
    /// Negotiated with the other end.
    pub negotiated: bool,
    /// The card obeys pause frames.
    pub rx: bool,
    /// The card sends pause frames when its ring is full.
    pub tx: bool,
}

/// Queues (`ETHTOOL_GCHANNELS`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Channels {
    /// Receive queues, including combined ones.
    pub rx: u32,
    /// Their maximum.
    pub rx_max: u32,
    /// Whether these are combined queues.
    pub combined: bool,
}

/// One offload (`ETHTOOL_GFEATURES`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Feature {
    /// As `ethtool -k` names it inside the kernel: `rx-gro`.
    pub name: String,
    /// It is on.
    pub active: bool,
    /// It can be switched.
    pub changeable: bool,
}

/// Hardware timestamps (`ETHTOOL_GET_TS_INFO`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timestamping {
    /// The card stamps what it receives (`SOF_TIMESTAMPING_RX_HARDWARE` and `_RAW_HARDWARE`).
    pub hardware: bool,
    /// It does so for every packet (`HWTSTAMP_FILTER_ALL`), not only for those of PTP.
    pub every_packet: bool,
    /// Number of its clock: `/dev/ptpN`.
    pub clock: Option<u32>,
}
