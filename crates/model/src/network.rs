//! Networks: addresses with the same first bits.

use std::fmt;
use std::net::IpAddr;
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
    /// What the text of every [`Endpoint`](crate::Endpoint) in it begins with.
    pub fn text_prefix(&self) -> String {
        match self.address {
            IpAddr::V4(address) if self.bits == 32 => format!("{address}:"),
            IpAddr::V4(address) => {
                let whole = usize::from(self.bits / 8);
                address.octets().iter().take(whole).map(|octet| format!("{octet}.")).collect()
            }
            IpAddr::V6(address) if self.bits == 128 => format!("[{address}]:"),
            // Zeros are left out at any place.
            IpAddr::V6(_) => "[".to_owned(),
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
    fn endpoints_begin_with_the_text_of_their_network() {
        let addresses = ["10.1.2.3", "10.1.20.3", "10.129.2.3", "2001:db8::1", "::1"];
        let networks = ["10.1.2.3", "10.1.2.9/16", "10.0.0.0/9", "0.0.0.0/0", "2001:db8::1", "2001:db8::/32"];
        for network in networks {
            let network: Network = network.parse().unwrap();
            for address in addresses.map(|address| address.parse().unwrap()) {
                let endpoint = crate::Endpoint::new(address, 5060).to_string();
                let begins = endpoint.starts_with(&network.text_prefix());
                assert!(begins || !network.holds(address), "{endpoint} in {network}");
            }
        }
        assert_eq!("10.1.2.3".parse::<Network>().unwrap().text_prefix(), "10.1.2.3:");
        assert_eq!("10.1.2.3/23".parse::<Network>().unwrap().text_prefix(), "10.1.");
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
