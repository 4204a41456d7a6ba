//! Which worker gets a packet.
//!
//! The source decides: everything that one address and pair of ports sends (RTP, and RTCP on the next port)
//! goes to one worker, so that a stream and its successors from the same socket are never split. Fragments
//! have no ports and go by their addresses alone, all of one packet to the same worker.

use super::bpf::{Assembler, Label, Program, RETURN_A};

/// The program that the kernel runs for each packet of a fan-out; its result modulo the number of workers is
/// the worker.
///
/// The kernel has then removed the outer VLAN tag; further tags and up to [`LABELS`] MPLS labels are skipped.
/// Packets that are neither IPv4 nor IPv6 go to the first worker.
pub(super) fn program() -> Option<Program> {
    let mut code = Assembler::default();
    let [v4, v6, other, mix] = std::array::from_fn(|_| code.label());
    code.push(LD | ABS | W, ancillary(libc::SKF_AD_PROTOCOL));
    code.push(LDX | IMM, 0);
    for _ in 0..TAGS {
        let [tag, none] = std::array::from_fn(|_| code.label());
        for kind in VLANS {
            code.jump(EQ, kind.into(), Some(tag), None);
        }
        code.jump(JA, 0, Some(none), None);
        code.place(tag);
        advance(&mut code, 4);
        code.push(LD | IND | H, network(-2));
        code.place(none);
    }
    code.jump(EQ, 0x0800, Some(v4), None);
    code.jump(EQ, 0x86dd, Some(v6), None);
    code.jump(EQ, 0x8847, None, Some(other));
    let bottom = code.label();
    for _ in 0..LABELS {
        advance(&mut code, 4);
        code.push(LD | IND | B, network(-2));
        code.jump(libc::BPF_JSET, 1, Some(bottom), None);
    }
    code.jump(JA, 0, Some(other), None);
    code.place(bottom);
    code.push(LD | IND | B, network(0));
    code.push(ALU | libc::BPF_RSH, 4);
    code.jump(EQ, 4, Some(v4), None);
    code.jump(EQ, 6, Some(v6), Some(other));

    code.place(v4);
    version_4(&mut code, mix);
    code.place(v6);
    version_6(&mut code, mix);

    code.place(mix);
    code.push(LD | MEM, ADDRESS);
    code.push(ALU | libc::BPF_MUL, FACTORS[0]);
    code.push(LDX | MEM, PORT);
    code.push(ALU | libc::BPF_ADD | libc::BPF_X, 0);
    code.push(ALU | libc::BPF_MUL, FACTORS[1]);
    code.push(ST, ADDRESS);
    code.push(ALU | libc::BPF_RSH, 16);
    code.push(TAX, 0);
    code.push(LD | MEM, ADDRESS);
    code.push(ALU | libc::BPF_XOR | libc::BPF_X, 0);
    code.push(RET | RETURN_A, 0);
    code.place(other);
    code.push(RET, 0);
    code.finish()
}

/// Address and port of an IPv4 packet `X` bytes into the network header; the addresses alone for a fragment.
fn version_4(code: &mut Assembler, mix: Label) {
    let [ports, end] = std::array::from_fn(|_| code.label());
    code.push(LD | IND | W, network(12));
    code.push(ST, ADDRESS);
    code.push(LD | IMM, 0);
    code.push(ST, PORT);
    code.push(LD | IND | H, network(6));
    code.jump(libc::BPF_JSET, 0x3fff, Some(end), None);
    code.push(LD | IND | B, network(9));
    for protocol in PORTED {
        code.jump(EQ, protocol.into(), Some(ports), None);
    }
    code.place(end);
    code.jump(JA, 0, Some(mix), None);
    code.place(ports);
    code.push(LD | IND | B, network(0));
    code.push(ALU | libc::BPF_AND, 15);
    code.push(ALU | libc::BPF_LSH, 2);
    code.push(ALU | libc::BPF_ADD | libc::BPF_X, 0);
    code.push(TAX, 0);
    code.push(LD | IND | H, network(0));
    code.push(ALU | libc::BPF_AND, PAIR);
    code.push(ST, PORT);
    code.jump(JA, 0, Some(mix), None);
}

/// The same for IPv6, whose address is folded into one word. Packets with an extension header go by their
/// address.
fn version_6(code: &mut Assembler, mix: Label) {
    let ports = code.label();
    code.push(libc::BPF_STX, BASE);
    code.push(LD | IMM, 0);
    code.push(ST, PORT);
    code.push(LD | IND | W, network(8));
    for word in 1..4 {
        code.push(ST, ADDRESS);
        code.push(LDX | MEM, BASE);
        code.push(LD | IND | W, network(8 + 4 * word));
        code.push(LDX | MEM, ADDRESS);
        code.push(ALU | libc::BPF_XOR | libc::BPF_X, 0);
    }
    code.push(ST, ADDRESS);
    code.push(LDX | MEM, BASE);
    code.push(LD | IND | B, network(6));
    for protocol in PORTED {
        code.jump(EQ, protocol.into(), Some(ports), None);
    }
    code.jump(JA, 0, Some(mix), None);
    code.place(ports);
    code.push(LD | IND | H, network(40));
    code.push(ALU | libc::BPF_AND, PAIR);
    code.push(ST, PORT);
}

fn advance(code: &mut Assembler, by: u32) {
    code.push(TXA, 0);
    code.push(ALU | libc::BPF_ADD, by);
    code.push(TAX, 0);
}

/// The same hash for a whole frame, for sources other than AF_PACKET; `link` is a LINKTYPE number.
///
/// Equal to the result of [`program`] for the frame; a test checks this.
pub(super) fn source_hash(link: u16, frame: &[u8]) -> u32 {
    hash(link, frame).unwrap_or(0)
}

fn hash(link: u16, frame: &[u8]) -> Option<u32> {
    let (mut at, mut kind) = match link {
        ETHERNET => (14, half(frame, 12)?),
        RAW => (0, if frame.first()? >> 4 == 6 { 0x86dd } else { 0x0800 }),
        _ => return None,
    };
    for _ in 0..=TAGS {
        if !VLANS.contains(&kind) {
            break;
        }
        kind = half(frame, at + 2)?;
        at += 4;
    }
    if kind == 0x8847 {
        let bottom = (0..LABELS).find_map(|label| match frame.get(at + 4 * label + 2) {
            None => Some(None),
            Some(byte) => (byte & 1 != 0).then_some(Some(at + 4 * label + 4)),
        });
        at = bottom??;
        kind = match frame.get(at)? >> 4 {
            4 => 0x0800,
            6 => 0x86dd,
            _ => return None,
        };
    }
    let ip = frame.get(at..)?;
    let (address, port) = match kind {
        0x0800 => {
            let whole = half(ip, 6)? & 0x3fff == 0;
            let ported = whole && PORTED.contains(ip.get(9)?);
            let header = usize::from(ip.first()? & 15) * 4;
            (full(ip, 12)?, if ported { half(ip, header)? } else { 0 })
        }
        0x86dd => {
            let address = full(ip, 8)? ^ full(ip, 12)? ^ full(ip, 16)? ^ full(ip, 20)?;
            let ported = PORTED.contains(ip.get(6)?);
            (address, if ported { half(ip, 40)? } else { 0 })
        }
        _ => return None,
    };
    let port = u32::from(port) & PAIR;
    let mixed = address.wrapping_mul(FACTORS[0]).wrapping_add(port).wrapping_mul(FACTORS[1]);
    Some(mixed ^ mixed >> 16)
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn full(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

const fn network(offset: i32) -> u32 {
    (libc::SKF_NET_OFF + offset) as u32
}

const fn ancillary(what: i32) -> u32 {
    (libc::SKF_AD_OFF + what) as u32
}

const LD: u32 = libc::BPF_LD;
const LDX: u32 = libc::BPF_LDX;
const ST: u32 = libc::BPF_ST;
const ALU: u32 = libc::BPF_ALU;
const RET: u32 = 6;
const W: u32 = libc::BPF_W;
const H: u32 = libc::BPF_H;
const B: u32 = libc::BPF_B;
const ABS: u32 = libc::BPF_ABS;
const IND: u32 = libc::BPF_IND;
const IMM: u32 = libc::BPF_IMM;
const MEM: u32 = libc::BPF_MEM;
const EQ: u32 = libc::BPF_JEQ;
const JA: u32 = libc::BPF_JA;
const TAX: u32 = libc::BPF_MISC | libc::BPF_TAX;
const TXA: u32 = libc::BPF_MISC | libc::BPF_TXA;
/// Words of scratch memory.
const ADDRESS: u32 = 0;
const PORT: u32 = 1;
const BASE: u32 = 2;
/// VLAN tags beyond the outermost, which the kernel has taken out.
const TAGS: usize = 2;
const LABELS: usize = 4;
const VLANS: [u16; 3] = [0x8100, 0x88a8, 0x9100];
/// UDP, TCP, SCTP: the source port comes first in each.
const PORTED: [u8; 3] = [17, 6, 132];
/// RTP and its RTCP on the next port are one source (RFC 3550 section 11).
const PAIR: u32 = 0xfffe;
/// Odd numbers that spread their factors over all bits: the golden ratio, and the finaliser of MurmurHash3.
const FACTORS: [u32; 2] = [0x9e37_79b1, 0x85eb_ca6b];
/// LINKTYPE_ETHERNET and LINKTYPE_RAW.
const ETHERNET: u16 = 1;
const RAW: u16 = 101;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::bpf::View;
    use super::*;

    /// As the kernel would run it: the outermost tag is out, the rest is from the network header on.
    fn in_kernel(frame: &[u8]) -> u32 {
        let tagged = half(frame, 12).is_some_and(|kind| VLANS.contains(&kind));
        let network = if tagged { 18 } else { 14 };
        let protocol = half(frame, network - 2).unwrap_or(0);
        let view = View { network, protocol, ..View::whole(frame, frame.len() as u32) };
        program().expect("sound").run(&view)
    }

    fn v4(source: [u8; 4], port: u16, fragment: u16) -> Vec<u8> {
        let mut ip = vec![0x45, 0, 0, 40, 0, 0, 0, 0, 64, 17, 0, 0];
        ip[6..8].copy_from_slice(&fragment.to_be_bytes());
        ip.extend(source);
        ip.extend([10, 0, 0, 2]);
        ip.extend(port.to_be_bytes());
        ip.extend([0x27; 30]);
        ip
    }

    fn v6(source: [u8; 16], port: u16) -> Vec<u8> {
        let mut ip = vec![0x60, 0, 0, 0, 0, 20, 17, 64];
        ip.extend(source);
        ip.extend([9; 16]);
        ip.extend(port.to_be_bytes());
        ip.extend([0x27; 30]);
        ip
    }

    fn frame(before: &[u8], packet: &[u8]) -> Vec<u8> {
        [&[2; 12], before, packet].concat()
    }

    #[test]
    fn one_source_is_one_worker_whatever_it_is_wrapped_in() {
        let packet = v4([10, 1, 2, 3], 10_000, 0);
        let plain = source_hash(ETHERNET, &frame(&[8, 0], &packet));
        let wrapped: [&[u8]; 4] = [
            &[0x81, 0, 0, 5, 8, 0],
            &[0x88, 0xa8, 0, 5, 0x81, 0, 0, 6, 8, 0],
            &[0x88, 0x47, 0, 0, 0x10, 0, 0, 0, 0x11, 64],
            &[0x81, 0, 0, 5, 0x88, 0x47, 0, 0, 0x11, 64],
        ];
        assert_ne!(plain, 0);
        for before in wrapped {
            let frame = frame(before, &packet);
            assert_eq!((source_hash(ETHERNET, &frame), in_kernel(&frame)), (plain, plain), "{before:x?}");
        }
        assert_eq!(source_hash(RAW, &packet), plain);
        let rtcp = v4([10, 1, 2, 3], 10_001, 0);
        assert_eq!(source_hash(RAW, &rtcp), plain, "RTCP goes with its RTP");
        assert_ne!(source_hash(RAW, &v4([10, 1, 2, 3], 10_002, 0)), plain);
        assert_ne!(source_hash(RAW, &v4([10, 1, 2, 4], 10_000, 0)), plain);
    }

    #[test]
    fn fragments_go_by_their_address() {
        let of = |port, fragment| source_hash(ETHERNET, &frame(&[8, 0], &v4([10, 1, 2, 3], port, fragment)));
        assert_eq!(of(5060, 0x2000), of(0x6162, 0x00b9));
        assert_ne!(of(5060, 0x2000), of(5060, 0));
        assert_eq!(of(5060, 0x4000), of(5060, 0), "don't fragment is no fragment");
    }

    /// Two to eight workers get their share of 4,000 sources within a fifth.
    #[test]
    fn sources_are_spread() {
        for workers in 2..=8usize {
            let mut shares = vec![0usize; workers];
            for index in 0..4000u16 {
                let [high, low] = (index / 40).to_be_bytes();
                let packet = v4([10, 9, high, low], 10_000 + 2 * (index % 40), 0);
                shares[source_hash(RAW, &packet) as usize % workers] += 1;
            }
            let even = 4000 / workers;
            assert!(shares.iter().all(|share| share.abs_diff(even) < even / 5), "{shares:?}");
        }
    }

    proptest! {
        #[test]
        fn the_program_and_the_function_agree(
            before in prop_oneof![
                Just(vec![8, 0]), Just(vec![0x86, 0xdd]), Just(vec![8, 6]),
                Just(vec![0x81, 0, 0, 1, 8, 0]), Just(vec![0x88, 0xa8, 0, 1, 0x81, 0, 0, 1, 0x86, 0xdd]),
                Just(vec![0x88, 0x47, 0, 0, 1, 0]), Just(vec![0x88, 0x47]),
                Just(vec![0x81, 0, 0, 1, 0x81, 0, 0, 1, 0x81, 0, 0, 1, 8, 0]),
            ],
            packet in prop_oneof![
                (any::<[u8; 4]>(), any::<u16>(), any::<u16>()).prop_map(|(source, port, fragment)| v4(source,
                    port, fragment)),
                (any::<[u8; 16]>(), any::<u16>()).prop_map(|(source, port)| v6(source, port)),
                proptest::collection::vec(any::<u8>(), 0..60),
            ],
            cut in 0usize..90,
        ) {
            let mut frame = frame(&before, &packet);
            frame.truncate(cut.max(14));
            prop_assert_eq!(source_hash(ETHERNET, &frame), in_kernel(&frame));
        }
    }
}
