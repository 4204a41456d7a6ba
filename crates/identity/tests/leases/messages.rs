//! Writes messages of DHCP, and passes them to a table of sessions.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ringtap_identity::{Carried, Holders, Limits, Secrets, Sessions};
use ringtap_model::{Endpoint, Identity, Nanos};

/// Types of DHCPv4.
pub(crate) const DISCOVER: u8 = 1;
pub(crate) const REQUEST: u8 = 3;
pub(crate) const DECLINE: u8 = 4;
pub(crate) const ACK: u8 = 5;
pub(crate) const NAK: u8 = 6;
pub(crate) const RELEASE: u8 = 7;
pub(crate) const INFORM: u8 = 8;

/// Where a message is seen: between client and relay agent, or between that and the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Side {
    Client,
    Server,
}

/// What a message of DHCPv4 says.
#[derive(Clone, Debug)]
pub(crate) struct V4 {
    pub(crate) kind: u8,
    pub(crate) transaction: u32,
    /// Last byte of the client's MAC address.
    pub(crate) client: u8,
    pub(crate) ciaddr: &'static str,
    pub(crate) yiaddr: String,
    pub(crate) options: Vec<u8>,
}

impl V4 {
    pub(crate) fn new(kind: u8, client: u8, transaction: u32) -> Self {
        let (ciaddr, yiaddr) = ("0.0.0.0", "0.0.0.0".to_owned());
        Self { kind, transaction, client, ciaddr, yiaddr, options: Vec::new() }
    }

    pub(crate) fn ack(client: u8, transaction: u32, address: &str, seconds: u32) -> Self {
        let ack = Self { yiaddr: address.to_owned(), ..Self::new(ACK, client, transaction) };
        ack.option(51, &seconds.to_be_bytes())
    }

    pub(crate) fn option(mut self, code: u8, value: &[u8]) -> Self {
        self.options.extend([&[code, value.len() as u8], value].concat());
        self
    }

    fn bytes(&self, side: Side) -> Vec<u8> {
        let is_request = ![2, ACK, NAK].contains(&self.kind);
        let mut bytes = vec![0; 240];
        bytes[..4].copy_from_slice(&[2 - u8::from(is_request), 1, 6, u8::from(side == Side::Server)]);
        bytes[4..8].copy_from_slice(&self.transaction.to_be_bytes());
        let octets = |text: &str| text.parse::<Ipv4Addr>().expect("what the test wrote").octets();
        bytes[12..16].copy_from_slice(&octets(self.ciaddr));
        bytes[16..20].copy_from_slice(&octets(&self.yiaddr));
        if side == Side::Server {
            bytes[24..28].copy_from_slice(&[192, 0, 2, 1]);
        }
        bytes[28..34].copy_from_slice(&[2, 0, 0x5e, 0, 0, self.client]);
        bytes[236..].copy_from_slice(&[99, 130, 83, 99]);
        bytes.extend([53, 1, self.kind, 54, 4, 192, 0, 2, 250]);
        bytes.extend(&self.options);
        bytes.push(255);
        bytes
    }
}

/// An option of DHCPv6.
pub(crate) fn option(code: u16, value: &[u8]) -> Vec<u8> {
    [&code.to_be_bytes()[..], &(value.len() as u16).to_be_bytes(), value].concat()
}

/// An association with these addresses and prefixes, each valid for so many seconds.
pub(crate) fn association(leases: &[(&str, u32)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (network, seconds) in leases {
        let times = [[0; 4], seconds.to_be_bytes()].concat();
        let octets = |text: &str| text.parse::<Ipv6Addr>().expect("what the test wrote").octets();
        let (ia, inner) = match network.split_once('/') {
            Some((prefix, bits)) => {
                let bits: u8 = bits.parse().expect("what the test wrote");
                (25, option(26, &[&times[..], &[bits], &octets(prefix)].concat()))
            }
            None => (3, option(5, &[&octets(network)[..], &times].concat())),
        };
        bytes.extend(option(ia, &[&[0; 12][..], &inner].concat()));
    }
    bytes
}

/// A message of DHCPv6 with these options beside the client's DUID.
pub(crate) fn v6(kind: u8, client: u8, transaction: u8, options: &[u8]) -> Vec<u8> {
    let duid = option(1, &[0, 3, 0, 1, 2, 0, 0x5e, 0, 0, client]);
    [&[kind, 0, 0, transaction][..], &duid, options].concat()
}

/// The same on its way through a relay agent that adds these options.
pub(crate) fn relayed(message: &[u8], options: &[u8]) -> Vec<u8> {
    let kind = if [2, 7].contains(&message[0]) { 13 } else { 12 };
    let link: Ipv6Addr = "2001:db8:5::1".parse().expect("an address");
    [&[kind, 0][..], &link.octets(), &[0xfe; 16], options, &option(9, message)].concat()
}

/// A table that messages come to, numbered from 1.
pub(crate) struct Wire {
    pub(crate) sessions: Sessions,
    frame: u64,
}

impl Wire {
    pub(crate) fn new() -> Self {
        Self::with(Limits::default())
    }

    pub(crate) fn with(limits: Limits) -> Self {
        let sessions = Sessions::new(limits, Secrets::default()).noting_changes();
        Self { sessions: sessions.following_leases(), frame: 0 }
    }

    /// A message of DHCPv4, at the client's side.
    pub(crate) fn v4(&mut self, second: u64, message: V4) -> u64 {
        self.v4_at(second, Side::Client, &message)
    }

    pub(crate) fn v4_at(&mut self, second: u64, side: Side, message: &V4) -> u64 {
        let bytes = message.bytes(side);
        let (client, server) = match side {
            Side::Client => (end("0.0.0.0", 68), end("255.255.255.255", 67)),
            Side::Server => (end("192.0.2.1", 67), end("192.0.2.250", 67)),
        };
        self.datagram(second, client, server, bytes[0] == 1, &bytes)
    }

    /// A message of DHCPv6 as it is, between these sides.
    pub(crate) fn v6(&mut self, second: u64, side: Side, bytes: &[u8]) -> u64 {
        let (client, server) = match side {
            Side::Client => (end("fe80::2", 546), end("ff02::1:2", 547)),
            Side::Server => (end("2001:db8::1", 547), end("2001:db8::250", 547)),
        };
        self.datagram(second, client, server, ![2, 7, 13].contains(&bytes[0]), bytes)
    }

    fn datagram(&mut self, second: u64, client: Endpoint, server: Endpoint, asks: bool, bytes: &[u8]) -> u64 {
        let (src, dst) = if asks { (client, server) } else { (server, client) };
        self.frame += 1;
        self.sessions.datagram(bytes, Carried { time: at(second), src, dst, frame: self.frame });
        self.frame
    }

    /// All records, the earliest first.
    pub(crate) fn close(mut self) -> Vec<Identity> {
        let mut records = self.sessions.close();
        records.sort_by_key(|record| record.start);
        records
    }
}

pub(crate) fn end(address: &str, port: u16) -> Endpoint {
    Endpoint::new(address.parse::<IpAddr>().expect("what the test wrote"), port)
}

/// Seconds of the tests begin long after the epoch.
pub(crate) fn at(second: u64) -> Nanos {
    Nanos::from_secs(1_795_226_400 + second)
}

/// Stations that had the address half a second after that second.
pub(crate) fn who(records: &[Identity], address: &str, second: u64) -> Vec<String> {
    let at = at(second) + Nanos::from_millis(500);
    let address = address.parse().expect("what the test wrote");
    let found = Holders::new(records).find(address, None, Some(at));
    found.iter().map(|holder| holder.identity.station.clone().unwrap_or_default()).collect()
}

pub(crate) fn mac(client: u8) -> String {
    format!("02:00:5e:00:00:{client:02x}")
}
