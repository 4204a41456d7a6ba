//! Traffic other than telephony: smallest frames, which the engine recognises and drops.

use std::net::Ipv4Addr;

use ringtap_engine::{Config, Engine};
use ringtap_model::Nanos;

use crate::error::{Error, same};
use crate::load::{Load, Workload};
use crate::media::{START, stages};
use crate::outcome::Outcome;
use crate::packets::{Noise, ipv4, udp};
use crate::passes;
use crate::results::Results;
use crate::ring::Ring;

/// Captured bytes of the smallest Ethernet frame: 64 with its check sequence (IEEE 802.3 clause 3.2.8).
const SMALLEST: usize = 60;
/// UDP payload of such a frame.
const PAYLOAD: usize = 18;
/// Between two frames: the line rate of 10 GbE.
const APART: Nanos = Nanos(67);
/// Number of sending hosts.
const HOSTS: usize = 50_000;

/// Counts of the input.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    udp: u64,
    like_rtp: u64,
    tcp: u64,
    icmp: u64,
}

/// Runs the workload.
pub(crate) fn run(load: &Load, progress: &mut dyn FnMut(&str)) -> Result<Outcome, Error> {
    progress("laying out packets");
    let (mut ring, counts) = lay_out(load);
    let mut engine = Engine::new(Config::default());
    let mut results = Results::default();
    let mut rounds = Vec::new();
    passes::engine(ring.whole(), load.batch, &mut engine, &mut results);
    for round in 1..=load.rounds {
        progress(&format!("round {round} of {}", load.rounds));
        let by = Nanos(APART.0 * ring.len());
        ring.each(|time, _| *time += by);
        let range = ring.whole();
        let header = passes::header(range);
        let decoded = passes::decoding(range);
        same("packets decoded", decoded.counted, ring.len())?;
        same("packets that look like RTP", header.counted, counts.like_rtp)?;
        let whole = passes::engine(range, load.batch, &mut engine, &mut results);
        rounds.push([passes::reference(range), decoded, header, whole]);
    }
    engine.close(&mut results);
    let passed = u64::from(load.rounds) + 1;
    let counters = engine.counters();
    same("TCP segments", counters.tcp, counts.tcp * passed)?;
    same("ICMP", counters.icmp, counts.icmp * passed)?;
    // By chance a few look like TURN with RTP inside.
    let datagrams = counters.udp_other + counters.stun + counters.rtcp + counters.rtp;
    same("UDP", datagrams, (counts.udp + counts.like_rtp) * passed)?;
    same("calls and streams", results.calls + results.loose, 0)?;
    for (reason, count) in counters.drops() {
        same(reason, count, 0)?;
    }
    Ok(Outcome {
        workload: "other".to_owned(),
        what: "no telephony, 64 bytes: half UDP, half TCP".to_owned(),
        calls: 0,
        streams: 0,
        packets: ring.len(),
        frame_bytes: SMALLEST as f64,
        rounds: load.rounds,
        measures: stages(&rounds, ring.len()),
        memory: None,
    })
}

/// Of a hundred frames 50 are UDP, 49 TCP (four of five without data, like acknowledgements), one is ICMP.
/// One of 2,000 UDP frames looks like RTP.
fn lay_out(load: &Load) -> (Ring, Counts) {
    let frames = load.frames(Workload::Other);
    let mut noise = Noise::new();
    let mut counts = Counts::default();
    let mut ring = Ring::with_capacity(frames as usize, SMALLEST);
    let mut frame = Vec::new();
    for number in 0..frames {
        let hosts = (host(&mut noise), host(&mut noise));
        match number % 100 {
            0 => {
                ipv4(&mut frame, hosts.0, hosts.1, 1, 8);
                frame.extend([8, 0, 0, 0, 0, 1, 0, 1]);
                counts.icmp += 1;
            }
            1..50 => {
                tcp(&mut frame, hosts, &mut noise);
                counts.tcp += 1;
            }
            _ => {
                let like_rtp = number % 4_000 == 50;
                datagram(&mut frame, hosts, like_rtp, &mut noise);
                counts.udp += u64::from(!like_rtp);
                counts.like_rtp += u64::from(like_rtp);
            }
        }
        frame.resize(SMALLEST, 0);
        ring.push(START + Nanos(APART.0 * u64::from(number)), &frame);
    }
    (ring, counts)
}

fn host(noise: &mut Noise) -> Ipv4Addr {
    Ipv4Addr::from(0xc612_0000 + noise.below(HOSTS) as u32)
}

/// A port of a client.
fn port(noise: &mut Noise) -> u16 {
    32_768 + noise.below(28_000) as u16
}

fn tcp(frame: &mut Vec<u8>, hosts: (Ipv4Addr, Ipv4Addr), noise: &mut Noise) {
    let data = if noise.below(5) == 0 { SMALLEST - 54 } else { 0 };
    ipv4(frame, hosts.0, hosts.1, 6, 20 + data);
    frame.extend(443_u16.to_be_bytes());
    frame.extend(port(noise).to_be_bytes());
    frame.extend(noise.next().to_be_bytes());
    frame.extend([0x50, 0x10, 0x20, 0, 0, 0, 0, 0]);
    // The beginning of a record of TLS.
    frame.extend(&[0x17, 3, 3, 0, 0x20, 0x7a][..data]);
}

/// QUIC with a short header (RFC 9000 section 17.3), which is common; or a datagram that begins like RTP.
fn datagram(frame: &mut Vec<u8>, hosts: (Ipv4Addr, Ipv4Addr), like_rtp: bool, noise: &mut Noise) {
    udp(frame, (hosts.0, 443), (hosts.1, port(noise)), PAYLOAD);
    let first = 0x40 | noise.next() as u8 & 0x3f;
    frame.extend([if like_rtp { 0x80 } else { first }, noise.next() as u8 & 0x7f]);
    frame.extend(noise.next().to_be_bytes());
    frame.extend(noise.next().to_be_bytes());
}
