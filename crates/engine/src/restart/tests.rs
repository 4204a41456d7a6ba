//! Calls that go on over a restart, by one engine and by a team of two.

use ringtap_model::{Call, CallState, Dtmf, DtmfSource, Endpoint, Party, Stream};

use super::*;
use crate::continued::ContinuedCodec;
use crate::testing::{CALLEE_RTP, CALLER_RTP, Records, Sip, Tap, at, request, response};

fn invite() -> Sip {
    request("INVITE", 1).sdp(CALLER_RTP, "RTP/AVP 96\r\na=rtpmap:96 opus/48000/2")
}

fn answer() -> Sip {
    response("200 OK", "INVITE", 1).sdp(CALLEE_RTP, "RTP/AVP 96\r\na=rtpmap:96 opus/48000/2")
}

/// A request of the callee: From and To change places (RFC 3261 section 12.2.1.1).
fn by_callee(method: &str, cseq: u32) -> Sip {
    request(method, cseq).from("<sip:bob@example.com>;tag=bob").to("<sip:alice@example.com>;tag=alice")
}

fn talk(tap: &mut Tap, millis: u64, numbers: std::ops::Range<u16>) {
    for number in numbers.clone() {
        let sent = millis + 20 * u64::from(number - numbers.start);
        let timestamp = u32::from(number) * 960;
        tap.udp(sent, CALLER_RTP, CALLEE_RTP, &crate::testing::rtp(96, number, timestamp, 7));
    }
}

/// A call that talks for a second before the first run ends at 3 s: its records, and what the next run is
/// given. `until` is as far as the messages go.
fn first_run(answered: bool) -> (Call, Vec<Stream>, ContinuedCall) {
    let mut tap = Tap::new();
    tap.caller(0, invite());
    tap.callee(100, response("180 Ringing", "INVITE", 1));
    if answered {
        tap.callee(1_000, answer());
        talk(&mut tap, 1_500, 0..50);
    }
    let mut continuing = tap.engine.continuing();
    assert_eq!(continuing.len(), 1);
    let (_, id, legs) = continuing.remove(0);
    let (record, streams) = tap.call();
    assert_eq!(record.id, id);
    let continued = ContinuedCall { record: record.clone(), legs, until: at(3_000) };
    (record, streams, continued)
}

/// The next run begins at 5 s.
fn next_run(continued: &ContinuedCall) -> Tap {
    let mut tap = Tap::new();
    let media = tap.engine.continue_call(continued, at(5_000), &mut tap.records).unwrap();
    tap.engine.continue_media(&media);
    assert!(tap.engine.continue_call(continued, at(5_000), &mut tap.records).is_none(), "it is there");
    tap
}

#[test]
fn a_call_goes_on_under_its_id_with_the_streams_of_both_runs() {
    let (before, streams, continued) = first_run(true);
    let mut tap = next_run(&continued);
    talk(&mut tap, 5_100, 180..230);
    tap.callee(7_000, by_callee("BYE", 1));
    let (call, more) = tap.call();
    assert_eq!(
        (call.id, call.state, call.released_by),
        (before.id, CallState::Completed, Some(Party::Callee))
    );
    let times = (call.invite, call.ringing, call.answer, call.end);
    assert_eq!(times, (Some(at(0)), Some(at(100)), Some(at(1_000)), Some(at(7_000))));
    assert_eq!((call.messages, call.duration_ms), (before.messages + 1, Some(6_000.0)));
    assert_eq!(call.unmonitored_ms, Some(2_000.0));
    // What passed in the gap is not lost: what came after it is another stream.
    assert_eq!((more.len(), more[0].lost, more[0].codec.as_deref()), (1, 0, Some("opus")));
    assert_eq!(more[0].direction, streams[0].direction);
    assert_eq!(call.streams, [streams[0].id, more[0].id]);
    assert_eq!(call.mos, more[0].mos.into_iter().chain(before.mos).reduce(f64::min));
}

/// The tags of the parties are known by hash alone, under a key of their run.
#[test]
fn who_released_a_call_that_went_on_is_known_by_address() {
    let (_, _, continued) = first_run(true);
    for (by_caller, party) in [(true, Party::Caller), (false, Party::Callee)] {
        let mut tap = next_run(&continued);
        match by_caller {
            true => tap.caller(7_000, request("BYE", 2)),
            false => tap.callee(7_000, by_callee("BYE", 1)),
        }
        assert_eq!(tap.call().0.released_by, Some(party));
    }
}

#[test]
fn a_call_that_rings_over_a_restart_is_answered_after_it() {
    let (before, _, continued) = first_run(false);
    let mut tap = next_run(&continued);
    tap.callee(6_000, answer());
    talk(&mut tap, 6_100, 0..20);
    tap.caller(7_000, request("BYE", 2));
    let (call, streams) = tap.call();
    assert_eq!((call.id, call.state, streams.len()), (before.id, CallState::Completed, 1));
    assert_eq!((call.pdd_ms, call.answer), (before.pdd_ms, Some(at(6_000))));
}

/// It ended in between, and nobody saw how: the record is as after a kill.
#[test]
fn a_call_of_which_nothing_is_seen_any_more_is_interrupted() {
    let (before, _, continued) = first_run(true);
    let mut tap = next_run(&continued);
    tap.wait_until(301_000);
    assert_eq!(tap.records.calls.len(), 0);
    tap.wait_until(305_000);
    let (call, streams) = &tap.records.calls[0];
    assert_eq!((call.id, call.state, call.end), (before.id, CallState::Interrupted, Some(at(3_000))));
    assert_eq!((streams.len(), &call.streams, call.mos), (0, &before.streams, before.mos));
    assert_eq!((call.duration_ms, call.unmonitored_ms), (Some(2_000.0), None));
    // With media it goes on, whatever its limit.
    let mut tap = next_run(&continued);
    talk(&mut tap, 5_100, 180..230);
    tap.wait_until(400_000);
    assert_eq!(tap.records.calls.len(), 0);
}

#[test]
fn a_gap_after_a_gap_is_added() {
    let (_, _, continued) = first_run(true);
    let mut tap = next_run(&continued);
    talk(&mut tap, 5_100, 180..230);
    let (_, _, legs) = tap.engine.continuing().remove(0);
    let (record, _) = tap.call();
    assert_eq!((record.state, record.unmonitored_ms), (CallState::Active, Some(2_000.0)));
    let again = ContinuedCall { record, legs, until: at(7_000) };
    let mut tap = Tap::new();
    let media = tap.engine.continue_call(&again, at(7_500), &mut tap.records).unwrap();
    tap.engine.continue_media(&media);
    tap.caller(8_000, request("BYE", 2));
    let (call, _) = tap.call();
    assert_eq!((call.unmonitored_ms, call.streams.len()), (Some(2_500.0), 2));
}

/// Of two workers the one that owns the Call-ID has the call; both know its media.
#[test]
fn the_worker_that_owns_a_call_goes_on_with_it() {
    let (_, _, continued) = first_run(true);
    let config = crate::Config { max_calls: 16, max_streams: 64, ..crate::Config::default() };
    let mut team = Engine::team(&config, 2);
    let mut records = Records::default();
    let media: Vec<_> = team
        .iter_mut()
        .filter_map(|engine| engine.continue_call(&continued, at(5_000), &mut records))
        .collect();
    assert_eq!(media.len(), 1, "one worker owns it");
    for engine in &mut team {
        engine.continue_media(&media[0]);
    }
    let calls: usize = team.iter().map(|engine| engine.under_way().0).sum();
    let legs: Vec<usize> = team.iter().map(|engine| engine.streams.legs_of(media[0].call).len()).collect();
    assert_eq!((calls, legs), (1, vec![2, 2]));
}

/// Of a Call-ID that the record has cut or mended, no message can be told to be the call's.
#[test]
fn a_call_whose_call_id_is_not_known_whole_does_not_go_on() {
    let (_, _, continued) = first_run(true);
    for (call_id, goes_on) in
        [("x".repeat(255), true), ("x".repeat(256), false), ("a\u{fffd}b".to_owned(), false)]
    {
        let record = Call { call_id, ..continued.record.clone() };
        let continued = ContinuedCall { record, ..continued.clone() };
        let mut tap = Tap::new();
        let media = tap.engine.continue_call(&continued, at(5_000), &mut tap.records);
        assert_eq!(media.is_some(), goes_on);
    }
}

/// Whatever the disk says of a call, it stops nothing and holds what the wire could make it hold.
#[test]
fn a_record_with_the_largest_of_all_numbers_goes_on() {
    let (_, _, continued) = first_run(true);
    let digit = |_| Dtmf { digit: "1".to_owned(), source: DtmfSource::Info, time: Nanos::MAX };
    let record = Call {
        messages: u32::MAX,
        retransmissions: u32::MAX,
        capture_drops: u64::MAX,
        unmonitored_ms: Some(f64::MAX),
        answer: Some(Nanos::MAX),
        dtmf: (0..100_000).map(digit).collect(),
        diverted_to: vec!["1".to_owned(); 100_000],
        streams: vec![continued.record.id; 100_000],
        ..continued.record.clone()
    };
    let legs = (0..100_u16).map(|number| ContinuedLeg {
        endpoint: Endpoint::new([192, 0, 2, 1].into(), number),
        codecs: vec![ContinuedCodec { payload_type: 255, name: "x".repeat(1_000), clock: 0, channels: 0 }; 9],
        is_caller: true,
    });
    let mut tap = next_run(&ContinuedCall { record, legs: legs.collect(), ..continued });
    assert_eq!(tap.engine.continuing()[0].2.len(), crate::media::MAX_LEGS);
    talk(&mut tap, 5_100, 180..230);
    tap.caller(7_000, request("BYE", 2));
    tap.caller(7_500, request("BYE", 2));
    let (call, _) = tap.call();
    assert_eq!((call.dtmf.len(), call.diverted_to.len(), call.capture_drops), (64, 16, u64::MAX));
    assert_eq!((call.state, call.duration_ms), (CallState::Completed, None));
}

/// Calls that go on take of the memory of the table as all others do.
#[test]
fn calls_beyond_the_memory_of_the_table_do_not_go_on() {
    let (_, _, continued) = first_run(true);
    let config = crate::Config { memory: 1 << 20, ..crate::Config::default() };
    let mut engine = Engine::new(config);
    let mut records = Records::default();
    let going_on = (0..20_000).filter(|number| {
        let record = Call { call_id: format!("{number}@example.com"), ..continued.record.clone() };
        let continued = ContinuedCall { record, ..continued.clone() };
        engine.continue_call(&continued, at(5_000), &mut records).is_some()
    });
    let going_on = going_on.count();
    assert!((10..1_000).contains(&going_on), "{going_on}");
    assert_eq!(engine.counters().calls_refused, 20_000 - going_on as u64);
}
