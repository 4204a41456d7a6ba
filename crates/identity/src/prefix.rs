//! Addresses and prefixes of both families in one space.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// A prefix; IPv4 is mapped into IPv6 (RFC 4291 section 2.5.5.2), so that both are ordered together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Prefix {
    /// The bits after the prefix are clear.
    base: u128,
    bits: u8,
}

impl Prefix {
    /// The network of `address` with its first `bits`; more than the family has count as all.
    pub(crate) fn new(address: IpAddr, bits: u8) -> Self {
        let (address, bits) = match address {
            IpAddr::V4(address) => (address.to_ipv6_mapped(), bits.min(32) + MAPPED),
            IpAddr::V6(address) => (address, bits.min(128)),
        };
        Self::of_bits(address, bits)
    }

    /// One address.
    pub(crate) fn host(address: IpAddr) -> Self {
        Self::new(address, 128)
    }

    /// The prefix of that many bits, mapped ones included, that this one lies in.
    pub(crate) fn widened(self, bits: u8) -> Self {
        Self::of_bits(Ipv6Addr::from_bits(self.base), bits.min(self.bits))
    }

    fn of_bits(address: Ipv6Addr, bits: u8) -> Self {
        let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
        Self { base: address.to_bits() & mask, bits }
    }

    /// Its first address, and how many bits count.
    pub(crate) fn network(self) -> (IpAddr, u8) {
        let address = Ipv6Addr::from_bits(self.base);
        match address.to_ipv4_mapped().filter(|_| self.is_ipv4()) {
            Some(address) => (address.into(), self.bits - MAPPED),
            None => (address.into(), self.bits),
        }
    }

    /// Bits of the prefix, mapped ones included.
    pub(crate) fn bits(self) -> u8 {
        self.bits
    }

    /// Appends its bytes: how many bits it has, in a number of its own for each family, and the bytes that
    /// hold them.
    pub(crate) fn write(self, bytes: &mut Vec<u8>) {
        let (number, from, bits) = match self.is_ipv4() {
            true => (IPV4 + (self.bits - MAPPED), MAPPED, self.bits - MAPPED),
            false => (self.bits, 0, self.bits),
        };
        let from = usize::from(from / 8);
        bytes.push(number);
        bytes.extend(&self.base.to_be_bytes()[from..from + usize::from(bits.div_ceil(8))]);
    }

    /// Takes what [`write`](Self::write) appended off the beginning.
    pub(crate) fn read(rest: &mut &[u8]) -> Option<Self> {
        let (&number, after) = rest.split_first()?;
        let bits = if number < IPV4 { number } else { number - IPV4 };
        let (significant, after) = after.split_at_checked(usize::from(bits.div_ceil(8)))?;
        *rest = after;
        let mut octets = [0; 16];
        let from = if number < IPV4 { 0 } else { usize::from(MAPPED / 8) };
        octets.get_mut(from..from + significant.len())?.copy_from_slice(significant);
        let address = match number {
            0..IPV4 => IpAddr::V6(octets.into()),
            _ => IpAddr::V4([octets[12], octets[13], octets[14], octets[15]].into()),
        };
        Some(Self::new(address, bits))
    }

    /// Reads what [`fmt::Display`] writes.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let Some((address, bits)) = text.split_once('/') else { return text.parse().ok().map(Self::host) };
        Some(Self::new(address.parse().ok()?, bits.parse().ok()?))
    }

    /// Whether it is one of IPv4.
    pub(crate) fn is_ipv4(self) -> bool {
        self.bits >= MAPPED && Ipv6Addr::from_bits(self.base).to_ipv4_mapped().is_some()
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = Ipv6Addr::from_bits(self.base);
        match address.to_ipv4_mapped().filter(|_| self.is_ipv4()) {
            Some(address) if self.bits == 128 => write!(f, "{address}"),
            Some(address) => write!(f, "{address}/{}", self.bits - MAPPED),
            None => write!(f, "{address}/{}", self.bits),
        }
    }
}

/// Where the numbers of bits of IPv4 begin that [`Prefix::write`] writes.
const IPV4: u8 = 129;
/// Bits in front of a mapped IPv4 address.
const MAPPED: u8 = 96;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_back() {
        for text in ["192.0.2.7", "192.0.2.0/24", "0.0.0.0/0", "2001:db8::/32", "2001:db8::1/128", "::/0"] {
            assert_eq!(Prefix::parse(text).map(|prefix| prefix.to_string()).as_deref(), Some(text));
        }
        assert_eq!(Prefix::parse("192.0.2.7/24").unwrap().to_string(), "192.0.2.0/24");
        assert_eq!(Prefix::parse("2001:db8::1"), Prefix::parse("2001:db8::1/128"));
        assert_eq!(Prefix::parse("x"), None);
        let host = Prefix::host("192.0.2.7".parse().unwrap());
        assert_eq!(host.widened(120), Prefix::parse("192.0.2.0/24").unwrap());
        assert!(!Prefix::parse("::/0").unwrap().is_ipv4());
    }
}
