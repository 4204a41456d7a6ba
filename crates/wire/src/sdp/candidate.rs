//! ICE candidates, RFC 8839 section 5.1.

use std::net::IpAddr;

use super::lines::ip;
use crate::sip::text::{number, word};

/// An address at which media may be received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate<'a> {
    /// Groups candidates of the same origin.
    pub foundation: &'a [u8],
    /// 1 RTP, 2 RTCP.
    pub component: u16,
    /// `udp`, `tcp`, ..., as written.
    pub transport: &'a [u8],
    /// Higher is tried first.
    pub priority: u32,
    /// Address; candidates with a host name (such as mDNS) are skipped.
    pub ip: IpAddr,
    /// Port.
    pub port: u16,
    /// Its type.
    pub typ: CandidateType,
}

/// Type of a candidate, RFC 8445 section 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CandidateType {
    /// The address of a local interface.
    Host,
    /// Server-reflexive: seen by a STUN server.
    ServerReflexive,
    /// Peer-reflexive: seen by the peer.
    PeerReflexive,
    /// Relayed: the address of a TURN server.
    Relay,
    /// Any other.
    Other,
}

impl<'a> Candidate<'a> {
    /// Parses the text after `a=candidate:`. None if an address or number is missing.
    pub(super) fn parse(value: &'a [u8]) -> Option<Self> {
        let (foundation, rest) = word(value);
        let (component, rest) = word(rest);
        let (transport, rest) = word(rest);
        let (priority, rest) = word(rest);
        let (address, rest) = word(rest);
        let (port, rest) = word(rest);
        let (keyword, rest) = word(rest);
        let (typ, _) = word(rest);
        Some(Self {
            foundation,
            component: number(component)?,
            transport,
            priority: number(priority)?,
            ip: ip(address)?,
            port: number(port)?,
            typ: if keyword.eq_ignore_ascii_case(b"typ") {
                CandidateType::parse(typ)
            } else {
                CandidateType::Other
            },
        })
    }
}

impl CandidateType {
    fn parse(text: &[u8]) -> Self {
        let known: [(&[u8], Self); 4] = [
            (b"host", Self::Host),
            (b"srflx", Self::ServerReflexive),
            (b"prflx", Self::PeerReflexive),
            (b"relay", Self::Relay),
        ];
        known.iter().find(|(name, _)| text.eq_ignore_ascii_case(name)).map_or(Self::Other, |&(_, typ)| typ)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_each() {
        let relay = b"3 2 UDP 41885439 203.0.113.5 61665 typ relay raddr 192.0.2.3 rport 51665 generation 0";
        let candidate = Candidate::parse(relay).unwrap();
        assert_eq!((candidate.component, candidate.port, candidate.typ), (2, 61665, CandidateType::Relay));
        assert_eq!(Some(candidate.ip), "203.0.113.5".parse().ok());
        let host = Candidate::parse(b"1 1 udp 2130706431 fe80::6676:baff:fe9c:ee4a 8998 typ host").unwrap();
        assert_eq!((host.component, host.typ, host.ip.is_ipv6()), (1, CandidateType::Host, true));
    }

    #[test]
    fn names_and_damage_are_left_out() {
        for value in [
            &b"1 1 udp 1 a1b2.local 8998 typ host"[..],
            b"1 1 udp 1 192.0.2.1",
            b"1 x udp 1 192.0.2.1 5 typ host",
            b"1 1 udp 1 192.0.2.1 70000 typ host",
            b"",
        ] {
            assert_eq!(Candidate::parse(value), None, "{}", value.escape_ascii());
        }
    }
}
