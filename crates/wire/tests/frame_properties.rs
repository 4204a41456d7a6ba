//! Properties of the frame decoder: what is emitted decodes to the same, a cut capture never says anything
//! else, and no bytes panic.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::collection::vec;
use proptest::prelude::*;
use ringtap_wire::frame::{
    DecodeError, Ip, MAX_DEPTH, Packet, Payload, Tcp, TcpFlags, Udp, decode, decode_payload, link,
};

/// Every link type that the decoder knows, and one that it does not.
const LINKS: [u16; 20] = [
    link::NULL,
    link::ETHERNET,
    link::PPP,
    link::RAW_12,
    link::RAW_14,
    link::PPP_HDLC,
    link::PPPOE,
    link::RAW,
    link::C_HDLC,
    link::IEEE_802_11,
    link::LOOP,
    link::LINUX_SLL,
    link::RADIOTAP,
    link::ERF,
    link::MPLS,
    link::IPV4,
    link::IPV6,
    link::LINUX_SLL2,
    147,
    u16::MAX,
];

/// The transport of the innermost packet.
#[derive(Clone, Debug)]
enum Inner {
    Udp { src: u16, dst: u16, data: Vec<u8> },
    Tcp { src: u16, dst: u16, seq: u32, ack: u32, flags: u8, options: u8, data: Vec<u8> },
}

/// Addresses of one IP header.
#[derive(Clone, Copy, Debug)]
enum Addresses {
    V4(Ipv4Addr, Ipv4Addr),
    V6(Ipv6Addr, Ipv6Addr),
}

/// What goes around a packet of IP, from the inside out.
#[derive(Clone, Debug)]
enum Wrap {
    IpInIp(Addresses),
    Gre { outer: Addresses, key: Option<u32>, sequence: Option<u32> },
    Pptp { outer: Addresses },
    Bridged { outer: Addresses, tags: Vec<u16> },
    Erspan { outer: Addresses, kind: u8 },
    Vxlan { outer: Addresses, tags: Vec<u16> },
    Geneve { outer: Addresses, options: u8 },
    GtpU { outer: Addresses, sequence: Option<u16>, extensions: u8 },
    L2tp { outer: Addresses, length: bool, sequence: bool },
}

/// The outermost layer.
#[derive(Clone, Debug)]
enum Link {
    Ethernet { tags: Vec<u16>, padding: usize },
    EthernetMpls { labels: u8 },
    EthernetPseudowire { control_word: bool },
    EthernetPppoe,
    Raw,
    Cooked,
    Cooked2,
    Null { swapped: bool },
}

fn addresses() -> impl Strategy<Value = Addresses> {
    prop_oneof![
        any::<(u32, u32)>().prop_map(|(a, b)| Addresses::V4(a.into(), b.into())),
        any::<(u128, u128)>().prop_map(|(a, b)| Addresses::V6(a.into(), b.into())),
    ]
}

/// A port that is no tunnel's.
fn port() -> impl Strategy<Value = u16> {
    any::<u16>().prop_map(|port| {
        if [1701, 2152, 4789, 4790, 6081, 8472, 37008].contains(&port) { 5060 } else { port }
    })
}

fn inner() -> impl Strategy<Value = Inner> {
    let data = || vec(any::<u8>(), 0..200);
    prop_oneof![
        (port(), port(), data()).prop_map(|(src, dst, data)| Inner::Udp { src, dst, data }),
        (any::<(u16, u16, u32, u32, u8)>(), 0..11u8, data()).prop_map(
            |((src, dst, seq, ack, flags), options, data)| Inner::Tcp {
                src,
                dst,
                seq,
                ack,
                flags,
                options,
                data
            }
        ),
    ]
}

fn tags() -> impl Strategy<Value = Vec<u16>> {
    vec(prop_oneof![Just(0x8100), Just(0x88a8), Just(0x9100), Just(0x9200), Just(0x8926)], 0..4)
}

fn wrap() -> impl Strategy<Value = Wrap> {
    let outer = addresses;
    prop_oneof![
        outer().prop_map(Wrap::IpInIp),
        (outer(), any::<(Option<u32>, Option<u32>)>()).prop_map(|(outer, (key, sequence))| Wrap::Gre {
            outer,
            key,
            sequence
        }),
        outer().prop_map(|outer| Wrap::Pptp { outer }),
        (outer(), tags()).prop_map(|(outer, tags)| Wrap::Bridged { outer, tags }),
        (outer(), 1..=3u8).prop_map(|(outer, kind)| Wrap::Erspan { outer, kind }),
        (outer(), tags()).prop_map(|(outer, tags)| Wrap::Vxlan { outer, tags }),
        (outer(), 0..16u8).prop_map(|(outer, options)| Wrap::Geneve { outer, options }),
        (outer(), any::<Option<u16>>(), 0..3u8).prop_map(|(outer, sequence, extensions)| Wrap::GtpU {
            outer,
            sequence,
            extensions
        }),
        (outer(), any::<(bool, bool)>()).prop_map(|(outer, (length, sequence))| Wrap::L2tp {
            outer,
            length,
            sequence
        }),
    ]
}

fn link() -> impl Strategy<Value = Link> {
    prop_oneof![
        (tags(), 0..20usize).prop_map(|(tags, padding)| Link::Ethernet { tags, padding }),
        (1..6u8).prop_map(|labels| Link::EthernetMpls { labels }),
        any::<bool>().prop_map(|control_word| Link::EthernetPseudowire { control_word }),
        Just(Link::EthernetPppoe),
        Just(Link::Raw),
        Just(Link::Cooked),
        Just(Link::Cooked2),
        any::<bool>().prop_map(|swapped| Link::Null { swapped }),
    ]
}

/// Length in two bytes.
fn short(len: usize) -> [u8; 2] {
    u16::try_from(len).expect("test packets are small").to_be_bytes()
}

/// Ones' complement of the sum of 16-bit words.
fn checksum(header: &[u8]) -> [u8; 2] {
    let mut sum: u32 = header.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1])).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    (!(sum as u16)).to_be_bytes()
}

fn ip(addresses: Addresses, proto: u8, payload: &[u8]) -> Vec<u8> {
    match addresses {
        Addresses::V4(src, dst) => {
            let [high, low] = short(payload.len() + 20);
            let mut head = vec![0x45, 0, high, low, 0, 1, 0x40, 0, 64, proto, 0, 0];
            head.extend(src.octets());
            head.extend(dst.octets());
            let sum = checksum(&head);
            head[10..12].copy_from_slice(&sum);
            [&head, payload].concat()
        }
        Addresses::V6(src, dst) => {
            let [high, low] = short(payload.len());
            let head = [0x60, 0, 0, 0, high, low, proto, 64];
            [&head[..], &src.octets(), &dst.octets(), payload].concat()
        }
    }
}

fn udp(src: u16, dst: u16, data: &[u8]) -> Vec<u8> {
    [&src.to_be_bytes()[..], &dst.to_be_bytes(), &short(data.len() + 8), &[0, 0], data].concat()
}

fn tcp_header(src: u16, dst: u16, seq: u32, ack: u32, flags: u8, options: u8) -> Vec<u8> {
    let mut head =
        [&src.to_be_bytes()[..], &dst.to_be_bytes(), &seq.to_be_bytes(), &ack.to_be_bytes()].concat();
    head.extend([(5 + options) << 4, flags, 1, 0, 0, 0, 0, 0]);
    head.extend(std::iter::repeat_n(1, usize::from(options) * 4));
    head
}

fn ether_type(packet: &[u8]) -> [u8; 2] {
    if packet[0] >> 4 == 4 { [8, 0] } else { [0x86, 0xdd] }
}

fn ppp_protocol(packet: &[u8]) -> [u8; 2] {
    if packet[0] >> 4 == 4 { [0, 0x21] } else { [0, 0x57] }
}

/// An Ethernet frame with these tags around a packet of IP.
fn ethernet(tags: &[u16], packet: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    for tag in tags {
        frame.extend(tag.to_be_bytes());
        frame.extend(if *tag == 0x8926 { &[0, 0, 0, 5][..] } else { &[0, 5] });
    }
    frame.extend(ether_type(packet));
    frame.extend(packet);
    frame
}

fn gre(outer: Addresses, protocol: [u8; 2], key: Option<u32>, sequence: Option<u32>, rest: &[u8]) -> Vec<u8> {
    let flags = if key.is_some() { 0x20 } else { 0 } | if sequence.is_some() { 0x10 } else { 0 };
    let mut bytes = vec![flags, 0, protocol[0], protocol[1]];
    for word in [key, sequence].into_iter().flatten() {
        bytes.extend(word.to_be_bytes());
    }
    bytes.extend(rest);
    ip(outer, 47, &bytes)
}

impl Wrap {
    fn around(&self, packet: &[u8]) -> Vec<u8> {
        match self {
            Self::IpInIp(outer) => ip(*outer, if packet[0] >> 4 == 4 { 4 } else { 41 }, packet),
            Self::Gre { outer, key, sequence } => gre(*outer, ether_type(packet), *key, *sequence, packet),
            Self::Pptp { outer } => {
                let frame = [&[0xff, 3], &ppp_protocol(packet), packet].concat();
                let [high, low] = short(frame.len());
                ip(*outer, 47, &[&[0x30, 1, 0x88, 0x0b, high, low, 0, 1, 0, 0, 0, 1], &frame[..]].concat())
            }
            Self::Bridged { outer, tags } => {
                gre(*outer, [0x65, 0x58], Some(7), None, &ethernet(tags, packet))
            }
            Self::Erspan { outer, kind: 1 } => gre(*outer, [0x88, 0xbe], None, None, &ethernet(&[], packet)),
            Self::Erspan { outer, kind: 2 } => {
                let rest = [&[0x10, 5, 0, 9, 0, 0, 0, 1], &ethernet(&[], packet)[..]].concat();
                gre(*outer, [0x88, 0xbe], None, Some(1), &rest)
            }
            Self::Erspan { outer, .. } => {
                let rest = [&[0x20, 5, 0, 9, 0, 0, 0, 1, 0, 0, 0, 0], &ethernet(&[], packet)[..]].concat();
                gre(*outer, [0x22, 0xeb], None, Some(1), &rest)
            }
            Self::Vxlan { outer, tags } => {
                let content = [&[8, 0, 0, 0, 0, 0, 7, 0], &ethernet(tags, packet)[..]].concat();
                ip(*outer, 17, &udp(50000, 4789, &content))
            }
            Self::Geneve { outer, options } => {
                let [high, low] = ether_type(packet);
                let option_bytes = vec![0; usize::from(*options) * 4];
                let content = [&[*options, 0, high, low, 0, 0, 7, 0], &option_bytes[..], packet].concat();
                ip(*outer, 17, &udp(50000, 6081, &content))
            }
            Self::GtpU { outer, sequence, extensions } => {
                ip(*outer, 17, &udp(2152, 2152, &gtp_u(*sequence, *extensions, packet)))
            }
            Self::L2tp { outer, length, sequence } => {
                ip(*outer, 17, &udp(1701, 1701, &l2tp(*length, *sequence, packet)))
            }
        }
    }
}

fn gtp_u(sequence: Option<u16>, extensions: u8, packet: &[u8]) -> Vec<u8> {
    let flags = 0x30 | if sequence.is_some() { 2 } else { 0 } | if extensions > 0 { 4 } else { 0 };
    let mut rest = Vec::new();
    if flags & 7 != 0 {
        rest.extend(sequence.unwrap_or(0).to_be_bytes());
        rest.push(0);
        for _ in 0..extensions {
            rest.extend([0x85, 1, 0x10, 9]);
        }
        rest.push(0);
    }
    rest.extend(packet);
    [&[flags, 255][..], &short(rest.len()), &[0, 0, 0, 1], &rest[..]].concat()
}

fn l2tp(length: bool, sequence: bool, packet: &[u8]) -> Vec<u8> {
    let flags = if length { 0x40 } else { 0 } | if sequence { 8 } else { 0 };
    let mut rest = vec![0, 1, 0, 2];
    if sequence {
        rest.extend([0, 1, 0, 0]);
    }
    rest.extend([0xff, 3]);
    rest.extend(ppp_protocol(packet));
    rest.extend(packet);
    let field = if length { short(rest.len() + 4).to_vec() } else { Vec::new() };
    [&[flags, 2], &field[..], &rest].concat()
}

impl Link {
    /// Link type, frame, and tunnels that this layer itself adds.
    fn around(&self, packet: &[u8]) -> (u16, Vec<u8>, u8) {
        let labels = |count: u8| {
            let mut stack = [0, 1, 0, 64].repeat(usize::from(count) - 1);
            stack.extend([0, 1, 1, 64]);
            stack
        };
        let mac = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
        match self {
            Self::Ethernet { tags, padding } => {
                let mut frame = ethernet(tags, packet);
                frame.extend(vec![0; *padding]);
                (link::ETHERNET, frame, 0)
            }
            Self::EthernetMpls { labels: count } => {
                (link::ETHERNET, [&mac[..], &[0x88, 0x47], &labels(*count), packet].concat(), 0)
            }
            Self::EthernetPseudowire { control_word } => {
                let word: &[u8] = if *control_word { &[0; 4] } else { &[] };
                let frame = ethernet(&[], packet);
                (link::ETHERNET, [&mac[..], &[0x88, 0x47], &labels(1), word, &frame].concat(), 1)
            }
            Self::EthernetPppoe => {
                let session =
                    [&[0x11, 0, 0, 1], &short(packet.len() + 2)[..], &ppp_protocol(packet), packet].concat();
                (link::ETHERNET, [&mac[..], &[0x88, 0x64], &session].concat(), 0)
            }
            Self::Raw => (link::RAW, packet.to_vec(), 0),
            Self::Cooked => {
                let head = [0, 4, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0];
                (link::LINUX_SLL, [&head[..], &ether_type(packet), packet].concat(), 0)
            }
            Self::Cooked2 => {
                let rest = [0, 0, 0, 0, 0, 2, 0, 1, 4, 6, 2, 0, 0, 0, 0, 1, 0, 0];
                (link::LINUX_SLL2, [&ether_type(packet), &rest[..], packet].concat(), 0)
            }
            Self::Null { swapped } => {
                let mut family = [0, 0, 0, if packet[0] >> 4 == 4 { 2 } else { 30 }];
                if *swapped {
                    family.reverse();
                }
                (link::NULL, [&family[..], packet].concat(), 0)
            }
        }
    }
}

/// A frame and what it has to decode to.
#[derive(Clone, Debug)]
struct Emitted {
    link: u16,
    frame: Vec<u8>,
    depth: u8,
    addresses: Addresses,
    inner: Inner,
}

impl Emitted {
    fn new(inner: Inner, addresses: Addresses, wraps: &[Wrap], link: &Link) -> Self {
        let mut packet = match &inner {
            Inner::Udp { src, dst, data } => ip(addresses, 17, &udp(*src, *dst, data)),
            Inner::Tcp { src, dst, seq, ack, flags, options, data } => {
                let head = tcp_header(*src, *dst, *seq, *ack, *flags, *options);
                ip(addresses, 6, &[head, data.clone()].concat())
            }
        };
        for wrap in wraps {
            packet = wrap.around(&packet);
        }
        let (link, frame, added) = link.around(&packet);
        Self { link, frame, depth: wraps.len() as u8 + added, addresses, inner }
    }

    fn expected(&self) -> Packet<'_> {
        let (payload, proto, len) = match &self.inner {
            Inner::Udp { src, dst, data } => {
                let udp = Udp { src_port: *src, dst_port: *dst, data, len: data.len() };
                (Payload::Udp(udp), 17, data.len() + 8)
            }
            Inner::Tcp { src, dst, seq, ack, flags, options, data } => {
                let (seq, ack, flags) = (*seq, *ack, TcpFlags(*flags));
                let tcp = Tcp { src_port: *src, dst_port: *dst, seq, ack, flags, data, len: data.len() };
                (Payload::Tcp(tcp), 6, data.len() + 20 + usize::from(*options) * 4)
            }
        };
        let (src, dst, header_len): (IpAddr, IpAddr, u32) = match self.addresses {
            Addresses::V4(src, dst) => (src.into(), dst.into(), 20),
            Addresses::V6(src, dst) => (src.into(), dst.into(), 40),
        };
        let (len, id) = (header_len + len as u32, u16::from(src.is_ipv4()));
        Packet { ip: Ip { src, dst, proto, len, header_len, id, at: 0 }, depth: self.depth, payload }
    }
}

fn emitted() -> impl Strategy<Value = Emitted> {
    (inner(), addresses(), vec(wrap(), 0..4), link())
        .prop_map(|(inner, addresses, wraps, link)| Emitted::new(inner, addresses, &wraps, &link))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1000) })]

    #[test]
    fn what_is_emitted_decodes_to_the_same(emitted in emitted()) {
        let packet = decode(emitted.link, emitted.frame.len() as u32, &emitted.frame);
        prop_assert_eq!(anywhere(packet), Ok(emitted.expected()));
        placed(packet, &emitted.frame)?;
    }

    /// A capture cut anywhere gives the same packet with less of its payload, or says that it was cut. It may
    /// take an outer packet for the innermost only where the cut leaves too little to know the tunnel.
    #[test]
    fn a_cut_capture_says_nothing_else(emitted in emitted()) {
        let expected = emitted.expected();
        for cut in 0..emitted.frame.len() {
            match decode(emitted.link, emitted.frame.len() as u32, &emitted.frame[..cut]) {
                Ok(packet) if packet.depth == emitted.depth => {
                    prop_assert_eq!(Ip { at: 0, ..packet.ip }, expected.ip);
                    match (packet.payload, expected.payload) {
                        (Payload::Udp(cut), Payload::Udp(whole)) => {
                            prop_assert!(whole.data.starts_with(cut.data));
                            prop_assert_eq!(Udp { data: whole.data, ..cut }, whole);
                        }
                        (Payload::Tcp(cut), Payload::Tcp(whole)) => {
                            prop_assert!(whole.data.starts_with(cut.data));
                            prop_assert_eq!(Tcp { data: whole.data, ..cut }, whole);
                        }
                        other => prop_assert!(false, "cut at {}: {:?}", cut, other),
                    }
                }
                Ok(packet) => {
                    prop_assert!(packet.depth < emitted.depth);
                    prop_assert!(matches!(packet.payload, Payload::Udp(_)), "cut at {}: {:?}", cut, packet);
                }
                // A pseudowire is not believed before its packet's header is seen.
                Err(skip) => prop_assert!(matches!(skip, DecodeError::Truncated | DecodeError::NotIp),
                    "cut at {}: {:?}", cut, skip),
            }
        }
    }

    #[test]
    fn any_bytes_of_any_link(place in 0..LINKS.len(), wire_len: u32, data in vec(any::<u8>(), 0..300)) {
        check(decode(LINKS[place], wire_len, &data), &data)?;
        placed(decode(LINKS[place], wire_len, &data), &data)?;
    }

    /// Damage to a sound frame gets further than random bytes do.
    #[test]
    fn damaged_frames(
        emitted in emitted(),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        wire_len: u32,
    ) {
        let mut frame = emitted.frame.clone();
        for (index, byte) in damage {
            let at = index.index(frame.len());
            frame[at] = byte;
        }
        check(decode(emitted.link, wire_len, &frame), &frame)?;
        placed(decode(emitted.link, wire_len, &frame), &frame)?;
        check(decode(emitted.link, 0, &frame), &frame)?;
    }

    #[test]
    fn any_reassembled_payload(
        (src, dst) in any::<(u32, u32)>(),
        (proto, depth) in any::<(u8, u8)>(),
        (len, header_len) in any::<(u32, u32)>(),
        payload in vec(any::<u8>(), 0..200),
        v6: bool,
    ) {
        let address = |bits: u32| match Ipv4Addr::from(bits) {
            ip if v6 => ip.to_ipv6_mapped().into(),
            ip => IpAddr::V4(ip),
        };
        let ip = Ip { src: address(src), dst: address(dst), proto, len, header_len, id: 0, at: 0 };
        let packet = decode_payload(ip, depth, &payload);
        check(packet.map(|packet| Packet { depth: packet.depth.min(MAX_DEPTH), ..packet }), &payload)?;
    }

    /// The payload of a packet, taken out and continued with, is that packet.
    #[test]
    fn a_payload_goes_on_where_the_packet_was(inner in inner(), addresses in addresses(), wraps in vec(wrap(),
        0..2)) {
        let emitted = Emitted::new(inner, addresses, &wraps, &Link::Raw);
        let packet = &emitted.frame;
        let (header_len, proto) = if packet[0] >> 4 == 4 { (20, packet[9]) } else { (40, packet[6]) };
        let outer: (IpAddr, IpAddr) = match wraps.last().map(outer_of).unwrap_or(addresses) {
            Addresses::V4(src, dst) => (src.into(), dst.into()),
            Addresses::V6(src, dst) => (src.into(), dst.into()),
        };
        let (len, id) = (packet.len() as u32, u16::from(outer.0.is_ipv4()));
        let ip = Ip { src: outer.0, dst: outer.1, proto, len, header_len, id, at: 0 };
        let packet = decode_payload(ip, 0, &packet[header_len as usize..]);
        prop_assert_eq!(anywhere(packet), Ok(emitted.expected()));
    }
}

/// The same, wherever its header is.
fn anywhere(packet: Result<Packet<'_>, DecodeError>) -> Result<Packet<'_>, DecodeError> {
    packet.map(|packet| Packet { ip: Ip { at: 0, ..packet.ip }, ..packet })
}

/// The header is where the packet says.
fn placed(packet: Result<Packet<'_>, DecodeError>, frame: &[u8]) -> Result<(), TestCaseError> {
    let Ok(Packet { ip: Ip { src, dst, at, .. }, .. }) = packet else { return Ok(()) };
    let header = &frame[at as usize..];
    match (src, dst) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            prop_assert_eq!(header[0] >> 4, 4);
            prop_assert_eq!(&header[12..20], &[src.octets(), dst.octets()].concat()[..]);
        }
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            prop_assert_eq!(header[0] >> 4, 6);
            prop_assert_eq!(&header[8..40], &[src.octets(), dst.octets()].concat()[..]);
        }
        ends => prop_assert!(false, "{:?}", ends),
    }
    Ok(())
}

fn outer_of(wrap: &Wrap) -> Addresses {
    match wrap {
        Wrap::IpInIp(outer)
        | Wrap::Gre { outer, .. }
        | Wrap::Pptp { outer }
        | Wrap::Bridged { outer, .. }
        | Wrap::Erspan { outer, .. }
        | Wrap::Vxlan { outer, .. }
        | Wrap::Geneve { outer, .. }
        | Wrap::GtpU { outer, .. }
        | Wrap::L2tp { outer, .. } => *outer,
    }
}

/// What holds for the packet of any bytes: declared lengths cover what was captured, and the data lies within
/// the frame.
fn check(packet: Result<Packet<'_>, DecodeError>, frame: &[u8]) -> Result<(), TestCaseError> {
    let Ok(packet) = packet else { return Ok(()) };
    prop_assert!(packet.depth <= MAX_DEPTH);
    prop_assert!(packet.ip.header_len <= packet.ip.len);
    let (data, len) = match packet.payload {
        Payload::Udp(udp) => (udp.data, udp.len),
        Payload::Tcp(tcp) => (tcp.data, tcp.len),
        Payload::Fragment(part) => (part.data, part.len),
        Payload::Sctp(sctp) => {
            let chunks: usize = sctp.data_chunks().map(|chunk| chunk.data.len() + 16).sum();
            prop_assert!(chunks <= sctp.chunks.len());
            (sctp.chunks, sctp.chunks.len())
        }
        Payload::Icmp | Payload::Other(_) => return Ok(()),
    };
    prop_assert!(data.len() <= len);
    prop_assert!(data.is_empty() || frame.as_ptr_range().contains(&data.as_ptr()));
    prop_assert!(data.len() <= frame.len());
    Ok(())
}
