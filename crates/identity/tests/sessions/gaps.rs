//! Where other systems lose subscribers: a test for each gap. Gaps 10 and 11, which are of interception, have
//! theirs in `ringtap` (`gap_10_...`, `gap_11_...`).

use ringtap_identity::Limits;
use ringtap_model::{Nanos, SessionBegin, SessionEnd};
use ringtap_wire::radius::code;

use crate::packets::*;

const NAS: &str = "192.0.2.1";

/// Gap 1: attributes before and behind an address made others be overlooked.
#[test]
fn gap_1_every_address_of_a_dual_stack_session_in_any_order() {
    let addresses = [
        v4("203.0.113.7"),
        prefix(97, "2001:db8:1::/64"),
        prefix(123, "2001:db8:100::/56"),
        a(168, &"2001:db8:1::7".parse::<std::net::Ipv6Addr>().unwrap().octets()),
        a(22, b"198.51.100.0/24 203.0.113.7 1"),
        a(99, b"2001:db8:200::/40 :: 1"),
    ];
    // Each rotation, both ways round.
    for turn in 0..addresses.len() * 2 {
        let mut order = addresses.to_vec();
        order.rotate_left(turn % addresses.len());
        if turn >= addresses.len() {
            order.reverse();
        }
        order.insert(turn % addresses.len(), user("bob"));
        let mut wire = Wire::new();
        wire.accounting(10, NAS, START, &[order, vec![id("S1")]].concat());
        let records = wire.close();
        assert_eq!(records.len(), 1);
        let mut all = records[0].ipv4.clone();
        all.extend(records[0].ipv6_prefixes.clone());
        all.sort();
        let expected = [
            "198.51.100.0/24",
            "2001:db8:100::/56",
            "2001:db8:1::/64",
            "2001:db8:1::7/128",
            "2001:db8:200::/40",
            "203.0.113.7",
        ];
        assert_eq!(all, expected, "turn {turn}");
        for address in
            ["203.0.113.7", "2001:db8:1::99", "198.51.100.9", "2001:db8:2ff::1", "2001:db8:100:ff::1"]
        {
            assert_eq!(who(&records, address, None, 20), ["bob"], "{address}");
        }
        assert!(who(&records, "2001:db8:1ff::1", None, 20).is_empty(), "outside of the delegated /56");
    }
}

/// Gap 2: requests of several NAS of one server collided.
#[test]
fn gap_2_the_same_identifier_and_port_of_two_nas_are_two_requests() {
    let mut wire = Wire::new();
    let ends = ["192.0.2.1", "192.0.2.2"].map(|nas| wire.client(nas));
    for (end, name) in ends.iter().zip(["alice", "bob"]) {
        let request = bytes(code::ACCESS_REQUEST, 7, 1, &[user(name), a(31, name.as_bytes())].concat());
        wire.packet(10, *end, server(1812), &request);
    }
    for (end, address) in ends.iter().zip(["203.0.113.1", "203.0.113.2"]) {
        wire.packet(11, server(1812), *end, &bytes(code::ACCESS_ACCEPT, 7, 0, &v4(address)));
    }
    let records = wire.close();
    assert_eq!(who(&records, "203.0.113.1", None, 12), ["alice"]);
    assert_eq!(who(&records, "203.0.113.2", None, 12), ["bob"]);
}

/// Gap 3: more than five names in a packet were written past an array.
#[test]
fn gap_3_more_names_in_a_packet_than_anybody_has() {
    let mut wire = Wire::new();
    let names: Vec<Vec<u8>> = (0..40).map(|n| user(&format!("user{n}"))).collect();
    let stations = (0..8).map(|n| a(31, format!("4930{n}").as_bytes()));
    let attributes: Vec<Vec<u8>> = names.into_iter().chain(stations).chain([id("S1")]).collect();
    wire.accounting(10, NAS, START, &attributes);
    let counts = wire.sessions.counts();
    assert_eq!(counts.names_dropped, 24, "sixteen are kept, the others are counted");
    let records = wire.close();
    assert_eq!(records[0].names.len(), 16 + 8);
    assert_eq!(records[0].user.as_deref(), Some("user0"));
    assert!(records[0].names.contains(&"49307".to_owned()));
}

/// Gap 4: packets without a User-Name were ignored.
#[test]
fn gap_4_a_session_without_a_user_name() {
    let mut wire = Wire::new();
    wire.accounting(10, NAS, START, &[a(31, b"491700000001"), v4("203.0.113.7"), id("S1")]);
    let records = wire.close();
    assert_eq!((records[0].user.as_deref(), records[0].station.as_deref()), (None, Some("491700000001")));
    assert_eq!(records[0].ipv4, ["203.0.113.7"]);
}

/// Gap 5: sessions outlived their NAS, and were never too old.
#[test]
fn gap_5_a_nas_that_restarts_and_a_session_that_falls_silent() {
    let limits = Limits { idle: Nanos::from_secs(3_600), ..Limits::default() };
    let mut wire = Wire::with(limits);
    wire.accounting(10, NAS, START, &[user("alice"), v4("203.0.113.1"), id("S1")]);
    wire.accounting(10, "192.0.2.2", START, &[user("bob"), v4("203.0.113.2"), id("S1")]);
    let on = wire.accounting(20, NAS, ON, &[]);
    wire.accounting(9_000, NAS, START, &[user("eve"), id("S2")]);
    let records = wire.close();
    let of = |name: &str| records.iter().find(|record| record.user.as_deref() == Some(name)).unwrap();
    assert_eq!(of("alice").end_cause, Some(SessionEnd::NasRestarted));
    assert_eq!(of("alice").end, Some(Nanos::from_secs(20)));
    assert_eq!(of("alice").addresses[0].until_frame, Some(on));
    assert_eq!(of("bob").end_cause, Some(SessionEnd::Expired), "the other NAS did not restart");
    assert_eq!(
        of("bob").end,
        Some(Nanos::from_secs(10 + 3_600)),
        "exactly, not when something was next seen"
    );
    assert_eq!(of("bob").addresses[0].until_frame, None);
    assert_eq!(of("eve").end, None);
}

/// Gap 6: attributes that were never read.
#[test]
fn gap_6_every_attribute_that_tells_who_and_how_much() {
    let mut wire = Wire::new();
    let more = [
        user("bob"),
        id("S1"),
        int(42, 7),
        int(52, 2),
        int(43, u32::MAX),
        int(53, 0),
        a(25, &[0xab, 1]),
        a(89, b"payer"),
        a(87, b"ge-1/0/0.100"),
        int(5, 77),
        a(50, b"M1"),
        int(55, 1_700_000_000),
        a(95, &"2001:db8::99".parse::<std::net::Ipv6Addr>().unwrap().octets()),
        int(9, 0xffff_ff00),
        a(30, b"00-11-22-33-44-55:ssid"),
        specific(10415, 1, b"262019876543210"),
        specific(10415, 20, b"3534530102030405"),
        specific(3561, 1, b"dslam1 eth 2/1:100"),
        specific(9, 1, b"remote-id-tag=customer 9"),
    ];
    wire.accounting(10, NAS, START, &more);
    let record = wire.close().remove(0);
    assert_eq!((record.octets_in, record.octets_out), (Some((2 << 32) + 7), Some(0xffff_ffff)));
    assert_eq!((record.class.as_deref(), record.multi_session.as_deref()), (Some("ab01"), Some("M1")));
    assert_eq!((record.nas_port, record.nas_port_id.as_deref()), (Some(77), Some("ge-1/0/0.100")));
    assert_eq!(
        (record.nas.as_str(), record.nas_start),
        ("2001:db8::99", Some(Nanos::from_secs(1_700_000_000)))
    );
    assert_eq!(record.imsi.as_deref(), Some("262019876543210"));
    assert_eq!(record.imeisv.as_deref(), Some("3534530102030405"));
    assert_eq!(record.circuit.as_deref(), Some("dslam1 eth 2/1:100"));
    assert_eq!(record.remote.as_deref(), Some("customer 9"));
    assert!(record.names.contains(&"payer".to_owned()));
    assert_eq!(record.called_station.as_deref(), Some("00-11-22-33-44-55:ssid"));
}

/// Gap 7: changes and disconnections by the server, and authenticators that nobody checked.
#[test]
fn gap_7_a_disconnection_ends_a_session_where_the_nas_agrees() {
    let mut wire = Wire::new();
    wire.accounting(10, NAS, START, &[user("alice"), v4("203.0.113.1"), id("S1")]);
    wire.accounting(10, NAS, START, &[user("bob"), v4("203.0.113.2"), id("S2")]);
    wire.told(20, NAS, (code::COA_REQUEST, code::COA_ACK), &[id("S1")]);
    wire.told(22, NAS, (code::COA_REQUEST, code::COA_NAK), &[id("S1")]);
    wire.told(30, NAS, (code::DISCONNECT_REQUEST, code::DISCONNECT_NAK), &[id("S2")]);
    wire.told(40, NAS, (code::DISCONNECT_REQUEST, code::DISCONNECT_ACK), &[v4("203.0.113.1")]);
    // The report that follows has the figures.
    wire.accounting(42, NAS, STOP, &[user("alice"), id("S1"), int(42, 99), int(49, 6)]);
    let records = wire.close();
    let of = |name: &str| records.iter().find(|record| record.user.as_deref() == Some(name)).unwrap();
    assert_eq!((of("alice").end, of("alice").changes), (Some(Nanos::from_secs(41)), 1));
    assert_eq!(of("alice").end_cause, Some(SessionEnd::Disconnected));
    assert_eq!((of("alice").octets_in, of("alice").terminate_cause), (Some(99), Some(6)));
    assert_eq!((of("bob").end, of("bob").changes), (None, 0), "the NAS refused");
    assert_eq!(records.len(), 2);
}

/// Gap 8: a change of address in an interim report was not taken up.
#[test]
fn gap_8_a_change_of_address_in_an_interim_report() {
    let mut wire = Wire::new();
    let bob = |more: &[Vec<u8>]| [&[user("bob"), id("S1")], more].concat();
    wire.accounting(10, NAS, START, &bob(&[v4("203.0.113.1"), prefix(123, "2001:db8:100::/56")]));
    let changed = wire.accounting(20, NAS, INTERIM, &bob(&[v4("203.0.113.2")]));
    wire.accounting(30, NAS, INTERIM, &bob(&[v4("0.0.0.0")]));
    let records = wire.close();
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].ipv4, ["203.0.113.1", "203.0.113.2"]);
    assert_eq!(records[0].addresses[0].end_cause, Some(SessionEnd::Changed));
    assert_eq!(records[0].addresses[0].until_frame, Some(changed));
    assert_eq!(who(&records, "203.0.113.1", None, 19), ["bob"]);
    assert!(who(&records, "203.0.113.1", None, 20).is_empty());
    assert_eq!(who(&records, "203.0.113.2", None, 20), ["bob"]);
    assert!(who(&records, "203.0.113.2", None, 30).is_empty(), "the NAS took it back");
    assert_eq!(who(&records, "2001:db8:100::1", None, 40), ["bob"], "what was not named has not changed");
    // A capture that begins in the middle: the interim report is the first that is heard.
    let mut wire = Wire::new();
    wire.accounting(1_000, NAS, INTERIM, &bob(&[v4("203.0.113.1"), int(46, 300)]));
    let records = wire.close();
    assert_eq!((records[0].begun_by, records[0].start), (SessionBegin::Interim, Nanos::from_secs(700)));
}

/// Gap 9: names in other notations were other users, and blocks of ports nobody's.
#[test]
fn gap_9_names_in_other_notations_and_blocks_of_ports() {
    let mut wire = Wire::new();
    // The server's Class leads from the login to the report, although both write the user differently.
    let login = [user("EXAMPLE\\Bob"), a(31, b"02-00-5E-10-00-01")];
    wire.access(10, NAS, &login, &[a(25, b"c1"), v4("203.0.113.1")]);
    let report = [user("bob@example.org"), a(31, b"0200.5e10.0001"), a(25, b"c1"), id("S1")];
    wire.accounting(12, NAS, START, &report);
    let block = |first: u16, last: u16| {
        let mut value = vec![6, 3, 6, 198, 51, 100, 1, 9, 6, 0, 0];
        value.extend(first.to_be_bytes());
        value.extend([10, 6, 0, 0]);
        value.extend(last.to_be_bytes());
        a(241, &value)
    };
    wire.accounting(20, NAS, START, &[user("eve"), id("S2"), block(1024, 2047), block(8192, 9215)]);
    let nokia = specific(6527, 121, b"198.51.100.1 2048-3071 router base");
    wire.accounting(20, NAS, START, &[user("mallory"), id("S3"), nokia]);
    let huawei = [
        specific(2011, 161, b"198.51.100.1"),
        specific(2011, 162, b"4096"),
        specific(2011, 163, &5119_u32.to_be_bytes()),
    ];
    wire.accounting(20, NAS, START, &[&[user("trent"), id("S4")], &huawei[..]].concat());
    let records = wire.close();
    assert_eq!(records.len(), 4, "{records:#?}");
    assert_eq!(records[0].names, ["EXAMPLE\\Bob", "bob@example.org", "02-00-5E-10-00-01", "0200.5e10.0001"]);
    assert_eq!((records[0].session.as_deref(), records[0].start), (Some("S1"), Nanos::from_secs(11)));
    for (port, name) in [(1024, "eve"), (2047, "eve"), (9000, "eve"), (2048, "mallory"), (5119, "trent")] {
        assert_eq!(who(&records, "198.51.100.1", Some(port), 30), [name], "{port}");
    }
    assert!(who(&records, "198.51.100.1", Some(3072), 30).is_empty());
    assert_eq!(
        who(&records, "198.51.100.1", None, 30).len(),
        4,
        "without a port, everybody behind the address"
    );
}
