//! Finds the IP headers of a frame that have the address of a target.

use std::net::IpAddr;

use ringtap_model::{Frame, Nanos};
use ringtap_wire::frame::{self, DecodeError, Hosts, Ip, MAX_DEPTH, Packet, Payload};

use crate::sink::{Sink, TargetSeen};
use crate::targets::Targets;

impl Targets {
    /// Whether a frame is one that engines which watch this set offer now.
    pub fn concerns(&self, frame: &Frame<'_>) -> bool {
        let mut is_one = false;
        if self.view().may_be_in(frame) {
            self.layers(frame, |_, _, _| is_one = true);
        }
        is_one
    }

    /// Offers a frame to the sink, header by header from the outermost inwards, also where what is inside
    /// cannot be decoded. The prefetch has left out those that are no target's as far as
    /// [`TargetsView`](super::TargetsView) tells: most of the traffic.
    #[cold]
    #[inline(never)]
    pub(crate) fn offer<S: Sink>(&self, frame: &Frame<'_>, sink: &mut S) {
        let Frame { time, number, data, .. } = *frame;
        self.layers(frame, |ip, is_first, depth| {
            let (frame, packet) = (Some(frame), bytes_of(&ip, data));
            let ports = if is_first { ports_of(&ip, packet) } else { None };
            sink.target(&TargetSeen { time, frames: &[number], frame, ip, packet, ports, depth });
        });
    }

    /// Each header that may be a target's, from the outermost inwards, also where what is inside cannot be
    /// decoded.
    fn layers(&self, frame: &Frame<'_>, mut found: impl FnMut(Ip, bool, u8)) {
        let Frame { link, wire_len, data, .. } = *frame;
        for depth in 0..=MAX_DEPTH {
            let packet = frame::decode_outer(link.0, wire_len, data, depth);
            match self.header(&packet, depth, data) {
                Some((ip, is_first)) => found(ip, is_first, depth),
                None if has_ended(&packet, depth) => return,
                None => {}
            }
        }
    }

    /// What was in tunnels of a datagram whose fragments have been put together. Their own headers were
    /// offered with the frames.
    #[cold]
    #[inline(never)]
    pub(crate) fn offer_reassembled<S: Sink>(
        &self,
        (ip, depth): (Ip, u8),
        payload: &[u8],
        (time, frames): (Nanos, &[u64]),
        sink: &mut S,
    ) {
        if self.is_empty() {
            return;
        }
        let (outer, around) = (ip, depth);
        for depth in around.saturating_add(1)..=MAX_DEPTH {
            let packet = frame::decode_outer_payload(outer, around, payload, depth);
            let Some((ip, is_first)) = self.header(&packet, depth, payload) else {
                if has_ended(&packet, depth) {
                    return;
                }
                continue;
            };
            let packet = bytes_of(&ip, payload);
            let ports = if is_first { ports_of(&ip, packet) } else { None };
            sink.target(&TargetSeen { time, frames, frame: None, ip, packet, ports, depth });
        }
    }

    /// The header at that depth in these bytes, if it may have a target's address; and whether its payload
    /// begins with what IP carries: a fragment after the first does not.
    fn header(&self, packet: &Result<Packet<'_>, DecodeError>, depth: u8, data: &[u8]) -> Option<(Ip, bool)> {
        let packet = packet.as_ref().ok().filter(|packet| packet.depth == depth)?;
        let is_first = !matches!(packet.payload, Payload::Fragment(fragment) if fragment.offset > 0);
        let ip = packet.ip;
        let hosts = match (ip.src, ip.dst) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => Hosts::V4(src.to_bits(), dst.to_bits()),
            (IpAddr::V6(src), IpAddr::V6(dst)) => Hosts::V6(src.to_bits(), dst.to_bits()),
            _ => return None,
        };
        let view = self.view();
        let may_be_media = || match packet.payload {
            Payload::Fragment(_) => view.may_be_media(hosts, None),
            _ => match ports_of(&ip, bytes_of(&ip, data)) {
                Some(ports) => view.may_be_media(hosts, Some(ports)),
                None => false,
            },
        };
        (view.may_have(hosts) || may_be_media()).then_some((ip, is_first))
    }
}

/// Whether no header is as deep as that, or deeper.
fn has_ended(packet: &Result<Packet<'_>, DecodeError>, depth: u8) -> bool {
    packet.as_ref().is_ok_and(|packet| packet.depth < depth)
}

/// The first four bytes of TCP, UDP and SCTP.
fn ports_of(ip: &Ip, packet: &[u8]) -> Option<(u16, u16)> {
    const WITH_PORTS: [u8; 4] = [6, 17, 132, 136];
    let payload = packet.get(ip.header_len as usize..)?;
    let &[a, b, c, d] = payload.first_chunk::<4>().filter(|_| WITH_PORTS.contains(&ip.proto))?;
    Some((u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])))
}

/// The captured bytes of an IP packet, from its header on.
fn bytes_of<'a>(ip: &Ip, data: &'a [u8]) -> &'a [u8] {
    let packet = data.get(ip.at as usize..).unwrap_or_default();
    packet.get(..ip.len as usize).unwrap_or(packet)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ringtap_model::{Call, Endpoint, LinkType, Message, Registration};

    use super::*;
    use crate::config::Config;
    use crate::engine::Engine;
    use crate::sink::StreamEnd;
    use crate::testing::{at, end, fragment, ip, udp};

    /// Depth, addresses, ports and bytes of what was offered.
    type Offered = (u8, String, Option<(u16, u16)>, Vec<u8>);

    #[derive(Default)]
    struct Seen(Vec<Offered>);

    impl Sink for Seen {
        const TARGETS: bool = true;

        fn target(&mut self, seen: &TargetSeen<'_>) {
            let hosts = format!("{} {}", seen.ip.src, seen.ip.dst);
            self.0.push((seen.depth, hosts, seen.ports, seen.packet.to_vec()));
        }
        fn call(&mut self, _: Call, _: Vec<StreamEnd>) {}
        fn stream(&mut self, _: StreamEnd) {}
        fn registration(&mut self, _: Registration) {}
        fn message(&mut self, _: Message) {}
    }

    /// What is offered of frames while these are targets.
    fn offered(targets: &[(&str, u8)], link: u16, frames: &[Vec<u8>]) -> Vec<Offered> {
        let set = Arc::new(Targets::new(9));
        targets.iter().for_each(|(address, bits)| set.add(address.parse().unwrap(), *bits));
        let mut engine = Engine::new(Config { max_calls: 4, max_streams: 4, ..Config::default() });
        engine.watch(set);
        let mut seen = Seen::default();
        for (number, data) in (1..).zip(frames) {
            let (link, wire_len) = (LinkType(link), data.len() as u32);
            engine.batch(&[Frame { time: at(number), number, link, wire_len, data }], &mut seen);
        }
        seen.0
    }

    const ETHERNET: u16 = 1;
    const RAW: u16 = 101;

    /// UDP between hosts of the documentation networks.
    fn datagram() -> Vec<u8> {
        udp(end("192.0.2.1:4000"), end("198.51.100.1:6000"), b"hello")
    }

    fn in_ethernet(kind: &[u8], packet: &[u8]) -> Vec<u8> {
        [&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1][..], kind, packet].concat()
    }

    #[test]
    fn a_packet_from_or_to_a_target_is_offered_once_below_any_link_layer() {
        let packet = datagram();
        let expected = (0, "192.0.2.1 198.51.100.1".to_owned(), Some((4000, 6000)), packet.clone());
        for target in ["192.0.2.1", "198.51.100.1"] {
            for (link, frame) in [
                (ETHERNET, in_ethernet(&[8, 0], &packet)),
                (ETHERNET, in_ethernet(&[0x81, 0, 0, 5, 8, 0], &packet)),
                (ETHERNET, in_ethernet(&[0x88, 0xa8, 0, 5, 0x81, 0, 0, 6, 8, 0], &packet)),
                (ETHERNET, in_ethernet(&[0x88, 0x64, 0x11, 0, 0, 1, 0, 35, 0, 0x21], &packet)),
                (RAW, packet.clone()),
            ] {
                assert_eq!(
                    offered(&[(target, 32)], link, &[frame]),
                    std::slice::from_ref(&expected),
                    "{target}"
                );
            }
        }
        let frame = in_ethernet(&[8, 0], &packet);
        assert_eq!(offered(&[("192.0.2.2", 32), ("2001:db8::", 32)], ETHERNET, &[frame]), []);
    }

    #[test]
    fn padding_is_no_part_of_a_packet() {
        let packet = datagram();
        let frame = in_ethernet(&[8, 0], &[&packet[..], &[0; 13]].concat());
        assert_eq!(offered(&[("192.0.2.1", 32)], ETHERNET, &[frame])[0].3, packet);
    }

    /// RFC 2784: GRE without options.
    fn in_gre(packet: &[u8]) -> Vec<u8> {
        ip(47, &[&[0, 0, 8, 0][..], packet].concat())
    }

    /// IPv4 in GRE in IPv4 in GTP-U in IPv4: each address counts, also that between two tunnels.
    #[test]
    fn every_header_of_nested_tunnels_counts() {
        let innermost = udp(end("10.0.0.1:4000"), end("10.0.0.2:6000"), b"hello");
        let middle = {
            let mut packet = in_gre(&innermost);
            packet[12..20].copy_from_slice(&[10, 9, 0, 1, 203, 0, 113, 5]);
            packet
        };
        let gtp = [&[0x30, 255][..], &(middle.len() as u16).to_be_bytes(), &[0, 0, 0, 7], &middle].concat();
        let outer = udp(end("192.0.2.1:2152"), end("198.51.100.1:2152"), &gtp);
        let frame = in_ethernet(&[8, 0], &outer);
        for (target, depth, bytes, ports) in [
            ("192.0.2.1", 0, &outer, Some((2152, 2152))),
            ("10.9.0.1", 1, &middle, None),
            ("203.0.113.5", 1, &middle, None),
            ("10.0.0.2", 2, &innermost, Some((4000, 6000))),
        ] {
            let seen = offered(&[(target, 32)], ETHERNET, std::slice::from_ref(&frame));
            assert_eq!(seen.len(), 1, "{target}");
            assert_eq!((seen[0].0, &seen[0].2, &seen[0].3), (depth, &ports, bytes), "{target}");
        }
        let all = offered(&[("192.0.2.1", 32), ("10.9.0.0", 24), ("10.0.0.2", 32)], ETHERNET, &[frame]);
        assert_eq!(
            all.iter().map(|seen| seen.0).collect::<Vec<_>>(),
            [0, 1, 2],
            "from the outermost inwards"
        );
    }

    #[test]
    fn what_cannot_be_decoded_inside_hides_no_header_outside() {
        let packet = in_gre(&[0x45, 0, 0, 200, 0, 0]);
        for depth in 0..2 {
            let frame = if depth == 0 { packet.clone() } else { in_gre(&packet) };
            let seen = offered(&[("192.0.2.1", 32)], RAW, &[frame]);
            assert_eq!(seen.iter().map(|seen| seen.0).collect::<Vec<_>>(), (0..=depth).collect::<Vec<_>>());
        }
    }

    #[test]
    fn every_fragment_is_offered_and_what_a_tunnel_in_them_carries() {
        let inner = udp(end("10.0.0.1:4000"), end("10.0.0.2:6000"), &[7; 40]);
        let gre = [&[0, 0, 8, 0][..], &inner].concat();
        let frames = [fragment(47, 9, 0, true, &gre[..32]), fragment(47, 9, 32, false, &gre[32..])];
        let seen = offered(&[("192.0.2.1", 32)], RAW, &frames);
        assert_eq!(seen.iter().map(|seen| (seen.0, seen.2)).collect::<Vec<_>>(), [(0, None), (0, None)]);
        let seen = offered(&[("10.0.0.1", 32)], RAW, &frames);
        let hosts = "10.0.0.1 10.0.0.2".to_owned();
        assert_eq!(seen, [(1, hosts, Some((4000, 6000)), inner)], "once it is whole");
    }

    #[test]
    fn only_the_first_fragment_of_a_datagram_has_ports() {
        let datagram = &datagram()[20..];
        let frames = [fragment(17, 9, 0, true, &datagram[..8]), fragment(17, 9, 8, false, &datagram[8..])];
        let seen = offered(&[("192.0.2.1", 32)], RAW, &frames);
        assert_eq!(seen.iter().map(|seen| seen.2).collect::<Vec<_>>(), [Some((4000, 6000)), None]);
    }

    #[test]
    fn ipv6_by_address_and_by_prefix() {
        let mut packet = vec![0x60, 0, 0, 0, 0, 13, 17, 64];
        packet.extend([0x20, 1, 0xd, 0xb8, 0, 7, 1, 0xff, 0, 0, 0, 0, 0, 0, 0, 1]);
        packet.extend([0x20, 1, 0xd, 0xb8, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
        packet.extend([0x0f, 0xa0, 0x17, 0x70, 0, 13, 0, 0]);
        packet.extend(b"hello");
        let frame = in_ethernet(&[0x86, 0xdd], &packet);
        for (target, bits, is_offered) in [
            ("2001:db8:7:1ff::1", 128, true),
            ("2001:db8:7:100::", 56, true),
            ("2001:db8:9::", 48, true),
            ("2001:db8:8:200::", 56, false),
            ("2001:db8:7:200::", 64, false),
            ("2001:db8:a::", 48, false),
        ] {
            let seen = offered(&[(target, bits)], ETHERNET, std::slice::from_ref(&frame));
            let hosts = "2001:db8:7:1ff::1 2001:db8:9::2".to_owned();
            let expected = is_offered.then_some((0, hosts, Some((4000, 6000)), packet.clone()));
            assert_eq!(seen.first(), expected.as_ref(), "{target}/{bits}");
        }
    }

    /// Adds a target when it is offered the packet of another.
    struct Adding(Arc<Targets>, Vec<u64>);

    impl Sink for Adding {
        const TARGETS: bool = true;

        fn target(&mut self, seen: &TargetSeen<'_>) {
            if self.1.is_empty() {
                self.0.add("203.0.113.9".parse().unwrap(), 32);
            }
            self.1.extend(seen.frames);
        }
        fn call(&mut self, _: Call, _: Vec<StreamEnd>) {}
        fn stream(&mut self, _: StreamEnd) {}
        fn registration(&mut self, _: Registration) {}
        fn message(&mut self, _: Message) {}
    }

    /// The frames after it have been decoded by then, and those far behind have not.
    #[test]
    fn a_change_in_the_middle_of_a_batch_takes_effect_with_the_next_frame() {
        let set = Arc::new(Targets::new(9));
        set.add("192.0.2.1".parse().unwrap(), 32);
        let mut engine = Engine::new(Config { max_calls: 4, max_streams: 4, ..Config::default() });
        engine.watch(Arc::clone(&set));
        let from = |host: &str| {
            in_ethernet(&[8, 0], &udp(end(&format!("{host}:4000")), end("198.51.100.1:6000"), b"hello"))
        };
        let (added, target) = (from("203.0.113.9"), from("192.0.2.1"));
        let frame = |number| {
            let data = if number == 5 { &target } else { &added };
            Frame { time: at(number), number, link: LinkType(ETHERNET), wire_len: data.len() as u32, data }
        };
        let frames: Vec<Frame<'_>> = (1..=80).map(frame).collect();
        let mut seen = Adding(set, Vec::new());
        engine.batch(&frames, &mut seen);
        assert_eq!(seen.1, (5..=80).collect::<Vec<_>>());
    }

    #[test]
    fn media_are_offered_by_their_port_also_in_tunnels_and_in_fragments() {
        let (end, other) = (end("10.0.0.2:6000"), end("10.0.0.2:6002"));
        let inner = |to: Endpoint| udp(crate::testing::end("10.0.0.1:4000"), to, b"hello");
        let mut fragmented = fragment(17, 9, 8, false, &[7; 16]);
        fragmented[16..20].copy_from_slice(&[10, 0, 0, 2]);
        for (link, frame, is_offered) in [
            (ETHERNET, in_ethernet(&[8, 0], &inner(end)), true),
            (ETHERNET, in_ethernet(&[8, 0], &inner(other)), false),
            (ETHERNET, in_ethernet(&[0x81, 0, 0, 5, 8, 0], &inner(end)), true),
            (ETHERNET, in_ethernet(&[0x81, 0, 0, 5, 8, 0], &inner(other)), false),
            (RAW, in_gre(&inner(end)), true),
            (RAW, in_gre(&inner(other)), false),
            (RAW, fragmented, true),
        ] {
            let set = Targets::new(9);
            let wire_len = frame.len() as u32;
            let frame = Frame { time: at(1), number: 1, link: LinkType(link), wire_len, data: &frame };
            assert!(!set.concerns(&frame));
            set.add_media(end);
            assert_eq!(set.concerns(&frame), is_offered, "{frame:?}");
            set.remove_media(end);
            assert!(!set.concerns(&frame));
        }
    }

    #[test]
    fn a_change_takes_effect_with_the_next_frame() {
        let set = Arc::new(Targets::new(9));
        let mut engine = Engine::new(Config { max_calls: 4, max_streams: 4, ..Config::default() });
        engine.watch(Arc::clone(&set));
        let mut seen = Seen::default();
        let data = in_ethernet(&[8, 0], &datagram());
        let (link, wire_len) = (LinkType(ETHERNET), data.len() as u32);
        let frame = |number| Frame { time: at(number), number, link, wire_len, data: &data };
        engine.batch(&[frame(1), frame(2)], &mut seen);
        set.add("192.0.2.1".parse().unwrap(), 32);
        engine.batch(&[frame(3), frame(4)], &mut seen);
        set.remove("192.0.2.1".parse().unwrap(), 32);
        engine.batch(&[frame(5)], &mut seen);
        assert_eq!(seen.0.len(), 2);
    }
}
