//! The course of a call, message by message, as RFC 3261 has it.

mod identity;
mod links;
mod quality;
mod session;
mod silence;

use ringtap_model::{Call, CallState, NoteCode, Party, RttSource};

use crate::sink::CallPhase;
use crate::testing::{CALLEE, CALLEE_RTP, CALLER, CALLER_RTP, Sip, Tap, at, request, response};

fn invite() -> Sip {
    request("INVITE", 1).sdp(CALLER_RTP, "RTP/AVP 8")
}

fn answer() -> Sip {
    response("200 OK", "INVITE", 1).sdp(CALLEE_RTP, "RTP/AVP 8")
}

/// A call that was answered after one second.
fn answered() -> Tap {
    let mut tap = Tap::with(|config| config.idle_limit = ringtap_model::Nanos::from_secs(60));
    tap.caller(0, invite());
    tap.callee(1000, answer());
    tap.caller(1010, request("ACK", 1));
    tap
}

/// A call whose INVITE got this response after one second.
fn after(status: &str) -> Call {
    let mut tap = Tap::new();
    tap.caller(0, invite());
    tap.callee(1000, response(status, "INVITE", 1));
    tap.call().0
}

/// A request of the callee: From and To change places (RFC 3261 section 12.2.1.1).
fn by_callee(method: &str, cseq: u32) -> Sip {
    request(method, cseq).from("<sip:bob@example.com>;tag=bob").to("<sip:alice@example.com>;tag=alice")
}

#[test]
fn a_call_is_trying_until_the_callee_rings() {
    for status in ["100 Trying", "181 Call Is Being Forwarded", "183 Session Progress"] {
        let call = after(status);
        let is_18x = status.starts_with("18");
        assert_eq!(call.state, if is_18x { CallState::Ringing } else { CallState::Trying }, "{status}");
        assert_eq!(call.ringing, is_18x.then_some(at(1000)), "{status}");
        assert_eq!(call.trying, (!is_18x).then_some(at(1000)), "{status}");
    }
}

#[test]
fn a_101_to_179_says_nothing() {
    let call = after("150 Whatever");
    assert_eq!((call.state, call.trying, call.ringing), (CallState::Trying, None, None));
}

#[test]
fn post_dial_delay_ends_with_the_first_ringing_or_else_with_the_answer() {
    let mut tap = Tap::new();
    tap.caller(0, invite());
    tap.callee(300, response("180 Ringing", "INVITE", 1));
    tap.callee(900, response("183 Session Progress", "INVITE", 1));
    tap.callee(1000, answer());
    let call = tap.call().0;
    assert_eq!((call.state, call.pdd_ms), (CallState::Active, Some(300.0)));
    assert_eq!(answered().call().0.pdd_ms, Some(1000.0));
}

#[test]
fn a_bye_completes_an_answered_call_and_its_sender_released_it() {
    for (bye, party) in [(request("BYE", 2), Party::Caller), (by_callee("BYE", 1), Party::Callee)] {
        let mut tap = answered();
        tap.caller(61_000, bye);
        let call = tap.call().0;
        assert_eq!((call.state, call.released_by), (CallState::Completed, Some(party)));
        assert_eq!((call.end, call.duration_ms), (Some(at(61_000)), Some(60_000.0)));
        assert_eq!((call.final_code, call.final_reason.as_deref()), (200, Some("OK")));
    }
}

#[test]
fn what_passes_while_the_clock_is_set_back_is_unknown() {
    for (bye, duration) in [(99_990, Some(0.0)), (70_000, None)] {
        let mut tap = Tap::new();
        tap.caller(99_000, invite());
        tap.callee(100_000, answer());
        tap.caller(bye, request("BYE", 2));
        let call = tap.call().0;
        assert_eq!((call.state, call.end, call.duration_ms), (CallState::Completed, Some(at(bye)), duration));
        assert_eq!(call.notes.iter().any(|note| note.code == NoteCode::ShortCall), duration.is_some());
    }
}

#[test]
fn of_two_byes_the_first_ended_the_call() {
    let mut tap = answered();
    tap.caller(5000, request("BYE", 2));
    tap.callee(5010, by_callee("BYE", 1));
    let call = tap.call().0;
    assert_eq!((call.end, call.released_by), (Some(at(5000)), Some(Party::Caller)));
}

#[test]
fn a_bye_before_the_answer_gives_the_attempt_up() {
    let mut tap = Tap::new();
    tap.caller(0, invite());
    tap.callee(100, response("180 Ringing", "INVITE", 1));
    tap.caller(4000, request("BYE", 2));
    let call = tap.call().0;
    assert_eq!((call.state, call.end), (CallState::Cancelled, Some(at(4000))));
    assert_eq!((call.released_by, call.duration_ms), (Some(Party::Caller), None));
}

#[test]
fn a_final_4xx_to_6xx_fails_the_attempt() {
    for status in ["400 Bad Request", "486 Busy Here", "503 Service Unavailable", "603 Decline"] {
        let call = after(status);
        assert_eq!((call.state, call.end, call.released_by), (CallState::Failed, Some(at(1000)), None));
        assert_eq!(format!("{} {}", call.final_code, call.final_reason.unwrap_or_default()), status);
    }
}

#[test]
fn a_3xx_redirects_to_its_contacts() {
    for code in [300, 302, 399] {
        let mut tap = Tap::new();
        tap.caller(0, invite());
        let moved = response(&format!("{code} Moved"), "INVITE", 1).header("Contact: <sip:777@example.net>");
        tap.callee(1000, moved);
        let call = tap.call().0;
        assert_eq!((call.state, call.end), (CallState::Redirected, Some(at(1000))));
        assert_eq!(call.diverted_to, ["777"]);
    }
    // The Contact of a failure is no target.
    let mut tap = Tap::new();
    tap.caller(0, invite());
    tap.callee(1000, response("400 Bad", "INVITE", 1).header("Contact: <sip:777@example.net>"));
    assert_eq!(tap.call().0.diverted_to, [""; 0]);
}

#[test]
fn a_cancel_ends_the_attempt_when_it_is_sent() {
    let mut tap = Tap::new();
    tap.caller(0, invite());
    tap.callee(500, response("180 Ringing", "INVITE", 1));
    tap.caller(3000, request("CANCEL", 1));
    tap.callee(3100, response("200 OK", "CANCEL", 1));
    tap.callee(3200, response("487 Request Terminated", "INVITE", 1));
    let call = tap.call().0;
    assert_eq!((call.state, call.end), (CallState::Cancelled, Some(at(3000))));
    assert_eq!((call.released_by, call.final_code), (Some(Party::Caller), 487));
}

#[test]
fn a_cancel_that_crosses_the_answer_changes_nothing() {
    let mut tap = Tap::new();
    tap.caller(0, invite());
    tap.caller(990, request("CANCEL", 1));
    tap.callee(1000, answer());
    tap.caller(5000, request("BYE", 2));
    let call = tap.call().0;
    assert_eq!((call.state, call.answer, call.end), (CallState::Completed, Some(at(1000)), Some(at(5000))));
}

#[test]
fn a_challenge_and_the_invite_that_answers_it_are_one_call() {
    for challenge in ["401 Unauthorized", "407 Proxy Authentication Required"] {
        let mut tap = Tap::new();
        tap.caller(0, invite());
        tap.callee(100, response(challenge, "INVITE", 1));
        tap.caller(110, request("ACK", 1));
        tap.caller(200, request("INVITE", 2).sdp(CALLER_RTP, "RTP/AVP 8"));
        tap.callee(900, response("200 OK", "INVITE", 2).sdp(CALLEE_RTP, "RTP/AVP 8"));
        let call = tap.call().0;
        assert_eq!((call.state, call.final_code, call.invite), (CallState::Active, 200, Some(at(0))));
        assert_eq!(call.answer, Some(at(900)));
    }
}

#[test]
fn a_retry_forgets_the_failure_before_it() {
    let mut tap = Tap::new();
    tap.caller(0, invite());
    tap.callee(100, response("422 Session Interval Too Small", "INVITE", 1));
    tap.caller(200, request("INVITE", 2));
    let call = tap.call().0;
    assert_eq!(
        (call.state, call.final_code, call.final_reason, call.end),
        (CallState::Trying, 0, None, None)
    );
}

#[test]
fn an_older_invite_is_no_retry() {
    let mut tap = Tap::new();
    tap.caller(0, request("INVITE", 5));
    tap.callee(100, response("486 Busy Here", "INVITE", 5));
    tap.caller(200, request("INVITE", 4));
    assert_eq!(tap.call().0.state, CallState::Failed);
}

/// RFC 3261 section 16.7: a forking proxy forwards the answer and may still pass on a branch that failed.
#[test]
fn a_branch_that_fails_does_not_undo_the_answer_of_another() {
    let mut tap = answered();
    tap.callee(1100, response("486 Busy Here", "INVITE", 1).to("<sip:bob@example.com>;tag=other"));
    let call = tap.call().0;
    assert_eq!((call.state, call.final_code, call.end), (CallState::Active, 200, None));
}

#[test]
fn the_first_ringing_and_the_first_failure_of_several_branches_count() {
    let mut tap = Tap::new();
    tap.caller(0, invite());
    for (millis, tag) in [(100, "one"), (200, "two")] {
        let to = format!("<sip:bob@example.com>;tag={tag}");
        tap.callee(millis, response("180 Ringing", "INVITE", 1).to(&to));
        tap.callee(millis + 1000, response("480 Temporarily Unavailable", "INVITE", 1).to(&to));
    }
    let call = tap.call().0;
    assert_eq!((call.ringing, call.end), (Some(at(100)), Some(at(1100))));
}

#[test]
fn a_reinvite_that_is_refused_leaves_the_call_as_it_was() {
    let mut tap = answered();
    tap.caller(5000, request("INVITE", 2));
    tap.callee(5100, response("488 Not Acceptable Here", "INVITE", 2));
    tap.caller(6000, request("INVITE", 3));
    tap.callee(6100, response("180 Ringing", "INVITE", 3));
    tap.callee(6200, response("200 Fine", "INVITE", 3));
    let call = tap.call().0;
    assert_eq!((call.state, call.answer, call.ringing), (CallState::Active, Some(at(1000)), None));
    assert_eq!(call.final_reason.as_deref(), Some("OK"));
}

#[test]
fn the_same_bytes_within_10_ms_are_the_mirrors_copy_and_later_a_retransmission() {
    for (millis, messages, retransmissions) in [(1, 1, 0), (9, 1, 0), (10, 2, 1), (500, 2, 1)] {
        let mut tap = Tap::new();
        tap.caller(0, invite());
        tap.caller(millis, invite());
        let call = tap.call().0;
        assert_eq!((call.messages, call.retransmissions), (messages, retransmissions), "{millis} ms");
    }
}

#[test]
fn the_same_message_on_another_hop_is_no_retransmission() {
    let mut tap = Tap::new();
    tap.caller(0, invite());
    tap.udp(1, CALLEE, "203.0.113.1:5060", &invite().bytes());
    let call = tap.call().0;
    assert_eq!((call.messages, call.retransmissions), (2, 0));
    assert_eq!((call.src.to_string(), call.dst.to_string()), (CALLER.to_owned(), CALLEE.to_owned()));
}

#[test]
fn a_call_without_an_answer_times_out_after_the_invite_limit() {
    let mut tap = Tap::new();
    tap.caller(0, invite());
    tap.wait_until(199_000);
    assert!(tap.records.calls.is_empty());
    tap.wait_until(202_000);
    let (call, _) = &tap.records.calls[0];
    assert_eq!((call.state, call.released_by), (CallState::Timeout, Some(Party::Network)));
}

#[test]
fn an_answered_call_without_signalling_and_media_times_out() {
    let mut tap = answered();
    tap.wait_until(60_500);
    assert!(tap.records.calls.is_empty());
    tap.wait_until(62_000);
    let (call, _) = &tap.records.calls[0];
    assert_eq!((call.state, call.duration_ms), (CallState::Timeout, None));
}

#[test]
fn media_keep_an_answered_call_alive() {
    let mut tap = answered();
    tap.stream(40_000, CALLER_RTP, CALLEE_RTP, 7, 0..50);
    tap.wait_until(99_000);
    assert!(tap.records.calls.is_empty());
    tap.wait_until(102_000);
    assert_eq!(tap.records.calls[0].0.state, CallState::Timeout);
}

#[test]
fn the_record_of_a_released_call_waits_for_late_packets() {
    let mut tap = answered();
    tap.caller(5000, request("BYE", 2));
    tap.wait_until(36_500);
    assert!(tap.records.calls.is_empty());
    tap.wait_until(38_000);
    assert_eq!(tap.records.calls[0].0.state, CallState::Completed);
}

#[test]
fn a_challenge_waits_longer_than_a_release_since_people_type_passwords() {
    let mut tap = Tap::new();
    tap.caller(0, invite());
    tap.callee(1000, response("407 Proxy Authentication Required", "INVITE", 1));
    tap.wait_until(300_000);
    assert!(tap.records.calls.is_empty());
    tap.wait_until(302_000);
    assert_eq!(tap.records.calls[0].0.state, CallState::Failed);
}

#[test]
fn a_call_beyond_the_ceiling_is_counted_once() {
    let mut tap = Tap::with(|config| config.max_calls = 1);
    tap.caller(0, invite());
    tap.callee(50, answer());
    tap.caller(100, invite().call_id("b"));
    tap.callee(200, answer().call_id("b"));
    assert_eq!(tap.engine.counters().calls_refused, 1);
    assert_eq!(tap.call().0.call_id, "a@192.0.2.1");
}

#[test]
fn a_call_without_an_answer_gives_way_to_another_and_one_in_conversation_does_not() {
    let mut tap = Tap::with(|config| config.max_calls = 2);
    tap.caller(0, invite());
    tap.callee(50, answer());
    tap.caller(100, invite().call_id("b"));
    tap.caller(200, invite().call_id("c"));
    assert_eq!(tap.engine.counters().calls_evicted, 1);
    let (call, _) = &tap.records.calls[0];
    assert_eq!((call.call_id.as_str(), call.state), ("b", CallState::Trying));
    // Its late answer belongs to no call.
    tap.callee(300, answer().call_id("b"));
    let ids: Vec<_> = tap.close().calls.into_iter().map(|(call, _)| call.call_id).collect();
    assert_eq!(ids, ["b", "a@192.0.2.1", "c"]);
}

#[test]
fn a_call_that_is_over_gives_way_first_once_late_packets_have_come() {
    let mut tap = Tap::with(|config| config.max_calls = 2);
    tap.caller(0, invite());
    tap.callee(1000, response("486 Busy Here", "INVITE", 1));
    tap.caller(2000, invite().call_id("b"));
    tap.caller(2900, invite().call_id("c"));
    assert_eq!(tap.records.calls[0].0.call_id, "b");
    tap.caller(3100, invite().call_id("d"));
    assert_eq!(tap.records.calls[1].0.state, CallState::Failed);
    assert_eq!((tap.engine.counters().calls_evicted, tap.close().calls.len()), (1, 4));
}

#[test]
fn the_record_of_a_long_call_id_shows_its_beginning() {
    let mut tap = Tap::new();
    for last in ["1", "2"] {
        tap.caller(0, invite().call_id(&("x".repeat(3000) + last)));
    }
    let calls = tap.close().calls;
    assert_eq!(calls[0].0.call_id, "x".repeat(256));
    assert_ne!(calls[0].0.id, calls[1].0.id);
}

#[test]
fn only_an_invite_or_its_response_begins_a_call() {
    let mut tap = Tap::new();
    tap.caller(0, request("BYE", 1));
    tap.caller(10, request("OPTIONS", 1).call_id("b"));
    tap.callee(20, response("200 OK", "BYE", 1).call_id("c"));
    assert!(tap.close().calls.is_empty());
}

#[test]
fn a_capture_that_begins_with_a_response_has_the_caller_where_it_was_sent_to() {
    let mut tap = Tap::new();
    tap.callee(0, answer());
    let call = tap.call().0;
    assert_eq!((call.src.to_string(), call.dst.to_string()), (CALLER.to_owned(), CALLEE.to_owned()));
    assert_eq!((call.from_user.as_deref(), call.to_user.as_deref()), (Some("alice"), Some("bob")));
    assert_eq!((call.state, call.invite), (CallState::Active, None));
}

#[test]
fn the_parties_are_those_of_the_first_invite() {
    let mut tap = Tap::new();
    let identified = invite()
        .from("\"Alice\" <sip:alice@[2001:db8::1]>;tag=alice")
        .header("P-Asserted-Identity: <sip:+49301234@example.com>");
    tap.caller(0, identified);
    tap.caller(2000, request("INVITE", 2).from("<sip:mallory@example.com>;tag=alice"));
    let call = tap.call().0;
    assert_eq!((call.from_user.as_deref(), call.from_display.as_deref()), (Some("alice"), Some("Alice")));
    assert_eq!(call.from_host.as_deref(), Some("[2001:db8::1]"));
    assert_eq!((call.ruri_user.as_deref(), call.ruri_host.as_deref()), (Some("bob"), Some("example.com")));
    assert_eq!(call.asserted_identity.as_deref(), Some("+49301234"));
}

#[test]
fn each_side_names_its_agent_once() {
    let mut tap = Tap::new();
    tap.caller(0, invite().header("User-Agent: phone/1"));
    tap.callee(100, response("180 Ringing", "INVITE", 1));
    tap.callee(200, answer().header("Server: gateway/2"));
    tap.caller(300, request("BYE", 2).header("User-Agent: phone/2"));
    let call = tap.call().0;
    assert_eq!(call.user_agent_caller.as_deref(), Some("phone/1"));
    assert_eq!(call.user_agent_callee.as_deref(), Some("gateway/2"));
}

#[test]
fn the_newest_q850_cause_counts() {
    let mut tap = answered();
    tap.caller(2000, request("INFO", 2).header("Reason: Q.850;cause=41"));
    tap.caller(3000, request("BYE", 3).header("Reason: Q.850;cause=16;text=\"Normal\""));
    assert_eq!(tap.call().0.cause, Some(16));
}

#[test]
fn numbers_that_a_call_is_routed_on_to_are_listed_once() {
    let mut tap = Tap::new();
    tap.caller(
        0,
        invite().header("Diversion: <sip:100@example.com>").header("History-Info: <sip:200@example.com>"),
    );
    tap.callee(1000, answer());
    tap.callee(2000, by_callee("REFER", 1).header("Refer-To: <sip:300@example.com>"));
    tap.caller(
        3000,
        request("BYE", 2).header("Also: <sip:100@example.com>").header("Also: <sip:400@example.com>"),
    );
    assert_eq!(tap.call().0.diverted_to, ["100", "200", "300", "400"]);
    let mut tap = Tap::new();
    let many =
        (0..20).fold(invite(), |sip, number| sip.header(&format!("Diversion: <sip:{number}@example.com>")));
    tap.caller(0, many);
    assert_eq!(tap.call().0.diverted_to.len(), 16);
}

#[test]
fn digits_in_info_messages_are_recorded() {
    let relay = "application/dtmf-relay";
    let bodies = [
        (relay, "Signal=5\r\nDuration=160\r\n", Some("5")),
        (relay, "Duration=160\r\nsignal = *\r\n", Some("*")),
        ("Application/DTMF", "7", Some("7")),
        ("application/dtmf", "10", Some("*")),
        ("application/dtmf", "11", Some("#")),
        ("application/dtmf", "16", Some("flash")),
        ("application/dtmf", " d \r\n", Some("D")),
        ("application/dtmf", "12", None),
        ("application/dtmf", "x", None),
        ("application/dtm", "1", None),
        ("text/plain-and-long", "1", None),
    ];
    for (content_type, body, digit) in bodies {
        let mut tap = answered();
        tap.caller(2000, request("INFO", 2).body(content_type, body));
        let (call, _) = tap.call();
        let digits: Vec<&str> = call.dtmf.iter().map(|dtmf| dtmf.digit.as_str()).collect();
        assert_eq!(digits, digit.into_iter().collect::<Vec<_>>(), "{content_type}: {body}");
        assert!(call.dtmf.iter().all(|dtmf| dtmf.time == at(2000)));
    }
    let mut tap = answered();
    for number in 0..70 {
        tap.caller(2000 + 100 * number, request("INFO", 2 + number as u32).body("application/dtmf", "1"));
    }
    assert_eq!(tap.call().0.dtmf.len(), 64);
}

/// RFC 3261 section 17: the response has the branch and the CSeq of its request.
#[test]
fn the_round_trip_is_the_shortest_from_a_request_to_its_first_response() {
    let mut tap = Tap::new();
    tap.caller(0, invite());
    tap.callee(80, response("100 Trying", "INVITE", 1));
    tap.callee(1000, answer());
    tap.caller(2000, request("OPTIONS", 2));
    tap.callee(2010, response("200 OK", "OPTIONS", 2).branch("z9hG4bK-of-another"));
    tap.callee(2030, response("200 OK", "OPTIONS", 2));
    tap.caller(3000, request("OPTIONS", 3));
    tap.callee(3050, response("200 OK", "OPTIONS", 3));
    tap.stream(4000, CALLER_RTP, CALLEE_RTP, 7, 0..10);
    let (_, streams) = tap.call();
    assert_eq!((streams[0].rtt_ms, streams[0].rtt_source), (Some(30.0), Some(RttSource::Sip)));
}

#[test]
fn packets_dropped_before_a_call_are_none_of_its_business() {
    let mut tap = Tap::new();
    tap.engine.report_external_drops(5);
    tap.caller(0, invite());
    tap.engine.report_external_drops(8);
    // A total does not shrink.
    tap.engine.report_external_drops(6);
    assert_eq!(tap.call().0.capture_drops, 3);
}

#[test]
fn a_snapshot_shows_a_call_as_if_it_ended_now() {
    let mut tap = answered();
    tap.stream(2000, CALLER_RTP, CALLEE_RTP, 7, 0..10);
    tap.caller(3000, request("OPTIONS", 9));
    let id = {
        let mut other = answered();
        other.stream(2000, CALLER_RTP, CALLEE_RTP, 7, 0..10);
        other.call().0.id
    };
    let Some((call, streams)) = tap.engine.snapshot(&id) else { panic!("no call of that id") };
    assert_eq!((call.state, call.id, streams[0].packets), (CallState::Active, id, 10));
    assert!(tap.engine.snapshot(&ringtap_model::Id([7; 16])).is_none());
}

#[test]
fn a_retry_after_the_release_lingers_again() {
    let mut tap = Tap::new();
    tap.caller(0, invite());
    tap.callee(1000, response("486 Busy Here", "INVITE", 1));
    tap.caller(30_000, request("INVITE", 2));
    tap.callee(31_000, response("486 Busy Here", "INVITE", 2));
    tap.wait_until(62_000);
    assert!(tap.records.calls.is_empty());
    tap.wait_until(64_500);
    assert_eq!(tap.records.calls.len(), 1);
}

#[test]
fn calls_that_the_end_of_the_input_cuts_come_in_order_of_their_first_message() {
    let mut tap = Tap::new();
    for number in [3, 1, 2] {
        tap.caller(1000 * number, invite().call_id(&format!("call {number}")));
    }
    let ids: Vec<String> = tap.close().calls.into_iter().map(|(call, _)| call.call_id).collect();
    // Time runs backwards in the input; the record tells what the packets say.
    assert_eq!(ids, ["call 1", "call 2", "call 3"]);
}

/// The phases that a sink with [`Sink::PROGRESS`](crate::Sink::PROGRESS) is told.
mod phases {
    use ringtap_model::{Frame, LinkType, Message, Registration};

    use super::*;
    use crate::sink::{CallNumber, Sink, StreamEnd};
    use crate::testing::{end, udp};
    use crate::{Config, Engine};

    #[derive(Default)]
    struct Phases(Vec<(CallPhase, CallState)>);

    impl Sink for Phases {
        const PROGRESS: bool = true;

        fn call(&mut self, _: Call, _: Vec<StreamEnd>) {}
        fn stream(&mut self, _: StreamEnd) {}
        fn registration(&mut self, _: Registration) {}
        fn message(&mut self, _: Message) {}
        fn progress(&mut self, phase: CallPhase, _: CallNumber, call: &Call) {
            self.0.push((phase, call.state));
        }
    }

    fn phases(messages: &[(Sip, bool)]) -> Vec<(CallPhase, CallState)> {
        let mut engine = Engine::new(Config { max_calls: 4, max_streams: 4, ..Config::default() });
        let mut phases = Phases::default();
        for (index, (sip, is_callers)) in messages.iter().enumerate() {
            let (src, dst) = if *is_callers { (CALLER, CALLEE) } else { (CALLEE, CALLER) };
            let data = udp(end(src), end(dst), &sip.bytes());
            let (time, wire_len) = (at(1000 * index as u64), data.len() as u32);
            let frame = Frame { time, number: index as u64, link: LinkType(101), wire_len, data: &data };
            engine.batch(&[frame], &mut phases);
        }
        phases.0
    }

    #[test]
    fn each_phase_is_reported_when_it_is_reached() {
        let seen = phases(&[
            (invite(), true),
            (response("180 Ringing", "INVITE", 1), false),
            (response("183 Session Progress", "INVITE", 1), false),
            (answer(), false),
            (request("BYE", 2), true),
            (response("200 OK", "BYE", 2), false),
        ]);
        let wanted = [
            (CallPhase::Started, CallState::Trying),
            (CallPhase::Ringing, CallState::Ringing),
            (CallPhase::Answered, CallState::Active),
            (CallPhase::Released, CallState::Completed),
        ];
        assert_eq!(seen, wanted);
    }

    #[test]
    fn a_challenge_is_no_release() {
        let seen = phases(&[(invite(), true), (response("401 Unauthorized", "INVITE", 1), false)]);
        assert_eq!(seen, [(CallPhase::Started, CallState::Trying)]);
    }
}
