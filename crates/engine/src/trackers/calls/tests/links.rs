//! What may join a call to others is collected from its messages.

use crate::testing::{CALLEE_RTP, CALLER_RTP, Sip, Tap, at, request, response};

const OWN: &str = "ab30317f1a784dc48ff824d0d3715d86";
const REMOTE: &str = "47755a9de7794ba387653f2099600ef2";

fn invite() -> Sip {
    request("INVITE", 1).sdp(CALLER_RTP, "RTP/AVP 8")
}

fn links(messages: impl FnOnce(&mut Tap)) -> Vec<String> {
    let mut tap = Tap::new();
    messages(&mut tap);
    tap.call().0.links
}

fn has(links: &[String], wanted: &str) -> bool {
    links.iter().any(|link| link == wanted)
}

/// RFC 7989 section 6: zeros until the other half is known, which the answer has first.
#[test]
fn both_halves_of_a_session_id_once_each() {
    let nil = "0".repeat(32);
    let found = links(|tap| {
        tap.caller(0, invite().header(&format!("Session-ID: {};remote={nil}", OWN.to_uppercase())));
        let answer = response("200 OK", "INVITE", 1);
        tap.callee(1000, answer.header(&format!("Session-ID: {REMOTE};remote={OWN}")));
        tap.caller(1010, request("ACK", 1).header(&format!("Session-ID: {OWN};remote={REMOTE}")));
    });
    let sessions: Vec<_> = found.iter().filter(|link| link.starts_with("session=")).collect();
    assert_eq!(sessions, [&format!("session={OWN}"), &format!("session={REMOTE}")]);
}

#[test]
fn descriptions_tell_their_session_and_first_medium_once_a_side() {
    let found = links(|tap| {
        tap.caller(0, invite());
        tap.callee(1000, response("200 OK", "INVITE", 1).sdp(CALLEE_RTP, "RTP/AVP 8"));
        tap.caller(1010, request("ACK", 1));
        tap.caller(5000, request("INVITE", 2).sdp("10.9.9.9:4444", "RTP/AVP 8"));
    });
    assert!(has(&found, &format!("media={CALLER_RTP}")), "{found:?}");
    assert!(has(&found, &format!("media={CALLEE_RTP}")), "{found:?}");
    assert!(!found.iter().any(|link| link.contains("10.9.9.9")), "{found:?}");
    for origin in ["origin=- 1 192.0.2.1", "origin=- 1 198.51.100.1"] {
        assert!(has(&found, origin), "{found:?}");
    }
    assert_eq!(found.len(), 4, "{found:?}");
}

#[test]
fn what_replaces_charges_and_confers() {
    let found = links(|tap| {
        let invite = invite()
            .header("Replaces: 425928@phone.example.org;to-tag=7743;from-tag=6472")
            .header("P-Charging-Vector: icid-value=\"AyretyU0dm+6O2IrT5tAFrbHLso=1\";orig-ioi=home1.net")
            .header("Referred-By: <sip:referrer@example.com>");
        tap.caller(0, invite);
        let focus = "Contact: <sip:room7@conference.example.com>;isfocus";
        tap.callee(1000, response("200 OK", "INVITE", 1).header(focus));
    });
    for wanted in [
        "replaces=425928@phone.example.org",
        "icid=AyretyU0dm+6O2IrT5tAFrbHLso=1",
        "referred_by=referrer@example.com",
        "conference=room7@conference.example.com",
    ] {
        assert!(has(&found, wanted), "{wanted}: {found:?}");
    }
}

#[test]
fn where_the_call_was_sent_on_to() {
    let refer = |target: &str| {
        links(|tap| {
            tap.caller(0, invite());
            tap.callee(1000, response("200 OK", "INVITE", 1));
            tap.caller(2000, request("REFER", 2).header(&format!("Refer-To: {target}")));
        })
    };
    let blind = refer("<sip:+4930123456;x=y@example.net>");
    let wanted = format!("refer_to=+4930123456@example.net;at={};by=caller", at(2000).micros());
    assert!(has(&blind, &wanted), "{blind:?}");
    let attended = refer("<sip:bob@example.net?Replaces=12345%40host%3Bto-tag%3D1%3Bfrom-tag%3D2>");
    assert!(has(&attended, "replaces=12345@host"), "{attended:?}");
    let moved = links(|tap| {
        tap.caller(0, invite());
        tap.callee(1000, response("302 Moved", "INVITE", 1).header("Contact: <sip:100@192.0.2.9>;q=0.5"));
    });
    assert!(has(&moved, "redirect_to=100@192.0.2.9"), "{moved:?}");
}

/// A hostile sender fills no memory, and what does not fit is left out whole.
#[test]
fn links_are_few_and_short() {
    let found = links(|tap| {
        tap.caller(0, invite().header(&format!("Replaces: {};to-tag=1", "x".repeat(500))));
        for number in 2..100 {
            let target = format!("Refer-To: <sip:{number}@example.net>");
            tap.caller(u64::from(number) * 10, request("REFER", number).header(&target));
        }
    });
    assert!(found.len() <= 16, "{}", found.len());
    assert!(found.iter().all(|link| link.len() <= 128), "{found:?}");
}

/// Each host that a proxy sent the call on to, at most three, and not what follows the answer.
#[test]
fn the_hops_of_a_call_behind_its_first_one() {
    let proxy = "198.51.100.1:5060";
    let found = links(|tap| {
        tap.caller(0, invite());
        tap.udp(1, proxy, "203.0.113.1:5060", &invite().bytes());
        tap.udp(2, proxy, "203.0.113.1:5060", &invite().branch("z9hG4bKsecond").bytes());
        tap.udp(3, "203.0.113.1:5060", "203.0.113.2:5060", &invite().bytes());
        tap.udp(4, "203.0.113.1:5060", "203.0.113.3:5060", &invite().bytes());
        tap.udp(5, "203.0.113.1:5060", "203.0.113.4:5060", &invite().bytes());
        tap.callee(1000, response("200 OK", "INVITE", 1));
        tap.udp(5000, proxy, "203.0.113.9:5060", &request("INVITE", 2).bytes());
    });
    let hops: Vec<_> = found.iter().filter(|link| link.starts_with("hop=")).collect();
    assert_eq!(hops, ["hop=203.0.113.1", "hop=203.0.113.2", "hop=203.0.113.3"]);
}
