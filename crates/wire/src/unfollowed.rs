//! Protocols of telephony that nothing here reads, so that who finds no calls is told why.
//!
//! Recognised by port and content together, T.38 and DTLS by content alone: enough to name and count a
//! packet, not enough to act on it.
//!
//! ```
//! use ringtap_wire::unfollowed::{Unfollowed, of_udp};
//!
//! assert_eq!(of_udp((2427, 2427), b"RQNT 1203 aaln/1@gw.example.net MGCP 1.0\n"), Some(Unfollowed::Mgcp));
//! assert_eq!(of_udp((2427, 2427), b"something else"), None);
//! ```

use std::ops::RangeInclusive;

/// A protocol that is named and counted, and not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfollowed {
    /// Cisco's Skinny Client Control Protocol.
    Sccp,
    /// H.225 call signalling, H.225 RAS; and H.245 on the ports of either.
    H323,
    /// RFC 3435.
    Mgcp,
    /// H.248.
    Megaco,
    /// RFC 5456.
    Iax2,
    /// TLS on the port of SIP (RFC 3261 section 26.2.1).
    SipTls,
    /// RFC 9147: key exchange for SRTP (RFC 5764), of WebRTC among others.
    Dtls,
    /// Fax over UDPTL, ITU-T T.38.
    T38,
    /// RFC 6733.
    Diameter,
    /// SS7 over IP: M3UA (RFC 4666), M2PA (RFC 4165), M2UA (RFC 3331), SUA (RFC 3868).
    Sigtran,
    /// IPsec (RFC 4303), in which IMS telephones sign their SIP (3GPP TS 33.203).
    Esp,
    /// Compressed SIP (RFC 5049).
    SigComp,
}

impl Unfollowed {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Sccp,
        Self::H323,
        Self::Mgcp,
        Self::Megaco,
        Self::Iax2,
        Self::SipTls,
        Self::Dtls,
        Self::T38,
        Self::Diameter,
        Self::Sigtran,
        Self::Esp,
        Self::SigComp,
    ];

    /// Its name for machines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sccp => "sccp",
            Self::H323 => "h323",
            Self::Mgcp => "mgcp",
            Self::Megaco => "megaco",
            Self::Iax2 => "iax2",
            Self::SipTls => "sip_tls",
            Self::Dtls => "dtls",
            Self::T38 => "t38",
            Self::Diameter => "diameter",
            Self::Sigtran => "sigtran",
            Self::Esp => "esp",
            Self::SigComp => "sigcomp",
        }
    }

    /// Its name for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::Sccp => "SCCP (Skinny)",
            Self::H323 => "H.323",
            Self::Mgcp => "MGCP",
            Self::Megaco => "H.248",
            Self::Iax2 => "IAX2",
            Self::SipTls => "SIP over TLS",
            Self::Dtls => "DTLS",
            Self::T38 => "T.38",
            Self::Diameter => "Diameter",
            Self::Sigtran => "SIGTRAN",
            Self::Esp => "ESP (IPsec)",
            Self::SigComp => "compressed SIP",
        }
    }
}

/// IP's protocol number of ESP.
const ESP: u8 = 50;
/// Its first bytes in UDP are not zero: those are IKE's (RFC 3948 section 2.2).
const ESP_IN_UDP: u16 = 4500;
const SKINNY: u16 = 2000;
const H225: u16 = 1720;
const RAS: u16 = 1719;
const DIAMETER: u16 = 3868;
const SIPS: u16 = 5061;
const SIP: u16 = 5060;
const MGCP: [u16; 2] = [2427, 2727];
const H248: [u16; 2] = [2944, 2945];
const IAX: u16 = 4569;
/// SCTP payload protocol identifiers (IANA): M2UA, M3UA, SUA, M2PA.
const SIGTRAN: [u32; 4] = [2, 3, 4, 5];
/// SCTP payload protocol identifiers of Diameter, clear and in DTLS.
const DIAMETER_IN_SCTP: [u32; 2] = [46, 47];

/// Of an IP packet with neither UDP, TCP nor SCTP in it.
pub fn of_ip(protocol: u8) -> Option<Unfollowed> {
    (protocol == ESP).then_some(Unfollowed::Esp)
}

/// From the lowest of the ports above to the highest: most traffic has none of these.
const PORTS: RangeInclusive<u16> = RAS..=SIPS;

/// Of a datagram between these ports that is neither media nor SIP, STUN nor HEP; `data` as captured.
// HOT: asked of every datagram that is not telephony.
#[inline]
pub fn of_udp(ports: (u16, u16), data: &[u8]) -> Option<Unfollowed> {
    if is_dtls(data) {
        return Some(Unfollowed::Dtls);
    }
    if PORTS.contains(&ports.0) || PORTS.contains(&ports.1) {
        let found = of_ports(ports, data);
        if found.is_some() {
            return found;
        }
    }
    is_udptl(data).then_some(Unfollowed::T38)
}

/// Of a datagram, by its ports and its content.
fn of_ports((src, dst): (u16, u16), data: &[u8]) -> Option<Unfollowed> {
    let either = |ports: &[u16]| ports.contains(&src) || ports.contains(&dst);
    let found = match () {
        () if either(&MGCP) && is_mgcp(data) => Unfollowed::Mgcp,
        () if either(&H248) && is_h248(data) => Unfollowed::Megaco,
        () if either(&[IAX]) && is_iax2(data) => Unfollowed::Iax2,
        () if either(&[RAS]) && data.len() >= 4 => Unfollowed::H323,
        () if either(&[ESP_IN_UDP]) && is_esp(data) => Unfollowed::Esp,
        // RFC 3320 section 7: five bits that begin no text.
        () if either(&[SIP]) && data.first().is_some_and(|first| first >> 3 == 0x1f) => Unfollowed::SigComp,
        () => return None,
    };
    Some(found)
}

/// Of a TCP segment between these ports that has data; a message may have begun in the one before.
// HOT: asked of every segment that is not telephony.
#[inline]
pub fn of_tcp(ports: (u16, u16), data: &[u8]) -> Option<Unfollowed> {
    let may_be = PORTS.contains(&ports.0) || PORTS.contains(&ports.1);
    if may_be && !data.is_empty() { of_segment(ports, data) } else { None }
}

fn of_segment((src, dst): (u16, u16), data: &[u8]) -> Option<Unfollowed> {
    let either = |port: u16| src == port || dst == port;
    let found = match () {
        () if either(SKINNY) && is_skinny(data) => Unfollowed::Sccp,
        () if either(H225) && is_tpkt(data) => Unfollowed::H323,
        () if either(DIAMETER) && is_diameter(data) => Unfollowed::Diameter,
        () if either(SIPS) && is_tls(data) => Unfollowed::SipTls,
        () => return None,
    };
    Some(found)
}

/// Of an SCTP message with this payload protocol identifier.
pub fn of_sctp(identifier: u32) -> Option<Unfollowed> {
    match identifier {
        _ if SIGTRAN.contains(&identifier) => Some(Unfollowed::Sigtran),
        _ if DIAMETER_IN_SCTP.contains(&identifier) => Some(Unfollowed::Diameter),
        _ => None,
    }
}

/// RFC 9147 section 4: content type 20 to 25, version 1.0 or 1.2.
fn is_dtls(data: &[u8]) -> bool {
    matches!(data, [20..=25, 0xfe, 0xff | 0xfd, ..]) && data.len() >= 13
}

/// RFC 3435 section 3: a verb of four letters, or a code of three digits, then a space.
fn is_mgcp(data: &[u8]) -> bool {
    let Some((word, _)) = data.split_at_checked(5) else { return false };
    let is_verb = word[..4].iter().all(u8::is_ascii_uppercase) && word[4] == b' ';
    let is_code = word[..3].iter().all(u8::is_ascii_digit) && word[3] == b' ';
    is_verb || is_code
}

/// H.248.1 annex B, long and short form; annex A begins with a sequence in BER.
fn is_h248(data: &[u8]) -> bool {
    data.starts_with(b"MEGACO/") || data.starts_with(b"!/") || data.starts_with(&[0x30])
}

/// RFC 5456 section 8: a full frame with a frame type of 1 to 12, or a mini frame with a call number.
fn is_iax2(data: &[u8]) -> bool {
    match data {
        [first, ..] if first >> 7 == 1 => data.get(10).is_some_and(|kind| (1..=12).contains(kind)),
        [first, second, _, _, ..] => u16::from_be_bytes([*first, *second]) != 0,
        _ => false,
    }
}

/// RFC 3948: an SPI that is neither zero, which marks IKE, nor a keep-alive of one byte.
fn is_esp(data: &[u8]) -> bool {
    data.len() >= 20 && data[..4] != [0; 4]
}

/// Length without the first eight bytes, a version of up to 22, a message identifier; little-endian.
fn is_skinny(data: &[u8]) -> bool {
    let word = |at: usize| data.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes);
    let (Some(len), Some(version), Some(kind)) = (word(0), word(4), word(8)) else { return false };
    (4..=4096).contains(&len) && version <= 22 && kind <= 0x9000
}

/// RFC 1006 section 6: version 3, a reserved byte, a length of at least its own header.
fn is_tpkt(data: &[u8]) -> bool {
    matches!(data, [3, 0, high, low, ..] if u16::from_be_bytes([*high, *low]) >= 4)
}

/// RFC 6733 section 3: version 1, a length that is a multiple of four, no reserved flag.
fn is_diameter(data: &[u8]) -> bool {
    let Some((&[version, l0, l1, l2, flags], _)) = data.split_first_chunk::<5>() else { return false };
    let len = u32::from_be_bytes([0, l0, l1, l2]);
    version == 1 && len >= 20 && len.is_multiple_of(4) && flags & 0x0f == 0
}

/// RFC 8446 section 5.1, and versions before it.
fn is_tls(data: &[u8]) -> bool {
    matches!(data, [20..=23, 3, 0..=4, ..])
}

/// T.38 section 9: number, primary packet, then older packets or parity; all of it, to the last byte, so
/// that little else passes.
#[inline]
fn is_udptl(data: &[u8]) -> bool {
    // A length from 128 on has a first byte of at least that: what is too long for a short datagram is known
    // by one comparison, however its length is written.
    let Some(&length) = data.get(2) else { return false };
    let is_short = data.len() <= 128;
    if is_short && usize::from(length) + 5 > data.len() { false } else { is_whole_udptl(data) }
}

fn is_whole_udptl(data: &[u8]) -> bool {
    let Some((primary, rest)) = data.get(2..).and_then(open_type) else { return false };
    // An indicator has no data; data has a type of its own (section 7.2).
    if primary.first().is_none_or(|first| first >> 6 == 2) {
        return false;
    }
    match rest {
        [0, count, older @ ..] => {
            let mut rest = older;
            for _ in 0..*count {
                let Some((_, after)) = open_type(rest) else { return false };
                rest = after;
            }
            rest.is_empty()
        }
        // Parity: the number of packets it spans, then as many fields.
        [0x80, 1, span, fields, older @ ..] if *span > 0 => {
            let mut rest = older;
            for _ in 0..*fields {
                let Some((_, after)) = open_type(rest) else { return false };
                rest = after;
            }
            rest.is_empty()
        }
        _ => false,
    }
}

/// A value after its length in aligned PER (X.691 section 11.9), and what follows it.
fn open_type(data: &[u8]) -> Option<(&[u8], &[u8])> {
    match *data {
        [short, ref rest @ ..] if short < 0x80 => rest.split_at_checked(usize::from(short)),
        [high @ 0x80..0xc0, low, ref rest @ ..] => {
            let len = usize::from(u16::from_be_bytes([high & 0x3f, low]));
            if len < 0x80 { None } else { rest.split_at_checked(len) }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_known_by_port_and_content() {
        let register = [4, 0, 0, 0, 0, 0, 0, 0, 0x9b, 0, 0, 0];
        assert_eq!(of_tcp((2000, 51_373), &register), Some(Unfollowed::Sccp));
        assert_eq!(of_tcp((2001, 51_373), &register), None);
        assert_eq!(of_tcp((32_803, 1720), &[3, 0, 0, 99, 8, 2]), Some(Unfollowed::H323));
        assert_eq!(of_tcp((50_957, 3868), &[1, 0, 0, 20, 0x80, 0, 1, 1]), Some(Unfollowed::Diameter));
        assert_eq!(of_tcp((50_957, 5061), &[22, 3, 1, 2, 0, 1]), Some(Unfollowed::SipTls));
        assert_eq!(of_tcp((50_957, 443), &[22, 3, 1, 2, 0, 1]), None, "any site has it");
        assert_eq!(of_tcp((50_957, 5061), b""), None);
        assert_eq!(of_udp((2944, 2944), b"MEGACO/1 [192.0.2.1]:2944"), Some(Unfollowed::Megaco));
        assert_eq!(of_udp((2427, 2427), b"200 1203 OK\n"), Some(Unfollowed::Mgcp));
        let full = [0x80, 0x17, 0, 0x40, 0, 0, 0, 8, 1, 1, 6, 7];
        assert_eq!(of_udp((4569, 4566), &full), Some(Unfollowed::Iax2));
        assert_eq!(of_udp((4569, 4566), &[0, 4, 0, 0x38, 0xd5, 0xd5]), Some(Unfollowed::Iax2));
        let hello = [22, 0xfe, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 100];
        assert_eq!(of_udp((40_000, 40_002), &hello), Some(Unfollowed::Dtls));
        assert_eq!(of_udp((5060, 5060), &[0xf9, 1, 2, 3]), Some(Unfollowed::SigComp));
        assert_eq!(of_udp((4500, 4500), &[1; 40]), Some(Unfollowed::Esp));
        assert_eq!(of_udp((4500, 4500), &[0; 40]), None, "IKE");
        assert_eq!((of_ip(50), of_ip(47)), (Some(Unfollowed::Esp), None));
        assert_eq!((of_sctp(3), of_sctp(46)), (Some(Unfollowed::Sigtran), Some(Unfollowed::Diameter)));
        assert_eq!(of_sctp(0), None);
    }

    /// An indicator, data, data with an older packet, and parity; any byte more or less is none.
    #[test]
    fn udptl_is_known_by_all_of_it() {
        for packet in [
            &[0, 0, 1, 0, 0, 0][..],
            &[0, 0x0d, 6, 0xc0, 1, 0x80, 0, 0, 1, 0, 0],
            &[0, 2, 1, 0x0e, 0, 1, 1, 0x0e],
            &[0, 2, 1, 0x0e, 0x80, 1, 3, 1, 2, 7, 7],
        ] {
            assert_eq!(of_udp((16_390, 16_390), packet), Some(Unfollowed::T38), "{packet:x?}");
            assert_eq!(of_udp((16_390, 16_390), &packet[..packet.len() - 1]), None, "{packet:x?}");
            assert_eq!(of_udp((16_390, 16_390), &[packet, &[0]].concat()), None, "{packet:x?}");
        }
    }

    #[test]
    fn names_are_distinct_and_none_is_forgotten() {
        for (at, one) in Unfollowed::ALL.into_iter().enumerate() {
            assert_eq!(one as usize, at);
            assert!(Unfollowed::ALL[..at].iter().all(|other| other.name() != one.name()));
        }
    }
}
