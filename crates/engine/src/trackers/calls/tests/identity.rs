//! The Identity header on its way to where it is checked.

use crate::testing::{Tap, request, response};

#[test]
fn the_first_header_about_the_caller_travels_with_the_record() {
    let mut tap = Tap::new();
    tap.caller(0, request("INVITE", 1));
    // A proxy adds it; another one later is not that of the call.
    let signed = |value: &str| request("INVITE", 1).header("Identity: x.y.z;ppt=div").header(value);
    let hop = |sip: crate::testing::Sip| sip.branch("z9hG4bK-proxy").header("Date: today").bytes();
    tap.udp(5, "198.51.100.1:5060", "203.0.113.9:5060", &hop(signed("y: a.b.c;info=<u>;ppt=shaken")));
    tap.callee(900, response("200 OK", "INVITE", 1));
    tap.caller(2000, request("INVITE", 2).header("Identity: d.e.f;ppt=shaken"));
    let header = tap.call().0.identity.expect("a header");
    assert_eq!(header.value.as_deref(), Some("a.b.c;info=<u>;ppt=shaken"));
    assert_eq!(header.date.as_deref(), Some("today"));
}

#[test]
fn one_that_is_too_long_is_told_and_not_kept() {
    let long = |length| format!("Identity: {}", "a".repeat(length));
    for (length, is_kept) in [(4096, true), (4097, false)] {
        let mut tap = Tap::new();
        tap.caller(0, request("INVITE", 1).header(&long(length)));
        assert_eq!(tap.call().0.identity.expect("a header").value.is_some(), is_kept);
    }
    let mut tap = Tap::new();
    tap.caller(0, request("INVITE", 1));
    assert!(tap.call().0.identity.is_none());
}
