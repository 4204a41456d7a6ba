//! One case each.

use ringtap_identity::{Carried, Limits};
use ringtap_model::{Endpoint, Identity, Nanos, SessionBegin, SessionEnd, SessionSource};
use ringtap_testing::pppoe::*;

use crate::wire::*;
use Side::{Client, Concentrator};

const ADDRESS: [u8; 4] = [203, 0, 113, 7];

fn only(records: Vec<Identity>) -> Identity {
    assert_eq!(records.len(), 1, "{records:?}");
    records.into_iter().next().unwrap()
}

#[test]
fn a_session_is_from_the_acknowledged_address_to_the_acknowledged_end() {
    let (mut wire, link) = (Wire::new(), Link::new(1, 15));
    for frame in link.login("ana@example.org", ADDRESS, &line("eth 0/7:101", "LINE-7")) {
        wire.frame(10, &frame);
    }
    wire.frame(40, &link.control(Client, LCP, (9, 3), &[1, 2, 3, 4]));
    wire.frame(50, &link.control(Client, LCP, (5, 4), b"bye"));
    assert_eq!(wire.sessions.records().count(), 1, "it is only asked for");
    let last = wire.frame(51, &link.control(Concentrator, LCP, (6, 4), &[]));
    wire.frame(52, &link.discovery(Client, PADT, 15, &[]));
    let counts = wire.sessions.counts().pppoe;
    assert_eq!((counts.frames, counts.sessions, counts.unfinished, counts.malformed), (20, 1, 0, 0));
    let record = only(wire.close());
    assert_eq!((record.source, record.begun_by), (Some(SessionSource::Pppoe), SessionBegin::Negotiated));
    assert_eq!((record.user.as_deref(), record.session.as_deref()), (Some("ana@example.org"), Some("15")));
    assert_eq!((record.nas.as_str(), record.nas_identifier.as_deref()), ("02:00:5e:00:01:01", Some("bng")));
    assert_eq!((record.station.as_deref(), record.nas_port_id.as_deref()), (Some(MAC), Some("vlan 7")));
    assert_eq!((record.circuit.as_deref(), record.remote.as_deref()), (Some("eth 0/7:101"), Some("LINE-7")));
    assert_eq!(record.names, ["ana@example.org", MAC, "eth 0/7:101", "LINE-7"]);
    assert_eq!((record.start, record.end), (at(10), Some(at(51))));
    assert_eq!((record.end_cause, record.packets), (Some(SessionEnd::Terminated), 19));
    let [address, interface] = &record.addresses[..] else { panic!("{record:?}") };
    assert_eq!((address.network.as_str(), address.attribute.as_str()), ("203.0.113.7", "IP-Address"));
    assert_eq!((address.from_frame, address.until_frame), (14, Some(last)));
    assert_eq!(
        (interface.network.as_str(), interface.attribute.as_str()),
        ("fe80::200:5eff:fe00:1/128", "Interface-Identifier")
    );
    assert!(!format!("{record:?}").contains("secret"));
}

/// The name of CHAP counts when the concentrator confirms it, and another one makes another session.
#[test]
fn names_of_chap_and_refusals() {
    let (mut wire, link) = (Wire::new(), Link::new(1, 15));
    let response = |name: &str| [&[2, 0xaa, 0xbb][..], name.as_bytes()].concat();
    let address = [&[3, 6][..], &ADDRESS].concat();
    for (second, name, verdict) in [(10, "eve", 4), (11, "ana", 3)] {
        wire.frame(second, &link.control(Concentrator, CHAP, (1, 5), b"\x01xbng"));
        wire.frame(second, &link.control(Client, CHAP, (2, 5), &response(name)));
        // Of another packet: it confirms nothing.
        wire.frame(second, &link.control(Concentrator, CHAP, (3, 6), &[]));
        wire.frame(second, &link.control(Concentrator, CHAP, (verdict, 5), &[]));
    }
    wire.frame(12, &link.control(Concentrator, IPCP, (2, 1), &address));
    // Asked again while it goes on, as it may be at any time (RFC 1994 section 4.2).
    wire.frame(100, &link.control(Client, CHAP, (2, 7), &response("ana")));
    wire.frame(100, &link.control(Concentrator, CHAP, (3, 7), &[]));
    wire.frame(101, &link.control(Concentrator, IPCP, (2, 2), &address));
    wire.frame(200, &link.control(Client, CHAP, (2, 8), &response("bob")));
    wire.frame(200, &link.control(Concentrator, CHAP, (3, 8), &[]));
    wire.frame(201, &link.control(Concentrator, IPCP, (2, 3), &address));
    assert_eq!((wire.sessions.counts().pppoe.rejected, wire.sessions.counts().pppoe.sessions), (1, 2));
    let records = wire.close();
    let found: Vec<_> =
        records.iter().map(|record| (record.user.as_deref().unwrap(), record.end_cause)).collect();
    assert_eq!(found, [("ana", Some(SessionEnd::Replaced)), ("bob", None)]);
    assert_eq!(
        (who(&records, "203.0.113.7", 200), who(&records, "203.0.113.7", 201)),
        (vec!["ana".to_owned()], vec!["bob".to_owned()])
    );
}

#[test]
fn an_address_goes_to_who_is_acknowledged_last_and_ends_with_its_protocol() {
    let mut wire = Wire::new();
    let (ana, bob) = (Link::new(1, 15), Link::new(2, 15));
    wire.login(10, &ana, "ana", ADDRESS);
    wire.login(20, &bob, "bob", ADDRESS);
    // Another address by the same protocol takes the place of the one before.
    let other = [3, 6, 203, 0, 113, 8];
    wire.frame(30, &bob.control(Concentrator, IPCP, (2, 7), &other));
    wire.frame(40, &bob.control(Concentrator, IPCP, (5, 8), &[]));
    wire.frame(40, &bob.control(Client, IPCP, (6, 8), &[]));
    let records = wire.close();
    assert_eq!(records[0].end_cause, Some(SessionEnd::Reassigned));
    let causes: Vec<_> =
        records[1].addresses.iter().map(|held| (held.network.as_str(), held.end_cause)).collect();
    assert_eq!(
        causes,
        [
            ("203.0.113.7", Some(SessionEnd::Changed)),
            ("fe80::200:5eff:fe00:2/128", None),
            ("203.0.113.8", Some(SessionEnd::Terminated)),
        ]
    );
    assert_eq!((records[1].end, who(&records, "203.0.113.8", 39)), (None, vec!["bob".to_owned()]));
    assert_eq!(who(&records, "203.0.113.8", 40), [""; 0]);
}

/// Interface identifiers are each link's own: who has the same one takes it from nobody.
#[test]
fn link_local_addresses_are_those_of_several() {
    let mut wire = Wire::new();
    for client in [1, 2] {
        let link = Link::new(client, 15);
        wire.login(10, &link, if client == 1 { "ana" } else { "bob" }, [203, 0, 113, client]);
        wire.frame(11, &link.control(Concentrator, IPV6CP, (2, 2), &[1, 10, 0, 0, 0, 0, 0, 0, 0, 1]));
    }
    let records = wire.close();
    let mut found = who(&records, "fe80::1", 12);
    found.sort();
    assert_eq!((found, records.len()), (vec!["ana".to_owned(), "bob".to_owned()], 2));
}

/// A capture that begins while sessions go on: whose an address is follows from what only one side sends.
#[test]
fn without_discovery_the_client_is_known_by_what_it_sends() {
    let (mut wire, link) = (Wire::new(), Link::new(1, 15));
    let ack = link.control(Concentrator, IPCP, (2, 2), &[3, 6, 203, 0, 113, 7]);
    wire.frame(10, &ack);
    assert_eq!((wire.sessions.counts().pppoe.unpaired, wire.sessions.open()), (1, 0));
    wire.frame(11, &link.control(Concentrator, IPCP, (3, 1), &[3, 6, 203, 0, 113, 7]));
    wire.frame(12, &ack);
    let record = only(wire.close());
    assert_eq!((record.station.as_deref(), record.user), (Some(MAC), None));
    assert_eq!(record.ipv4, ["203.0.113.7"]);
}

#[test]
fn a_new_session_under_the_same_id_replaces_the_old_one_and_silence_ends_it() {
    let limits = Limits { idle: Nanos::from_secs(3_600), ..Limits::default() };
    let (mut wire, link) = (Wire::with(limits), Link::new(1, 15));
    wire.login(10, &link, "ana", ADDRESS);
    wire.login(500, &link, "ana", ADDRESS);
    // Echoes keep it.
    wire.frame(3_000, &link.control(Client, LCP, (9, 3), &[1, 2, 3, 4]));
    wire.sessions.advance(at(6_000));
    assert_eq!(wire.sessions.records().count(), 1);
    wire.sessions.advance(at(7_000));
    let ends: Vec<_> = wire.close().iter().map(|record| (record.end, record.end_cause)).collect();
    assert_eq!(
        ends,
        [(Some(at(500)), Some(SessionEnd::Replaced)), (Some(at(6_600)), Some(SessionEnd::Expired))]
    );
}

/// A line may have the same address by RADIUS: neither session takes it from the other, and Accounting-On of
/// a NAS that is called as the concentrator ends only those that it reported.
#[test]
fn sessions_of_radius_stay_as_they_are() {
    let (mut wire, link) = (Wire::new(), Link::new(1, 15));
    let radius = |wire: &mut Wire, second: u64, attributes: &[&[u8]]| {
        let attributes = attributes.concat();
        let head = [4, second as u8, 0, 20 + attributes.len() as u8];
        let bytes = [&head[..], &[0; 16], &attributes].concat();
        let end = |port| Endpoint::new([192, 0, 2, 9].into(), port);
        let carried = Carried { time: at(second), src: end(40_000), dst: end(1_813), frame: 900 + second };
        wire.sessions.datagram(&bytes, carried);
    };
    let nas = [&[32, 19][..], b"02:00:5e:00:01:01"].concat();
    wire.login(10, &link, "ana", ADDRESS);
    radius(
        &mut wire,
        11,
        &[&nas, &[40, 6, 0, 0, 0, 1], b"\x01\x05ana", b"\x2c\x0415", &[8, 6, 203, 0, 113, 7]],
    );
    assert_eq!((wire.sessions.open(), wire.sessions.counts().reassigned), (2, 0));
    radius(&mut wire, 12, &[&nas, &[40, 6, 0, 0, 0, 7]]);
    let ends: Vec<_> = wire.close().iter().map(|record| (record.source.unwrap(), record.end_cause)).collect();
    assert_eq!(ends, [(SessionSource::Pppoe, None), (SessionSource::Radius, Some(SessionEnd::NasRestarted))]);
}

#[test]
fn a_session_goes_on_after_a_restart() {
    let (mut wire, link) = (Wire::new(), Link::new(1, 15));
    for frame in link.login("ana", ADDRESS, &line("eth 0/7:101", "LINE-7")) {
        wire.frame(10, &frame);
    }
    let record = only(wire.sessions.records().collect());
    let mut next = Wire::new();
    next.sessions.resume(record.clone());
    next.frame(100, &link.control(Concentrator, LCP, (5, 4), &[]));
    next.frame(101, &link.control(Client, LCP, (6, 4), &[]));
    let ended = only(next.close());
    assert_eq!((ended.id, ended.end, ended.names), (record.id, Some(at(101)), record.names.clone()));
    // Where PPPoE is not followed, nothing would end it.
    let mut other = ringtap_identity::Sessions::new(Limits::default(), ringtap_identity::Secrets::default());
    other.resume(record);
    assert_eq!(other.open(), 0);
}

#[test]
fn sessions_without_an_address_have_a_ceiling() {
    let limits = Limits { requests: 10, ..Limits::default() };
    let mut wire = Wire::with(limits);
    for session in 1..=30 {
        let link = Link::new(1, session);
        wire.frame(10, &link.discovery(Concentrator, 0x65, session, &[]));
    }
    assert_eq!((wire.sessions.counts().pppoe.links_evicted, wire.sessions.open()), (20, 0));
    wire.sessions.advance(at(100));
    assert_eq!(wire.sessions.counts().pppoe.unfinished, 10);
}

const MAC: &str = "02:00:5e:00:00:01";
