//! What a flow is found by.

use std::net::IpAddr;

use ringtap_model::Endpoint;

use crate::table::hash::Hasher;

/// Who sends what to whom: one SSRC from one endpoint to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FlowKey {
    pub(crate) src: Endpoint,
    pub(crate) dst: Endpoint,
    pub(crate) ssrc: u32,
}

/// The key in the index: addresses, ports and SSRC of IPv4 as they are; of IPv6, a keyed hash of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key([u64; 2]);

impl Key {
    pub(crate) const NONE: Self = Self([0; 2]);

    /// Of IPv4.
    #[inline]
    pub(crate) fn v4(src: u32, dst: u32, ports: (u16, u16), ssrc: u32) -> Self {
        let ports = u32::from(ports.0) << 16 | u32::from(ports.1);
        Self([u64::from(src) << 32 | u64::from(dst), u64::from(ports) << 32 | u64::from(ssrc)])
    }

    /// Of IPv6: a hash, so many bits that nobody finds two flows with the same.
    #[inline]
    pub(crate) fn v6(src: u128, dst: u128, ports: (u16, u16), ssrc: u32, hasher: &Hasher) -> Self {
        Self::hashed([words(src), words(dst)], 0, ports, ssrc, hasher)
    }

    #[inline]
    fn hashed(hosts: [[u64; 2]; 2], families: u64, ports: (u16, u16), ssrc: u32, hasher: &Hasher) -> Self {
        let Self([_, ends]) = Self::v4(0, 0, ports, ssrc);
        Self(hasher.wide(&[hosts[0], hosts[1], [families, ends]]))
    }

    /// Of any; true where it is a hash.
    pub(crate) fn of(key: &FlowKey, hasher: &Hasher) -> (Self, bool) {
        let FlowKey { src, dst, ssrc } = key;
        match (src.ip, dst.ip) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                (Self::v4(from.to_bits(), to.to_bits(), (src.port, dst.port), *ssrc), false)
            }
            (from, to) => {
                let families = u64::from(from.is_ipv4()) << 1 | u64::from(to.is_ipv4());
                let hosts = [from, to].map(|ip| match ip {
                    IpAddr::V4(ip) => [0, u64::from(ip.to_bits())],
                    IpAddr::V6(ip) => words(ip.to_bits()),
                });
                (Self::hashed(hosts, families, (src.port, dst.port), *ssrc, hasher), true)
            }
        }
    }

    /// Where the index has it.
    #[inline]
    pub(crate) fn hash(&self, hasher: &Hasher) -> u64 {
        hasher.pair(self.0)
    }
}

#[inline]
fn words(address: u128) -> [u64; 2] {
    [(address >> 64) as u64, address as u64]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::end;

    fn key(src: &str, dst: &str, ssrc: u32) -> FlowKey {
        FlowKey { src: end(src), dst: end(dst), ssrc }
    }

    const V4: (&str, &str) = ("192.0.2.1:4000", "198.51.100.1:6000");
    const V6: (&str, &str) = ("[2001:db8::1]:4000", "[2001:db8::2]:6000");

    #[test]
    fn keys_of_ipv4_are_the_addresses_and_of_ipv6_a_hash() {
        let hasher = Hasher::new(1);
        let (short, hashed) = Key::of(&key(V4.0, V4.1, 7), &hasher);
        assert_eq!((short, hashed), (Key::v4(0xc000_0201, 0xc633_6401, (4000, 6000), 7), false));
        assert_eq!(short, Key([0xc000_0201_c633_6401, 0x0fa0_1770_0000_0007]));
        let keys = [
            key(V6.0, V6.1, 7),
            key(V6.1, V6.0, 7),
            key(V6.0, V6.1, 8),
            key(V4.0, V6.1, 7),
            key(V6.0, V4.1, 7),
            key("[::c000:201]:4000", V6.1, 7),
        ];
        let hashes: std::collections::HashSet<[u64; 2]> = keys
            .iter()
            .map(|key| {
                let (Key(words), hashed) = Key::of(key, &hasher);
                assert!(hashed);
                words
            })
            .collect();
        assert_eq!(hashes.len(), keys.len());
        let bits = |host: &str| host.parse::<std::net::Ipv6Addr>().unwrap().to_bits();
        let v6 = Key::v6(bits("2001:db8::1"), bits("2001:db8::2"), (4000, 6000), 7, &hasher);
        assert_eq!((v6, true), Key::of(&keys[0], &hasher));
    }

    #[test]
    fn hashes_of_neighbouring_ports_differ() {
        let hasher = Hasher::new(1);
        let hash = |port| Key::v4(1, 2, (port, 6000), 7).hash(&hasher);
        let hashes: std::collections::HashSet<u64> = (4000..4100).map(hash).collect();
        assert_eq!(hashes.len(), 100);
    }
}
