//! Leases, one case each.

use ringtap_identity::{Limits, Sessions};
use ringtap_model::{Identity, Nanos, SessionBegin, SessionEnd, SessionSource};

use crate::messages::*;

const ADDRESS: &str = "203.0.113.7";

/// Discover, offer, request, acknowledgement.
fn leased(wire: &mut Wire, second: u64, client: u8, transaction: u32, address: &str, seconds: u32) {
    wire.v4(second, V4::new(DISCOVER, client, transaction).option(12, b"phone"));
    wire.v4(second, V4 { kind: 2, ..V4::ack(client, transaction, address, seconds) });
    wire.v4(second, V4::new(REQUEST, client, transaction).option(12, b"phone"));
    wire.v4(second + 1, V4::ack(client, transaction, address, seconds));
}

fn only(records: Vec<Identity>) -> Identity {
    assert_eq!(records.len(), 1, "{records:?}");
    records.into_iter().next().expect("one")
}

#[test]
fn a_lease_is_a_session_from_its_acknowledgement_to_its_end() {
    let mut wire = Wire::new();
    leased(&mut wire, 10, 1, 77, ADDRESS, 600);
    wire.sessions.advance(at(2_000));
    let record = only(wire.close());
    assert_eq!((record.source, record.begun_by), (Some(SessionSource::Dhcpv4), SessionBegin::Leased));
    assert_eq!((record.station, record.user), (Some(mac(1)), None));
    assert_eq!((record.hostname.as_deref(), record.nas.as_str()), (Some("phone"), "192.0.2.250"));
    assert_eq!((record.start, record.end, record.expires), (at(11), Some(at(611)), Some(at(611))));
    assert_eq!((record.end_cause, record.packets), (Some(SessionEnd::Expired), 4));
    let held = &record.addresses[0];
    assert_eq!((held.network.as_str(), held.attribute.as_str()), (ADDRESS, "yiaddr"));
    assert_eq!((held.from, held.from_frame, held.until_frame), (at(11), 4, None));
}

#[test]
fn renewals_extend_it_and_a_release_ends_it() {
    let mut wire = Wire::new();
    leased(&mut wire, 10, 1, 77, ADDRESS, 600);
    let renewal = || V4 { ciaddr: ADDRESS, ..V4::new(REQUEST, 1, 78) };
    wire.v4(311, renewal());
    wire.v4(311, V4::ack(1, 78, ADDRESS, 600));
    wire.sessions.advance(at(900));
    assert_eq!(wire.sessions.open(), 1, "it was renewed");
    // Somebody else's does nothing.
    wire.v4(905, V4 { ciaddr: ADDRESS, ..V4::new(RELEASE, 2, 79) });
    let frame = wire.v4(910, V4 { ciaddr: ADDRESS, ..V4::new(RELEASE, 1, 80) });
    assert_eq!((wire.sessions.counts().dhcp.stale, wire.sessions.counts().dhcp.leases), (1, 2));
    let record = only(wire.close());
    assert_eq!((record.end, record.end_cause), (Some(at(910)), Some(SessionEnd::Released)));
    assert_eq!((record.addresses[0].until_frame, record.packets), (Some(frame), 7));
}

#[test]
fn a_decline_ends_it_and_a_refusal_changes_nothing() {
    let mut wire = Wire::new();
    leased(&mut wire, 10, 1, 77, ADDRESS, 600);
    wire.v4(20, V4 { ciaddr: ADDRESS, ..V4::new(REQUEST, 1, 78) });
    wire.v4(20, V4::new(NAK, 1, 78));
    wire.v4(20, V4::new(NAK, 1, 77));
    assert_eq!(wire.sessions.records().filter(|record| record.end.is_none()).count(), 1);
    wire.v4(30, V4::new(DECLINE, 1, 79).option(50, &[203, 0, 113, 7]));
    let counts = wire.sessions.counts().dhcp;
    assert_eq!((counts.rejected, counts.unanswered), (2, 0));
    let record = only(wire.close());
    assert_eq!((record.end, record.end_cause), (Some(at(30)), Some(SessionEnd::Declined)));
}

#[test]
fn an_address_goes_to_the_client_that_is_acknowledged_last() {
    let mut wire = Wire::new();
    leased(&mut wire, 10, 1, 77, ADDRESS, 86_400);
    leased(&mut wire, 500, 2, 77, ADDRESS, 86_400);
    // The same hardware address, another identifier: another client (RFC 2131 section 4.2).
    wire.v4(600, V4::new(REQUEST, 2, 80).option(61, b"first"));
    wire.v4(600, V4::ack(2, 80, ADDRESS, 100));
    wire.v4(601, V4::new(REQUEST, 2, 81).option(61, b"other"));
    wire.v4(601, V4::ack(2, 81, ADDRESS, 100));
    let records = wire.close();
    let ends: Vec<_> = records.iter().map(|record| (record.end, record.end_cause)).collect();
    let reassigned = Some(SessionEnd::Reassigned);
    assert_eq!(ends, [(Some(at(501)), reassigned), (Some(at(601)), reassigned), (None, None)]);
    assert_eq!(records[1].client_id.as_deref(), Some("6669727374"));
    assert_eq!(who(&records, ADDRESS, 500), [mac(1)]);
    assert_eq!(who(&records, ADDRESS, 501), [mac(2)]);
}

#[test]
fn both_sides_of_a_relay_agent_count_once() {
    let mut wire = Wire::new();
    let mut agent = vec![1, 4, 0, 4, 0, 9, 2, 5];
    agent.extend(b"line7");
    agent.extend([6, 2, b's', b'1']);
    for (second, message) in [
        (10, V4::new(DISCOVER, 1, 77)),
        (10, V4 { kind: 2, ..V4::ack(1, 77, ADDRESS, 600) }),
        (11, V4::new(REQUEST, 1, 77)),
        (11, V4::ack(1, 77, ADDRESS, 600)),
    ] {
        let sides = match message.kind {
            2 | ACK => [Side::Server, Side::Client],
            _ => [Side::Client, Side::Server],
        };
        for side in sides {
            let at_server = message.clone().option(82, &agent);
            wire.v4_at(second, side, if side == Side::Server { &at_server } else { &message });
        }
    }
    let counts = wire.sessions.counts().dhcp;
    assert_eq!((counts.messages, counts.relayed, counts.retransmissions, counts.leases), (8, 4, 0, 1));
    assert_eq!((counts.unpaired, counts.unanswered), (0, 0));
    // What the client sends again is answered again, and the lease goes on from then.
    wire.v4(12, V4::new(REQUEST, 1, 77));
    wire.v4(12, V4::ack(1, 77, ADDRESS, 600));
    // As on the other side of the agent: it is not asked for.
    wire.v4(13, V4::ack(1, 77, ADDRESS, 600));
    let record = only(wire.close());
    assert_eq!((record.packets, record.retransmissions, record.nas.as_str()), (6, 1, "192.0.2.1"));
    assert_eq!((record.start, record.expires), (at(11), Some(at(612))));
    assert_eq!((record.circuit.as_deref(), record.remote.as_deref()), (Some("0x00040009"), Some("line7")));
    assert_eq!((record.subscriber.as_deref(), record.names), (Some("s1"), vec![mac(1), "s1".to_owned()]));
}

#[test]
fn settings_and_what_is_no_lease_open_none() {
    let mut wire = Wire::new();
    wire.v4(10, V4 { ciaddr: ADDRESS, ..V4::new(INFORM, 1, 77) });
    wire.v4(10, V4::ack(1, 77, ADDRESS, 600));
    wire.v4(20, V4 { yiaddr: ADDRESS.to_owned(), ..V4::new(ACK, 1, 78) });
    wire.v4(30, V4::ack(1, 79, "0.0.0.0", 600));
    wire.v4(40, V4::ack(1, 80, ADDRESS, 0));
    wire.v6(50, Side::Client, &v6(11, 1, 1, &[]));
    wire.v6(50, Side::Client, &v6(7, 1, 1, &association(&[("2001:db8::1", 60)])));
    wire.v6(
        60,
        Side::Client,
        &v6(7, 1, 2, &[option(13, &[0, 4]), association(&[("2001:db8::1", 60)])].concat()),
    );
    assert_eq!(wire.sessions.open(), 0);
    // By its content it might be of RADIUS, were it not for its ports.
    let mut like = [[11, 9, 0, 24].as_slice(), &[0; 16], &[1, 4, b'b', b'o']].concat();
    wire.v6(65, Side::Client, &like);
    like[0] = 1;
    wire.v6(66, Side::Client, &like);
    assert_eq!((wire.sessions.counts().packets, wire.sessions.open()), (0, 0));
    // An acknowledgement alone is enough.
    wire.v4(70, V4::ack(1, 81, ADDRESS, u32::MAX));
    wire.sessions.advance(at(100_000_000));
    let record = only(wire.close());
    assert_eq!((record.end, record.expires, record.packets), (None, None, 1), "it does not end");
}

#[test]
fn each_address_and_prefix_of_a_reply_is_a_lease_of_its_own() {
    let mut wire = Wire::new();
    let agent = [option(18, b"eth 0/7"), option(37, &[0, 0, 0, 9, b'r']), option(38, b"s1")].concat();
    let both = [("2001:db8::1", 100), ("2001:db8:7::/56", 200)];
    let ask = v6(3, 1, 5, &association(&[]));
    wire.v6(10, Side::Client, &ask);
    wire.v6(10, Side::Server, &relayed(&ask, &agent));
    let reply = v6(7, 1, 5, &association(&both));
    wire.v6(11, Side::Server, &relayed(&reply, &[]));
    wire.v6(11, Side::Client, &reply);
    // Only one is renewed, the other taken back.
    wire.v6(60, Side::Client, &v6(5, 1, 6, &association(&both)));
    wire.v6(60, Side::Client, &v6(7, 1, 6, &association(&[("2001:db8::1", 0), ("2001:db8:7::/56", 200)])));
    wire.v6(100, Side::Client, &v6(8, 1, 7, &association(&[("2001:db8:7::/56", 0)])));
    wire.v6(100, Side::Client, &v6(7, 1, 7, &option(13, &[0, 0])));
    let records = wire.close();
    assert_eq!(records.len(), 2, "{records:?}");
    let mut ends: Vec<_> = records.iter().map(|record| (record.end, record.end_cause)).collect();
    ends.sort_by_key(|(end, _)| *end);
    let expected = [(Some(at(60)), Some(SessionEnd::Changed)), (Some(at(100)), Some(SessionEnd::Released))];
    assert_eq!(ends, expected);
    assert!(records[0].id != records[1].id, "one frame gave both");
    for record in &records {
        assert_eq!((record.source, record.nas.as_str()), (Some(SessionSource::Dhcpv6), "2001:db8:5::1"));
        assert_eq!(
            (record.station.clone(), record.client_id.as_deref()),
            (Some(mac(1)), Some("0003000102005e000001"))
        );
        let line = (record.circuit.as_deref(), record.remote.as_deref(), record.subscriber.as_deref());
        assert_eq!(line, (Some("eth 0/7"), Some("r"), Some("s1")));
    }
    assert_eq!(who(&records, "2001:db8:7:ff::9", 50), [mac(1)]);
}

/// One line may be known by both, under one address.
#[test]
fn a_lease_and_a_session_of_radius_leave_each_other_alone() {
    use ringtap_identity::Carried;
    let mut wire = Wire::new();
    let report = |status: u8, identifier: u8| {
        let attributes = [
            &[40, 6, 0, 0, 0, status][..],
            &[4, 6, 192, 0, 2, 250, 44, 4, b'S', b'1', 1, 5],
            b"bob",
            &[8, 6, 203, 0, 113, 7],
        ]
        .concat();
        [&[4, identifier, 0, 20 + attributes.len() as u8][..], &[identifier; 16], &attributes].concat()
    };
    let carried = |second| Carried {
        time: at(second),
        src: end("192.0.2.250", 4_000),
        dst: end("192.0.2.9", 1813),
        frame: 1,
    };
    wire.sessions.datagram(&report(1, 1), carried(5));
    leased(&mut wire, 10, 1, 77, ADDRESS, 600);
    // The NAS, which is the lease's server, restarts: its own sessions end.
    wire.sessions.datagram(&report(7, 2), carried(100));
    let records = wire.close();
    let found: Vec<_> = records.iter().map(|record| (record.source, record.end_cause)).collect();
    let radius = (Some(SessionSource::Radius), Some(SessionEnd::NasRestarted));
    assert_eq!(found, [radius, (Some(SessionSource::Dhcpv4), None)]);
    assert_eq!(who(&records, ADDRESS, 50).len(), 2, "each source says so");
}

#[test]
fn a_restart_goes_on_with_leases_and_expires_them_in_time() {
    let mut before = Wire::new();
    leased(&mut before, 10, 1, 77, ADDRESS, 600);
    let stored = before.sessions.take_changed(10);
    let mut wire = Wire::new();
    stored.iter().for_each(|record| wire.sessions.resume(record.clone()));
    let mut without = Sessions::new(Limits::default(), ringtap_identity::Secrets::default());
    stored.iter().for_each(|record| without.resume(record.clone()));
    assert_eq!((without.open(), wire.sessions.open()), (0, 1), "leases are not followed there");
    wire.v4(300, V4 { ciaddr: ADDRESS, ..V4::new(REQUEST, 1, 78) });
    wire.v4(300, V4::ack(1, 78, ADDRESS, 600));
    let renewed = only(wire.sessions.take_changed(10));
    assert_eq!((renewed.id, renewed.expires), (stored[0].id, Some(at(900))));
    wire.sessions.advance(at(5_000));
    let record = only(wire.close());
    assert_eq!((record.end, record.hostname.as_deref()), (Some(at(900)), Some("phone")));
}

#[test]
fn tables_have_ceilings_and_count_what_gave_way() {
    let mut wire = Wire::with(Limits { sessions: 10, requests: 5, ..Limits::default() });
    for client in 0..30 {
        wire.v4(10, V4::new(DISCOVER, client, 1));
        wire.v4(10, V4::ack(client, 1, &format!("203.0.113.{client}"), 600 + u32::from(client)));
    }
    assert_eq!((wire.sessions.open(), wire.sessions.counts().evicted), (10, 20));
    (0..30).for_each(|client| _ = wire.v4(20, V4::new(DISCOVER, client, 2)));
    wire.sessions.advance(at(20) + Nanos::from_secs(61));
    let counts = wire.sessions.counts().dhcp;
    assert_eq!((counts.exchanges_evicted, counts.unanswered), (25, 5));
    let many: Vec<(String, u32)> = (1..=80).map(|one| (format!("2001:db8::{one}"), 600)).collect();
    let many: Vec<(&str, u32)> = many.iter().map(|(address, seconds)| (address.as_str(), *seconds)).collect();
    wire.v6(90, Side::Client, &v6(7, 1, 2, &association(&many)));
    assert_eq!((wire.sessions.open(), wire.sessions.counts().addresses_dropped), (10, 16));
    wire.sessions.datagram(
        &[1; 300],
        ringtap_identity::Carried {
            time: at(91),
            src: end("0.0.0.0", 68),
            dst: end("192.0.2.1", 67),
            frame: 9,
        },
    );
    assert_eq!(wire.sessions.counts().dhcp.malformed, 1);
}
