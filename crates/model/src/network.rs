//! Networks: addresses with the same first bits.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// Addresses with the same first bits. Written `192.0.2.0/24`, `2001:db8::/32`, or as a single address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u8,
}

/// The text is neither an address nor a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotANetwork {
    /// As it was given.
    pub given: String,
}

impl fmt::Display for NotANetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not an address or a network like 192.0.2.0/24", self.given)
    }
}

impl std::error::Error for NotANetwork {}

impl Network {
    /// Whether the address is in the network.
    pub fn holds(&self, address: IpAddr) -> bool {
        let same = |a: u128, b: u128, width: u32| {
            let rest = width - u32::from(self.bits);
            a.checked_shr(rest).unwrap_or(0) == b.checked_shr(rest).unwrap_or(0)
        };
        match (self.address, address) {
            (IpAddr::V4(net), IpAddr::V4(address)) => {
                same(net.to_bits().into(), address.to_bits().into(), 32)
            }
            (IpAddr::V6(net), IpAddr::V6(address)) => same(net.to_bits(), address.to_bits(), 128),
            _ => false,
        }
    }
}

impl Network {
    /// One address.
    pub fn of(address: IpAddr) -> Self {
        Self { address, bits: if address.is_ipv4() { 32 } else { 128 } }
    }

    /// How many first bits its addresses have in common.
    pub fn bits(&self) -> u8 {
        self.bits
    }

    /// Its first and its last address.
    pub fn ends(&self) -> (IpAddr, IpAddr) {
        match self.address {
            IpAddr::V4(address) => {
                let hosts = u32::MAX.checked_shr(self.bits.into()).unwrap_or(0);
                let first = address.to_bits() & !hosts;
                (Ipv4Addr::from_bits(first).into(), Ipv4Addr::from_bits(first | hosts).into())
            }
            IpAddr::V6(address) => {
                let hosts = u128::MAX.checked_shr(self.bits.into()).unwrap_or(0);
                let first = address.to_bits() & !hosts;
                (Ipv6Addr::from_bits(first).into(), Ipv6Addr::from_bits(first | hosts).into())
            }
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

impl FromStr for Network {
    type Err = NotANetwork;

    fn from_str(text: &str) -> Result<Self, NotANetwork> {
        let wrong = || NotANetwork { given: text.to_owned() };
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse::<u8>().map_err(|_| wrong())?)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.unwrap_or(most);
        if bits <= most { Ok(Self { address, bits }) } else { Err(wrong()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_holds_what_lies_between_its_ends() {
        let addresses =
            ["10.1.2.3", "10.1.20.3", "10.129.2.3", "255.255.255.255", "2001:db8::1", "::1", "ffff::"];
        let networks =
            ["10.1.2.3", "10.1.2.9/16", "10.0.0.0/9", "0.0.0.0/0", "2001:db8::1", "2001:db8::/32", "::/0"];
        for network in networks {
            let network: Network = network.parse().unwrap();
            let (first, last) = network.ends();
            for address in addresses.map(|address| address.parse::<IpAddr>().unwrap()) {
                let within = address.is_ipv4() == first.is_ipv4() && (first..=last).contains(&address);
                assert_eq!(within, network.holds(address), "{address} in {network}");
            }
        }
    }

    #[test]
    fn an_address_is_held_by_its_networks() {
        let holds = |net: &str, address: &str| {
            net.parse::<Network>().map(|net| net.holds(address.parse().unwrap())).ok()
        };
        assert_eq!(holds("192.0.2.0/24", "192.0.2.255"), Some(true));
        assert_eq!(holds("192.0.2.0/24", "192.0.3.0"), Some(false));
        assert_eq!(holds("0.0.0.0/0", "203.0.113.9"), Some(true));
        assert_eq!(holds("192.0.2.7", "192.0.2.7"), Some(true));
        assert_eq!(holds("2001:db8::/32", "2001:db8:ffff::1"), Some(true));
        assert_eq!(holds("2001:db8::/32", "192.0.2.7"), Some(false));
        assert_eq!(holds("::/0", "2001:db8::1"), Some(true));
        for wrong in ["192.0.2.0/33", "x", "192.0.2.0/", "::/129"] {
            assert_eq!(holds(wrong, "::1"), None, "{wrong}");
        }
    }
}
