//! Sessions by RADIUS over TCP (RFC 6613): cut anywhere, out of order, repeated, and with segments missing,
//! packets are those that were sent.

use std::any::Any;
use std::net::SocketAddrV4;

use proptest::collection::vec;
use proptest::prelude::*;
use ringtap_engine::{Config, Engine, Sink, StreamEnd};
use ringtap_identity::{Counts, IdentityTracker, Limits, Secrets, Sessions};
use ringtap_model::{Call, Frame, Identity, LinkType, Message, Nanos, Registration};
use ringtap_testing::tcp;
use ringtap_wire::radius::code;

use crate::packets::{START, STOP, bytes, id, int, user, v4};

const CLIENT: ([u8; 4], u16) = ([192, 0, 2, 1], 40_000);
const SERVER: ([u8; 4], u16) = ([192, 0, 2, 250], 1813);

/// Requests of `count` starts and stops, in one connection.
fn reports(count: u8) -> Vec<Vec<u8>> {
    let report = |number: u8| {
        let (session, status) = (number / 2, if number.is_multiple_of(2) { START } else { STOP });
        let address = v4(&format!("203.0.113.{session}"));
        let attributes =
            [int(40, status), user(&format!("user{session}")), id(&format!("S{session}")), address];
        bytes(code::ACCOUNTING_REQUEST, number, u128::from(number) + 1, &attributes.concat())
    };
    (0..2 * count).map(report).collect()
}

/// An IPv4 packet with a segment.
fn segment(src: ([u8; 4], u16), dst: ([u8; 4], u16), seq: u32, flags: u8, data: &[u8]) -> Vec<u8> {
    let end = |(ip, port): ([u8; 4], u16)| SocketAddrV4::new(ip.into(), port);
    tcp::segment(end(src), end(dst), seq, flags, data)
}

#[derive(Default)]
pub(crate) struct Found {
    pub(crate) records: Vec<Identity>,
    pub(crate) counts: Counts,
}

impl Sink for Found {
    fn call(&mut self, _: Call, _: Vec<StreamEnd>) {}
    fn stream(&mut self, _: StreamEnd) {}
    fn registration(&mut self, _: Registration) {}
    fn message(&mut self, _: Message) {}
    fn event(&mut self, event: &dyn Any) {
        self.records.extend(event.downcast_ref::<Identity>().cloned());
        self.counts = event.downcast_ref().copied().unwrap_or(self.counts);
    }
}

/// What an engine makes of packets that come a second apart.
fn followed(packets: &[Vec<u8>]) -> Found {
    let tracker = IdentityTracker::new(Sessions::new(Limits::default(), Secrets::default()));
    let (mut engine, mut found) = (Engine::with_tracker(Config::default(), tracker), Found::default());
    for (number, data) in (1..).zip(packets) {
        let (time, link, wire_len) = (Nanos::from_secs(1_000 + number), LinkType(101), data.len() as u32);
        engine.batch(&[Frame { time, number, link, wire_len, data }], &mut found);
    }
    engine.close(&mut found);
    found
}

/// Users with how their sessions ended.
fn users(found: &Found) -> Vec<(String, bool)> {
    let one = |record: &Identity| (record.user.clone().unwrap_or_default(), record.end.is_some());
    let mut users: Vec<_> = found.records.iter().map(one).collect();
    users.sort();
    users
}

#[test]
fn requests_and_answers_are_paired_by_connection_and_identifier() {
    let access = |number: u8, name: &str| bytes(code::ACCESS_REQUEST, number, 7, &user(name));
    let accept = |number: u8, address: &str| bytes(code::ACCESS_ACCEPT, number, 0, &v4(address));
    let other = (CLIENT.0, 40_001);
    let server = (SERVER.0, 1812);
    // The same identifier in two connections; two packets in one segment.
    let both = [access(1, "alice"), access(2, "carol")].concat();
    let answers = [accept(2, "203.0.113.3"), accept(1, "203.0.113.1")].concat();
    let found = followed(&[
        segment(CLIENT, server, 99, 2, &[]),
        segment(CLIENT, server, 100, 16, &both),
        segment(other, server, 500, 16, &access(1, "bob")),
        segment(server, other, 900, 16, &accept(1, "203.0.113.2")),
        segment(server, CLIENT, 300, 16, &answers[..30]),
        segment(server, CLIENT, 330, 16, &answers[30..]),
    ]);
    let address = |record: &Identity| (record.user.clone().unwrap_or_default(), record.ipv4.concat());
    let mut given: Vec<_> = found.records.iter().map(address).collect();
    given.sort();
    let expected = [("alice", "203.0.113.1"), ("bob", "203.0.113.2"), ("carol", "203.0.113.3")];
    assert_eq!(given, expected.map(|(user, address)| (user.to_owned(), address.to_owned())));
    assert_eq!((found.counts.packets, found.counts.unpaired, found.counts.malformed), (6, 0, 0));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn cuts_and_repeats_change_nothing(cuts in vec(1..90_usize, 1..30), swaps in vec(any::<bool>(), 30)) {
        let stream = reports(4).concat();
        let (mut packets, mut from) = (vec![segment(CLIENT, SERVER, 99, 2, &[])], 0);
        for len in cuts.iter().cycle() {
            let part = &stream[from..stream.len().min(from + len)];
            packets.push(segment(CLIENT, SERVER, 100 + from as u32, 16, part));
            from += part.len();
            if from == stream.len() {
                break;
            }
        }
        // Neighbours in the other order, some twice; each hole is filled in time.
        let mut sent = packets[..1].to_vec();
        for (pair, swaps) in packets[1..].chunks(2).zip(swaps.iter().cycle()) {
            sent.extend(pair.iter().rev().skip(usize::from(!*swaps)).cloned());
            sent.extend(pair.iter().cloned());
        }
        let found = followed(&sent);
        let expected: Vec<_> = (0..4).map(|number| (format!("user{number}"), true)).collect();
        prop_assert_eq!((users(&found), found.counts.packets, found.counts.malformed), (expected, 8, 0));
    }

    /// A segment that the capture lost costs the packets in it, and rubbish costs itself.
    #[test]
    fn what_is_lost_costs_itself_alone(lost in 0..8_usize, rubbish in vec(any::<u8>(), 1..60)) {
        let reports = reports(4);
        let (mut sent, mut at) = (Vec::new(), 100);
        for (number, report) in reports.iter().enumerate() {
            if number != lost {
                sent.push(segment(CLIENT, SERVER, at, 16, report));
            }
            at += report.len() as u32;
        }
        let found = followed(&sent);
        prop_assert_eq!((found.counts.packets, users(&found).len()), (7, 4));
        let other = segment((CLIENT.0, 40_009), SERVER, 5, 16, &rubbish);
        let again = followed(&[&sent[..], &[other]].concat());
        prop_assert_eq!(users(&again).len() >= 4, true);
    }
}
