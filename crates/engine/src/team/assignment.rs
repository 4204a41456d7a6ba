//! Which worker gets a frame, where that is ours to choose, and in which stage of its batch.

use std::net::IpAddr;

use ringtap_model::{Endpoint, Frame};
use ringtap_wire::frame::{self, Hosts, Packet, Payload, Udp};
use ringtap_wire::rtp;
use ringtap_wire::sip::{self, Message};

use super::MAX_WORKERS;
use super::links::owner;
use crate::config::Config;
use crate::table::hash::Hasher;

/// The worker that gets a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// Its number, from 0.
    pub worker: usize,
    /// The list of its batch that the frame is in.
    pub list: FrameList,
}

/// The frames of a batch are handled by kind, see [`Stage`](super::Stage).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameList {
    /// Parts of datagrams, for [`Stage::Fragments`](super::Stage::Fragments).
    Fragments,
    /// RTP below usual headers, for [`Stage::Media`](super::Stage::Media).
    Media,
    /// SIP messages in datagrams of their own, for [`Stage::Signalling`](super::Stage::Signalling).
    Sip,
    /// Everything else, for [`Stage::Decode`](super::Stage::Decode).
    Others,
}

impl FrameList {
    /// Number of lists.
    pub const COUNT: usize = 4;
}

/// Shares frames out among the workers of a team: UDP by its source, so that all streams of a source meet in
/// one worker, which tells numbers spent on another destination from lost ones; SIP over UDP by its Call-ID,
/// so that its owner need not be sent it; TCP and SCTP by connection; fragments by their addresses. Of a
/// tunnel the inner packet counts. Decodes the frame's headers, no more.
#[derive(Clone, Debug)]
pub struct Assigner {
    workers: usize,
    hasher: Hasher,
}

impl Assigner {
    /// For a team of so many workers with this configuration.
    pub fn new(config: &Config, workers: usize) -> Self {
        Self { workers: workers.clamp(1, MAX_WORKERS), hasher: Hasher::new(config.seed) }
    }

    /// Number of workers.
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// The worker that gets a frame.
    // HOT: each frame of a file passes here.
    #[inline]
    pub fn assign(&self, frame: &Frame<'_>) -> Assignment {
        match frame::plain_udp(frame.link.0, frame.data) {
            Some(plain) => self.of_udp(of_host(plain.src.into(), plain.udp.src_port), &plain.udp),
            None => self.assign_other(frame),
        }
    }

    #[inline(never)]
    fn assign_other(&self, frame: &Frame<'_>) -> Assignment {
        if let Some(usual) = frame::usual_udp(frame.link.0, frame.data) {
            let src = match usual.hosts {
                Hosts::V4(src, _) => src.into(),
                Hosts::V6(src, _) => src,
            };
            return self.of_udp(of_host(src, usual.udp.src_port), &usual.udp);
        }
        match frame::decode(frame.link.0, frame.wire_len, frame.data) {
            Ok(packet) => {
                let is_fragment = matches!(packet.payload, Payload::Fragment(_));
                let list = if is_fragment { FrameList::Fragments } else { FrameList::Others };
                Assignment { worker: of_packet(&packet, self.workers), list }
            }
            Err(_) => Assignment { worker: 0, list: FrameList::Others },
        }
    }

    #[inline]
    fn of_udp(&self, hash: u64, udp: &Udp<'_>) -> Assignment {
        if rtp::View::parse(udp.data, udp.len).is_ok() {
            return Assignment { worker: of_hash(hash, self.workers), list: FrameList::Media };
        }
        match self.of_sip(udp.data) {
            Some(worker) => Assignment { worker, list: FrameList::Sip },
            None => Assignment { worker: of_hash(hash, self.workers), list: FrameList::Others },
        }
    }

    /// The owner of the Call-ID of a SIP message.
    #[inline(never)]
    fn of_sip(&self, data: &[u8]) -> Option<usize> {
        let start = sip::sniff(data)?;
        // As the engine parses it, or another worker would own the Call-ID.
        let hash = |message: &Message<'_>| Some(self.hasher.of(message.call_id()?));
        let hash = Message::parse_with(&data[start..], hash).ok()??;
        Some(owner(hash, self.workers))
    }
}

/// The worker of a packet.
pub(crate) fn of_packet(packet: &Packet<'_>, workers: usize) -> usize {
    let (src, dst) = (bits(packet.ip.src), bits(packet.ip.dst));
    let ends = |from, to| (Endpoint::new(packet.ip.src, from), Endpoint::new(packet.ip.dst, to));
    let of_end = |end: Endpoint| of_host(bits(end.ip), end.port);
    let either = |(a, b): (Endpoint, Endpoint)| mix(of_end(a.min(b)), of_end(a.max(b)));
    let hash = match &packet.payload {
        Payload::Udp(udp) => of_host(src, udp.src_port),
        Payload::Tcp(tcp) => either(ends(tcp.src_port, tcp.dst_port)),
        Payload::Sctp(sctp) => either(ends(sctp.src_port, sctp.dst_port)),
        Payload::Fragment(_) => mix(of_host(src, 0), of_host(dst, 0)),
        Payload::Icmp | Payload::Other(_) => return 0,
    };
    of_hash(hash, workers)
}

fn bits(ip: IpAddr) -> u128 {
    match ip {
        IpAddr::V4(ip) => ip.to_bits().into(),
        IpAddr::V6(ip) => ip.to_bits(),
    }
}

#[inline]
fn of_hash(hash: u64, workers: usize) -> usize {
    ((hash >> 32) as usize * workers) >> 32
}

#[inline]
fn of_host(ip: u128, port: u16) -> u64 {
    mix(mix((ip >> 64) as u64, ip as u64), port.into())
}

/// The same for every run: which worker has what shows in no record, and there is nothing here to fill up.
#[inline]
fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a ^ 0x9e37_79b9_7f4a_7c15) * u128::from(b ^ 0xd6e8_feb8_6659_fd93);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use ringtap_model::{LinkType, Nanos};

    use super::*;

    fn udp(src_port: u16, dst_port: u16) -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 198, 51, 100, 1];
        packet.extend(src_port.to_be_bytes());
        packet.extend(dst_port.to_be_bytes());
        packet.extend([0, 8, 0, 0]);
        packet
    }

    fn assigner(workers: usize) -> Assigner {
        Assigner::new(&Config::default(), workers)
    }

    fn of(data: &[u8], workers: usize) -> Assignment {
        let (time, link, wire_len) = (Nanos::from_secs(1), LinkType(101), data.len() as u32);
        assigner(workers).assign(&Frame { time, number: 1, link, wire_len, data })
    }

    #[test]
    fn a_source_has_one_worker_and_sources_spread() {
        let mut counts = [0; 4];
        for port in 10_000..14_000 {
            let assignment = of(&udp(port, 4000), 4);
            assert_eq!(assignment, of(&udp(port, 6000), 4));
            counts[assignment.worker] += 1;
        }
        assert!(counts.iter().all(|count| (900..1100).contains(count)), "{counts:?}");
    }

    #[test]
    fn both_directions_of_a_connection_meet() {
        for port in 10_000..10_100u16 {
            let mut there = vec![0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2];
            there.extend(port.to_be_bytes());
            there.extend([0x13, 0xc4, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x10, 0, 0, 0, 0, 0, 0]);
            let mut back = there.clone();
            (back[15], back[19]) = (2, 1);
            back[20..24].copy_from_slice(&[0x13, 0xc4, there[20], there[21]]);
            assert_eq!(of(&there, 4), of(&back, 4));
        }
    }

    #[test]
    fn what_is_no_packet_has_a_worker_too() {
        assert_eq!(of(&[], 4), Assignment { worker: 0, list: FrameList::Others });
    }

    /// A datagram in Ethernet has the worker that it has without, which is decoded in another way.
    #[test]
    fn every_way_of_decoding_gives_the_same_worker() {
        for port in 10_000..10_100 {
            let packet = udp(port, 4000);
            let framed = [&[0; 12][..], &[8, 0], &packet].concat();
            let frame = |data, link| {
                let wire_len = 60;
                Frame { time: Nanos::from_secs(1), number: 1, link: LinkType(link), wire_len, data }
            };
            let cooked = [&[0; 14][..], &[8, 0], &packet].concat();
            let worker = of(&packet, 8).worker;
            assert_eq!(assigner(8).assign(&frame(&framed, 1)).worker, worker);
            assert_eq!(assigner(8).assign(&frame(&cooked, 113)).worker, worker);
        }
    }

    #[test]
    fn media_and_fragments_have_their_own_lists() {
        let in_ethernet = |packet: &[u8]| [&[0; 12][..], &[8, 0], packet].concat();
        let list = |data: &[u8]| {
            let (time, link, wire_len) = (Nanos::from_secs(1), LinkType(1), data.len() as u32);
            assigner(4).assign(&Frame { time, number: 1, link, wire_len, data }).list
        };
        let mut media = udp(4000, 6000);
        media.extend([0x80, 8, 0, 1, 0, 0, 0, 160, 0, 0, 0, 1]);
        (media[3], media[25]) = (40, 20);
        assert_eq!(list(&in_ethernet(&media)), FrameList::Media);
        media[20 + 8 + 1] = 200;
        assert_eq!(list(&in_ethernet(&media)), FrameList::Others);
        assert_eq!(list(&in_ethernet(&udp(4000, 5060))), FrameList::Others);
        let mut fragment = udp(4000, 6000);
        fragment[6] = 0x20;
        assert_eq!(list(&in_ethernet(&fragment)), FrameList::Fragments);
    }

    #[test]
    fn a_message_goes_to_the_owner_of_its_call_id() {
        let hasher = Hasher::new(Config::default().seed);
        let mut workers = [0; 3];
        for call in 0..30 {
            let wanted = owner(hasher.of(format!("{call}@example.com").as_bytes()), 3);
            workers[wanted] += 1;
            for name in ["Call-ID: ", "call-id:", "i : "] {
                let message = format!(
                    "OPTIONS sip:a SIP/2.0\r\nVia: b\r\n{name}{call}@example.com\r\nCSeq: 1 OPTIONS\r\n\r\n"
                );
                let mut packet = udp(5060, 5060);
                packet.extend(message.bytes());
                let total = (packet.len() as u16).to_be_bytes();
                packet[2..4].copy_from_slice(&total);
                let length = (packet.len() as u16 - 20).to_be_bytes();
                packet[24..26].copy_from_slice(&length);
                let data = [&[0; 12][..], &[8, 0], &packet].concat();
                let (time, link, wire_len) = (Nanos::from_secs(1), LinkType(1), data.len() as u32);
                let frame = Frame { time, number: 1, link, wire_len, data: &data };
                assert_eq!(assigner(3).assign(&frame), Assignment { worker: wanted, list: FrameList::Sip });
            }
        }
        assert!(workers.iter().all(|count| *count > 0));
    }
}
