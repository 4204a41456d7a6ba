//! Which worker gets a frame, where that is ours to choose.

use ringtap_model::{Endpoint, Frame};
use ringtap_wire::frame::{Packet, Payload, decode};

use crate::table::hash::Hasher;

/// The worker that gets a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// Its number, from 0.
    pub worker: usize,
    /// It is a part of a datagram: for [`super::Stage::Fragments`], before the other frames of its batch.
    pub is_fragment: bool,
}

/// Shares frames out: UDP by its source, so that all streams of a source meet in one worker, which tells
/// numbers spent on another destination from lost ones; TCP and SCTP by connection; fragments by their
/// addresses. Of a tunnel the inner packet counts. Decodes the frame's headers, no more.
pub fn assign(frame: &Frame<'_>, workers: usize) -> Assignment {
    match decode(frame.link.0, frame.wire_len, frame.data) {
        Ok(packet) => {
            let is_fragment = matches!(packet.payload, Payload::Fragment(_));
            Assignment { worker: of_packet(&packet, workers), is_fragment }
        }
        Err(_) => Assignment { worker: 0, is_fragment: false },
    }
}

/// The worker of a packet.
pub(crate) fn of_packet(packet: &Packet<'_>, workers: usize) -> usize {
    if workers <= 1 {
        return 0;
    }
    // The same for every run: which worker has what shows in no record, and there is nothing here to fill up.
    let hasher = Hasher::new(0);
    let ends = |src, dst| (Endpoint::new(packet.ip.src, src), Endpoint::new(packet.ip.dst, dst));
    let either = |(a, b): (Endpoint, Endpoint)| hasher.of((a.min(b), a.max(b)));
    let hash = match &packet.payload {
        Payload::Udp(udp) => hasher.of(Endpoint::new(packet.ip.src, udp.src_port)),
        Payload::Tcp(tcp) => either(ends(tcp.src_port, tcp.dst_port)),
        Payload::Sctp(sctp) => either(ends(sctp.src_port, sctp.dst_port)),
        Payload::Fragment(_) => hasher.of((packet.ip.src, packet.ip.dst)),
        Payload::Icmp | Payload::Other(_) => return 0,
    };
    ((hash >> 32) as usize * workers) >> 32
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

    fn of(data: &[u8], workers: usize) -> Assignment {
        let (time, link, wire_len) = (Nanos::from_secs(1), LinkType(101), data.len() as u32);
        assign(&Frame { time, number: 1, link, wire_len, data }, workers)
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
        assert_eq!(of(&[], 4), Assignment { worker: 0, is_fragment: false });
    }
}
