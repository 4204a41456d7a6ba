//! RADIUS over TLS (RFC 6614), decrypted with the keys that an end of the connection logs.
//!
//! A connection is known by its ends. Its hellos say which keys and which cipher; what follows is decrypted
//! record by record, in order, and is a stream of packets in each direction.
//!
//! INVARIANT: what is decrypted was authenticated: a record that was changed opens nothing.

mod keys;
mod opener;
mod record;

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use ringtap_model::{Endpoint, Nanos};
use ringtap_wire::radius::total_len;

use crate::carried::Carried;
use keys::AGAIN;
pub use keys::{KeyLog, KeyLogError};
use opener::Opener;
use record::{Hello, Kind, Record, ServerHello};
pub(crate) use record::{is_record, record_len};

/// Figures of TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TlsCounts {
    /// Records that carried packets, and were decrypted.
    pub opened: u64,
    /// Records for which there was no key: the log has none of their connection, or its beginning was not
    /// captured.
    pub no_key: u64,
    /// Records that the key did not open: they are damaged, or others before them are missing.
    pub wrong: u64,
    /// Records of ciphers that are not read: CBC of TLS 1.2.
    pub unsupported: u64,
    /// Connections that gave way to others.
    pub evicted: u64,
}

/// The connections, under a ceiling: those silent for longest give way.
#[derive(Debug)]
pub(crate) struct Connections {
    log: KeyLog,
    most: usize,
    connections: HashMap<(Endpoint, Endpoint), Connection>,
    /// When records that wait were last looked at.
    looked: Option<Instant>,
    pub(crate) counts: TlsCounts,
}

/// One connection.
#[derive(Debug)]
struct Connection {
    client: [u8; 32],
    server: Option<ServerHello>,
    /// What the client sends, and what the server sends.
    halves: [Half; 2],
    /// Records that wait for their key, in order: which direction, where and when, and their bytes.
    waiting: VecDeque<(usize, Carried, Vec<u8>)>,
    waiting_bytes: usize,
    last: Nanos,
}

/// One direction.
#[derive(Debug, Default)]
struct Half {
    /// TLS 1.2: what follows is encrypted.
    is_changed: bool,
    opener: Option<Opener>,
    /// Something was decrypted.
    has_opened: bool,
    /// The beginning of a packet.
    rest: Vec<u8>,
}

impl Connections {
    /// With the keys of a log, for so many connections.
    pub(crate) fn new(log: KeyLog, most: usize) -> Self {
        Self { log, most, connections: HashMap::new(), looked: None, counts: TlsCounts::default() }
    }

    /// Packets whose keys were logged later than they passed. It looks for keys a few times a second.
    pub(crate) fn late(&mut self) -> Vec<(Carried, Vec<u8>)> {
        if self.looked.is_some_and(|looked| looked.elapsed() < AGAIN) {
            return Vec::new();
        }
        self.looked = Some(Instant::now());
        let Self { connections, log, counts, .. } = self;
        let waiting = connections.values_mut().filter(|connection| !connection.waiting.is_empty());
        let mut packets: Vec<_> = waiting.flat_map(|connection| connection.open(log, counts)).collect();
        packets.sort_by_key(|(carried, _)| (carried.time, carried.frame));
        packets
    }

    /// Takes a record. Returns the packets that it completes, with what carried them.
    pub(crate) fn record(&mut self, data: &[u8], carried: Carried) -> Vec<(Carried, Vec<u8>)> {
        let Carried { src, dst, time: now, .. } = carried;
        let Some(record) = Record::parse(data) else { return Vec::new() };
        let is_of_client = dst.port == PORT;
        let key = if is_of_client { (src, dst) } else { (dst, src) };
        if let (true, Some(Hello::Client(client))) = (is_of_client, record.hello()) {
            // A second hello of one connection has the same random; another one's is another connection.
            if self.connections.get(&key).is_none_or(|known| known.client != client) {
                self.begin(key, client, now);
            }
            return Vec::new();
        }
        let Some(connection) = self.connections.get_mut(&key) else {
            self.counts.no_key += u64::from(record.kind == Kind::Data);
            return Vec::new();
        };
        connection.last = now;
        let half = usize::from(!is_of_client);
        if connection.takes(half, &record, &mut self.counts) {
            connection.waiting_bytes += record.bytes.len();
            connection.waiting.push_back((half, carried, record.bytes.to_vec()));
        }
        connection.open(&mut self.log, &mut self.counts)
    }

    fn begin(&mut self, key: (Endpoint, Endpoint), client: [u8; 32], now: Nanos) {
        if self.connections.len() >= self.most && !self.connections.contains_key(&key) {
            let oldest = self.connections.iter().min_by_key(|(_, connection)| connection.last);
            if let Some(key) = oldest.map(|(key, _)| *key) {
                self.connections.remove(&key);
                self.counts.evicted += 1;
            }
        }
        let (halves, waiting) = (Default::default(), VecDeque::new());
        let begun = Connection { client, server: None, halves, waiting, waiting_bytes: 0, last: now };
        self.connections.insert(key, begun);
    }
}

impl Connection {
    /// Learns from a record; true if it has to be opened.
    fn takes(&mut self, half: usize, record: &Record<'_>, counts: &mut TlsCounts) -> bool {
        match record.kind {
            Kind::Handshake if !self.is_encrypted(half) => {
                if let Some(Hello::Server(hello)) = record.hello() {
                    self.server = Some(hello);
                }
                false
            }
            Kind::ChangeCipherSpec => {
                self.halves[half].is_changed = true;
                false
            }
            // Alerts behind the change of TLS 1.2 are counted by its ciphers, too.
            Kind::Other if !self.is_encrypted(half) => false,
            _ if self.server.as_ref().is_some_and(|hello| !hello.is_supported()) => {
                counts.unsupported += u64::from(record.kind == Kind::Data);
                false
            }
            _ => true,
        }
    }

    /// Opens what waits, as far as there are keys, and returns the packets that it completes.
    fn open(&mut self, log: &mut KeyLog, counts: &mut TlsCounts) -> Vec<(Carried, Vec<u8>)> {
        let mut packets = Vec::new();
        while let Some((half, ..)) = self.waiting.front() {
            let half = *half;
            if self.halves[half].opener.is_none() {
                self.halves[half].opener = self.opener(half, log);
            }
            if self.halves[half].opener.is_none() {
                break;
            }
            let Some((_, carried, bytes)) = self.waiting.pop_front() else { break };
            self.waiting_bytes -= bytes.len();
            packets.extend(self.halves[half].open(bytes, counts).into_iter().map(|packet| (carried, packet)));
        }
        // The log may be behind: as far as memory goes.
        while self.waiting_bytes > MOST_WAITING
            && let Some((_, _, oldest)) = self.waiting.pop_front()
        {
            self.waiting_bytes -= oldest.len();
            counts.no_key += u64::from(oldest.first() == Some(&record::DATA));
        }
        packets
    }

    /// Whether a handshake record is one of those behind the change of ciphers.
    fn is_encrypted(&self, half: usize) -> bool {
        let is_12 = self.server.as_ref().is_some_and(|hello| !hello.is_13);
        is_12 && self.halves[half].is_changed
    }

    fn opener(&self, half: usize, log: &mut KeyLog) -> Option<Opener> {
        let server = self.server.as_ref()?;
        Opener::new(half, &self.client, server, log.of(&self.client)?)
    }
}

impl Half {
    /// Opens a record, and returns the packets that it completes.
    fn open(&mut self, mut bytes: Vec<u8>, counts: &mut TlsCounts) -> Vec<Vec<u8>> {
        let Some(opener) = &mut self.opener else { return Vec::new() };
        let is_data = bytes.first() == Some(&record::DATA);
        let mut packets = Vec::new();
        match opener.open(&mut bytes) {
            Some((Kind::Data, text)) => {
                self.has_opened = true;
                counts.opened += 1;
                self.rest.extend_from_slice(text);
                self.packets(&mut packets);
            }
            Some(_) => self.has_opened = true,
            // Before the first one that opens, these are of the handshake of TLS 1.3, under keys of its own.
            None if self.has_opened || opener.is_of_whole_connection() => counts.wrong += u64::from(is_data),
            None => {}
        }
        packets
    }

    /// The whole packets at the beginning of the stream.
    fn packets(&mut self, packets: &mut Vec<Vec<u8>>) {
        loop {
            match total_len(&self.rest) {
                Ok(Some(len)) if len > LONGEST => self.rest.clear(),
                Ok(Some(len)) if len <= self.rest.len() => {
                    packets.push(self.rest.drain(..len).collect());
                    continue;
                }
                Ok(_) => {}
                // Nothing in a stream says where the next packet begins.
                Err(_) => self.rest.clear(),
            }
            return;
        }
    }
}

/// Of RADIUS over TLS.
pub(crate) const PORT: u16 = 2083;
/// Bytes of the longest packet (RFC 2865 section 3).
const LONGEST: usize = 4_096;
/// Bytes of records of a direction that wait for their key.
const MOST_WAITING: usize = 32 << 10;
/// Connections that are followed at once.
pub(crate) const MOST_CONNECTIONS: usize = 2_048;
/// What takes the place of a secret, by which authenticators are made (RFC 6614 section 2.3).
pub(crate) const SECRET: &[u8] = b"radsec";
