//! Addresses and telephone numbers that are reserved for documentation.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use ringtap_model::Endpoint;

use crate::rng::Rng;

/// A network for documentation (RFC 5737; RFC 3849 for IPv6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subnet {
    /// 192.0.2.0/24, 2001:db8:0:1::/64: callers and those who register.
    Callers,
    /// 198.51.100.0/24, 2001:db8:0:2::/64: callees and the registrar.
    Callees,
    /// 203.0.113.0/24, 2001:db8:0:3::/64: where media move to, and who else answers a forked call.
    Relays,
}

impl Subnet {
    pub(crate) fn host(self, number: u64, v6: bool) -> IpAddr {
        let last = (number % HOSTS + 1) as u8;
        let (subnet, [a, b, c]) = match self {
            Self::Callers => (1, [192, 0, 2]),
            Self::Callees => (2, [198, 51, 100]),
            Self::Relays => (3, [203, 0, 113]),
        };
        match v6 {
            true => Ipv6Addr::new(0x2001, 0xdb8, 0, subnet, 0, 0, 0, last.into()).into(),
            false => Ipv4Addr::new(a, b, c, last).into(),
        }
    }

    /// An endpoint for RTP: a different one for each of `HOSTS * PORTS` calls, in pseudo-random order.
    pub(crate) fn media(self, call: u64, v6: bool) -> SocketAddr {
        // A multiplication by a number without common factors permutes the remainders.
        let factor = match self {
            Self::Callers => 1_618_033,
            Self::Callees => 2_718_281,
            Self::Relays => 3_141_593,
        };
        let index = call % ENDPOINTS * factor % ENDPOINTS;
        SocketAddr::new(self.host(index, v6), FIRST_PORT + 2 * (index / HOSTS) as u16)
    }
}

/// The endpoint as in records.
pub(crate) fn endpoint(address: SocketAddr) -> Endpoint {
    Endpoint::new(address.ip(), address.port())
}

/// A number reserved for fiction: +44 1632 960xxx (Ofcom), or 555-01xx in an area of North America (NANPA).
pub(crate) fn number(rng: &mut Rng, british: bool) -> String {
    if british {
        format!("+441632960{:03}", rng.below(1_000))
    } else {
        format!("+1{}55501{:02}", rng.one_of(&AREAS), rng.below(100))
    }
}

pub(crate) const SIP_PORT: u16 = 5060;
/// Ports of registering hosts over TCP: above every media port.
pub(crate) const REGISTERING_PORTS: u16 = 61_000;
const FIRST_PORT: u16 = 10_000;
/// Even ports from 10,000 to below 60,000; the odd ones are for RTCP and signalling over TCP.
const PORTS: u64 = 25_000;
const HOSTS: u64 = 254;
/// Calls whose media endpoints all differ.
pub(crate) const ENDPOINTS: u64 = HOSTS * PORTS;
const AREAS: [u16; 8] = [202, 212, 312, 415, 503, 617, 713, 808];

/// VLANs of the voice network.
pub(crate) const FIRST_VLAN: u16 = 100;
pub(crate) const VLANS: u64 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_has_its_own_endpoint() {
        for network in [Subnet::Callers, Subnet::Callees, Subnet::Relays] {
            let mut seen = vec![false; ENDPOINTS as usize];
            for call in 0..ENDPOINTS {
                let endpoint = network.media(call, false);
                let IpAddr::V4(ip) = endpoint.ip() else { panic!("{endpoint}") };
                let host = u64::from(ip.octets()[3]) - 1;
                let index = host * PORTS + u64::from(endpoint.port() - FIRST_PORT) / 2;
                assert!(!std::mem::replace(&mut seen[index as usize], true), "{endpoint}");
            }
        }
    }
}
