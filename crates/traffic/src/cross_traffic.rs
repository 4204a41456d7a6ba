//! The flows of cross traffic, packet by packet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use ringtap_model::Nanos;

use crate::addresses::{FIRST_VLAN, VLANS};
use crate::cross::{Cross, CrossKind};
use crate::frame::{Framer, Head, TcpHeader, max_segment};
use crate::pace::Pace;
use crate::rng::Rng;
use crate::scenario::Scenario;

/// The flows of a scenario.
#[derive(Debug)]
pub(crate) struct CrossTraffic {
    flows: Vec<Flow>,
    noise: Vec<u8>,
    rng: Rng,
    pace: Pace,
    pub(crate) next: Nanos,
}

/// Two hosts and the state of their connection.
#[derive(Debug)]
struct Flow {
    kind: CrossKind,
    /// Client to server, and back.
    heads: [Head; 2],
    stage: Stage,
    /// Next sequence number of each.
    sequence: [u32; 2],
    /// Segments until the connection is closed.
    left: u32,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    Syn,
    SynAck,
    Ack,
    Ask,
    Data,
    Acknowledge,
    Fin,
    FinBack,
    Last,
}

impl CrossTraffic {
    pub(crate) fn new(scenario: &Scenario, cross: &Cross) -> Self {
        let mut rng = Rng::new(scenario.seed, CROSS);
        let flows = (0..FLOWS)
            .map(|number| {
                let v6 = rng.chance(scenario.ipv6.value());
                let vlan = rng
                    .chance(scenario.vlan.value())
                    .then_some(FIRST_VLAN + VLANS as u16 + (number % VLANS) as u16);
                Flow::new(*cross.kinds.pick(&mut rng), number, v6, vlan, &mut rng)
            })
            .collect();
        let noise = (0..NOISE_OCTETS / 8).flat_map(|_| rng.next_u64().to_le_bytes()).collect();
        let mut cross_traffic = Self { flows, noise, rng, pace: Pace::new(cross.rate), next: scenario.start };
        cross_traffic.wait(0);
        cross_traffic
    }

    /// Writes the next packet.
    // HOT: once for each packet of cross traffic.
    pub(crate) fn emit(&mut self, framer: &mut Framer) {
        let index = self.rng.below(FLOWS) as usize;
        self.flows[index].emit(&self.noise, &mut self.rng, framer);
        self.wait(framer.frame().len());
    }

    /// Sets the time of the next packet, so that packets of this size have the mean rate.
    fn wait(&mut self, octets: usize) {
        self.next += self.pace.pause(octets, &mut self.rng);
    }
}

impl Flow {
    fn new(kind: CrossKind, number: u64, v6: bool, vlan: Option<u16>, rng: &mut Rng) -> Self {
        let host = |side: u8| -> IpAddr {
            let [high, low] = (number as u16 + 1).to_be_bytes();
            match v6 {
                true => Ipv6Addr::new(0x2001, 2, 0, side.into(), 0, 0, 0, number as u16 + 1).into(),
                false => Ipv4Addr::new(198, 18 + side, high, low).into(),
            }
        };
        let port = match kind {
            CrossKind::Web | CrossKind::Quic => 443,
            CrossKind::Dns => 53,
            CrossKind::Small => 9,
        };
        let client = SocketAddr::new(host(0), rng.between(32_768, 60_999) as u16);
        let server = SocketAddr::new(host(1), port);
        let heads = [Head::new(client, server, vlan), Head::new(server, client, vlan)];
        let sequence = [rng.next_u64() as u32, rng.next_u64() as u32];
        Self { kind, heads, stage: Stage::Syn, sequence, left: rng.between(4, 60) as u32 }
    }

    fn emit(&mut self, noise: &[u8], rng: &mut Rng, framer: &mut Framer) {
        match self.kind {
            CrossKind::Web => self.web(noise, rng, framer),
            CrossKind::Quic => {
                // RFC 9000 section 17.3: a short header has the fixed bit and not the long one.
                let down = rng.chance(0.7);
                let size = if down { rng.between(900, 1_250) } else { rng.between(25, 80) } as usize;
                let data = some(noise, size, rng);
                framer.udp(&self.heads[usize::from(down)], |to| {
                    let begin = to.len();
                    to.extend_from_slice(data);
                    to[begin] = 0x40 | to[begin] & 0x3f;
                });
            }
            CrossKind::Dns => self.dns(noise, rng, framer),
            CrossKind::Small => {
                let data = some(noise, 18, rng);
                framer.udp(&self.heads[usize::from(rng.chance(0.5))], |to| {
                    let begin = to.len();
                    to.extend_from_slice(data);
                    // Not RTP, which has version 2 in these bits.
                    to[begin] &= 0x3f;
                });
            }
        }
        framer.pad(SHORTEST_FRAME);
    }

    /// RFC 1035 section 4.1: a question with a random identifier, or its answer with some addresses.
    fn dns(&mut self, noise: &[u8], rng: &mut Rng, framer: &mut Framer) {
        let answer = matches!(self.stage, Stage::Ask);
        if !answer {
            self.sequence[0] = rng.next_u64() as u32;
        }
        self.stage = if answer { Stage::Syn } else { Stage::Ask };
        let records = if answer { 1 + (self.sequence[0] % 6) as u16 } else { 0 };
        let [high, low] = (self.sequence[0] as u16).to_be_bytes();
        framer.udp(&self.heads[usize::from(answer)], |to| {
            let flags = if answer { [0x81, 0x80] } else { [0x01, 0x00] };
            to.extend_from_slice(&[high, low, flags[0], flags[1], 0, 1, 0, records as u8, 0, 0, 0, 0]);
            to.extend_from_slice(b"\x03www\x07example\x03com\x00\x00\x01\x00\x01");
            for _ in 0..records {
                to.extend_from_slice(&[0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0x0e, 0x10, 0, 4]);
                to.extend_from_slice(some(noise, 4, rng));
            }
        });
    }

    /// A connection: handshake, a request, full segments of which every second is acknowledged, close; then
    /// the next one.
    fn web(&mut self, noise: &[u8], rng: &mut Rng, framer: &mut Framer) {
        const ACK: u8 = TcpHeader::ACK;
        let (from_server, flags, size, next) = match self.stage {
            Stage::Syn => (false, TcpHeader::SYN, 0, Stage::SynAck),
            Stage::SynAck => (true, TcpHeader::SYN | ACK, 0, Stage::Ack),
            Stage::Ack => (false, ACK, 0, Stage::Ask),
            Stage::Ask => (false, ACK | TcpHeader::PUSH, rng.between(200, 700) as usize, Stage::Data),
            Stage::Data => {
                self.left = self.left.saturating_sub(1);
                let next = match self.left {
                    0 => Stage::Fin,
                    left if left.is_multiple_of(2) => Stage::Acknowledge,
                    _ => Stage::Data,
                };
                (true, ACK | TcpHeader::PUSH, max_segment(self.heads[0].is_v6()), next)
            }
            Stage::Acknowledge => (false, ACK, 0, Stage::Data),
            Stage::Fin => (true, ACK | TcpHeader::FIN, 0, Stage::FinBack),
            Stage::FinBack => (false, ACK | TcpHeader::FIN, 0, Stage::Last),
            Stage::Last => (true, ACK, 0, Stage::Syn),
        };
        let side = usize::from(from_server);
        let acknowledged = if flags & ACK == 0 { 0 } else { self.sequence[1 - side] };
        let header = TcpHeader { sequence: self.sequence[side], acknowledged, flags };
        framer.tcp(&self.heads[side], header, some(noise, size, rng));
        let taken = size as u32 + u32::from(flags & (TcpHeader::SYN | TcpHeader::FIN) != 0);
        self.sequence[side] = self.sequence[side].wrapping_add(taken);
        self.stage = next;
        if matches!(next, Stage::Syn) {
            self.left = rng.between(4, 60) as u32;
            self.sequence = [rng.next_u64() as u32, rng.next_u64() as u32];
        }
    }
}

/// `size` bytes of noise.
fn some<'a>(noise: &'a [u8], size: usize, rng: &mut Rng) -> &'a [u8] {
    let from = rng.below((noise.len() - size) as u64) as usize;
    &noise[from..from + size]
}

const FLOWS: u64 = 2_000;
/// Without the frame check sequence of four bytes.
const SHORTEST_FRAME: usize = 60;
const CROSS: u64 = 0x0063_726f_7373_0000;
const NOISE_OCTETS: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rate;

    /// Ten seconds of it, in bits and in packets.
    #[test]
    fn rates_are_kept() {
        for (rate, ipv6) in [("20M", 0.0), ("9kpps", 0.5)] {
            let scenario = Scenario { ipv6: crate::Share::new(ipv6).unwrap(), ..Scenario::new(1) };
            let rate: Rate = rate.parse().unwrap();
            let mut cross_traffic = CrossTraffic::new(&scenario, &Cross::new(rate));
            let mut framer = Framer::default();
            let (mut packets, mut bits) = (0.0, 0.0);
            while cross_traffic.next < scenario.start + Nanos::from_secs(10) {
                cross_traffic.emit(&mut framer);
                assert!((60..=1_514).contains(&framer.frame().len()));
                packets += 0.1;
                bits += framer.frame().len() as f64 * 0.8;
            }
            let off = match rate {
                Rate::Bits(rate) => bits / rate,
                Rate::Packets(rate) => packets / rate,
            };
            assert!((off - 1.0).abs() < 0.03, "{rate:?}: {off}");
        }
    }
}
