//! Transport addresses.

use std::fmt;
use std::net::IpAddr;

use serde::{Serialize, Serializer};

/// An IP address and a port: where signalling or media is sent from or to.
///
/// IPv4-mapped IPv6 addresses stay as they are on the wire. Written `ip:port`, `[v6]:port`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    /// Address.
    pub ip: IpAddr,
    /// UDP, TCP or SCTP port.
    pub port: u16,
}

impl Endpoint {
    /// An endpoint from its parts.
    pub const fn new(ip: IpAddr, port: u16) -> Self {
        Self { ip, port }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ip {
            IpAddr::V4(ip) => write!(f, "{ip}:{}", self.port),
            IpAddr::V6(ip) => write!(f, "[{ip}]:{}", self.port),
        }
    }
}

impl Serialize for Endpoint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
