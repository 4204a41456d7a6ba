//! Transport addresses.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

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

/// The text is not `ip:port` or `[v6]:port`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAnEndpoint;

impl FromStr for Endpoint {
    type Err = NotAnEndpoint;

    fn from_str(text: &str) -> Result<Self, NotAnEndpoint> {
        let address: SocketAddr = text.parse().map_err(|_| NotAnEndpoint)?;
        Ok(Self::new(address.ip(), address.port()))
    }
}

impl<'de> Deserialize<'de> for Endpoint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'_, str>>::deserialize(deserializer)?;
        text.parse().map_err(|NotAnEndpoint| D::Error::custom("an endpoint is ip:port or [v6]:port"))
    }
}
