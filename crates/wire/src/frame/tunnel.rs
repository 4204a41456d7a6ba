//! Tunnels over UDP: VXLAN and its extension GPE, Geneve, GTP-U, TZSP, L2TP.
//!
//! A port proves nothing: media ports are chosen at random. A tunnel is accepted if its header is correct to
//! the reserved bits and its content parses; everything else on its port is plain UDP.

use super::span::{Span, be16};
use super::{DecodeError, Packet, deeper, ethernet, ip, l2tp, nsh, ppp, wifi};

/// L2TP.
const L2TP: u16 = 1701;
/// GTP-U.
const GTP_U: u16 = 2152;
/// VXLAN.
const VXLAN: u16 = 4789;
/// VXLAN with content other than Ethernet.
const VXLAN_GPE: u16 = 4790;
/// Geneve.
const GENEVE: u16 = 6081;
/// VXLAN on Linux, from before the assignment.
const VXLAN_LINUX: u16 = 8472;
/// TZSP.
const TZSP: u16 = 37008;

/// Whether tunnels use this port.
// HOT: twice a packet; a multiplication and one cache line.
#[inline]
pub(super) const fn is_port(port: u16) -> bool {
    PORTS[place(port)] == port
}

/// Index of a port in the table: the multiplier gives each tunnel its own.
const fn place(port: u16) -> usize {
    (port.wrapping_mul(691) >> 13) as usize
}

/// Port 0 marks an entry without a tunnel; the index of port 0 belongs to a tunnel.
const PORTS: [u16; 8] = {
    let mut ports = [0; 8];
    let tunnels = [L2TP, GTP_U, VXLAN, VXLAN_GPE, GENEVE, VXLAN_LINUX, TZSP];
    let mut at = 0;
    while at < tunnels.len() {
        assert!(ports[place(tunnels[at])] == 0, "two tunnels share an index: choose another multiplier");
        ports[place(tunnels[at])] = tunnels[at];
        at += 1;
    }
    assert!(ports[place(0)] != 0);
    ports
};

/// The packet inside, or why there is none. `None` if the content is not that of the tunnel.
#[cold]
pub(super) fn decode(
    (src_port, dst_port): (u16, u16),
    content: Span<'_>,
    depth: u8,
) -> Option<Result<Packet<'_>, DecodeError>> {
    // Standards fix the destination port; the source port is checked for replies through address translation.
    let port = if is_port(dst_port) { dst_port } else { src_port };
    let packet = match port {
        L2TP => l2tp::over_udp(content, depth),
        GTP_U => gtp_u(content, depth),
        VXLAN | VXLAN_LINUX => vxlan(content, depth),
        VXLAN_GPE => vxlan_gpe(content, depth),
        GENEVE => geneve(content, depth),
        TZSP => tzsp(content, depth),
        _ => return None,
    };
    match packet {
        Err(DecodeError::BadTunnel | DecodeError::BadIpHeader | DecodeError::BadLength) => None,
        told => Some(told),
    }
}

/// RFC 7348 section 5: flags, reserved, network identifier, reserved. The group policy extension sets the
/// first flag too and uses the bytes that are reserved otherwise (draft-smith-vxlan-group-policy-05 section
/// 2.1).
fn vxlan(content: Span<'_>, depth: u8) -> Result<Packet<'_>, DecodeError> {
    let (head, frame) = content.head::<8>().map_err(|_| DecodeError::BadTunnel)?;
    match *head {
        [0x08, 0, 0, 0, _, _, _, 0] | [0x88, _, _, _, _, _, _, 0] => ethernet::decode(frame, deeper(depth)?),
        _ => Err(DecodeError::BadTunnel),
    }
}

/// draft-ietf-nvo3-vxlan-gpe-13 section 3: one reserved byte names what follows, Ethernet if it is 0.
fn vxlan_gpe(content: Span<'_>, depth: u8) -> Result<Packet<'_>, DecodeError> {
    const VERSION: u8 = 0x30;
    const NETWORK: u8 = 0x08;
    const ETHERNET: u8 = 3;
    let (head, rest) = content.head::<8>().map_err(|_| DecodeError::BadTunnel)?;
    match *head {
        [flags, 0, 0, next, _, _, _, 0] if flags & (VERSION | NETWORK) == NETWORK => {
            nsh::next_protocol(if next == 0 { ETHERNET } else { next }, rest, deeper(depth)?)
        }
        _ => Err(DecodeError::BadTunnel),
    }
}

/// RFC 8926 section 3.4: version and options' length, flags, protocol, network identifier, reserved.
fn geneve(content: Span<'_>, depth: u8) -> Result<Packet<'_>, DecodeError> {
    let (head, rest) = content.head::<8>().map_err(|_| DecodeError::BadTunnel)?;
    if head[0] >> 6 != 0 || head[1] & 0x3f != 0 || head[7] != 0 {
        return Err(DecodeError::BadTunnel);
    }
    let rest = rest.skip(usize::from(head[0] & 0x3f) * 4)?;
    match be16::<2, _>(head) {
        ethernet::BRIDGED => ethernet::decode(rest, deeper(depth)?),
        // Below are lengths, which do not occur here.
        kind @ 0x0600.. => ethernet::ether_type(kind, rest, deeper(depth)?),
        _ => Err(DecodeError::BadTunnel),
    }
}

/// 3GPP TS 29.281 section 5: version 1, T-PDUs only; echoes, error indications and end markers carry no
/// packet.
fn gtp_u(content: Span<'_>, depth: u8) -> Result<Packet<'_>, DecodeError> {
    const T_PDU: u8 = 255;
    let (head, rest) = content.head::<8>().map_err(|_| DecodeError::BadTunnel)?;
    let len = usize::from(be16::<2, _>(head));
    // Version 1, protocol type GTP, the spare bit clear; the length may be shorter than the datagram but not
    // longer.
    if head[0] & 0xf8 != 0x30 || head[1] != T_PDU || len > rest.len {
        return Err(DecodeError::BadTunnel);
    }
    let mut rest = rest.declare(len);
    if head[0] & 0x07 != 0 {
        // Sequence number, N-PDU number and next extension are all present if any of them is flagged.
        let (optional, after) = rest.head::<4>()?;
        rest = if head[0] & 0x04 == 0 { after } else { extensions(optional[3], after)? };
    }
    let depth = deeper(depth)?;
    match rest.peek::<2>() {
        Some([0x40..=0x6f, _]) => ip::either(rest, depth),
        Some([0xff, 0x03]) => ppp::decode(rest, depth),
        // A 5G PDU session of type Ethernet.
        _ if ethernet::sound(rest) => ethernet::decode(rest, depth),
        _ => Err(DecodeError::NotIp),
    }
}

/// TS 29.281 section 5.2: length in units of 4 bytes, content, type of the next.
fn extensions(mut next: u8, mut rest: Span<'_>) -> Result<Span<'_>, DecodeError> {
    while next != 0 {
        let [units] = *rest.head::<1>()?.0;
        let len = usize::from(units) * 4;
        let after = rest.skip(len)?;
        // A length of 0 would loop for ever.
        let last = len.checked_sub(1).ok_or(DecodeError::BadTunnel)?;
        next = *rest.data.get(last).ok_or(DecodeError::Truncated)?;
        rest = after;
    }
    Ok(rest)
}

/// TaZmen Sniffer Protocol: version, type, protocol, then tagged fields up to the end tag.
fn tzsp(content: Span<'_>, depth: u8) -> Result<Packet<'_>, DecodeError> {
    const PADDING: u8 = 0;
    const END: u8 = 1;
    let (head, mut rest) = content.head::<4>().map_err(|_| DecodeError::BadTunnel)?;
    // Received, or to be sent.
    if head[0] != 1 || head[1] > 1 {
        return Err(DecodeError::BadTunnel);
    }
    loop {
        let [tag] = *rest.head::<1>()?.0;
        rest = match tag {
            PADDING => rest.skip(1)?,
            END => break,
            _ => rest.skip(2 + usize::from(rest.head::<2>()?.0[1]))?,
        };
    }
    let frame = rest.skip(1)?;
    match be16::<2, _>(head) {
        1 => ethernet::decode(frame, deeper(depth)?),
        18 => wifi::decode(frame, deeper(depth)?),
        _ => Err(DecodeError::BadTunnel),
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{INNER, INNER_V6, ethernet as frame, inner, udp_to, whole};
    use super::super::{Payload, Udp, link};
    use super::*;

    fn check(port: u16, parts: &[&[u8]], expected: Result<Packet<'_>, DecodeError>) {
        let packet = udp_to(port, &parts.concat());
        assert_eq!(whole(link::ETHERNET, &packet), expected, "{parts:x?}");
    }

    /// The same content is plain UDP.
    fn check_plain(port: u16, parts: &[&[u8]]) {
        let content = parts.concat();
        let packet = udp_to(port, &content);
        let packet = whole(link::ETHERNET, &packet).unwrap();
        let udp = Udp { src_port: 50000, dst_port: port, data: &content, len: content.len() };
        assert_eq!((packet.payload, packet.depth), (Payload::Udp(udp), 0));
    }

    #[test]
    fn vxlan() {
        let ethernet = frame(0x0800, &INNER);
        for port in [VXLAN, VXLAN_LINUX, VXLAN_GPE] {
            check(port, &[&[8, 0, 0, 0, 0, 0, 7, 0], &ethernet], Ok(inner(1, false)));
        }
        check(VXLAN, &[&[0x88, 0x40, 1, 2, 0, 0, 7, 0], &ethernet], Ok(inner(1, false)));
        check(VXLAN, &[&[8, 0, 0, 0, 0, 0, 7, 0], &frame(0x0806, &[0; 28])], Err(DecodeError::NotIp));
        check_plain(VXLAN, &[&[0, 0, 0, 0, 0, 0, 7, 0], &ethernet]);
        check_plain(VXLAN, &[&[8, 0, 0, 0, 0, 0, 7]]);
        check_plain(VXLAN, &[&[8, 0, 0, 0, 0, 0, 7, 0], &frame(0x0800, &[0x55; 40])]);
        check(VXLAN_GPE, &[&[0x0c, 0, 0, 1, 0, 0, 7, 0], &INNER], Ok(inner(1, false)));
        check(VXLAN_GPE, &[&[0x0c, 0, 0, 2, 0, 0, 7, 0], &INNER_V6], Ok(inner(1, true)));
        check(VXLAN_GPE, &[&[0x0c, 0, 0, 3, 0, 0, 7, 0], &ethernet], Ok(inner(1, false)));
        check_plain(VXLAN_GPE, &[&[0x3c, 0, 0, 3, 0, 0, 7, 0], &ethernet]);
    }

    #[test]
    fn geneve() {
        let ethernet = frame(0x86dd, &INNER_V6);
        check(GENEVE, &[&[0, 0, 0x65, 0x58, 0, 0, 7, 0], &ethernet], Ok(inner(1, true)));
        check(GENEVE, &[&[2, 0x40, 0x65, 0x58, 0, 0, 7, 0], &[0; 8], &ethernet], Ok(inner(1, true)));
        check(GENEVE, &[&[0, 0, 8, 0, 0, 0, 7, 0], &INNER], Ok(inner(1, false)));
        check_plain(GENEVE, &[&[0x40, 0, 8, 0, 0, 0, 7, 0], &INNER]);
        check_plain(GENEVE, &[&[0, 0, 0, 8, 0, 0, 7, 0], &INNER]);
        check_plain(GENEVE, &[&[0x3f, 0, 8, 0, 0, 0, 7, 0], &INNER]);
    }

    #[test]
    fn gtp_u() {
        check(GTP_U, &[&[0x30, 255, 0, 32, 0, 0, 0, 1], &INNER], Ok(inner(1, false)));
        check(GTP_U, &[&[0x30, 255, 0, 52, 0, 0, 0, 1], &INNER_V6], Ok(inner(1, true)));
        check(GTP_U, &[&[0x32, 255, 0, 36, 0, 0, 0, 1], &[0, 1, 0, 0], &INNER], Ok(inner(1, false)));
        // With no extension flagged, the next type is not looked at.
        check(GTP_U, &[&[0x31, 255, 0, 36, 0, 0, 0, 1], &[0, 0, 1, 0x85], &INNER], Ok(inner(1, false)));
        let container = [0, 0, 0, 0x85, 1, 0x10, 9, 0];
        check(GTP_U, &[&[0x34, 255, 0, 40, 0, 0, 0, 1], &container, &INNER], Ok(inner(1, false)));
        let two = [0, 0, 0, 0x85, 2, 0, 0, 0, 0, 0, 0, 0x40, 1, 0x13, 0xc4, 0];
        check(GTP_U, &[&[0x34, 255, 0, 48, 0, 0, 0, 1], &two, &INNER], Ok(inner(1, false)));
        let session = frame(0x0800, &INNER);
        check(GTP_U, &[&[0x30, 255, 0, 46, 0, 0, 0, 1], &session], Ok(inner(1, false)));
        check(GTP_U, &[&[0x30, 255, 0, 36, 0, 0, 0, 1], &[0xff, 3, 0, 0x21], &INNER], Ok(inner(1, false)));
    }

    #[test]
    fn gtp_u_that_is_not() {
        check_plain(GTP_U, &[&[0x32, 1, 0, 4, 0, 0, 0, 0, 0, 1, 0, 0]]); // echo request
        check_plain(GTP_U, &[&[0x30, 255, 0, 33, 0, 0, 0, 1], &INNER]); // longer than the datagram
        check_plain(GTP_U, &[&[0x20, 255, 0, 32, 0, 0, 0, 1], &INNER]); // another protocol type
        check_plain(GTP_U, &[&[0x34, 255, 0, 40, 0, 0, 0, 1], &[0, 0, 0, 0x85, 0, 0, 0, 0], &INNER]);
        check_plain(GTP_U, &[&[0x80, 0, 0, 1, 0, 0, 0, 160, 1, 2, 3, 4], &[0xff; 160]]); // RTP
        check_plain(GTP_U, &[b"OPTIONS sip:a@b SIP/2.0\r\n\r\n"]);
        check(GTP_U, &[&[0x30, 255, 0, 30, 0, 0, 0, 1], &[0; 30]], Err(DecodeError::NotIp));
    }

    #[test]
    fn tzsp() {
        let ethernet = frame(0x0800, &INNER);
        check(TZSP, &[&[1, 0, 0, 1, 1], &ethernet], Ok(inner(1, false)));
        check(TZSP, &[&[1, 1, 0, 1, 0, 0, 0x0a, 1, 0xb0, 1], &ethernet], Ok(inner(1, false)));
        let radio = [&[8, 1, 0, 0][..], &[0; 20], &[0xaa, 0xaa, 3, 0, 0, 0, 8, 0], &INNER].concat();
        check(TZSP, &[&[1, 0, 0, 18, 1], &radio], Ok(inner(1, false)));
        check_plain(TZSP, &[&[1, 4, 0, 1, 1], &ethernet]); // keepalive
        check_plain(TZSP, &[&[1, 0, 0, 1, 0, 0, 0]]); // no end tag
    }

    #[test]
    fn the_source_port_tells_too() {
        let mut packet = udp_to(50001, &[&[0x30, 255, 0, 32, 0, 0, 0, 1][..], &INNER].concat());
        assert_eq!(whole(link::ETHERNET, &packet).unwrap().depth, 0);
        packet[34..36].copy_from_slice(&GTP_U.to_be_bytes());
        assert_eq!(whole(link::ETHERNET, &packet), Ok(inner(1, false)));
    }

    #[test]
    fn a_tunnel_that_the_capture_cut() {
        let packet = udp_to(GTP_U, &[&[0x30, 255, 0, 32, 0, 0, 0, 1][..], &INNER].concat());
        let cut = super::super::decode(link::ETHERNET, packet.len() as u32, &packet[..packet.len() - 20]);
        assert_eq!(cut, Err(DecodeError::Truncated));
    }
}
