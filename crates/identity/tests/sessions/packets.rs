//! Writes RADIUS packets, and passes them to a table of sessions.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ringtap_identity::{Carried, Limits, Secrets, Sessions};
use ringtap_model::{Endpoint, Identity, Nanos};
use ringtap_wire::radius::{View, code};

/// An attribute: type and value.
pub(crate) fn a(kind: u8, value: &[u8]) -> Vec<u8> {
    [&[kind, value.len() as u8 + 2], value].concat()
}

pub(crate) fn int(kind: u8, value: u32) -> Vec<u8> {
    a(kind, &value.to_be_bytes())
}

/// Framed-IP-Address.
pub(crate) fn v4(address: &str) -> Vec<u8> {
    a(8, &address.parse::<Ipv4Addr>().expect("what the test wrote").octets())
}

/// A prefix: Framed-IPv6-Prefix (97) or Delegated-IPv6-Prefix (123).
pub(crate) fn prefix(kind: u8, prefix: &str) -> Vec<u8> {
    let (address, bits) = prefix.split_once('/').expect("what the test wrote");
    let octets = address.parse::<Ipv6Addr>().expect("what the test wrote").octets();
    let bits: u8 = bits.parse().expect("what the test wrote");
    a(kind, &[&[0, bits], &octets[..usize::from(bits).div_ceil(8)]].concat())
}

pub(crate) fn specific(vendor: u32, kind: u8, value: &[u8]) -> Vec<u8> {
    a(26, &[&vendor.to_be_bytes()[..], &a(kind, value)].concat())
}

pub(crate) const START: u32 = 1;
pub(crate) const STOP: u32 = 2;
pub(crate) const INTERIM: u32 = 3;
pub(crate) const ON: u32 = 7;

/// A table, and NAS that send to it: packets come with seconds and are numbered from 1.
pub(crate) struct Wire {
    pub(crate) sessions: Sessions,
    frame: u64,
    identifier: u8,
    /// Port of the NAS's requests.
    pub(crate) port: u16,
}

impl Wire {
    pub(crate) fn new() -> Self {
        Self::with(Limits::default())
    }

    pub(crate) fn with(limits: Limits) -> Self {
        Self { sessions: Sessions::new(limits, Secrets::default()), frame: 0, identifier: 0, port: 40_000 }
    }

    /// Frames and identifiers so far, and how another table goes on behind them.
    pub(crate) fn frames(&self) -> (u64, u8) {
        (self.frame, self.identifier)
    }

    pub(crate) fn go_on(&mut self, frames: (u64, u8)) {
        (self.frame, self.identifier) = frames;
    }

    /// Any packet; returns its frame's number.
    pub(crate) fn packet(&mut self, second: u64, src: Endpoint, dst: Endpoint, bytes: &[u8]) -> u64 {
        self.frame += 1;
        let view = View::parse(bytes).expect("a packet");
        self.sessions.packet(&view, Carried { time: Nanos::from_secs(second), src, dst, frame: self.frame });
        self.frame
    }

    /// An accounting request of a NAS at this address.
    pub(crate) fn accounting(&mut self, second: u64, nas: &str, status: u32, more: &[Vec<u8>]) -> u64 {
        self.identifier = self.identifier.wrapping_add(1);
        let attributes = [&[int(40, status)], more].concat().concat();
        // No two requests have the same authenticator.
        let authenticator = u128::from(self.frame) + 1;
        let bytes = bytes(code::ACCOUNTING_REQUEST, self.identifier, authenticator, &attributes);
        let (src, dst) = (self.client(nas), server(1813));
        self.packet(second, src, dst, &bytes)
    }

    /// An Access-Request and its Access-Accept, a second later.
    pub(crate) fn access(&mut self, second: u64, nas: &str, asked: &[Vec<u8>], granted: &[Vec<u8>]) {
        self.identifier = self.identifier.wrapping_add(1);
        let (identifier, authenticator) = (self.identifier, u128::from(self.frame) + 1);
        let request = bytes(code::ACCESS_REQUEST, identifier, authenticator, &asked.concat());
        let accept = bytes(code::ACCESS_ACCEPT, identifier, 0, &granted.concat());
        let client = self.client(nas);
        self.packet(second, client, server(1812), &request);
        self.packet(second + 1, server(1812), client, &accept);
    }

    /// A request of the server to a NAS, and its answer a second later.
    pub(crate) fn told(&mut self, second: u64, nas: &str, codes: (u8, u8), attributes: &[Vec<u8>]) {
        self.identifier = self.identifier.wrapping_add(1);
        let request = bytes(codes.0, self.identifier, u128::from(self.frame) + 1, &attributes.concat());
        let answer = bytes(codes.1, self.identifier, 0, &[]);
        let (nas, server) = (Endpoint::new(nas.parse().expect("what the test wrote"), 3799), server(50_000));
        self.packet(second, server, nas, &request);
        self.packet(second + 1, nas, server, &answer);
    }

    pub(crate) fn client(&self, nas: &str) -> Endpoint {
        Endpoint::new(nas.parse().expect("what the test wrote"), self.port)
    }

    /// All records.
    pub(crate) fn close(mut self) -> Vec<Identity> {
        self.sessions.close()
    }
}

pub(crate) fn server(port: u16) -> Endpoint {
    Endpoint::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 250)), port)
}

pub(crate) fn bytes(code: u8, identifier: u8, authenticator: u128, attributes: &[u8]) -> Vec<u8> {
    let mut bytes = vec![code, identifier];
    bytes.extend((20 + attributes.len() as u16).to_be_bytes());
    bytes.extend(authenticator.to_be_bytes());
    bytes.extend(attributes);
    bytes
}

pub(crate) fn user(name: &str) -> Vec<u8> {
    a(1, name.as_bytes())
}

pub(crate) fn id(session: &str) -> Vec<u8> {
    a(44, session.as_bytes())
}

/// Who had the address at that second: user, and the frames that prove it.
pub(crate) fn who(records: &[Identity], address: &str, port: Option<u16>, second: u64) -> Vec<String> {
    let holders = ringtap_identity::Holders::new(records);
    let found =
        holders.find(address.parse().expect("what the test wrote"), port, Some(Nanos::from_secs(second)));
    found.iter().map(|holder| holder.identity.user.clone().unwrap_or_default()).collect()
}
