//! Calls whose BYE was lost, told by the silence of their media.

use ringtap_model::{Call, CallState, Party};

use crate::testing::{CALLEE_RTP, CALLER_RTP, Sip, Tap, at, request, response};

fn invite() -> Sip {
    request("INVITE", 1).sdp(CALLER_RTP, "RTP/AVP 8")
}

fn answer(cseq: u32) -> Sip {
    response("200 OK", "INVITE", cseq).sdp(CALLEE_RTP, "RTP/AVP 8")
}

/// A call that was answered after one second, with media both ways from the second second to the third.
fn answered() -> Tap {
    let mut tap = Tap::new();
    tap.caller(0, invite());
    tap.callee(1000, answer(1));
    tap.caller(1010, request("ACK", 1));
    speak(&mut tap, 2000, 0);
    tap
}

/// A second of media both ways; the last packet is at 980 ms.
fn speak(tap: &mut Tap, millis: u64, first: u16) {
    for number in 0..50 {
        for (src, dst, ssrc) in [(CALLER_RTP, CALLEE_RTP, 7), (CALLEE_RTP, CALLER_RTP, 8)] {
            let sent = millis + 20 * u64::from(number);
            tap.stream(sent, src, dst, ssrc, first + number..first + number + 1);
        }
    }
}

/// A receiver report about the caller's stream.
fn report() -> Vec<u8> {
    [0x81c9_0007u32, 8, 7, 0, 49, 80, 0, 0].iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// An INVITE within the call, with this line in its SDP, and its answer.
fn offer_again(tap: &mut Tap, millis: u64, cseq: u32, line: &str) {
    let body = format!(
        "v=0\r\no=- 1 {cseq} IN IP4 192.0.2.1\r\ns=-\r\nc=IN IP4 10.0.0.1\r\n{line}\r\nt=0 0\r\nm=audio {} \
         RTP/AVP 8\r\n",
        CALLER_RTP.rsplit_once(':').expect("a port").1
    );
    tap.caller(millis, request("INVITE", cseq).body("application/sdp", &body));
    tap.callee(millis + 100, answer(cseq));
    tap.caller(millis + 110, request("ACK", cseq));
}

fn lost(tap: &Tap) -> Vec<&Call> {
    tap.records.lost.iter().map(|(call, _)| call).collect()
}

const HOURS_4: u64 = 4 * 3_600_000;

#[test]
fn a_call_whose_media_fell_silent_ends_at_its_last_packet() {
    let mut tap = answered();
    tap.wait_until(302_000);
    assert!(lost(&tap).is_empty());
    assert_eq!(tap.engine.under_way().0, 1);
    tap.wait_until(304_000);
    let (call, streams) = &tap.records.lost[0];
    assert_eq!((call.state, call.released_by), (CallState::Timeout, Some(Party::Network)));
    assert_eq!((call.end, call.duration_ms), (Some(at(2980)), Some(1980.0)));
    assert_eq!(streams.iter().map(|stream| stream.packets).collect::<Vec<_>>(), [50, 50]);
    assert_eq!((tap.engine.under_way().0, tap.records.calls.len()), (0, 0));
    // It is told once, and the record is that of the end of the input, too.
    tap.wait_until(3_000_000);
    assert_eq!(tap.records.lost.len(), 1);
    let told = tap.records.lost[0].clone();
    assert_eq!(tap.call(), told);
}

#[test]
fn its_record_is_final_at_the_idle_limit() {
    let mut tap = answered();
    tap.wait_until(HOURS_4 + 2_900);
    assert!(tap.records.calls.is_empty());
    tap.wait_until(HOURS_4 + 4_000);
    assert_eq!(tap.records.calls, tap.records.lost);
}

#[test]
fn a_late_bye_amends_the_record() {
    let mut tap = answered();
    tap.wait_until(400_000);
    tap.caller(400_000, request("BYE", 2));
    assert_eq!(tap.engine.under_way().0, 1);
    tap.wait_until(440_000);
    let (call, streams) = &tap.records.calls[0];
    assert_eq!((call.state, call.released_by), (CallState::Completed, Some(Party::Caller)));
    assert_eq!((call.end, call.duration_ms, streams.len()), (Some(at(400_000)), Some(399_000.0), 2));
    assert_eq!(call.id, lost(&tap)[0].id);
    assert_eq!(tap.engine.under_way().0, 0);
}

#[test]
fn media_that_come_back_amend_the_record() {
    let mut tap = answered();
    tap.wait_until(400_000);
    speak(&mut tap, 500_000, 50);
    tap.wait_until(610_000);
    assert_eq!((lost(&tap).len(), tap.engine.under_way().0), (1, 1));
    // They fall silent again.
    tap.wait_until(820_000);
    assert_eq!((lost(&tap).len(), tap.engine.under_way().0), (2, 0));
    assert_eq!(lost(&tap)[1].end, Some(at(500_980)));
    let (call, streams) = tap.call();
    assert_eq!((call.state, call.end), (CallState::Timeout, Some(at(500_980))));
    assert_eq!(streams.iter().map(|stream| (stream.packets, stream.lost)).collect::<Vec<_>>(), [(100, 0); 2]);
}

#[test]
fn rtcp_keeps_a_call_up() {
    let mut tap = answered();
    let [from, to] = [CALLEE_RTP, CALLER_RTP].map(|end| {
        let (host, port) = end.rsplit_once(':').expect("a port");
        format!("{host}:{}", port.parse::<u16>().expect("a number") + 1)
    });
    for minute in 1..20 {
        tap.wait_until(60_000 * minute);
        tap.udp(60_000 * minute, &from, &to, &report());
    }
    assert!(lost(&tap).is_empty());
    tap.wait_until(60_000 * 19 + 302_000);
    assert_eq!(lost(&tap)[0].end, Some(at(60_000 * 19)));
}

#[test]
fn signalling_within_the_call_keeps_it_up() {
    let mut tap = answered();
    for minute in 1..20 {
        tap.wait_until(60_000 * minute);
        tap.caller(60_000 * minute, request("OPTIONS", 10 + minute as u32));
    }
    assert!(lost(&tap).is_empty());
    tap.wait_until(60_000 * 19 + 302_000);
    assert_eq!(lost(&tap)[0].end, Some(at(60_000 * 19)));
}

#[test]
fn a_call_on_hold_is_not_lost_until_it_is_resumed() {
    for line in ["a=sendonly", "a=inactive", "a=Inactive\r\na=sendrecv"] {
        let mut tap = answered();
        offer_again(&mut tap, 10_000, 2, line);
        tap.wait_until(3_600_000);
        assert!(lost(&tap).is_empty(), "{line}");
        offer_again(&mut tap, 3_600_000, 3, "a=sendrecv");
        tap.wait_until(3_902_000);
        assert_eq!(lost(&tap)[0].end, Some(at(3_600_110)), "{line}");
    }
    // RFC 2543 had an address of zeros for it.
    let mut tap = answered();
    tap.caller(10_000, request("INVITE", 2).sdp("0.0.0.0:4000", "RTP/AVP 8"));
    tap.callee(10_100, answer(2));
    tap.wait_until(3_600_000);
    assert!(lost(&tap).is_empty());
}

#[test]
fn a_fax_and_a_call_without_media_are_not_lost() {
    let mut tap = answered();
    let body =
        "v=0\r\no=- 1 2 IN IP4 10.0.0.1\r\ns=-\r\nc=IN IP4 10.0.0.1\r\nt=0 0\r\nm=image 4000 udptl t38\r\n";
    tap.caller(10_000, request("INVITE", 2).body("application/sdp", body));
    tap.callee(10_100, response("200 OK", "INVITE", 2).body("application/sdp", body));
    tap.wait_until(3_600_000);
    assert!(lost(&tap).is_empty());

    let mut tap = Tap::new();
    tap.caller(0, invite());
    tap.callee(1000, answer(1));
    tap.wait_until(3_600_000);
    assert!(lost(&tap).is_empty());
    tap.wait_until(HOURS_4 + 2_000);
    assert_eq!((tap.records.calls[0].0.state, tap.records.calls[0].0.end), (CallState::Timeout, None));
}
