//! Hostile RTP (RFC 3550), fragments (RFC 791), SCTP (RFC 9260), and packets with wrong lengths.

use std::net::{IpAddr, SocketAddr};

use super::hosts::{FIRST_PORT, head, media_hosts, sip_hosts};
use crate::frame::{Framer, SCTP, UDP};
use crate::rng::Rng;

/// Floods of datagrams.
#[derive(Debug, Default)]
pub(super) struct Datagrams {
    /// The flow of the last packets, and how many are left of it.
    flow: Option<(Flow, u16)>,
    collisions: u32,
}

#[derive(Clone, Copy, Debug)]
struct Flow {
    ends: [SocketAddr; 2],
    ssrc: u32,
    sequence: u16,
}

impl Flow {
    /// The next packet of PCMU, 20 ms each.
    fn emit(&mut self, framer: &mut Framer) {
        self.sequence = self.sequence.wrapping_add(1);
        let timestamp = u32::from(self.sequence) * SAMPLES as u32;
        framer.udp(&head(self.ends), |payload| {
            payload.extend_from_slice(&[0x80, 0]);
            payload.extend_from_slice(&self.sequence.to_be_bytes());
            payload.extend_from_slice(&timestamp.to_be_bytes());
            payload.extend_from_slice(&self.ssrc.to_be_bytes());
            payload.resize(payload.len() + SAMPLES, 0xff);
        });
    }
}

impl Datagrams {
    /// Enough packets of each SSRC to be taken for a stream.
    pub(super) fn ssrc(&mut self, rng: &mut Rng, framer: &mut Framer) {
        let (mut flow, left) = self.flow.take().unwrap_or_else(|| {
            let flow = Flow { ends: media_hosts(rng), ssrc: rng.next_u64() as u32, sequence: 0 };
            (flow, PACKETS_OF_AN_SSRC)
        });
        flow.emit(framer);
        self.flow = (left > 1).then_some((flow, left - 1));
    }

    /// What one end gains the other loses: sums, and many weak hashes, stay as they are.
    pub(super) fn collision(&mut self, rng: &mut Rng, framer: &mut Framer) {
        let number = self.collisions;
        self.collisions = number.wrapping_add(1);
        let (high, low) = ((number / 250 % 250) as u8, (number % 250) as u8);
        let end = |host: u8, port: u16| SocketAddr::new(IpAddr::from([198, 51, 100, host]), port);
        let ends =
            [end(1 + low, FIRST_PORT + u16::from(high)), end(251 - low, FIRST_PORT + 250 - u16::from(high))];
        Flow { ends, ssrc: 1, sequence: rng.next_u64() as u16 }.emit(framer);
    }

    /// First fragments, middle ones and the farthest: none is the last.
    pub(super) fn fragment(&mut self, rng: &mut Rng, framer: &mut Framer) {
        // In units of eight bytes, of which an IPv4 packet has at most 8,191.
        let offset = match rng.below(4) {
            0 | 1 => 0,
            2 => rng.between(1, 8_000) as u16,
            _ => 8_100,
        };
        let ends = sip_hosts(rng);
        framer.ip(&head(ends), UDP, |payload| payload.resize(payload.len() + FRAGMENT, b'F'));
        framer.make_fragment(rng.next_u64() as u16, offset);
    }

    /// Chunks of an unknown type with nothing but their header, which a receiver skips (section 3.2).
    pub(super) fn chunks(&mut self, rng: &mut Rng, framer: &mut Framer) {
        let ends = sip_hosts(rng);
        framer.ip(&head(ends), SCTP, |payload| {
            payload.extend_from_slice(&[0; 8]);
            (0..CHUNKS).for_each(|_| payload.extend_from_slice(&[0xbf, 0, 0, 4]));
        });
    }

    pub(super) fn lengths(&mut self, rng: &mut Rng, framer: &mut Framer) {
        let wrong = rng.next_u64() as u16;
        match rng.below(6) {
            0 => {
                Flow { ends: media_hosts(rng), ssrc: 2, sequence: 0 }.emit(framer);
                framer.set_ip_length(wrong);
            }
            1 => {
                Flow { ends: media_hosts(rng), ssrc: 2, sequence: 0 }.emit(framer);
                framer.set_udp_length(wrong);
            }
            2 => {
                let text = format!(
                    "INVITE sip:a@b SIP/2.0\r\nCall-ID: {wrong:04x}\r\nCSeq: 1 INVITE\r\n\
                     From: <sip:a@b>;tag=1\r\nTo: <sip:b@b>\r\nVia: SIP/2.0/UDP b;branch=z9hG4bK1\r\n\
                     Content-Length: 4294967295\r\n\r\nv=0\r\n"
                );
                framer.udp(&head(sip_hosts(rng)), |payload| payload.extend_from_slice(text.as_bytes()));
            }
            // RTP with contributing sources (section 5.1) or a header extension (5.3.1) beyond its end.
            3 => framer.udp(&head(media_hosts(rng)), |payload| payload.extend_from_slice(&[0x8f; 20])),
            4 => framer.udp(&head(media_hosts(rng)), |payload| {
                payload
                    .extend_from_slice(&[0x90, 0, 0, 1, 0, 0, 0, 160, 0, 0, 0, 3, 0xbe, 0xde, 0xff, 0xff, 0]);
            }),
            // An RTCP sender report (section 6.4.1) of 256 KiB with 31 blocks, none of which is there.
            _ => framer.udp(&head(media_hosts(rng)), |payload| {
                payload.extend_from_slice(&[0x9f, 200, 0xff, 0xff, 0, 0, 0, 4]);
            }),
        }
    }
}

const SAMPLES: usize = 160;
const PACKETS_OF_AN_SSRC: u16 = 4;
/// Bytes after the ports: with them a multiple of eight.
const FRAGMENT: usize = 1_204;
/// As many as fit.
const CHUNKS: usize = 360;
