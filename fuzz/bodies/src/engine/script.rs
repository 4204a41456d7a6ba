//! Turns bytes into a script of packets.
//!
//! Each step is an action (a byte, modulo the number of actions) and its parameters. It appends packets with
//! the running time.

use std::collections::HashMap;

use ringtap_model::{Endpoint, Nanos};

use super::messages::{self, Sip};
use super::packets::{self, HOSTS, PORTS, endpoint};
use crate::choices::Choices;

/// The input of the engine.
#[derive(Clone)]
pub(super) enum Event {
    Packet { time: Nanos, link: u16, wire_len: u32, data: Vec<u8> },
    Tick(Nanos),
}

pub(super) struct Script<'a> {
    choices: Choices<'a>,
    now: Nanos,
    events: Vec<Event>,
    flows: [Flow; 8],
    /// The next sequence number of each direction of a connection.
    next: HashMap<(Endpoint, Endpoint), u32>,
    datagrams: u16,
}

/// The state of an RTP sender.
#[derive(Clone, Copy, Default)]
struct Flow {
    sequence: u16,
    timestamp: u32,
}

impl<'a> Script<'a> {
    pub(super) fn new(choices: Choices<'a>) -> Self {
        let flows = [Flow { sequence: 0xfff0, timestamp: 0xffff_f000 }; 8];
        let now = Nanos::from_secs(1_700_000_000);
        Self { choices, now, events: Vec::new(), flows, next: HashMap::new(), datagrams: 0 }
    }

    pub(super) fn events(mut self) -> Vec<Event> {
        while !self.choices.is_empty() && self.events.len() < MAX_EVENTS {
            match self.choices.byte() % 16 {
                0 | 1 => self.signal(),
                2..=4 => self.media(),
                5 | 6 => self.wait(),
                7 => self.again(),
                8 => self.damage(),
                9 => self.datagram(),
                10 => self.raw(),
                11 => self.control(),
                12 => self.lose(),
                13 => self.swap(),
                14 => self.report(),
                _ => self.events.push(Event::Tick(self.now)),
            }
        }
        self.events
    }

    fn push(&mut self, data: Vec<u8>) {
        self.events.push(Event::Packet { time: self.now, link: 1, wire_len: data.len() as u32, data });
    }

    fn push_udp(&mut self, src: Endpoint, dst: Endpoint, payload: &[u8]) {
        self.push(packets::frame(src.ip, dst.ip, UDP, &packets::udp(src, dst, payload)));
    }

    /// Sends a SIP message over any transport.
    fn signal(&mut self) {
        let Sip { src, dst, text } = messages::sip(&mut self.choices);
        let carrier = self.choices.byte();
        let size = match carrier >> 4 {
            0 => text.len(),
            n => 8 << (n / 2),
        };
        match carrier & 15 {
            0..=4 => self.push_udp(src, dst, &text),
            5..=7 => self.tcp(src, dst, &text, size),
            8 => self.websocket(src, dst, &text, size),
            9 | 10 => self.sctp(src, dst, &text, size),
            11 | 12 => self.fragments(src, dst, &text, size),
            13 => self.push_udp(endpoint(3, 9060), endpoint(4, 9060), &packets::hep(src, dst, &text)),
            14 => self.udp_over_ipv6(src.port, dst.port, &text),
            // Mirrored twice: the same frame twice.
            _ => (0..2).for_each(|_| self.push_udp(src, dst, &text)),
        }
    }

    fn udp_over_ipv6(&mut self, src: u16, dst: u16, text: &[u8]) {
        self.push_udp(endpoint(5, src), endpoint(6, dst), text);
    }

    fn tcp(&mut self, src: Endpoint, dst: Endpoint, bytes: &[u8], size: usize) {
        for part in bytes.chunks(size) {
            let next = self.next.entry((src, dst)).or_insert(0xffff_ff00);
            let seq = *next;
            *next = next.wrapping_add(part.len() as u32);
            self.push(packets::frame(src.ip, dst.ip, TCP, &packets::tcp(src, dst, seq, 0x18, part)));
        }
    }

    /// Sends a WebSocket text frame; both handshakes precede the first one.
    fn websocket(&mut self, src: Endpoint, dst: Endpoint, text: &[u8], size: usize) {
        let (src, dst) = (Endpoint::new(src.ip, 8080), Endpoint::new(dst.ip, 80));
        if !self.next.contains_key(&(src, dst)) {
            self.tcp(src, dst, b"GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n", usize::MAX);
            self.tcp(dst, src, b"HTTP/1.1 101 -\r\nUpgrade: websocket\r\n\r\n", usize::MAX);
        }
        let mut frame = vec![0x81, 0xfe];
        frame.extend((text.len() as u16).to_be_bytes());
        frame.extend([1, 2, 3, 4]);
        let mask = [1, 2, 3, 4].into_iter().cycle();
        frame.extend(text.iter().zip(mask).map(|(byte, mask)| byte ^ mask));
        self.tcp(src, dst, &frame, size);
    }

    fn sctp(&mut self, src: Endpoint, dst: Endpoint, text: &[u8], size: usize) {
        let count = text.len().div_ceil(size);
        for (index, part) in text.chunks(size).enumerate() {
            let next = self.next.entry((src, dst)).or_insert(u32::MAX - 2);
            let tsn = *next;
            *next = next.wrapping_add(1);
            let flags = u8::from(index == 0) << 1 | u8::from(index + 1 == count);
            self.push(packets::frame(src.ip, dst.ip, SCTP, &packets::sctp(src, dst, tsn, flags, part)));
        }
    }

    fn fragments(&mut self, src: Endpoint, dst: Endpoint, text: &[u8], size: usize) {
        self.datagrams += 1;
        let payload = packets::udp(src, dst, text);
        let size = size.next_multiple_of(8);
        for part in packets::fragments(src.ip, dst.ip, UDP, &payload, self.datagrams, size) {
            self.push(part);
        }
    }

    /// Sends packets of one sender; parameters are the sender, their number, their numbering and their
    /// spacing.
    fn media(&mut self) {
        let who = self.choices.byte();
        let index = usize::from(who & 7);
        let (src, dst) = (who >> 3 & 3, who >> 5 & 3);
        let src = endpoint(src, PORTS[index % 4]);
        let dst = endpoint(dst, PORTS[usize::from(who >> 6) % 4]);
        let how = self.choices.byte();
        let count = [1, 2, 5, 20, 60, 150, 3, 10][usize::from(how & 7)];
        let payload_type = self.choices.pick(&[0, 8, 18, 9, 96, 111, 101, 13, 0x80, 0xe0, 31, 3]);
        if how & 8 != 0 {
            self.flows[index].sequence = self.flows[index].sequence.wrapping_add(self.choices.short());
        }
        if how & 16 != 0 {
            self.flows[index].timestamp = self.flows[index].timestamp.wrapping_add(self.choices.long());
        }
        let gap = [20, 20, 0, 30, 1, 200, 1000, 11_000][usize::from(how >> 5)];
        let step = self.choices.pick(&[160, 160, 960, 0, 320, 1, 80, u32::MAX]);
        let len = self.choices.pick(&[160, 160, 4, 0, 20, 80, 1, 255]);
        for number in 0..count {
            let Flow { sequence, timestamp } = self.flows[index];
            let head =
                [&[0x80, payload_type][..], &sequence.to_be_bytes(), &timestamp.to_be_bytes()].concat();
            let fill = if who & 0x80 == 0 { 0xff } else { number as u8 };
            let packet = [&head[..], &[0, 0, 0, who & 1], &vec![fill; len]].concat();
            self.push_udp(src, dst, &packet);
            self.flows[index].sequence = sequence.wrapping_add(1);
            self.flows[index].timestamp = timestamp.wrapping_add(step);
            self.now += Nanos::from_millis(gap);
        }
    }

    /// Lets time pass, stand still, jump or go back.
    fn wait(&mut self) {
        let length = self.choices.byte();
        let n = u64::from(length >> 4) + 1;
        self.now = match length & 15 {
            0..=2 => self.now + Nanos::from_millis(n * 7),
            3 | 4 => self.now + Nanos::from_millis(n * 333),
            5..=7 => self.now + Nanos::from_secs(n * 11),
            8 => self.now + Nanos::from_secs(n * 33),
            9 => self.now + Nanos::from_secs(n * 201),
            10 => self.now + Nanos::from_secs(n * 3601),
            11 => self.now + Nanos::from_secs(n * 5 * 3600),
            12 => self.now.since(Nanos::from_millis(n * 50)),
            13 => self.now.since(Nanos::from_secs(n * 100)),
            14 => Nanos::from_secs(u64::from(self.choices.long())),
            _ => Nanos(u64::MAX - u64::from(self.choices.long()) * n * 1_000_000),
        };
    }

    /// Duplicates one of the last packets.
    fn again(&mut self) {
        let back = usize::from(self.choices.byte()) + 1;
        let Some(Event::Packet { data, .. }) = self.events.iter().rev().nth(back % 32) else { return };
        let data = data.clone();
        self.push(data);
    }

    /// Truncates the last packet, or changes one of its bytes.
    fn damage(&mut self) {
        let (at, value) = (usize::from(self.choices.short()), self.choices.byte());
        let Some(Event::Packet { data, wire_len, .. }) = self.events.last_mut() else { return };
        if data.is_empty() {
            return;
        }
        let at = at % data.len();
        match value {
            0 => data.truncate(at),
            1 => *wire_len = at as u32,
            _ => data[at] = value,
        }
    }

    /// Sends arbitrary bytes between two endpoints.
    fn datagram(&mut self) {
        let who = self.choices.byte();
        let src = endpoint(who & 7, PORTS[usize::from(who >> 6)]);
        let dst = endpoint(who >> 3 & 7, PORTS[usize::from(who >> 6)]);
        let payload = self.choices.bytes();
        self.push_udp(src, dst, payload);
    }

    /// Adds an arbitrary frame of any link type.
    fn raw(&mut self) {
        let link = self.choices.pick(&[1, 101, 113, 276, 0, 9, 105, 127, 197]);
        let data = self.choices.bytes().to_vec();
        self.events.push(Event::Packet { time: self.now, link, wire_len: data.len() as u32, data });
    }

    /// Sends a TCP segment with any flags and sequence number: SYN, FIN, RST, or after a hole.
    fn control(&mut self) {
        let who = self.choices.byte();
        let (mut src, mut dst) = (endpoint(who & 3, 5060), endpoint((who & 3) + 1, 5060));
        if who & 4 != 0 {
            (src, dst) = (dst, src);
        }
        let flags = self.choices.pick(&[0x02, 0x12, 0x11, 0x04, 0x10, 0x18, 0x01, 0x00]);
        let next = self.next.entry((src, dst)).or_insert(0xffff_ff00);
        let hole = who >> 3;
        *next = next.wrapping_add(if hole == 31 { 0x4000_0000 } else { u32::from(hole) * 40 });
        let seq = *next;
        let payload = self.choices.bytes();
        *next = next.wrapping_add(payload.len() as u32);
        self.push(packets::frame(src.ip, dst.ip, TCP, &packets::tcp(src, dst, seq, flags, payload)));
    }

    /// Removes one of the last packets.
    fn lose(&mut self) {
        let back = usize::from(self.choices.byte() % 32) + 1;
        if let Some(at) = self.events.len().checked_sub(back) {
            self.events.remove(at);
        }
    }

    /// Swaps two of the last packets; each takes the other's time.
    fn swap(&mut self) {
        let back = usize::from(self.choices.byte() % 32) + 2;
        let Some(at) = self.events.len().checked_sub(back) else { return };
        let (first, rest) = self.events[at..].split_at_mut(1);
        let (Event::Packet { data: one, wire_len: one_len, .. }, Event::Packet { data, wire_len, .. }) =
            (&mut first[0], &mut rest[0])
        else {
            return;
        };
        std::mem::swap(one, data);
        std::mem::swap(one_len, wire_len);
    }

    /// Sends RTCP, STUN, or relayed media.
    fn report(&mut self) {
        let who = self.choices.byte();
        let (src, dst) = (endpoint(who & 3, PORTS[0]), endpoint(who >> 2 & 3, PORTS[1]));
        let word = self.choices.long().to_be_bytes();
        let payload = match who >> 4 & 3 {
            0 => [&[0x81, 200, 0, 12, 0, 0, 0, 1][..], &word.repeat(11)].concat(),
            1 => [&[0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42][..], &word.repeat(3)].concat(),
            2 => [&[0x40, 0, 0, 32, 0x80, 0][..], &word, &[0, 0], &word, &[1; 20]].concat(),
            _ => [&[0x81, 203, 0, 1, 0, 0, 0, 1][..], &[0x80, 207, 0, 2], &word.repeat(2)].concat(),
        };
        self.push_udp(src, dst, &payload);
    }
}

const TCP: u8 = 6;
const UDP: u8 = 17;
const SCTP: u8 = 132;
const MAX_EVENTS: usize = 1_200;

/// Hosts that two bits select for media and signalling have the same address family.
const _: () = assert!(HOSTS[0].is_ipv4() && HOSTS[1].is_ipv4() && HOSTS[2].is_ipv4() && HOSTS[3].is_ipv4());
