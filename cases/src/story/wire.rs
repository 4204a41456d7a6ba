//! Frames and their times.

use ringtap_model::{Endpoint, Nanos};

use super::{packet, sip::Msg};

/// LINKTYPE numbers.
const ETHERNET: u16 = 1;
const RAW: u16 = 101;

/// A captured frame.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Time after the start of the story.
    pub at: Nanos,
    /// LINKTYPE of `data`.
    pub link: u16,
    /// The wire length that the capture states.
    pub wire_len: u32,
    /// The captured bytes.
    pub data: Vec<u8>,
    /// How far the record's time is ahead of the true time; it does not change the order of the frames.
    pub ahead: Nanos,
}

/// The frames that pass the tap. They may be added in any order and are sorted by time, then by insertion.
#[derive(Clone, Debug, Default)]
pub struct Wire(Vec<Sent>);

impl Wire {
    /// A wire without frames.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an Ethernet frame.
    pub fn frame(&mut self, at: Nanos, data: Vec<u8>) {
        self.0.push(Sent { at, link: ETHERNET, wire_len: data.len() as u32, data, ahead: Nanos::ZERO });
    }

    /// Adds an IP packet in Ethernet.
    pub fn packet(&mut self, at: Nanos, packet: &[u8]) {
        self.frame(at, packet::ethernet(packet));
    }

    /// Adds an IP packet on an interface without link layer.
    pub fn raw(&mut self, at: Nanos, packet: &[u8]) {
        self.0.push(Sent {
            at,
            link: RAW,
            wire_len: packet.len() as u32,
            data: packet.to_vec(),
            ahead: Nanos::ZERO,
        });
    }

    /// Adds a UDP datagram.
    pub fn udp(&mut self, at: Nanos, src: Endpoint, dst: Endpoint, payload: &[u8]) {
        self.packet(at, &packet::udp(src, dst, payload));
    }

    /// Adds a SIP message over UDP, from its sender to its receiver.
    pub fn send(&mut self, at: Nanos, message: &Msg) {
        self.udp(at, message.src, message.dst, &message.bytes());
    }

    /// All frames so far, for stories that change them.
    pub fn frames_mut(&mut self) -> &mut Vec<Sent> {
        &mut self.0
    }

    pub(super) fn into_frames(mut self) -> Vec<Sent> {
        self.0.sort_by_key(|sent| sent.at);
        self.0
    }
}
