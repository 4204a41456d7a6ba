//! Addresses: a bit by a bit, so that two addresses of one network stay in one network (as Crypto-PAn does:
//! Xu, Fan, Ammar, Moon, ICNP 2002), and the kind of network stays too.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::key::{Key, Stream};

const REMEMBERED: usize = 1 << 16;
const BIT4: u8 = 4;
const BIT6: u8 = 6;

pub(crate) struct Networks {
    stream: Stream,
    known: HashMap<IpAddr, IpAddr>,
}

impl Networks {
    pub(crate) fn new(key: &Key) -> Self {
        Self { stream: key.stream(), known: HashMap::new() }
    }

    pub(crate) fn ip(&mut self, ip: IpAddr) -> IpAddr {
        if let Some(known) = self.known.get(&ip) {
            return *known;
        }
        let other = match ip {
            IpAddr::V4(ip) => IpAddr::V4(self.v4(ip)),
            IpAddr::V6(ip) => IpAddr::V6(self.v6(ip)),
        };
        if self.known.len() >= REMEMBERED {
            self.known.clear();
        }
        self.known.insert(ip, other);
        other
    }

    fn v4(&self, ip: Ipv4Addr) -> Ipv4Addr {
        let Some(kept) = kept4(ip) else { return ip };
        let mut bits = u32::from(ip);
        // If a public address becomes a non-public one, it is replaced again. This depends on the first 16
        // bits only, so addresses that share them are treated alike.
        loop {
            bits = (self.flipped(BIT4, u128::from(bits) << 96, 32, kept) >> 96) as u32;
            let other = Ipv4Addr::from(bits);
            if kept4(other) == Some(kept) {
                return other;
            }
        }
    }

    fn v6(&self, ip: Ipv6Addr) -> Ipv6Addr {
        let bits = u128::from(ip);
        // RFC 4291 section 2.5.5.2, RFC 6052: an IPv4 address inside.
        if bits >> 32 == 0xffff || bits >> 32 == 0x0064_ff9b << 64 {
            let inside = u32::from(self.v4(Ipv4Addr::from(bits as u32)));
            return Ipv6Addr::from(bits >> 32 << 32 | u128::from(inside));
        }
        let kept = match ip.segments()[0] {
            // Multicast (RFC 4291 section 2.7), unspecified and loopback stay.
            0xff00.. => return ip,
            0 if bits <= 1 => return ip,
            // Link-local (section 2.5.6) and what was site-local; unique local (RFC 4193); all others.
            0xfe80..=0xfeff => 64,
            0xfc00..=0xfdff => 8,
            _ => 4,
        };
        Ipv6Addr::from(self.flipped(BIT6, bits, 128, kept))
    }

    /// `bits`, of which the first `width` count, each after the first `kept` flipped depending on the key and
    /// the bits before it. The last one is always flipped: no address stays the same.
    fn flipped(&self, purpose: u8, bits: u128, width: u32, kept: u32) -> u128 {
        let mut other = bits;
        for at in kept..width {
            let mask = 1 << (127 - at);
            let before = if at == 0 { 0 } else { bits >> (128 - at) << (128 - at) };
            let mut input = [0; 17];
            input[..16].copy_from_slice(&before.to_be_bytes());
            input[16] = at as u8;
            if at == width - 1 || self.stream.of(purpose, &input)[0] & 1 == 1 {
                other ^= mask;
            }
        }
        other
    }
}

/// Number of leading bits that identify the kind of network. None for an address that identifies nobody.
fn kept4(ip: Ipv4Addr) -> Option<u32> {
    match ip.octets() {
        // This host, loopback, multicast and above (RFC 6890): 0.0.0.0 means hold, 255.255.255.255 everyone.
        [0 | 127 | 224.., ..] => None,
        [10, ..] => Some(8),
        [100, 64..=127, ..] => Some(10),
        [172, 16..=31, ..] => Some(12),
        [169, 254, ..] | [192, 168, ..] => Some(16),
        _ => Some(0),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn networks() -> Networks {
        Networks::new(&Key([5; 32]))
    }

    fn common(a: u32, b: u32) -> u32 {
        (a ^ b).leading_zeros()
    }

    #[test]
    fn kinds_stay_and_nobodys_addresses_stay() {
        let mut networks = networks();
        let mut of = |text: &str| networks.ip(text.parse().unwrap()).to_string();
        assert!(of("10.1.2.3").starts_with("10."));
        assert!(of("192.168.7.1").starts_with("192.168."));
        assert!(of("fe80::1").starts_with("fe80::"));
        assert!(of("fd12:3456::1").starts_with("fd"));
        for nobody in ["0.0.0.0", "127.0.0.1", "224.0.1.75", "255.255.255.255", "::", "::1", "ff02::1"] {
            assert_eq!(of(nobody), nobody);
        }
        assert!(of("::ffff:192.168.7.1").starts_with("::ffff:192.168."));
        assert_eq!(of("::ffff:192.168.7.1")["::ffff:".len()..], of("192.168.7.1"));
    }

    proptest! {
        #[test]
        fn addresses_of_one_network_stay_in_one(a: u32, near in 0_u32..0x1_0000, b: u32) {
            let mut networks = networks();
            let mut of = |bits: u32| match networks.ip(IpAddr::V4(bits.into())) {
                IpAddr::V4(ip) => u32::from(ip),
                IpAddr::V6(_) => unreachable!("a family stays"),
            };
            let close = a & 0xffff_0000 | near;
            if kept4(a.into()).is_some() {
                prop_assert_ne!(of(a), a);
                prop_assert_eq!(common(a, close), common(of(a), of(close)));
                prop_assert_eq!(kept4(of(a).into()), kept4(a.into()));
            }
            prop_assert_eq!(a == b, of(a) == of(b));
        }

        #[test]
        fn of_the_sixth_version_too(high: u64, low: u64, other: u64) {
            let mut networks = networks();
            let mut of = |low: u64| {
                let bits = u128::from(high | 1 << 61) << 64 | u128::from(low);
                match networks.ip(IpAddr::V6(bits.into())) {
                    IpAddr::V6(ip) => u128::from(ip),
                    IpAddr::V4(_) => unreachable!("a family stays"),
                }
            };
            prop_assert_eq!((of(low) ^ of(other)).leading_zeros() >= 64, true);
            prop_assert_eq!(low == other, of(low) == of(other));
        }
    }
}
