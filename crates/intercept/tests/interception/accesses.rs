//! Internet accesses.

use ringtap_handover::{AccessEvent, Authentication, Direction, EndReason, IriKind, NotificationKind};
use ringtap_identity::static_ranges;
use ringtap_model::Nanos;
use ringtap_testing::pppoe::{IPV6CP, Link, PADT, Side, line};
use ringtap_warrant::Delivers;

use crate::wire::*;

const OTHER: &str = "198.51.100.1:80";

fn text(direction: Direction, text: &str) -> (String, Direction, String) {
    ("LI-1".to_owned(), direction, text.to_owned())
}

fn event(kind: IriKind, event: AccessEvent) -> (String, IriKind, AccessEvent) {
    ("LI-1".to_owned(), kind, event)
}

/// Alice from 10 to 20, Bob at her address from 30 on.
pub(crate) fn two_sessions() -> Wire {
    let mut wire = Wire::default();
    // NAS-Port, by which the report joins the login.
    let port = a(5, &[0, 0, 0, 7]);
    let addresses = [v4("203.0.113.7"), delegated("2001:db8:7:100::", 56)];
    let alice = [&[user("alice"), session("S1"), port.clone()][..], &addresses].concat();
    wire.udp(5, "203.0.113.7:4000", OTHER, b"before");
    wire.access(9, &[user("alice"), port], 2, &[v4("203.0.113.7")]);
    wire.udp(9, "203.0.113.7:4000", OTHER, b"accepted");
    wire.accounting(10, START, &alice);
    wire.udp(11, "203.0.113.7:4000", OTHER, b"up");
    wire.udp(11, OTHER, "203.0.113.7:4000", b"down");
    wire.udp(12, "[2001:db8:7:1ff::9]:4000", "[2001:db8:9::1]:80", b"up by ipv6");
    wire.udp(12, "[2001:db8:7:200::9]:4000", "[2001:db8:9::1]:80", b"of somebody else");
    wire.accounting(15, INTERIM, &[&alice[..], &[a(42, &[0, 0, 1, 0])]].concat());
    wire.accounting(20, STOP, &[&alice[..], &[a(49, &[0, 0, 0, 1])]].concat());
    wire.udp(25, "203.0.113.7:4000", OTHER, b"after");
    wire.accounting(30, START, &[user("bob"), session("S2"), v4("203.0.113.7")]);
    wire.udp(31, "203.0.113.7:4000", OTHER, b"of bob");
    wire
}

#[test]
fn a_session_is_the_targets_from_the_accept_to_the_stop_whatever_the_batches() {
    let wire = two_sessions();
    for batch in [1, 2, 3, 5, 64] {
        let order = order("LI-1", Delivers::Both, &["user:alice"], 0..1000);
        let liid = order.liid.clone();
        let (kept, closed) = wire.intercepted(&[order], batch);
        use Direction::{FromTarget, ToTarget};
        let expected = [
            text(FromTarget, "accepted"),
            text(FromTarget, "up"),
            text(ToTarget, "down"),
            text(FromTarget, "up by ipv6"),
        ];
        assert_eq!(kept.content(), expected, "batches of {batch}");
        let expected = [
            event(IriKind::Report, AccessEvent::Attempt),
            event(IriKind::Begin, AccessEvent::Accept),
            event(IriKind::Continue, AccessEvent::Interim),
            event(IriKind::Continue, AccessEvent::Interim),
            event(IriKind::End, AccessEvent::End),
        ];
        assert_eq!(kept.accesses(), expected, "batches of {batch}");
        let Some(Given::Access { iri, cin: end, .. }) =
            kept.0.iter().rfind(|given| matches!(given, Given::Access { .. }))
        else {
            panic!("{kept:?}")
        };
        assert_eq!(iri.end, Some(Nanos::from_secs(20)));
        assert_eq!(iri.end_reason, Some(EndReason::RegularLogoff));
        assert_eq!((iri.octets_sent, iri.octets_received), (Some(256), None));
        assert_eq!(iri.username, b"alice");
        let cins: Vec<u32> = kept
            .0
            .iter()
            .filter_map(|given| match given {
                Given::Access { cin, kind, .. } if *kind != IriKind::Report => Some(*cin),
                Given::Content { cin, .. } => Some(*cin),
                _ => None,
            })
            .collect();
        assert!(cins.iter().all(|cin| cin == end), "one session has one number");
        let figures = closed.figures(&liid);
        assert_eq!((figures.iri, figures.packets, figures.dropped), (5, 4, 0));
    }
}

/// When it was sent decides whose a packet is, where it is looked at a moment later than what came after it.
#[test]
fn what_is_looked_at_late_is_whose_it_was_when_it_was_sent() {
    let mut wire = Wire::default();
    let alice = [user("alice"), session("S1"), v4("203.0.113.7")];
    wire.accounting(10, START, &alice);
    wire.udp(9, "203.0.113.7:4000", OTHER, b"before alice");
    wire.udp(11, "203.0.113.7:4000", OTHER, b"of alice");
    wire.accounting(20, STOP, &alice);
    wire.accounting(20, START, &[user("bob"), session("S2"), v4("203.0.113.7")]);
    wire.udp(20, "203.0.113.7:4000", OTHER, b"of bob");
    wire.udp(19, OTHER, "203.0.113.7:4000", b"to alice");
    wire.udp(22, "198.51.100.9:4000", OTHER, b"of a stranger");
    wire.udp(19, OTHER, "203.0.113.7:4000", b"too late");
    for batch in [1, 3, 64] {
        let orders = ["alice", "bob"].map(|name| {
            order(
                if name == "bob" { "LI-2" } else { "LI-1" },
                Delivers::Content,
                &[&format!("user:{name}")],
                0..28,
            )
        });
        let (kept, _) = wire.intercepted(&orders, batch);
        let of = |liid: &str| -> Vec<String> {
            kept.content().into_iter().filter(|(own, ..)| own == liid).map(|(.., text)| text).collect()
        };
        // Time is told with each batch.
        let too_late = if batch == 1 { None } else { Some("too late") };
        let wanted: Vec<&str> = ["of alice", "to alice"].into_iter().chain(too_late).collect();
        assert_eq!(of("LI-1"), wanted, "batches of {batch}");
        assert_eq!(of("LI-2"), ["of bob"], "batches of {batch}");
    }
}

#[test]
fn each_order_gets_exactly_what_it_delivers() {
    let orders = [
        order("IRI", Delivers::Iri, &["user~:ALICE"], 0..1000),
        order("CC", Delivers::Content, &["user:alice"], 0..1000),
        order("BOB", Delivers::Both, &["user:bob"], 0..1000),
        order("NOBODY", Delivers::Both, &["user:carol", "number:+441604*"], 0..1000),
    ];
    let (kept, _) = two_sessions().intercepted(&orders, 4);
    assert!(kept.accesses().iter().all(|(liid, ..)| liid == "IRI" || liid == "BOB"));
    assert_eq!(kept.accesses().iter().filter(|(liid, ..)| liid == "IRI").count(), 5);
    let of = |liid: &str| kept.content().into_iter().filter(|(own, ..)| own == liid).count();
    assert_eq!((of("IRI"), of("CC"), of("BOB"), of("NOBODY")), (0, 4, 1, 0));
}

/// Only what lies in its time, also in the middle of a batch; a session that goes on is told as it is then.
#[test]
fn an_order_counts_from_its_begin_to_its_end() {
    for batch in [1, 64] {
        let order = order("LI-1", Delivers::Both, &["user:alice"], 11..12);
        let (kept, _) = two_sessions().intercepted(&[order], batch);
        assert_eq!(
            kept.content(),
            [text(Direction::FromTarget, "up"), text(Direction::ToTarget, "down")],
            "batches of {batch}"
        );
        let expected = [
            event(IriKind::Begin, AccessEvent::StartWhileActive),
            event(IriKind::End, AccessEvent::EndWhileActive),
        ];
        assert_eq!(kept.accesses(), expected, "batches of {batch}");
        let notices: Vec<(NotificationKind, Nanos)> = kept
            .0
            .iter()
            .filter_map(|given| match given {
                Given::Notice { kind, at, .. } => Some((*kind, *at)),
                _ => None,
            })
            .collect();
        let expected = [
            (NotificationKind::Activated, Nanos::from_secs(11)),
            (NotificationKind::Deactivated, Nanos::from_secs(12)),
        ];
        assert_eq!(notices, expected);
    }
}

/// Whether or not it has an address.
#[test]
fn the_end_of_an_order_is_the_end_of_each_of_its_sessions() {
    let mut wire = Wire::default();
    wire.accounting(10, START, &[user("alice"), session("S1")]);
    wire.accounting(11, START, &[user("alice"), session("S2"), v4("203.0.113.7")]);
    wire.udp(15, "203.0.113.7:4000", OTHER, b"after the order");
    let order = order("LI-1", Delivers::Both, &["user:alice"], 0..12);
    let (kept, _) = wire.intercepted(&[order], 1);
    let ends = kept.accesses().into_iter().filter(|(_, kind, _)| *kind == IriKind::End);
    assert_eq!(ends.collect::<Vec<_>>(), vec![event(IriKind::End, AccessEvent::EndWhileActive); 2]);
    assert!(kept.content().is_empty());
}

#[test]
fn addresses_that_an_order_names_are_watched_without_a_session() {
    let order =
        order("LI-1", Delivers::Both, &["address:203.0.113.0/28", "address:2001:db8:7:200::/56"], 0..28);
    let (kept, _) = two_sessions().intercepted(&[order], 3);
    let texts: Vec<String> =
        kept.content().into_iter().map(|(.., text)| text).filter(|text| !text.is_empty()).collect();
    assert_eq!(texts, ["before", "accepted", "up", "down", "of somebody else", "after"]);
    assert_eq!(kept.accesses()[0].2, AccessEvent::StartWhileActive);
}

/// A lease is the target's until its time is over, whether or not anything is heard then.
#[test]
fn a_lease_of_dhcp_is_the_targets_until_it_ends() {
    let mut wire = Wire::default();
    wire.udp(9, "203.0.113.7:4000", OTHER, b"before");
    wire.lease(10, 1, "203.0.113.7", 5);
    wire.lease(10, 2, "203.0.113.8", 5);
    wire.udp(11, "203.0.113.7:4000", OTHER, b"of the lease");
    wire.udp(11, "203.0.113.8:4000", OTHER, b"of somebody else");
    wire.lease(14, 1, "203.0.113.7", 5);
    wire.udp(18, OTHER, "203.0.113.7:4000", b"of the lease renewed");
    wire.udp(19, "203.0.113.7:4000", OTHER, b"after it");
    for batch in [1, 3, 64] {
        let order = order("LI-1", Delivers::Both, &["mac:02-00-5E-00-00-01"], 0..1000);
        let (kept, _) = wire.intercepted(&[order], batch);
        let texts: Vec<String> = kept.content().into_iter().map(|(.., text)| text).collect();
        assert_eq!(texts, ["of the lease", "of the lease renewed"], "batches of {batch}");
        let Some(Given::Access { iri, kind: IriKind::Begin, .. }) =
            kept.0.iter().find(|given| matches!(given, Given::Access { .. }))
        else {
            panic!("{kept:?}")
        };
        assert_eq!(iri.authentication, Some(Authentication::Dhcp));
        assert_eq!(iri.network_id.as_deref(), Some("02:00:5e:00:00:01"));
    }
}

/// A session of PPPoE by user, by line and by MAC address: from the acknowledged address to the end of the
/// session. Link-local addresses are everybody's.
#[test]
fn a_session_of_pppoe_is_the_targets_until_it_ends() {
    let (mut wire, ana, bob) = (Wire::default(), Link::new(1, 15), Link::new(2, 15));
    let interface = [1, 10, 0, 0, 0, 0, 0, 0, 0, 1];
    for (link, user, host) in [(&ana, "ana@example.org", 7), (&bob, "bob", 8)] {
        wire.udp_in(9, link, &format!("203.0.113.{host}:4000"), OTHER, b"before");
        for frame in link.login(user, [203, 0, 113, host], &line("eth 0/7", &format!("LINE-{host}"))) {
            wire.frame(10, frame);
        }
        wire.frame(10, link.control(Side::Concentrator, IPV6CP, (2, 2), &interface));
        wire.udp_in(12, link, &format!("203.0.113.{host}:4000"), OTHER, user.as_bytes());
        wire.udp_in(13, link, "[fe80::1]:546", "[fe80::2]:547", b"on every link");
    }
    wire.frame(20, ana.discovery(Side::Concentrator, PADT, 15, &[]));
    wire.udp_in(22, &ana, "203.0.113.7:4000", OTHER, b"after it");
    for target in ["user:ana@example.org", "user~:ana", "calling:LINE-7", "mac:02-00-5E-00-00-01"] {
        let order = order("LI-1", Delivers::Both, &[target], 0..1000);
        let (kept, _) = wire.intercepted(&[order], 3);
        let texts: Vec<String> = kept.content().into_iter().map(|(.., text)| text).collect();
        assert_eq!(texts, ["ana@example.org"], "{target}");
        let events: Vec<AccessEvent> = kept.accesses().iter().map(|access| access.2).collect();
        assert_eq!((events.first(), events.last()), (Some(&AccessEvent::Accept), Some(&AccessEvent::End)));
    }
}

/// A range of a file is its subscriber's between its dates: no packet says so, and packets of others cut no
/// corner of it.
#[test]
fn a_range_of_a_file_is_its_subscribers() {
    let ranges = "[[range]]\nnetworks = [\"203.0.113.16/28\", \"2001:db8:9::/48\"]\nsubscriber = \"line 9\"\n\
                  from = 1970-01-01T00:00:10\nuntil = 1970-01-01T00:00:20\n";
    let mut wire = Wire::default();
    wire.ranges = static_ranges(ranges, "lines.toml").unwrap();
    for second in [9, 10, 15, 19, 20] {
        wire.udp(second, "203.0.113.17:4000", OTHER, format!("at {second}").as_bytes());
        wire.udp(second, "203.0.113.32:4000", OTHER, b"of others");
    }
    wire.udp(12, "[2001:db8:9:7::1]:4000", "[2001:db8::1]:4000", b"IPv6");
    wire.frames.sort_by_key(|(time, _)| *time);
    for batch in [1, 3, 64] {
        let order = order("LI-1", Delivers::Both, &["user:line 9"], 0..1000);
        let (kept, _) = wire.intercepted(&[order], batch);
        let texts: Vec<String> = kept.content().into_iter().map(|(.., text)| text).collect();
        assert_eq!(texts, ["at 10", "IPv6", "at 15", "at 19"], "batches of {batch}");
        let told: Vec<(IriKind, AccessEvent)> =
            kept.accesses().iter().map(|access| (access.1, access.2)).collect();
        let begin = (IriKind::Begin, AccessEvent::StartWhileActive);
        assert_eq!(told, [begin, (IriKind::End, AccessEvent::End)]);
    }
}

#[test]
fn a_refusal_is_reported() {
    let mut wire = Wire::default();
    wire.access(9, &[user("alice"), a(31, b"0160-4960000")], 3, &[]);
    wire.access(10, &[user("bob")], 3, &[]);
    let order = order("LI-1", Delivers::Both, &["msisdn:+441604960000", "calling:01604960000"], 0..28);
    let (kept, _) = wire.intercepted(&[order], 3);
    let expected =
        [event(IriKind::Report, AccessEvent::Attempt), event(IriKind::Report, AccessEvent::Reject)];
    assert_eq!(kept.accesses(), expected);
}

/// Of a shared address, only the target's block of ports; what has no port may be somebody else's.
#[test]
fn a_block_of_ports_of_a_shared_address() {
    let mut wire = Wire::default();
    // Alcatel-Lucent-Service-Router's NAT port range (vendor 6527, attribute 121), as its documentation has
    // it.
    let block = b"203.0.113.7 2000-2999 router base";
    let block = a(26, &[&6527u32.to_be_bytes()[..], &a(121, block)].concat());
    wire.accounting(10, START, &[user("alice"), session("S1"), block]);
    wire.udp(11, "203.0.113.7:2500", OTHER, b"of alice");
    wire.udp(11, "203.0.113.7:3000", OTHER, b"of somebody else");
    wire.udp(11, OTHER, "203.0.113.7:2999", b"to alice");
    let mut echo = vec![0x45, 0, 0, 28, 0, 0, 0, 0, 64, 1, 0, 0, 203, 0, 113, 7, 198, 51, 100, 1];
    echo.extend([8, 0, 0, 0, 0, 1, 0, 1]);
    wire.packet(12, echo);
    let order = order("LI-1", Delivers::Both, &["user:alice"], 0..28);
    let liid = order.liid.clone();
    let (kept, closed) = wire.intercepted(&[order], 3);
    let expected = [text(Direction::FromTarget, "of alice"), text(Direction::ToTarget, "to alice")];
    assert_eq!(kept.content(), expected);
    assert_eq!(closed.figures(&liid).unattributed, 1);
}

/// Somebody in a tunnel of a target is a target's packet once; a target in somebody's tunnel is found inside.
#[test]
fn tunnels() {
    let mut wire = Wire::default();
    wire.accounting(10, START, &[user("alice"), session("S1"), v4("203.0.113.7")]);
    wire.accounting(10, START, &[user("bob"), session("S2"), v4("203.0.113.8")]);
    let inner = ringtap_wire::frame::udp_datagram(
        ("203.0.113.8".parse().unwrap(), 4000),
        ("198.51.100.9".parse().unwrap(), 80),
        b"of bob",
    )
    .unwrap();
    let gre = [&[0, 0, 8, 0][..], &inner].concat();
    let mut outer = vec![0x45, 0, 0, (20 + gre.len()) as u8, 0, 0, 0, 0, 64, 47, 0, 0];
    outer.extend([203, 0, 113, 7, 198, 51, 100, 1]);
    outer.extend(&gre);
    wire.packet(11, outer.clone());
    let both = order("BOTH", Delivers::Content, &["user:alice", "user:bob"], 0..28);
    let bob = order("BOB", Delivers::Content, &["user:bob"], 0..28);
    let (kept, _) = wire.intercepted(&[both, bob], 3);
    let given: Vec<(&str, &[u8])> = kept
        .0
        .iter()
        .filter_map(|given| match given {
            Given::Content { liid, packet, .. } => Some((liid.as_str(), &packet[..])),
            _ => None,
        })
        .collect();
    assert_eq!(given, [("BOTH", &outer[..]), ("BOB", &inner[..])]);
}
