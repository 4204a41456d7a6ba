//! Values by their types (RFC 8044). A value of the wrong length has none.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::attribute::Attribute;

impl<'a> Attribute<'a> {
    /// Whole number of 32 bits (RFC 8044 section 3.1).
    pub fn integer(&self) -> Option<u32> {
        self.value.try_into().ok().map(u32::from_be_bytes)
    }

    /// Whole number of 64 bits (3.10).
    pub fn integer64(&self) -> Option<u64> {
        self.value.try_into().ok().map(u64::from_be_bytes)
    }

    /// Moment in seconds since 1970 (3.3).
    pub fn time(&self) -> Option<u32> {
        self.integer()
    }

    /// Text in UTF-8 (3.4). `None` where it is none, or empty.
    pub fn text(&self) -> Option<&'a str> {
        // Many send the terminating zero of C.
        let text = str::from_utf8(self.value).ok()?.trim_end_matches('\0');
        (!text.is_empty()).then_some(text)
    }

    /// IPv4 address (3.8).
    pub fn ipv4(&self) -> Option<Ipv4Addr> {
        <[u8; 4]>::try_from(self.value).ok().map(Ipv4Addr::from)
    }

    /// IPv6 address (3.9).
    pub fn ipv6(&self) -> Option<Ipv6Addr> {
        <[u8; 16]>::try_from(self.value).ok().map(Ipv6Addr::from)
    }

    /// IPv4 or IPv6 address, by its length.
    pub fn address(&self) -> Option<IpAddr> {
        self.ipv4().map(IpAddr::V4).or_else(|| self.ipv6().map(IpAddr::V6))
    }

    /// IPv6 prefix and its length in bits (3.11). The bytes after the prefix need not be there; the bits
    /// after it are cleared.
    pub fn ipv6_prefix(&self) -> Option<(Ipv6Addr, u8)> {
        let (&[_, bits], bytes) = self.value.split_first_chunk()?;
        if bits > 128 || bytes.len() > 16 || bytes.len() * 8 < usize::from(bits) {
            return None;
        }
        let mut octets = [0; 16];
        octets.get_mut(..bytes.len())?.copy_from_slice(bytes);
        let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
        Some((Ipv6Addr::from_bits(u128::from_be_bytes(octets) & mask), bits))
    }

    /// Interface identifier of an IPv6 address (3.7).
    pub fn interface_id(&self) -> Option<[u8; 8]> {
        self.value.try_into().ok()
    }

    /// Route as text: its first word is a network with its length in bits (RFC 2865 section 5.22, RFC 3162
    /// section 2.5). An IPv4 network without a length is that of its class.
    pub fn route(&self) -> Option<(IpAddr, u8)> {
        let word = self.text()?.split_ascii_whitespace().next()?;
        let (address, bits) = match word.split_once('/') {
            Some((address, bits)) => (address.parse().ok()?, Some(bits.parse::<u8>().ok()?)),
            None => (word.parse().ok()?, None),
        };
        let bits = match (bits, address) {
            (Some(bits), IpAddr::V4(_)) if bits <= 32 => bits,
            (Some(bits), IpAddr::V6(_)) if bits <= 128 => bits,
            (None, IpAddr::V4(address)) => class_bits(address),
            _ => return None,
        };
        Some((address, bits))
    }

    /// The TLVs that it consists of (RFC 6929 section 2.3).
    pub fn tlvs(&self) -> Tlvs<'a> {
        Tlvs { rest: self.value }
    }
}

/// Bits of a network of class A, B or C.
fn class_bits(address: Ipv4Addr) -> u8 {
    match address.octets()[0] {
        0..=127 => 8,
        128..=191 => 16,
        192..=223 => 24,
        _ => 32,
    }
}

/// Name and value of a pair as Cisco writes them: `name=value`, or `name*value` where it is optional.
pub fn av_pair(text: &str) -> Option<(&str, &str)> {
    let at = text.find(['=', '*'])?;
    Some((text.get(..at)?.trim(), text.get(at + 1..)?))
}

/// Type-length-value triples, as type and value.
#[derive(Clone, Debug)]
pub struct Tlvs<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Tlvs<'a> {
    type Item = (u8, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let &[kind, len] = self.rest.first_chunk()?;
        // A length below 2 has no value: this ends.
        let value = self.rest.get(2..usize::from(len))?;
        self.rest = self.rest.get(usize::from(len)..)?;
        Some((kind, value))
    }
}
