//! Traffic of the tests: RADIUS, SIP, RTP and packets of subscribers, and what an interception makes of it.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use ringtap_engine::{Config, Targets};
use ringtap_handover::{
    AccessEvent, AccessIri, Cin, Content, Direction, Iri, IriEvent, IriKind, Notification, NotificationKind,
};
use ringtap_identity::{Limits as SessionLimits, Secrets, Sessions};
use ringtap_intercept::{Closed, Interception, Limits, Product};
use ringtap_model::{Endpoint, Frame, Identity, LinkType, Nanos};
use ringtap_testing::pppoe::{Link, Side};
use ringtap_warrant::{Delivers, Order};
use ringtap_wire::frame::udp_datagram;

/// Product in the order in which it came.
#[derive(Debug, Default)]
pub(crate) struct Kept(pub(crate) Vec<Given>);

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Given {
    Access { liid: String, cin: u32, kind: IriKind, iri: Box<AccessIri> },
    Sip { liid: String, cin: u32, kind: IriKind, first_line: String },
    Content { liid: String, cin: u32, direction: Direction, packet: Vec<u8>, frames: Vec<u64> },
    Notice { liid: String, kind: NotificationKind, at: Nanos },
}

impl Product for Kept {
    fn iri(&mut self, order: &Order, cin: Cin, iri: Iri, _: &[u64]) {
        let (liid, cin, kind) = (order.liid.text().to_string(), cin.0, iri.kind);
        self.0.push(match iri.event {
            IriEvent::Access(iri) => Given::Access { liid, cin, kind, iri },
            IriEvent::Sip(sip) => {
                let text = String::from_utf8(sip.message).unwrap();
                let first_line = text.lines().next().unwrap().to_owned();
                Given::Sip { liid, cin, kind, first_line }
            }
        });
    }

    fn content(&mut self, order: &Order, cin: Cin, content: &Content<'_>, frames: &[u64]) {
        let (liid, packet) = (order.liid.text().to_string(), content.packet.to_vec());
        let direction = content.direction;
        self.0.push(Given::Content { liid, cin: cin.0, direction, packet, frames: frames.to_vec() });
    }

    fn notice(&mut self, order: &Order, notification: Notification) {
        let liid = order.liid.text().to_string();
        self.0.push(Given::Notice { liid, kind: notification.kind, at: notification.at });
    }
}

impl Kept {
    /// Whose content, and what is behind the headers of IPv4 and UDP.
    pub(crate) fn content(&self) -> Vec<(String, Direction, String)> {
        let content = |given: &Given| match given {
            Given::Content { liid, direction, packet, .. } => {
                let header = if packet[0] >> 4 == 4 { 28 } else { 48 };
                let text = String::from_utf8_lossy(&packet[header.min(packet.len())..]).into_owned();
                Some((liid.clone(), *direction, text))
            }
            _ => None,
        };
        self.0.iter().filter_map(content).collect()
    }

    /// Whose events of which sessions.
    pub(crate) fn accesses(&self) -> Vec<(String, IriKind, AccessEvent)> {
        let access = |given: &Given| match given {
            Given::Access { liid, kind, iri, .. } => Some((liid.clone(), *kind, iri.event)),
            _ => None,
        };
        self.0.iter().filter_map(access).collect()
    }

    /// Whose events of which calls.
    pub(crate) fn calls(&self) -> Vec<(String, IriKind, String)> {
        let call = |given: &Given| match given {
            Given::Sip { liid, kind, first_line, .. } => Some((liid.clone(), *kind, first_line.clone())),
            _ => None,
        };
        self.0.iter().filter_map(call).collect()
    }
}

/// An order with these targets, from a second to a second.
pub(crate) fn order(liid: &str, delivers: Delivers, targets: &[&str], times: std::ops::Range<u64>) -> Order {
    Order {
        liid: liid.parse().unwrap(),
        authorisation_country: "GB".parse().unwrap(),
        delivery_country: "GB".parse().unwrap(),
        delivers,
        targets: targets.iter().map(|target| target.parse().unwrap()).collect(),
        agency: "agency".into(),
        mediation_function: None,
        operator: "operator".into(),
        begins: Nanos::from_secs(times.start),
        ends: Nanos::from_secs(times.end),
        payload_key: None,
    }
}

/// Frames as they are captured, each at a second, and how they are cut into batches.
#[derive(Default)]
pub(crate) struct Wire {
    pub(crate) frames: Vec<(Nanos, Vec<u8>)>,
    identifier: u8,
    /// Of a file.
    pub(crate) ranges: Vec<Identity>,
}

pub(crate) const NAS: &str = "192.0.2.1:1813";
pub(crate) const SERVER: &str = "192.0.2.9:1813";

pub(crate) fn a(kind: u8, value: &[u8]) -> Vec<u8> {
    [&[kind, value.len() as u8 + 2], value].concat()
}

pub(crate) fn user(name: &str) -> Vec<u8> {
    a(1, name.as_bytes())
}

pub(crate) fn session(id: &str) -> Vec<u8> {
    a(44, id.as_bytes())
}

pub(crate) fn v4(address: &str) -> Vec<u8> {
    let IpAddr::V4(address) = address.parse().unwrap() else { panic!("{address}") };
    a(8, &address.octets())
}

/// Delegated-IPv6-Prefix.
pub(crate) fn delegated(address: &str, bits: u8) -> Vec<u8> {
    a(123, &[&[0, bits][..], &address.parse::<Ipv6Addr>().unwrap().octets()].concat())
}

pub(crate) const START: u32 = 1;
pub(crate) const STOP: u32 = 2;
pub(crate) const INTERIM: u32 = 3;

impl Wire {
    pub(crate) fn packet(&mut self, second: u64, bytes: Vec<u8>) {
        self.frames.push((Nanos::from_secs(second), bytes));
    }

    /// A datagram, as an IP packet.
    pub(crate) fn udp(&mut self, second: u64, src: &str, dst: &str, payload: &[u8]) {
        let (src, dst): (Endpoint, Endpoint) = (src.parse().unwrap(), dst.parse().unwrap());
        self.packet(second, udp_datagram((src.ip, src.port), (dst.ip, dst.port), payload).unwrap());
    }

    pub(crate) fn radius(&mut self, second: u64, (src, dst): (&str, &str), code: u8, attributes: &[Vec<u8>]) {
        let attributes = attributes.concat();
        let length = (20 + attributes.len() as u16).to_be_bytes();
        let mut bytes = [&[code, self.identifier][..], &length].concat();
        bytes.extend(u128::from(self.identifier).to_be_bytes());
        bytes.extend(attributes);
        self.udp(second, src, dst, &bytes);
    }

    /// An accounting request.
    pub(crate) fn accounting(&mut self, second: u64, status: u32, attributes: &[Vec<u8>]) {
        self.identifier += 1;
        let attributes = [&[a(40, &status.to_be_bytes())], attributes].concat();
        self.radius(second, (NAS, SERVER), 4, &attributes);
    }

    /// A request to be let in, and its answer.
    pub(crate) fn access(&mut self, second: u64, asked: &[Vec<u8>], answer: u8, granted: &[Vec<u8>]) {
        let (nas, server) = ("192.0.2.1:1812", "192.0.2.9:1812");
        self.identifier += 1;
        self.radius(second, (nas, server), 1, asked);
        self.radius(second, (server, nas), answer, granted);
    }

    /// A client asks for a lease and gets this address for so many seconds (RFC 2131).
    pub(crate) fn lease(&mut self, second: u64, mac: u8, address: &str, seconds: u32) {
        self.identifier += 1;
        let message = |is_answer: bool, kind: u8, address: [u8; 4], options: &[u8]| {
            let mut bytes = vec![0; 240];
            bytes[..3].copy_from_slice(&[1 + u8::from(is_answer), 1, 6]);
            bytes[7] = self.identifier;
            bytes[16..20].copy_from_slice(&address);
            bytes[28..34].copy_from_slice(&[2, 0, 0x5e, 0, 0, mac]);
            bytes[236..].copy_from_slice(&[99, 130, 83, 99]);
            bytes.extend([53, 1, kind, 54, 4, 192, 0, 2, 250]);
            bytes.extend(options);
            bytes.push(255);
            bytes
        };
        let IpAddr::V4(given) = address.parse().unwrap() else { panic!("{address} is not IPv4") };
        let request = message(false, 3, [0; 4], &[]);
        let time = [&[51, 4][..], &seconds.to_be_bytes()].concat();
        let ack = message(true, 5, given.octets(), &time);
        self.udp(second, "0.0.0.0:68", "255.255.255.255:67", &request);
        self.udp(second, "192.0.2.250:67", "255.255.255.255:68", &ack);
    }

    /// A frame of Ethernet as it is.
    pub(crate) fn frame(&mut self, second: u64, bytes: Vec<u8>) {
        self.frames.push((Nanos::from_secs(second), bytes));
    }

    /// The IP packet of a datagram, in a session of PPPoE.
    pub(crate) fn udp_in(&mut self, second: u64, link: &Link, src: &str, dst: &str, text: &[u8]) {
        self.udp(second, src, dst, text);
        let (time, packet) = self.frames.pop().unwrap();
        self.frames.push((time, link.session(Side::Client, 0x21, &packet)));
    }

    pub(crate) fn sip(&mut self, second: u64, (src, dst): (&str, &str), text: &str) {
        self.udp(second, src, dst, text.replace('\n', "\r\n").as_bytes());
    }

    fn sessions(&self) -> Sessions {
        let sessions = Sessions::new(SessionLimits::default(), Secrets::default());
        sessions.following_leases().following_pppoe().with_ranges(self.ranges.clone())
    }

    /// What these orders get, with batches of so many frames.
    pub(crate) fn intercepted(&self, orders: &[Order], batch: usize) -> (Kept, Closed) {
        self.intercepted_into(Kept::default(), orders, batch)
    }

    /// What an order gets that is another one from the frame of each of these numbers on.
    pub(crate) fn intercepted_with(&self, orders: &[(usize, Order)]) -> Kept {
        let config = Config { max_calls: 64, max_streams: 256, ..Config::default() };
        let sessions = self.sessions();
        let mut interception = Interception::new(config, sessions, Limits::default(), Kept::default());
        for (place, (time, data)) in self.frames.iter().enumerate() {
            if let Some((_, order)) = orders.iter().find(|(from, _)| *from == place) {
                interception.replace_orders(vec![order.clone()]);
            }
            let (link, wire_len) = (link_of(data), data.len() as u32);
            interception.batch(&[Frame { time: *time, number: place as u64 + 1, link, wire_len, data }]);
        }
        interception.close().0
    }

    /// Which frames engines would pass on after the first so many of them, by their places.
    pub(crate) fn watched_after(&self, orders: &[Order], count: usize) -> Vec<usize> {
        let config = Config { max_calls: 64, max_streams: 256, ..Config::default() };
        let targets = Arc::new(Targets::new(7));
        let sessions = self.sessions();
        let mut interception = Interception::with_targets(
            Arc::clone(&targets),
            config,
            sessions,
            Limits::default(),
            Kept::default(),
        );
        interception.replace_orders(orders.to_vec());
        let frame = |(number, (time, data)): (u64, &'_ (Nanos, Vec<u8>))| (number, *time, data.clone());
        let frames: Vec<(u64, Nanos, Vec<u8>)> = (1..).zip(&self.frames).map(frame).collect();
        let frames: Vec<Frame<'_>> = frames
            .iter()
            .map(|(number, time, data)| {
                let (link, wire_len) = (link_of(data), data.len() as u32);
                Frame { time: *time, number: *number, link, wire_len, data }
            })
            .collect();
        interception.batch(&frames[..count]);
        if count == frames.len() {
            interception.advance(Nanos::from_secs(900));
        }
        (0..frames.len()).filter(|place| targets.concerns(&frames[*place])).collect()
    }

    /// The same, given to something else.
    pub(crate) fn intercepted_into<P: Product>(
        &self,
        product: P,
        orders: &[Order],
        batch: usize,
    ) -> (P, Closed) {
        let config = Config { max_calls: 64, max_streams: 256, ..Config::default() };
        let sessions = self.sessions();
        let mut interception = Interception::new(config, sessions, Limits::default(), product);
        interception.replace_orders(orders.to_vec());
        let frame = |(number, (time, data)): (u64, &'_ (Nanos, Vec<u8>))| (number, *time, data.clone());
        let frames: Vec<(u64, Nanos, Vec<u8>)> = (1..).zip(&self.frames).map(frame).collect();
        for part in frames.chunks(batch) {
            let part: Vec<Frame<'_>> = part
                .iter()
                .map(|(number, time, data)| {
                    let (link, wire_len) = (link_of(data), data.len() as u32);
                    Frame { time: *time, number: *number, link, wire_len, data }
                })
                .collect();
            interception.batch(&part);
        }
        interception.close()
    }
}

/// Frames of Ethernet begin with an address that no IP header begins with.
fn link_of(data: &[u8]) -> LinkType {
    LinkType(if matches!(data[0] >> 4, 4 | 6) { 101 } else { 1 })
}
