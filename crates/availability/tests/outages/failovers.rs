//! What belongs together, and its cause.

use std::net::IpAddr;

use ringtap_availability::{Cause, Evidence, EvidenceKind, Failover, LinkWatch, Settings, failovers};
use ringtap_model::{Frame, LinkType};

use crate::wire::{OTHER, PHONE, PROXY, Wire, at};

const A: [u8; 6] = [2, 0, 0, 0, 0, 1];
const B: [u8; 6] = [2, 0, 0, 0, 0, 2];

/// An ARP announcement (RFC 5227) of the proxy's address.
pub(crate) fn announcement(mac: [u8; 6]) -> Vec<u8> {
    let address = [192, 0, 2, 1];
    let body = [&[0, 1, 8, 0, 6, 4, 0, 1][..], &mac, &address, &[0; 6], &address].concat();
    [&[0xff; 6][..], &mac, &[8, 6], &body].concat()
}

/// Announcements of it.
fn announced(claims: &[(f64, [u8; 6])]) -> Vec<Evidence> {
    let mut link = LinkWatch::default();
    for (number, (seconds, mac)) in claims.iter().enumerate() {
        let data = announcement(*mac);
        let (time, wire_len) = (at(*seconds), data.len() as u32);
        link.frame(&Frame { time, number: number as u64 + 1, link: LinkType(1), wire_len, data: &data });
    }
    let (signs, refused) = link.close();
    assert_eq!(refused, 0);
    signs
}

fn joined(wire: Wire, signs: &[Evidence]) -> Vec<Failover> {
    failovers(&wire.findings(Settings::default()), signs)
}

/// OPTIONS each second, but from `down` to `up`, when they are repeated in vain.
pub(crate) fn pings(wire: &mut Wire, service: &str, (down, up): (u32, u32)) {
    for second in 0..30 {
        let (from, id) = (f64::from(second), format!("{service}-{second}"));
        let is_down = (down..up).contains(&second);
        wire.request(from, (PHONE, service), "OPTIONS", &id);
        if is_down {
            wire.request(from + 0.5, (PHONE, service), "OPTIONS", &id);
        } else {
            wire.answer(from + 0.002, (PHONE, service), "OPTIONS", &id, 200);
        }
    }
}

#[test]
fn a_lost_proxy_is_one_whose_address_moves() {
    let mut wire = Wire::default();
    pings(&mut wire, PROXY, (10, 13));
    let signs = announced(&[(0.1, A), (12.5, B), (12.7, B), (13.5, B)]);
    let found = joined(wire, &signs);
    let [failover] = &found[..] else { panic!("{found:?}") };
    assert_eq!(failover.causes, [Cause::ProxyLost]);
    assert_eq!((failover.from, failover.evidence.len()), (at(10.0), 1));
    let sign = &failover.evidence[0];
    assert_eq!((sign.kind, sign.first), (EvidenceKind::ArpMoved, at(12.5)));
    assert_eq!(sign.from.map(|place| place.to_string()), Some("02:00:00:00:00:01".to_owned()));
}

#[test]
fn a_planned_move_and_a_conflict_need_no_outage() {
    let mut wire = Wire::default();
    pings(&mut wire, PROXY, (0, 0));
    let found = joined(wire, &announced(&[(0.1, A), (12.5, B)]));
    let causes: Vec<_> = found.iter().map(|one| &one.causes[..]).collect();
    assert_eq!(causes, [&[Cause::AddressMoved][..]]);

    let mut wire = Wire::default();
    pings(&mut wire, PROXY, (0, 0));
    let found = joined(wire, &announced(&[(0.1, A), (12.5, B), (12.6, A), (12.7, B), (12.8, A)]));
    let [failover] = &found[..] else { panic!("{found:?}") };
    assert!(failover.causes.contains(&Cause::AddressConflict), "{failover:?}");
}

/// The next owner of an address answers at once, and refuses the calls that the former one was setting up.
#[test]
fn a_move_after_which_calls_are_refused_is_still_a_move() {
    let mut wire = Wire::default();
    pings(&mut wire, PROXY, (0, 0));
    for (id, from, client) in [("a", 9.3, OTHER), ("b", 9.4, PHONE), ("c", 9.5, OTHER)] {
        wire.request(from, (client, PROXY), "INVITE", id);
        wire.answer(from + 0.01, (client, PROXY), "INVITE", id, 180);
        wire.answer(from + 3.3, (client, PROXY), "INVITE", id, 503);
    }
    wire.exchange(12.9, (PHONE, PROXY), "INVITE", "d", 200);
    let found = joined(wire, &announced(&[(0.1, A), (12.5, B)]));
    let [failover] = &found[..] else { panic!("{found:?}") };
    let mut causes = failover.causes.clone();
    causes.sort_unstable();
    let mut expected = [Cause::AddressMoved, Cause::Refusing];
    expected.sort_unstable();
    assert_eq!(causes, expected, "{failover:?}");
}

#[test]
fn an_address_of_nobody_who_serves_is_no_failover() {
    let mut wire = Wire::default();
    pings(&mut wire, "203.0.113.9:5060", (0, 0));
    assert!(joined(wire, &announced(&[(0.1, A), (12.5, B)])).is_empty());
}

#[test]
fn a_lost_pbx_keeps_its_address_and_its_calls_go_elsewhere() {
    let (first, second) = ("203.0.113.1:5060", "203.0.113.2:5060");
    let mut wire = Wire::default();
    pings(&mut wire, first, (10, 14));
    pings(&mut wire, second, (0, 0));
    for repeat in [11.0, 11.5] {
        wire.request(repeat, (PROXY, first), "INVITE", "call");
    }
    wire.exchange(12.3, (PROXY, second), "INVITE", "call", 200);
    let found = joined(wire, &[]);
    let [failover] = &found[..] else { panic!("{found:?}") };
    assert_eq!(failover.causes, [Cause::PbxLost]);
    let [sign] = &failover.evidence[..] else { panic!("{failover:?}") };
    assert_eq!((sign.kind, sign.address), (EvidenceKind::InviteRetried, IpAddr::from([203, 0, 113, 1])));
    assert_eq!(sign.to.map(|place| place.to_string()).as_deref(), Some(second));
}

#[test]
fn two_failures_far_apart_are_two_and_a_cause_may_be_unknown() {
    let mut wire = Wire::default();
    for (id, from) in [("a", 5.0), ("b", 5.1), ("c", 25.0), ("d", 25.1)] {
        wire.request(from, (OTHER, PROXY), "INVITE", id);
        wire.request(from + 0.5, (OTHER, PROXY), "INVITE", id);
        wire.answer(from + 1.5, (OTHER, PROXY), "INVITE", id, 486);
    }
    let found = joined(wire, &[]);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.iter().all(|failover| failover.causes == [Cause::Unknown]));
}
