//! Frames with their times.

use ringtap_model::{Endpoint, Nanos};

use super::{packet, sip::Msg};

/// LINKTYPE numbers.
const ETHERNET: u16 = 1;
const RAW: u16 = 101;

/// A frame as it was captured.
#[derive(Clone, Debug)]
pub struct Sent {
    /// After the beginning of the story.
    pub at: Nanos,
    /// LINKTYPE of `data`.
    pub link: u16,
    /// Length that the capture declares.
    pub wire_len: u32,
    /// What was captured.
    pub data: Vec<u8>,
    /// How far the record's time is ahead of the truth; the frame keeps its place.
    pub ahead: Nanos,
}

/// What passes the tap. Frames may be put on it in any order; they pass in order of time, equal times as put.
#[derive(Clone, Debug, Default)]
pub struct Wire(Vec<Sent>);

impl Wire {
    /// An idle one.
    pub fn new() -> Self {
        Self::default()
    }

    /// An Ethernet frame.
    pub fn frame(&mut self, at: Nanos, data: Vec<u8>) {
        self.0.push(Sent { at, link: ETHERNET, wire_len: data.len() as u32, data, ahead: Nanos::ZERO });
    }

    /// An IP packet in Ethernet.
    pub fn packet(&mut self, at: Nanos, packet: &[u8]) {
        self.frame(at, packet::ethernet(packet));
    }

    /// An IP packet on an interface without link layer.
    pub fn raw(&mut self, at: Nanos, packet: &[u8]) {
        self.0.push(Sent {
            at,
            link: RAW,
            wire_len: packet.len() as u32,
            data: packet.to_vec(),
            ahead: Nanos::ZERO,
        });
    }

    /// A UDP datagram.
    pub fn udp(&mut self, at: Nanos, src: Endpoint, dst: Endpoint, payload: &[u8]) {
        self.packet(at, &packet::udp(src, dst, payload));
    }

    /// A SIP message in UDP, from its sender to its receiver.
    pub fn send(&mut self, at: Nanos, message: &Msg) {
        self.udp(at, message.src, message.dst, &message.bytes());
    }

    /// Every frame so far, for stories that change them.
    pub fn frames_mut(&mut self) -> &mut Vec<Sent> {
        &mut self.0
    }

    pub(super) fn into_frames(mut self) -> Vec<Sent> {
        self.0.sort_by_key(|sent| sent.at);
        self.0
    }
}
