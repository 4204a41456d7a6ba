//! Frames of a scenario, and a reading of them that has nothing in common with how they were made.

use std::net::{Ipv4Addr, SocketAddrV4};

use ringtap_model::{Endpoint, Nanos};
use ringtap_traffic::{Scenario, Traffic, Truth};

/// Frames in the order in which they were given, and the truth.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) frames: Vec<(Nanos, Vec<u8>)>,
    pub(crate) truth: Vec<Truth>,
}

/// Everything that a scenario makes.
pub(crate) fn make(scenario: Scenario) -> Made {
    let mut traffic = Traffic::new(scenario).expect("a scenario whose values go together");
    let mut frames = Vec::new();
    while let Some((time, frame)) = traffic.next() {
        frames.push((time, frame.to_vec()));
    }
    assert_eq!(traffic.active_sessions(), 0);
    Made { frames, truth: traffic.truth().collect() }
}

/// A UDP datagram or a TCP segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet<'a> {
    pub(crate) time: Nanos,
    pub(crate) src: SocketAddrV4,
    pub(crate) dst: SocketAddrV4,
    pub(crate) tcp: bool,
    pub(crate) payload: &'a [u8],
}

impl Made {
    /// Each frame read octet by octet.
    pub(crate) fn packets(&self) -> impl Iterator<Item = Packet<'_>> {
        self.frames.iter().map(|(time, frame)| {
            assert_eq!(frame[12..15], [0x08, 0x00, 0x45], "Ethernet, IPv4 without options");
            let total = usize::from(u16::from_be_bytes([frame[16], frame[17]]));
            assert_eq!(total + 14, frame.len());
            let end = |ip: usize, port: usize| {
                let octets: [u8; 4] = frame[ip..ip + 4].try_into().unwrap();
                SocketAddrV4::new(Ipv4Addr::from(octets), u16::from_be_bytes([frame[port], frame[port + 1]]))
            };
            let tcp = frame[23] == 6;
            assert!(tcp || frame[23] == 17);
            Packet {
                time: *time,
                src: end(26, 34),
                dst: end(30, 36),
                tcp,
                payload: &frame[if tcp { 54 } else { 42 }..],
            }
        })
    }
}

pub(crate) fn endpoint(address: SocketAddrV4) -> Endpoint {
    Endpoint::new((*address.ip()).into(), address.port())
}
