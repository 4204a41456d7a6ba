//! Session timers (RFC 4028), and what else signalling tells of a call: hold, transfer, how long a BYE took.

use ringtap_model::{Call, CallState, NoteCode, Party};

use crate::testing::{CALLEE_RTP, CALLER_RTP, Sip, Tap, at, request, response};

/// An answer to an INVITE with a session interval.
fn answer(cseq: u32, session: &str) -> Sip {
    response("200 OK", "INVITE", cseq).header(session)
}

/// A call without media that was answered after one second, with this line in its answer.
fn answered(session: &str) -> Tap {
    let mut tap = Tap::new();
    tap.caller(0, request("INVITE", 1).header("Supported: timer"));
    tap.callee(1000, answer(1, session));
    tap.caller(1010, request("ACK", 1));
    tap
}

/// The same with media both ways from the second second on, for some seconds.
fn speaking(session: &str, seconds: u16) -> Tap {
    let mut tap = Tap::new();
    tap.caller(0, request("INVITE", 1).sdp(CALLER_RTP, "RTP/AVP 8"));
    tap.callee(1000, answer(1, session).sdp(CALLEE_RTP, "RTP/AVP 8"));
    tap.caller(1010, request("ACK", 1));
    speak(&mut tap, 2000, 0, seconds);
    tap
}

/// A packet each way per second.
fn speak(tap: &mut Tap, millis: u64, first: u16, seconds: u16) {
    for number in first..first + seconds {
        for (src, dst, ssrc) in [(CALLER_RTP, CALLEE_RTP, 7), (CALLEE_RTP, CALLER_RTP, 8)] {
            let sent = millis + 1000 * u64::from(number - first);
            tap.stream(sent, src, dst, ssrc, number..number + 1);
        }
    }
}

fn lost(tap: &Tap) -> Vec<&Call> {
    tap.records.lost.iter().map(|(call, _)| call).collect()
}

fn evidence(call: &Call, code: NoteCode) -> Option<&str> {
    call.notes.iter().find(|note| note.code == code).map(|note| note.evidence.as_str())
}

#[test]
fn a_session_that_is_not_refreshed_ends_the_call_when_it_runs_out() {
    for header in ["Session-Expires: 600;refresher=uac", "x: 600 ; refresher=UAC"] {
        let mut tap = answered(header);
        // It ran out after 601 s; a BYE may come for another 32 s.
        tap.wait_until(632_000);
        assert!(lost(&tap).is_empty(), "{header}");
        tap.wait_until(634_000);
        let call = lost(&tap)[0].clone();
        assert_eq!((call.state, call.released_by), (CallState::Timeout, Some(Party::Network)));
        assert_eq!((call.end, call.duration_ms), (Some(at(601_000)), Some(600_000.0)));
        assert_eq!(
            evidence(&call, NoteCode::SessionExpired),
            Some("the session of 600 s, which the caller refreshes, ran out, and no BYE was seen")
        );
        assert_eq!(tap.engine.under_way().0, 0);
        // The record of the end of the input says the same.
        assert_eq!(tap.call().0, call);
    }
}

#[test]
fn a_refresh_by_either_side_sets_the_timer_anew() {
    let mut tap = answered("Session-Expires: 600;refresher=uas");
    // The callee refreshes with an UPDATE, the caller with an INVITE; the interval changes.
    tap.callee(500_000, request("UPDATE", 7).from("<sip:bob@example.com>;tag=bob").header("x: 600"));
    let update = response("200 OK", "UPDATE", 7).from("<sip:bob@example.com>;tag=bob");
    tap.caller(500_050, update.header("Session-Expires: 600;refresher=uac"));
    tap.wait_until(1_000_000);
    assert!(lost(&tap).is_empty());
    tap.caller(1_000_000, request("INVITE", 2).header("Session-Expires: 1200"));
    tap.callee(1_001_000, answer(2, "Session-Expires: 1200;refresher=uas"));
    tap.wait_until(2_231_000);
    assert!(lost(&tap).is_empty());
    tap.wait_until(2_235_000);
    assert_eq!(lost(&tap)[0].end, Some(at(2_201_000)));
    let said = evidence(lost(&tap)[0], NoteCode::SessionExpired).unwrap();
    assert!(said.starts_with("the session of 1200 s, which the callee refreshes,"), "{said}");
}

#[test]
fn the_refresher_is_a_side_of_the_transaction() {
    let mut tap = answered("Session-Expires: 600;refresher=uac");
    tap.callee(500_000, request("UPDATE", 7).from("<sip:bob@example.com>;tag=bob"));
    let update = response("200 OK", "UPDATE", 7).from("<sip:bob@example.com>;tag=bob");
    tap.caller(500_000, update.header("Session-Expires: 90;refresher=uac"));
    tap.wait_until(1_100_000);
    let said = evidence(lost(&tap)[0], NoteCode::SessionExpired).unwrap();
    assert!(said.starts_with("the session of 90 s, which the callee refreshes,"), "{said}");
    assert_eq!(lost(&tap)[0].end, Some(at(590_000)));
}

#[test]
fn without_session_expires_in_the_answer_there_is_no_timer() {
    let mut tap = answered("Supported: timer");
    tap.wait_until(3_600_000);
    assert!(lost(&tap).is_empty());
    // What is refreshed without one has none from then on.
    let mut tap = answered("Session-Expires: 600");
    tap.caller(300_000, request("UPDATE", 2).header("Session-Expires: 600"));
    tap.callee(300_100, response("200 OK", "UPDATE", 2));
    tap.wait_until(3_600_000);
    assert!(lost(&tap).is_empty());
    // A request alone, and an answer to something else, set none.
    let mut tap = answered("Supported: timer");
    tap.caller(2000, request("UPDATE", 2).header("Session-Expires: 90"));
    tap.caller(3000, request("OPTIONS", 3));
    tap.callee(3100, response("200 OK", "OPTIONS", 3).header("Session-Expires: 90"));
    tap.wait_until(3_600_000);
    assert!(lost(&tap).is_empty());
}

#[test]
fn a_refused_refresh_leaves_the_timer_and_is_told() {
    let mut tap = answered("Session-Expires: 600;refresher=uac");
    tap.caller(300_000, request("UPDATE", 2).header("Session-Expires: 600"));
    tap.callee(300_100, response("422 Session Interval Too Small", "UPDATE", 2).header("Min-SE: 1800"));
    tap.wait_until(640_000);
    let said = evidence(lost(&tap)[0], NoteCode::SessionExpired).unwrap();
    assert!(said.ends_with("a refresh was refused with 422, at least 1800 s are wanted"), "{said}");
    assert_eq!(lost(&tap)[0].end, Some(at(601_000)));
}

#[test]
fn a_session_is_never_shorter_than_90_s_nor_overflows() {
    let mut tap = answered("Session-Expires: 1");
    tap.wait_until(121_000);
    assert!(lost(&tap).is_empty());
    tap.wait_until(740_000);
    assert_eq!(lost(&tap)[0].end, Some(at(91_000)));
    let mut tap = answered("Session-Expires: 4294967295");
    tap.wait_until(3_600_000);
    assert!(lost(&tap).is_empty());
}

#[test]
fn a_late_bye_amends_the_record() {
    let mut tap = answered("Session-Expires: 600");
    tap.wait_until(700_000);
    assert_eq!(lost(&tap).len(), 1);
    tap.caller(700_000, request("BYE", 2));
    tap.callee(700_020, response("200 OK", "BYE", 2));
    let id = lost(&tap)[0].id;
    let call = tap.call().0;
    assert_eq!((call.state, call.released_by, call.id), (CallState::Completed, Some(Party::Caller), id));
    assert_eq!((call.end, call.sdd_ms), (Some(at(700_000)), Some(20.0)));
    assert_eq!(evidence(&call, NoteCode::SessionExpired), None);
}

#[test]
fn media_that_go_on_say_that_the_refresh_was_not_seen_here() {
    let mut tap = speaking("Session-Expires: 120;refresher=uac", 400);
    // It ran out after 121 s; media last until 401 s, and then are silent for five minutes.
    tap.wait_until(690_000);
    assert!(lost(&tap).is_empty());
    tap.wait_until(703_000);
    assert_eq!(lost(&tap)[0].end, Some(at(401_000)));
    assert_eq!(evidence(lost(&tap)[0], NoteCode::SessionExpired), None);
}

#[test]
fn media_that_end_with_the_session_do_not_keep_the_call_up() {
    let mut tap = speaking("Session-Expires: 120;refresher=uac", 119);
    tap.wait_until(204_000);
    assert_eq!(lost(&tap)[0].end, Some(at(121_000)));
    assert!(evidence(lost(&tap)[0], NoteCode::SessionExpired).is_some());
    // Silence of five minutes changes nothing any more; media that come back do.
    tap.wait_until(600_000);
    assert_eq!(lost(&tap).len(), 1);
    speak(&mut tap, 610_000, 119, 30);
    tap.wait_until(900_000);
    assert_eq!(tap.engine.under_way().0, 1);
    tap.wait_until(1_000_000);
    assert_eq!(lost(&tap).len(), 2);
    assert_eq!(lost(&tap)[1].end, Some(at(639_000)));
}

#[test]
fn signalling_that_goes_on_says_so_too() {
    let mut tap = answered("Session-Expires: 600");
    tap.wait_until(650_000);
    assert_eq!((lost(&tap).len(), tap.engine.under_way().0), (1, 0));
    tap.caller(650_000, request("OPTIONS", 2));
    assert_eq!(tap.engine.under_way().0, 1);
    tap.wait_until(3_600_000);
    assert_eq!(lost(&tap).len(), 1);
}

#[test]
fn the_disconnect_delay_is_that_of_the_first_byes_own_transaction() {
    let mut tap = answered("Supported: timer");
    tap.caller(5000, request("BYE", 2));
    // The proxy's copy, its answer, then that of the first hop; repeats.
    let copy = |sip: Sip| sip.branch("z9hG4bK-proxy").bytes();
    tap.udp(5005, "198.51.100.1:5060", "203.0.113.9:5060", &copy(request("BYE", 2)));
    tap.udp(5030, "203.0.113.9:5060", "198.51.100.1:5060", &copy(response("200 OK", "BYE", 2)));
    tap.callee(5042, response("200 OK", "BYE", 2));
    tap.callee(5900, response("200 OK", "BYE", 2));
    assert_eq!(tap.call().0.sdd_ms, Some(42.0));
    // A challenge is part of it, a BYE of the other side is not.
    let mut tap = answered("Supported: timer");
    tap.caller(5000, request("BYE", 2));
    tap.callee(5010, response("407 Proxy Authentication Required", "BYE", 2));
    tap.callee(5015, request("BYE", 8).from("<sip:bob@example.com>;tag=bob"));
    tap.caller(5018, response("200 OK", "BYE", 8).from("<sip:bob@example.com>;tag=bob"));
    tap.caller(5020, request("BYE", 3));
    tap.callee(5060, response("200 OK", "BYE", 3));
    assert_eq!(tap.call().0.sdd_ms, Some(60.0));
    for status in ["481 Call/Transaction Does Not Exist", "408 Request Timeout"] {
        let mut tap = answered("Supported: timer");
        tap.caller(5000, request("BYE", 2));
        tap.callee(5010, response(status, "BYE", 2));
        assert_eq!(tap.call().0.sdd_ms, None, "{status}");
    }
}

/// An INVITE within the call, or its answer, whose only stream has this direction.
fn described(sip: Sip, endpoint: &str, direction: &str) -> Sip {
    sip.sdp(endpoint, &format!("RTP/AVP 8\r\na={direction}"))
}

#[test]
fn holds_are_counted_for_the_side_that_asked() {
    let mut tap = speaking("Supported: timer", 3);
    for (number, (millis, offer, answer)) in [
        (10_000, "sendonly", "recvonly"),
        (20_000, "sendrecv", "sendrecv"),
        (30_000, "inactive", "inactive"),
        (55_000, "sendrecv", "sendrecv"),
    ]
    .into_iter()
    .enumerate()
    {
        let cseq = number as u32 + 2;
        tap.caller(millis, described(request("INVITE", cseq), CALLER_RTP, offer));
        tap.callee(millis, described(response("200 OK", "INVITE", cseq), CALLEE_RTP, answer));
    }
    tap.caller(60_000, request("BYE", 9));
    let call = tap.call().0;
    let holds: Vec<_> = call.notes.iter().filter(|note| note.code == NoteCode::Hold).collect();
    assert_eq!(holds.len(), 1, "{holds:?}");
    assert_eq!(holds[0].evidence, "the caller put the other side on hold 2 times, for 35.0 s");
    assert_eq!((holds[0].since, holds[0].value), (Some(at(10_000)), Some(35.0)));
}

#[test]
fn a_transfer_says_by_whom_to_whom_and_whether_it_was_refused() {
    let bob = |sip: Sip| sip.from("<sip:bob@example.com>;tag=bob");
    let mut tap = answered("Supported: timer");
    tap.callee(5000, bob(request("REFER", 7)).header("Refer-To: <sip:carol@example.com>"));
    tap.caller(5100, bob(response("202 Accepted", "REFER", 7)));
    let call = tap.call().0;
    assert_eq!(
        evidence(&call, NoteCode::Transfer),
        Some("the callee sent the other side to carol, without asking")
    );
    let mut tap = answered("Supported: timer");
    let target = "Refer-To: <sip:dave@example.com?Replaces=7%40a%3Bto-tag%3D1&X=y>";
    tap.caller(5000, request("REFER", 2).header(target));
    tap.callee(5100, response("603 Declined", "REFER", 2));
    assert_eq!(
        evidence(&tap.call().0, NoteCode::Transfer),
        Some("the caller sent the other side to dave, whom it had called before; refused with 603")
    );
    let mut tap = Tap::new();
    tap.caller(0, request("INVITE", 1).header("Replaces: 7@192.0.2.7;to-tag=1;from-tag=2"));
    assert_eq!(
        evidence(&tap.call().0, NoteCode::Transfer),
        Some("it takes the place of the call 7@192.0.2.7")
    );
}
