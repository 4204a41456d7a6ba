//! Headers below media other than the plainest.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ringtap_model::LinkType;

/// Ethernet II, IPv4 without options, UDP.
pub(crate) const PLAIN: usize = 14 + 20 + 8;

/// What media packets have below RTP. Signalling has the plainest always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Headers {
    /// Ethernet, IPv4, UDP.
    #[default]
    Plain,
    /// Ethernet, IPv6, UDP.
    Ipv6,
    /// Ethernet with a service tag and a customer tag (IEEE 802.1ad), IPv4, UDP.
    Qinq,
    /// Linux cooked capture, as of the interface `any`; IPv4, UDP.
    Cooked,
}

impl Headers {
    /// Bytes of all of them.
    pub(crate) fn len(self) -> usize {
        PLAIN
            + match self {
                Self::Plain => 0,
                Self::Ipv6 => 20,
                Self::Qinq => 8,
                Self::Cooked => 2,
            }
    }

    /// Where the number of the protocol above IP is.
    pub(crate) fn protocol_byte(self) -> usize {
        match self {
            Self::Plain => 23,
            Self::Ipv6 => 20,
            Self::Qinq => 31,
            Self::Cooked => 25,
        }
    }

    pub(crate) fn link(self) -> LinkType {
        LinkType(if self == Self::Cooked { 113 } else { 1 })
    }

    /// A media host: those of IPv6 are in the benchmarking range 2001:2::/48 (RFC 5180 section 8).
    pub(crate) fn host(self, host: Ipv4Addr) -> IpAddr {
        match self {
            Self::Ipv6 => IpAddr::V6(v6(host)),
            _ => IpAddr::V4(host),
        }
    }

    /// Gives a frame with the plainest headers these.
    pub(crate) fn apply(self, frame: &mut Vec<u8>) {
        match self {
            Self::Plain => {}
            Self::Qinq => _ = frame.splice(12..12, [0x88, 0xa8, 0, 100, 0x81, 0, 0, 7]),
            // Sent to this host, from an Ethernet address of 6 bytes.
            Self::Cooked => _ = frame.splice(..12, [0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0]),
            Self::Ipv6 => {
                let word = |at: usize| Ipv4Addr::new(frame[at], frame[at + 1], frame[at + 2], frame[at + 3]);
                let length = (frame.len() - 34) as u16;
                let mut ip = vec![0x86, 0xdd, 0x6b, 0x80, 0, 0];
                ip.extend(length.to_be_bytes());
                ip.extend([17, 63]);
                ip.extend(v6(word(26)).octets());
                ip.extend(v6(word(30)).octets());
                frame.splice(12..34, ip);
            }
        }
    }
}

fn v6(host: Ipv4Addr) -> Ipv6Addr {
    Ipv6Addr::from_bits(0x2001_0002 << 96 | u128::from(host.to_bits()))
}
