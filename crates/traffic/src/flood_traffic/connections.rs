//! Hostile TCP connections (RFC 9293), and WebSocket in them (RFC 6455).

use std::net::SocketAddr;

use super::hosts::{head, sip_hosts};
use crate::frame::{Framer, TcpHeader, max_segment};
use crate::rng::Rng;

/// Connections of one kind of attack. Each packet belongs to one of them, at random.
#[derive(Debug)]
pub(super) struct Connections {
    attack: Attack,
    open: Vec<Connection>,
}

/// What the connections do after their handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attack {
    /// A gap after the first bytes, and then full segments.
    Hole,
    /// A header of one byte a segment.
    Bytes,
    /// A WebSocket whose first frame is endless.
    WebSocket,
}

#[derive(Clone, Copy, Debug)]
struct Connection {
    /// Client and server.
    ends: [SocketAddr; 2],
    /// Sequence number of the client's next byte, and of the server's.
    next: [u32; 2],
    /// Packets so far.
    sent: u32,
}

impl Connection {
    fn new(rng: &mut Rng) -> Self {
        let [client, server] = sip_hosts(rng);
        let client = SocketAddr::new(client.ip(), rng.between(1_024, 9_999) as u16);
        Self { ends: [client, server], next: [rng.next_u64() as u32, rng.next_u64() as u32], sent: 0 }
    }

    fn send(&mut self, from_server: bool, flags: u8, data: &[u8], framer: &mut Framer) {
        let [client, server] = self.ends;
        let ends = if from_server { [server, client] } else { [client, server] };
        let side = usize::from(from_server);
        let acknowledged = if flags & TcpHeader::ACK == 0 { 0 } else { self.next[1 - side] };
        framer.tcp(&head(ends), TcpHeader { sequence: self.next[side], acknowledged, flags }, data);
        self.skip(side, data.len() as u32 + u32::from(flags & TcpHeader::SYN));
    }

    fn skip(&mut self, side: usize, octets: u32) {
        self.next[side] = self.next[side].wrapping_add(octets);
    }

    /// Handshake, then what the attack does.
    fn step(&mut self, attack: Attack, framer: &mut Framer) {
        const ACK: u8 = TcpHeader::ACK;
        let step = self.sent;
        self.sent += 1;
        match (step, attack) {
            (0, _) => self.send(false, TcpHeader::SYN, b"", framer),
            (1, _) => self.send(true, TcpHeader::SYN | ACK, b"", framer),
            (2, Attack::WebSocket) => self.send(false, ACK, UPGRADE, framer),
            (3, Attack::WebSocket) => self.send(true, ACK, UPGRADED, framer),
            (4, Attack::WebSocket) => self.send(false, ACK, TERABYTE, framer),
            (2, Attack::Hole) => {
                self.send(false, ACK, START, framer);
                self.skip(0, 1_000);
            }
            (2, Attack::Bytes) => self.send(false, ACK, START, framer),
            (_, Attack::Bytes) => self.send(false, ACK, b"x", framer),
            (_, Attack::Hole | Attack::WebSocket) => {
                self.send(false, ACK, &[b'x'; max_segment(false)], framer);
            }
        }
    }
}

impl Connections {
    pub(super) fn new(attack: Attack) -> Self {
        Self { attack, open: Vec::new() }
    }

    pub(super) fn emit(&mut self, rng: &mut Rng, framer: &mut Framer) {
        let (at_once, packets) = match self.attack {
            Attack::Hole => (5_000, 60),
            Attack::Bytes => (20, 50_000),
            Attack::WebSocket => (5_000, 60),
        };
        if self.open.len() < at_once {
            self.open.push(Connection::new(rng));
        }
        let index = rng.below(self.open.len() as u64) as usize;
        if self.open[index].sent >= packets {
            // Left as it is: the client never says that it is gone.
            self.open[index] = Connection::new(rng);
        }
        self.open[index].step(self.attack, framer);
    }
}

/// A segment that opens and closes a connection.
pub(super) fn syn_fin(rng: &mut Rng, framer: &mut Framer) {
    Connection::new(rng).send(false, TcpHeader::SYN | TcpHeader::FIN, b"", framer);
}

const START: &[u8] = b"INVITE sip:b@example.com SIP/2.0\r\nCall-ID: ";
const UPGRADE: &[u8] =
    b"GET / HTTP/1.1\r\nHost: example.com\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
    Sec-WebSocket-Protocol: sip\r\nSec-WebSocket-Version: 13\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
const UPGRADED: &[u8] = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
    Sec-WebSocket-Protocol: sip\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";
/// A masked text frame of 2^40 bytes (RFC 6455 section 5.2).
const TERABYTE: &[u8] = &[0x81, 0xff, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
