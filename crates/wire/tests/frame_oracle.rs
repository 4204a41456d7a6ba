//! The frame decoder against another one: etherparse, on plain Ethernet, IP, UDP and TCP.

use std::net::IpAddr;

use etherparse::{NetSlice, PacketBuilder, SlicedPacket, TransportSlice};
use proptest::collection::vec;
use proptest::prelude::*;
use ringtap_wire::frame::{Packet, Payload, decode, link};

/// Ports of tunnels, which etherparse does not look into.
const TUNNELS: [u16; 7] = [1701, 2152, 4789, 4790, 6081, 8472, 37008];

/// A frame that etherparse builds, checksums and all.
fn frame() -> impl Strategy<Value = Vec<u8>> {
    let shape = (0..3u8, any::<bool>(), any::<bool>());
    (shape, any::<([u8; 16], [u8; 16], u16, u16, u32)>(), vec(any::<u8>(), 0..100)).prop_map(
        |((tags, v6, tcp), (src, dst, src_port, dst_port, seq), payload)| {
            let builder = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
            let mut bytes = Vec::new();
            macro_rules! write {
                ($network:expr) => {
                    if tcp {
                        $network.tcp(src_port, dst_port, seq, 1000).ack(7).psh().write(&mut bytes, &payload)
                    } else {
                        $network.udp(src_port, dst_port).write(&mut bytes, &payload)
                    }
                };
            }
            macro_rules! network {
                ($link:expr) => {
                    if v6 {
                        write!($link.ipv6(src, dst, 64))
                    } else {
                        write!($link.ipv4(
                            [src[0], src[1], src[2], src[3]],
                            [dst[0], dst[1], dst[2], dst[3]],
                            64
                        ))
                    }
                };
            }
            let vlan = |id: u16| etherparse::VlanId::try_new(id).expect("below 4096");
            match tags {
                0 => network!(builder),
                1 => network!(builder.single_vlan(vlan(5))),
                _ => network!(builder.double_vlan(vlan(5), vlan(6))),
            }
            .expect("small packets fit");
            bytes
        },
    )
}

/// Where etherparse finds a sound UDP or TCP packet on no tunnel's port, we have to find the same.
fn compare(frame: &[u8]) -> Result<bool, TestCaseError> {
    let Ok(theirs) = SlicedPacket::from_ethernet(frame) else { return Ok(false) };
    let (src, dst, len): (IpAddr, IpAddr, usize) = match &theirs.net {
        Some(NetSlice::Ipv4(ip)) => {
            let header = ip.header();
            (header.source_addr().into(), header.destination_addr().into(), header.total_len().into())
        }
        Some(NetSlice::Ipv6(ip)) => {
            let header = ip.header();
            let len = usize::from(header.payload_length()) + 40;
            (header.source_addr().into(), header.destination_addr().into(), len)
        }
        _ => return Ok(false),
    };
    let ours = decode(link::ETHERNET, frame.len() as u32, frame);
    match theirs.transport {
        Some(TransportSlice::Udp(udp)) => {
            if TUNNELS.contains(&udp.source_port()) || TUNNELS.contains(&udp.destination_port()) {
                return Ok(false);
            }
            let Ok(Packet { ip, depth: 0, payload: Payload::Udp(found) }) = ours else {
                return Err(TestCaseError::fail(format!("{ours:?} for {udp:?}")));
            };
            prop_assert_eq!((ip.src, ip.dst, ip.proto), (src, dst, 17));
            prop_assert_eq!((found.src_port, found.dst_port), (udp.source_port(), udp.destination_port()));
            prop_assert_eq!((found.data, found.len), (udp.payload(), udp.payload().len()));
            prop_assert!(ip.len as usize == len || len == 40 || len == 0);
        }
        Some(TransportSlice::Tcp(tcp)) => {
            let Ok(Packet { ip, depth: 0, payload: Payload::Tcp(found) }) = ours else {
                return Err(TestCaseError::fail(format!("{ours:?} for {tcp:?}")));
            };
            prop_assert_eq!((ip.src, ip.dst, ip.proto), (src, dst, 6));
            prop_assert_eq!((found.src_port, found.dst_port), (tcp.source_port(), tcp.destination_port()));
            prop_assert_eq!((found.seq, found.ack), (tcp.sequence_number(), tcp.acknowledgment_number()));
            prop_assert_eq!((found.data, found.len), (tcp.payload(), tcp.payload().len()));
            let flags = found.flags;
            prop_assert_eq!((flags.syn(), flags.fin(), flags.rst()), (tcp.syn(), tcp.fin(), tcp.rst()));
            prop_assert_eq!((flags.ack(), flags.psh()), (tcp.ack(), tcp.psh()));
        }
        _ => return Ok(false),
    }
    Ok(true)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn frames_of_the_other_s_making(frame in frame(), padding in 0..20usize) {
        let padded = [frame, vec![0; padding]].concat();
        compare(&padded)?;
    }

    #[test]
    fn damaged_frames(frame in frame(), damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let mut frame = frame;
        for (index, byte) in damage {
            // Headers only: at most two tags, IPv6 and TCP.
            let at = index.index(frame.len().min(82));
            frame[at] = byte;
        }
        compare(&frame)?;
    }
}

/// That the comparison compares: none of these is passed over.
#[test]
fn plain_frames_are_compared() {
    for port in [5060, 16384] {
        let mut bytes = Vec::new();
        let builder = PacketBuilder::ethernet2([1; 6], [2; 6]).ipv4([192, 0, 2, 1], [192, 0, 2, 2], 64);
        builder.udp(port, port).write(&mut bytes, b"ping").expect("fits");
        assert!(compare(&bytes).expect("the same"));
    }
}
