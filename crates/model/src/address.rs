//! Transport addresses.

use std::fmt::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::id::ascii;

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
        let mut text = [0; LONGEST];
        let length = self.write(&mut text);
        serializer.serialize_str(ascii(&text[..length]))
    }
}

/// `[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255]:65535`.
const LONGEST: usize = 56;

impl Endpoint {
    /// The same text as [`fmt::Display`] gives, and its length. Each record has two: IPv4 goes without the
    /// machinery of formatting.
    fn write(self, text: &mut [u8; LONGEST]) -> usize {
        let IpAddr::V4(ip) = self.ip else {
            let mut room = Room { text, length: 0 };
            // The longest address has its place.
            return write!(room, "{self}").map_or(0, |()| room.length);
        };
        let mut at = 0;
        for (octet, after) in ip.octets().into_iter().zip(*b"...:") {
            at = decimal(text, at, octet.into());
            text[at] = after;
            at += 1;
        }
        decimal(text, at, self.port)
    }
}

/// Where a text is written to, as long as it has its place.
struct Room<'a> {
    text: &'a mut [u8; LONGEST],
    length: usize,
}

impl Write for Room<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let place = self.text.get_mut(self.length..self.length + text.len()).ok_or(fmt::Error)?;
        place.copy_from_slice(text.as_bytes());
        self.length += text.len();
        Ok(())
    }
}

/// Writes a number at a place; where it ends.
fn decimal(text: &mut [u8; LONGEST], at: usize, number: u16) -> usize {
    let digits = number.checked_ilog10().map_or(1, |tens| tens as usize + 1);
    let mut rest = number;
    for digit in text[at..at + digits].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    at + digits
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

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use super::*;

    #[test]
    fn records_carry_what_people_read() {
        let octets = [0, 1, 9, 10, 99, 100, 199, 255];
        let ports = [0, 1, 9, 10, 99, 100, 999, 1_000, 5_060, 9_999, 10_000, 65_535];
        let four = octets.into_iter().flat_map(|a| octets.map(|b| IpAddr::from([a, b, b, a])));
        let six = [
            Ipv6Addr::UNSPECIFIED,
            Ipv6Addr::LOCALHOST,
            Ipv6Addr::from([0xffff; 8]),
            Ipv6Addr::from([0, 0, 0, 0, 0, 0xffff, 0xffff, 0xffff]),
            Ipv6Addr::from([0x2001, 0xdb8, 0, 0, 1, 0, 0, 1]),
        ];
        for ip in four.chain(six.map(IpAddr::from)) {
            for port in ports {
                let endpoint = Endpoint::new(ip, port);
                let mut text = [0; LONGEST];
                let length = endpoint.write(&mut text);
                assert_eq!(ascii(&text[..length]), endpoint.to_string());
                assert_eq!(endpoint.to_string().parse(), Ok(endpoint));
            }
        }
    }
}
