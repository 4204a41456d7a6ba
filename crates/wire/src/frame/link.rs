//! Link layers, by their LINKTYPE number (tcpdump.org's list, which pcap and pcapng share).

use super::span::{Span, be16, be32};
use super::{DecodeError, Packet, erf, ethernet, ip, mpls, ppp, wifi};

/// BSD loopback: address family in the byte order of the machine that captured.
pub const NULL: u16 = 0;
/// Ethernet.
pub const ETHERNET: u16 = 1;
/// PPP, with or without its address and control fields.
pub const PPP: u16 = 9;
/// IP without a link layer, as most systems number it.
pub const RAW_12: u16 = 12;
/// IP without a link layer, OpenBSD's number.
pub const RAW_14: u16 = 14;
/// PPP in HDLC-like framing, or Cisco's HDLC.
pub const PPP_HDLC: u16 = 50;
/// PPPoE without the Ethernet header.
pub const PPPOE: u16 = 51;
/// IP without a link layer.
pub const RAW: u16 = 101;
/// Cisco's HDLC.
pub const C_HDLC: u16 = 104;
/// IEEE 802.11.
pub const IEEE_802_11: u16 = 105;
/// OpenBSD loopback: address family in network byte order.
pub const LOOP: u16 = 108;
/// Linux cooked capture, version 1.
pub const LINUX_SLL: u16 = 113;
/// Radiotap, then IEEE 802.11.
pub const RADIOTAP: u16 = 127;
/// Whole records of Endace's Extensible Record Format.
pub const ERF: u16 = 197;
/// MPLS without the Ethernet header.
pub const MPLS: u16 = 219;
/// IPv4 without a link layer.
pub const IPV4: u16 = 228;
/// IPv6 without a link layer.
pub const IPV6: u16 = 229;
/// Linux cooked capture, version 2.
pub const LINUX_SLL2: u16 = 276;

/// Decodes any link layer, without the fast path.
#[cold]
#[inline(never)]
pub(super) fn decode(link: u16, frame: Span<'_>) -> Result<Packet<'_>, DecodeError> {
    match link {
        ETHERNET => ethernet::decode(frame, 0),
        LINUX_SLL => cooked(frame),
        LINUX_SLL2 => cooked2(frame),
        RAW | RAW_12 | RAW_14 => ip::either(frame, 0),
        IPV4 => ip::v4(frame, 0),
        IPV6 => ip::v6(frame, 0),
        PPP => ppp::decode(frame, 0),
        PPP_HDLC | C_HDLC => ppp::serial(frame, 0),
        PPPOE => ppp::over_ethernet(frame, 0),
        MPLS => mpls::decode(frame, 0),
        IEEE_802_11 => wifi::decode(frame, 0),
        RADIOTAP => wifi::radiotap(frame),
        ERF => erf::decode(frame),
        NULL => loopback(frame, false),
        LOOP => loopback(frame, true),
        _ => Err(DecodeError::LinkUnknown),
    }
}

/// Packet type, ARPHRD type, address length, address (8 bytes), protocol; all big-endian.
fn cooked(frame: Span<'_>) -> Result<Packet<'_>, DecodeError> {
    let (head, rest) = frame.head::<16>()?;
    cooked_protocol(be16::<14, _>(head), rest)
}

/// Protocol, reserved, interface index, ARPHRD type, packet type, address length, address (8 bytes).
fn cooked2(frame: Span<'_>) -> Result<Packet<'_>, DecodeError> {
    let (head, rest) = frame.head::<20>()?;
    cooked_protocol(be16::<0, _>(head), rest)
}

/// An EtherType, or one of Linux's small numbers for frames that have none.
fn cooked_protocol(protocol: u16, rest: Span<'_>) -> Result<Packet<'_>, DecodeError> {
    const ETH_P_802_2: u16 = 4;
    match protocol {
        ETH_P_802_2 => ethernet::llc(rest, 0),
        0..=ethernet::MAX_LENGTH => Err(DecodeError::NotIp),
        kind => ethernet::ether_type(kind, rest, 0),
    }
}

/// Address family in 4 bytes. 24, 28 and 30 are AF_INET6 on the BSDs and macOS, 10 on Linux, 23 on Windows.
fn loopback(frame: Span<'_>, network_order: bool) -> Result<Packet<'_>, DecodeError> {
    const AF_INET: u32 = 2;
    let (head, rest) = frame.head::<4>()?;
    let family = be32::<0, _>(head);
    // The byte order of the capturing machine is not recorded; families are small numbers, which shows the
    // order.
    let family = if !network_order && family > 0xffff { family.swap_bytes() } else { family };
    match family {
        AF_INET => ip::v4(rest, 0),
        10 | 23 | 24 | 28 | 30 => ip::v6(rest, 0),
        _ => Err(DecodeError::NotIp),
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{INNER, INNER_V6, ethernet, inner, whole};
    use super::*;

    fn check(link: u16, header: &[u8], v6: bool) {
        let frame = [header, if v6 { &INNER_V6[..] } else { &INNER }].concat();
        assert_eq!(whole(link, &frame), Ok(inner(0, v6)), "link type {link}");
    }

    #[test]
    fn raw_ip() {
        for link in [RAW, RAW_12, RAW_14] {
            check(link, &[], false);
            check(link, &[], true);
        }
        check(IPV4, &[], false);
        check(IPV6, &[], true);
        assert_eq!(whole(RAW, &[0; 40]), Err(DecodeError::NotIp));
    }

    #[test]
    fn cooked() {
        let version1 =
            |protocol: [u8; 2]| [&[0, 4, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0][..], &protocol].concat();
        check(LINUX_SLL, &version1([8, 0]), false);
        check(LINUX_SLL, &version1([0x86, 0xdd]), true);
        check(LINUX_SLL, &[&version1([0x81, 0])[..], &[0, 5, 8, 0]].concat(), false);
        check(LINUX_SLL, &[&version1([0, 4])[..], &[0xaa, 0xaa, 3, 0, 0, 0, 8, 0]].concat(), false);
        let ipx = [&version1([0, 1])[..], &INNER].concat();
        assert_eq!(whole(LINUX_SLL, &ipx), Err(DecodeError::NotIp));
        let version2 = |protocol: [u8; 2]| {
            [&protocol[..], &[0, 0, 0, 0, 0, 2, 0, 1, 4, 6, 2, 0, 0, 0, 0, 1, 0, 0]].concat()
        };
        check(LINUX_SLL2, &version2([8, 0]), false);
        check(LINUX_SLL2, &version2([0x86, 0xdd]), true);
    }

    #[test]
    fn loopback_in_either_order() {
        for v6 in [10, 24, 28, 30] {
            check(NULL, &[v6, 0, 0, 0], true);
            check(NULL, &[0, 0, 0, v6], true);
            check(LOOP, &[0, 0, 0, v6], true);
        }
        check(NULL, &[2, 0, 0, 0], false);
        check(NULL, &[0, 0, 0, 2], false);
        check(LOOP, &[0, 0, 0, 2], false);
        assert_eq!(whole(LOOP, &[2, 0, 0, 0]), Err(DecodeError::NotIp));
        assert_eq!(whole(NULL, &[7, 0, 0, 0]), Err(DecodeError::NotIp));
    }

    #[test]
    fn the_others_are_reached() {
        check(ETHERNET, &ethernet(0x0800, &[]), false);
        check(PPP, &[0, 0x21], false);
        check(PPP_HDLC, &[0xff, 3, 0, 0x57], true);
        check(PPPOE, &[0x11, 0, 0, 1, 0, 34, 0, 0x21], false);
        check(C_HDLC, &[0x0f, 0, 8, 0], false);
        check(MPLS, &[0, 1, 1, 64], false);
        assert_eq!(whole(147, &INNER), Err(DecodeError::LinkUnknown));
    }
}
