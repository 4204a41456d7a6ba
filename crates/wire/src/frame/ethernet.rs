//! Ethernet II, IEEE 802.3 with LLC, and every tag between the addresses and IP.

use super::span::{Span, be16};
use super::{DecodeError, Packet, deeper, ip, mpls, nsh, ppp};

/// EtherType of IPv4 (RFC 894).
pub(super) const IPV4: u16 = 0x0800;
/// EtherType of IPv6 (RFC 2464).
pub(super) const IPV6: u16 = 0x86dd;
/// Customer tag, IEEE 802.1Q.
pub(super) const VLAN: u16 = 0x8100;
/// Service tag, IEEE 802.1ad.
pub(super) const VLAN_SERVICE: u16 = 0x88a8;
/// Virtual network tag of port extenders (IEEE 802.1BR's forerunner).
const VNTAG: u16 = 0x8926;
/// Cisco's metadata tag: version, length, option, group, then the EtherType.
const METADATA: u16 = 0x8909;
/// Network service header (RFC 8300).
const NSH: u16 = 0x894f;
/// MPLS (RFC 3032); the second number was for multicast and is now for upstream labels (RFC 5332).
const MPLS: [u16; 2] = [0x8847, 0x8848];
/// PPPoE session stage (RFC 2516); discovery carries no packets.
const PPPOE: u16 = 0x8864;
/// Transparent Ethernet bridging: a whole Ethernet frame (RFC 1701, NVGRE, Geneve).
pub(super) const BRIDGED: u16 = 0x6558;
/// Backbone service instance tag, IEEE 802.1ah: 4 bytes, then the customer's whole frame.
const BACKBONE: u16 = 0x88e7;
/// Up to this value the field is a length (IEEE 802.3 3.2.6).
pub(super) const MAX_LENGTH: u16 = 1500;
/// Tags in a row.
const MAX_TAGS: usize = 16;

/// Decodes a frame that begins with the destination address.
pub(super) fn decode(frame: Span<'_>, depth: u8) -> Result<Packet<'_>, DecodeError> {
    let (head, rest) = frame.head::<14>()?;
    ether_type(be16::<12, _>(head), rest, depth)
}

/// Decodes what follows an EtherType or length field.
pub(super) fn ether_type(mut kind: u16, mut rest: Span<'_>, depth: u8) -> Result<Packet<'_>, DecodeError> {
    for _ in 0..=MAX_TAGS {
        match kind {
            IPV4 => return ip::v4(rest, depth),
            IPV6 => return ip::v6(rest, depth),
            PPPOE => return ppp::over_ethernet(rest, depth),
            BRIDGED => return decode(rest, deeper(depth)?),
            NSH => return nsh::decode(rest, depth),
            BACKBONE => return decode(rest.skip(4)?, deeper(depth)?),
            0..=MAX_LENGTH => (kind, rest) = snap(rest).ok_or(DecodeError::NotIp)?,
            _ if MPLS.contains(&kind) => return mpls::decode(rest, depth),
            _ => (kind, rest) = tag(kind, rest)?.ok_or(DecodeError::NotIp)?,
        }
    }
    Err(DecodeError::TooDeep)
}

/// IEEE 802.2 logical link control: IP only behind a SNAP header.
pub(super) fn llc(rest: Span<'_>, depth: u8) -> Result<Packet<'_>, DecodeError> {
    let (kind, rest) = snap(rest).ok_or(DecodeError::NotIp)?;
    ether_type(kind, rest, depth)
}

/// The EtherType of a SNAP header (RFC 1042), also under the bridge-tunnel identifier of IEEE 802.1H.
fn snap(rest: Span<'_>) -> Option<(u16, Span<'_>)> {
    match rest.head::<8>().ok()? {
        ([0xaa, 0xaa, 0x03, 0, 0, 0 | 0xf8, high, low], rest) => {
            Some((u16::from_be_bytes([*high, *low]), rest))
        }
        _ => None,
    }
}

/// The EtherType and the bytes after a tag, if `kind` is that of a tag.
fn tag(kind: u16, rest: Span<'_>) -> Result<Option<(u16, Span<'_>)>, DecodeError> {
    Ok(match kind {
        // The last three are service tags from before IEEE 802.1ad.
        VLAN | VLAN_SERVICE | 0x9100 | 0x9200 | 0x9300 => {
            let (tag, rest) = rest.head::<4>()?;
            Some((be16::<2, _>(tag), rest))
        }
        VNTAG => {
            let (tag, rest) = rest.head::<6>()?;
            Some((be16::<4, _>(tag), rest))
        }
        METADATA => {
            let (tag, rest) = rest.head::<8>()?;
            Some((be16::<6, _>(tag), rest))
        }
        _ => None,
    })
}

/// Whether an Ethernet frame probably begins here: a valid IP packet follows its tags, or a header that is
/// unlikely by chance.
pub(super) fn sound(frame: Span<'_>) -> bool {
    let Ok((head, mut rest)) = frame.head::<14>() else {
        return false;
    };
    let mut kind = be16::<12, _>(head);
    for _ in 0..MAX_TAGS {
        match tag(kind, rest) {
            Ok(Some(next)) => (kind, rest) = next,
            Ok(None) => break,
            Err(_) => return false,
        }
    }
    match kind {
        IPV4 | IPV6 => ip::sound(rest),
        PPPOE => matches!(rest.peek::<2>(), Some([0x11, 0])),
        _ => MPLS.contains(&kind),
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{INNER, INNER_V6, ethernet, inner, whole};
    use super::super::{Payload, link};
    use super::*;

    fn tagged(tags: &[(u16, &[u8])], kind: u16, rest: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (tag, control) in tags {
            bytes.extend(tag.to_be_bytes());
            bytes.extend(*control);
        }
        bytes.extend(kind.to_be_bytes());
        bytes.extend(rest);
        let (first, rest) = bytes.split_at(2);
        ethernet(u16::from_be_bytes([first[0], first[1]]), rest)
    }

    #[test]
    fn plain_tagged_and_padded() {
        let vlan = |tag: u16| (tag, &[0x20, 0x64][..]);
        for tags in [
            &[][..],
            &[vlan(VLAN)],
            &[vlan(VLAN_SERVICE), vlan(VLAN)],
            &[vlan(0x9100), vlan(0x9200), vlan(VLAN), vlan(VLAN)],
            &[vlan(VLAN), (VNTAG, &[0, 0, 0x10, 0x20]), vlan(VLAN)],
            &[(METADATA, &[1, 1, 0, 1, 0, 9])],
        ] {
            let mut frame = tagged(tags, IPV4, &INNER);
            assert_eq!(whole(link::ETHERNET, &frame), Ok(inner(0, false)), "{tags:x?}");
            frame.extend([0; 18]);
            assert_eq!(whole(link::ETHERNET, &frame), Ok(inner(0, false)), "padding");
            assert_eq!(whole(link::ETHERNET, &tagged(tags, IPV6, &INNER_V6)), Ok(inner(0, true)));
        }
    }

    #[test]
    fn tags_have_a_ceiling() {
        let with = |count| tagged(&vec![(VLAN, &[0, 1][..]); count], IPV4, &INNER);
        assert_eq!(whole(link::ETHERNET, &with(MAX_TAGS)), Ok(inner(0, false)));
        assert_eq!(whole(link::ETHERNET, &with(MAX_TAGS + 1)), Err(DecodeError::TooDeep));
    }

    #[test]
    fn lengths_are_ip_only_behind_snap() {
        let snap = |oui: u8| [&[0xaa, 0xaa, 3, 0, 0, oui, 8, 0][..], &INNER].concat();
        assert_eq!(whole(link::ETHERNET, &ethernet(40, &snap(0))), Ok(inner(0, false)));
        assert_eq!(whole(link::ETHERNET, &ethernet(40, &snap(0xf8))), Ok(inner(0, false)));
        assert_eq!(
            whole(link::ETHERNET, &ethernet(40, &snap(0x0c))),
            Err(DecodeError::NotIp),
            "another's numbers"
        );
        let spanning_tree = [&[0x42, 0x42, 3][..], &[0; 43]].concat();
        assert_eq!(whole(link::ETHERNET, &ethernet(38, &spanning_tree)), Err(DecodeError::NotIp));
        assert_eq!(
            whole(link::ETHERNET, &ethernet(1510, &INNER)),
            Err(DecodeError::NotIp),
            "neither length nor type"
        );
    }

    #[test]
    fn snap_inside_snap_ends() {
        let mut bytes = Vec::new();
        for _ in 0..10_000 {
            bytes.extend([0xaa, 0xaa, 3, 0, 0, 0, 0, 8]);
        }
        assert_eq!(whole(link::ETHERNET, &ethernet(8, &bytes)), Err(DecodeError::TooDeep));
    }

    #[test]
    fn frames_in_frames() {
        let frame = ethernet(IPV4, &INNER);
        assert_eq!(whole(link::ETHERNET, &ethernet(BRIDGED, &frame)), Ok(inner(1, false)));
        let service = [&[0, 0, 0x12, 0x34][..], &frame].concat();
        assert_eq!(whole(link::ETHERNET, &ethernet(BACKBONE, &service)), Ok(inner(1, false)));
        let pppoe = [&[0x11, 0, 0, 1, 0, 34, 0, 0x21][..], &INNER].concat();
        assert_eq!(whole(link::ETHERNET, &ethernet(PPPOE, &pppoe)), Ok(inner(0, false)));
        let labelled = [&[0, 1, 1, 64][..], &INNER].concat();
        for kind in MPLS {
            assert_eq!(whole(link::ETHERNET, &ethernet(kind, &labelled)), Ok(inner(0, false)));
        }
    }

    #[test]
    fn what_is_not_ip() {
        for kind in [0x0806, 0x88cc, 0x8863, 0x888e, 0xffff] {
            assert_eq!(whole(link::ETHERNET, &ethernet(kind, &[0; 46])), Err(DecodeError::NotIp));
        }
        assert_eq!(whole(link::ETHERNET, &[0; 13]), Err(DecodeError::BadLength));
        let frame = ethernet(VLAN, &[0, 1]);
        assert_eq!(super::super::decode(link::ETHERNET, 60, &frame), Err(DecodeError::Truncated));
    }

    /// Any one header byte at any value, and lengths that wrap: whatever the fast path accepts, it decodes as
    /// the slow path does.
    #[test]
    fn both_paths_agree_on_damaged_headers() {
        let check = |frame: &[u8]| {
            let general = link::decode(link::ETHERNET, Span::new(frame, frame.len()));
            let either = super::super::decode(link::ETHERNET, frame.len() as u32, frame);
            assert_eq!(either, general, "{frame:x?}");
        };
        for frame in [ethernet(IPV4, &INNER), tagged(&[(VLAN, &[0, 5])], IPV4, &INNER)] {
            let headers = frame.len() - 4;
            for at in 0..headers {
                let mut frame = frame.clone();
                for byte in 0..=255 {
                    frame[at] = byte;
                    check(&frame);
                }
            }
            let (total, length) = (headers - 26, headers - 4);
            for len in [0u16, 1, 7, 8, 12, 13, 65515, 65516, 65524, 65535] {
                let mut frame = frame.clone();
                frame[total..total + 2].copy_from_slice(&len.wrapping_add(20).to_be_bytes());
                frame[length..length + 2].copy_from_slice(&len.to_be_bytes());
                check(&frame);
            }
        }
    }

    #[test]
    fn both_paths_agree() {
        for frame in [ethernet(IPV4, &INNER), tagged(&[(VLAN, &[0, 5])], IPV4, &INNER)] {
            for cut in 0..=frame.len() {
                let span = Span::new(&frame[..cut], frame.len());
                let straight = super::super::decode(link::ETHERNET, frame.len() as u32, &frame[..cut]);
                assert_eq!(straight, link::decode(link::ETHERNET, span));
                let all_headers = cut + 4 >= frame.len();
                assert_eq!(
                    matches!(straight, Ok(packet) if matches!(packet.payload, Payload::Udp(_))),
                    all_headers
                );
            }
        }
    }
}
