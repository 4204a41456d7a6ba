//! Streams and the calls they belong to, packet by packet.

use ringtap_model::{Direction, DtmfSource, Stream};

use crate::testing::{CALLEE_RTP, CALLER_RTP, Records, Sip, Tap, at, request, response, rtp, rtp_with};

/// An SDP that offers T.38.
const T38: &str = "v=0\r\no=- 1 2 IN IP4 192.0.2.1\r\ns=-\r\nc=IN IP4 192.0.2.1\r\nt=0 0\r\n\
                   m=image 4400 udptl t38\r\n";
const NAT: &str = "203.0.113.9:7000";

fn invite(media: &str, types: &str) -> Sip {
    request("INVITE", 1).sdp(media, types)
}

fn answer(media: &str, types: &str) -> Sip {
    response("200 OK", "INVITE", 1).sdp(media, types)
}

/// A call whose sides announced these endpoints.
fn call(caller: &str, callee: &str) -> Tap {
    let mut tap = Tap::new();
    tap.caller(0, invite(caller, "RTP/AVP 8"));
    tap.callee(1000, answer(callee, "RTP/AVP 8"));
    tap
}

/// The streams of the call with that Call-ID.
fn of<'a>(records: &'a Records, call_id: &str) -> Vec<&'a Stream> {
    let calls = records.calls.iter().filter(|(call, _)| call.call_id == call_id);
    calls.flat_map(|(_, streams)| streams).collect()
}

#[test]
fn a_stream_between_two_announced_endpoints_flows_from_the_side_that_announced_its_source() {
    let mut tap = call(CALLER_RTP, CALLEE_RTP);
    tap.stream(2000, CALLER_RTP, CALLEE_RTP, 1, 0..10);
    tap.stream(2005, CALLEE_RTP, CALLER_RTP, 2, 0..10);
    let (_, streams) = tap.call();
    assert_eq!(streams.iter().map(|stream| stream.ssrc).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(streams[0].direction, Some(Direction::CallerToCallee));
    assert_eq!(streams[1].direction, Some(Direction::CalleeToCaller));
}

#[test]
fn one_announced_end_is_enough() {
    let mut tap = call(CALLER_RTP, CALLEE_RTP);
    tap.stream(2000, NAT, CALLEE_RTP, 1, 0..10);
    tap.stream(2005, CALLEE_RTP, "203.0.113.9:7777", 2, 0..10);
    let (_, streams) = tap.call();
    assert_eq!(streams[0].direction, Some(Direction::CallerToCallee));
    assert_eq!(streams[1].direction, Some(Direction::CalleeToCaller));
}

/// RFC 4961: a side sends from where it receives. The callee here answers from a port that no SDP names, to
/// the NAT's port.
#[test]
fn an_endpoint_behind_a_nat_is_learned_from_its_stream() {
    let mut tap = call("10.0.0.1:4000", CALLEE_RTP);
    tap.stream(2000, NAT, CALLEE_RTP, 1, 0..50);
    tap.stream(4000, "198.51.100.77:9000", NAT, 2, 0..50);
    let (_, streams) = tap.call();
    assert_eq!(streams.len(), 2);
    assert_eq!((streams[1].ssrc, streams[1].direction), (2, Some(Direction::CalleeToCaller)));
}

#[test]
fn a_stream_that_came_before_its_announcement_is_the_calls_too() {
    let mut tap = Tap::new();
    tap.caller(0, invite(CALLER_RTP, "RTP/AVP 8"));
    tap.stream(100, "203.0.113.50:5000", CALLEE_RTP, 1, 0..3);
    tap.callee(1000, answer(CALLEE_RTP, "RTP/AVP 8"));
    let (_, streams) = tap.call();
    assert_eq!((streams.len(), streams[0].packets), (1, 3));
}

#[test]
fn a_media_port_that_calls_share_is_told_apart_by_the_other_end() {
    let mut tap = Tap::new();
    for (index, port) in [4000, 4002].into_iter().enumerate() {
        let (id, media) = (format!("call {index}"), format!("192.0.2.1:{port}"));
        tap.caller(10 * index as u64, invite(&media, "RTP/AVP 8").call_id(&id));
        tap.callee(100 + 10 * index as u64, answer(CALLEE_RTP, "RTP/AVP 8").call_id(&id));
    }
    tap.stream(1000, "192.0.2.1:4000", CALLEE_RTP, 1, 0..10);
    tap.stream(1005, "192.0.2.1:4002", CALLEE_RTP, 2, 0..10);
    let records = tap.close();
    assert_eq!(of(&records, "call 0").iter().map(|stream| stream.ssrc).collect::<Vec<_>>(), [1]);
    assert_eq!(of(&records, "call 1").iter().map(|stream| stream.ssrc).collect::<Vec<_>>(), [2]);
}

#[test]
fn of_two_calls_with_one_media_port_the_one_whose_signalling_has_the_same_host_wins() {
    let mut tap = Tap::new();
    tap.caller(0, invite("10.0.0.1:4000", "RTP/AVP 8").call_id("near"));
    tap.callee(100, answer(CALLEE_RTP, "RTP/AVP 8").call_id("near"));
    let far = invite("10.0.0.2:4000", "RTP/AVP 8").call_id("far").bytes();
    tap.udp(200, "203.0.113.1:5060", "198.51.100.1:5060", &far);
    let answered = answer(CALLEE_RTP, "RTP/AVP 8").call_id("far").bytes();
    tap.udp(300, "198.51.100.1:5060", "203.0.113.1:5060", &answered);
    // Neither call named this source; the first caller's signalling came from there.
    tap.stream(1000, "192.0.2.1:9999", CALLEE_RTP, 1, 0..10);
    let records = tap.close();
    assert_eq!((of(&records, "near").len(), of(&records, "far").len()), (1, 0));
}

#[test]
fn a_better_explanation_takes_a_stream_over() {
    let mut tap = Tap::new();
    tap.caller(0, invite("10.0.0.1:4000", "RTP/AVP 8").call_id("one"));
    tap.callee(100, answer(CALLEE_RTP, "RTP/AVP 8").call_id("one"));
    tap.stream(1000, CALLER_RTP, CALLEE_RTP, 1, 0..3);
    // Before the first call learns the source from the stream.
    tap.caller(1100, invite(CALLER_RTP, "RTP/AVP 8").call_id("two"));
    tap.callee(1200, answer(CALLEE_RTP, "RTP/AVP 8").call_id("two"));
    let records = tap.close();
    assert_eq!((of(&records, "one").len(), of(&records, "two").len()), (0, 1));
}

#[test]
fn a_new_call_on_the_endpoints_of_a_released_one_begins_another_record() {
    let mut tap = call(CALLER_RTP, CALLEE_RTP);
    tap.stream(2000, CALLER_RTP, CALLEE_RTP, 1, 0..10);
    tap.caller(3000, request("BYE", 2));
    tap.caller(4000, invite(CALLER_RTP, "RTP/AVP 8").call_id("next"));
    tap.callee(4100, answer(CALLEE_RTP, "RTP/AVP 8").call_id("next"));
    tap.stream(5000, CALLER_RTP, CALLEE_RTP, 1, 10..30);
    let records = tap.close();
    let packets = |call| of(&records, call).iter().map(|stream| stream.packets).collect::<Vec<_>>();
    assert_eq!((packets("a@192.0.2.1"), packets("next")), (vec![10], vec![20]));
}

#[test]
fn a_stream_that_nothing_announces_confirms_itself_by_five_steps_of_number_and_clock() {
    for (packets, is_stream) in [(5, false), (6, true)] {
        let mut tap = Tap::new();
        tap.stream(0, CALLER_RTP, CALLEE_RTP, 1, 0..packets);
        let counter = u64::from(packets) * u64::from(!is_stream);
        let mut records = Records::default();
        std::mem::swap(&mut records, &mut tap.records);
        tap.engine.close(&mut records);
        assert_eq!(records.streams.len(), usize::from(is_stream), "{packets} packets");
        assert_eq!(tap.engine.counters().rtp_unconfirmed, counter);
    }
}

#[test]
fn a_clock_that_stands_still_confirms_nothing() {
    let mut tap = Tap::new();
    for number in 0..20 {
        tap.udp(20 * u64::from(number), CALLER_RTP, CALLEE_RTP, &rtp(8, number, 777, 1));
    }
    assert!(tap.close().streams.is_empty());
}

#[test]
fn a_provisional_stream_is_forgotten_after_ten_seconds_and_a_silent_one_after_its_limit() {
    let mut tap = Tap::new();
    tap.stream(0, CALLER_RTP, CALLEE_RTP, 1, 0..3);
    tap.stream(10, CALLEE_RTP, CALLER_RTP, 2, 0..30);
    tap.wait_until(10_000);
    assert_eq!(tap.engine.under_way().1, 2);
    tap.wait_until(12_000);
    assert_eq!(tap.engine.under_way().1, 1);
    tap.wait_until(300_000);
    assert!(tap.records.streams.is_empty());
    tap.wait_until(302_000);
    assert_eq!(tap.records.streams.len(), 1);
}

#[test]
fn a_stream_beyond_the_ceiling_is_counted_packet_by_packet() {
    let mut tap = Tap::with(|config| config.max_streams = 1);
    tap.stream(0, CALLER_RTP, CALLEE_RTP, 1, 0..10);
    tap.stream(5, CALLER_RTP, CALLEE_RTP, 2, 0..4);
    tap.wait_until(1000);
    assert_eq!(tap.engine.counters().flows_refused, 4);
}

#[test]
fn a_call_has_32_endpoints_at_most() {
    let mut tap = Tap::new();
    for index in 0..35 {
        let media = format!("192.0.2.1:{}", 4000 + 2 * index);
        tap.caller(100 * u64::from(index), request("INVITE", 1 + index).sdp(&media, "RTP/AVP 8"));
    }
    tap.wait_until(5000);
    assert_eq!(tap.engine.counters().legs_refused, 3);
}

/// RFC 3264 section 5.1: a number means what the receiver announced.
#[test]
fn a_payload_type_has_the_codec_that_the_receiver_announced_else_the_sender() {
    let mut tap = Tap::new();
    tap.caller(0, invite(CALLER_RTP, "RTP/AVP 96\r\na=rtpmap:96 opus/48000/2"));
    tap.callee(1000, answer(CALLEE_RTP, "RTP/AVP 96 97\r\na=rtpmap:96 G722/8000\r\na=rtpmap:97 iLBC/8000"));
    for number in 0..10 {
        let millis = 2000 + 20 * u64::from(number);
        let timestamp = u32::from(number) * 160;
        tap.udp(millis, CALLER_RTP, CALLEE_RTP, &rtp(96, number, timestamp, 1));
        tap.udp(millis + 1, CALLEE_RTP, CALLER_RTP, &rtp(97, number, timestamp, 2));
        tap.udp(millis + 2, CALLEE_RTP, CALLER_RTP, &rtp(0, number, timestamp, 3));
    }
    let (_, streams) = tap.call();
    let codecs: Vec<_> = streams.iter().map(|stream| stream.codec.as_deref().unwrap_or("none")).collect();
    assert_eq!(codecs, ["G722", "iLBC", "PCMU"]);
}

#[test]
fn a_codec_announced_after_its_first_packets_is_that_of_the_whole_stream() {
    let mut tap = Tap::new();
    tap.caller(0, invite(CALLER_RTP, "RTP/AVP 8"));
    for number in 0..20 {
        tap.udp(
            100 + 20 * u64::from(number),
            CALLEE_RTP,
            CALLER_RTP,
            &rtp(96, number, u32::from(number) * 960, 1),
        );
    }
    tap.callee(1000, answer(CALLEE_RTP, "RTP/AVP 96\r\na=rtpmap:96 opus/48000/2"));
    for number in 20..40 {
        tap.udp(
            100 + 20 * u64::from(number),
            CALLEE_RTP,
            CALLER_RTP,
            &rtp(96, number, u32::from(number) * 960, 1),
        );
    }
    let (_, streams) = tap.call();
    assert_eq!((streams[0].codec.as_deref(), streams[0].payload_type), (Some("opus"), 96));
    assert_eq!((streams[0].ptime_ms, streams[0].jitter_ms_max), (Some(20.0), Some(0.0)));
}

#[test]
fn the_payload_type_of_most_packets_is_the_streams() {
    let mut tap = call(CALLER_RTP, CALLEE_RTP);
    for number in 0..100u16 {
        let payload_type = match number {
            0..10 => 0,
            10..25 => 3,
            25..50 => 13,
            _ => 8,
        };
        tap.udp(
            2000 + 20 * u64::from(number),
            CALLER_RTP,
            CALLEE_RTP,
            &rtp(payload_type, number, u32::from(number) * 160, 1),
        );
    }
    let (_, streams) = tap.call();
    assert_eq!((streams[0].payload_type, streams[0].codec.as_deref()), (8, Some("PCMA")));
}

#[test]
fn comfort_noise_is_the_codec_of_no_stream_that_has_another() {
    let mut tap = call(CALLER_RTP, CALLEE_RTP);
    for number in 0..100u16 {
        let payload_type = if number < 10 { 8 } else { 13 };
        tap.udp(
            2000 + 20 * u64::from(number),
            CALLER_RTP,
            CALLEE_RTP,
            &rtp(payload_type, number, u32::from(number) * 160, 1),
        );
    }
    assert_eq!(tap.call().1[0].codec.as_deref(), Some("PCMA"));
}

/// RFC 4733 section 2.5.1: all packets of one event have its timestamp.
#[test]
fn a_telephone_event_is_one_digit_however_many_packets_it_has() {
    let types = "RTP/AVP 8 101\r\na=rtpmap:101 telephone-event/8000";
    let mut tap = Tap::new();
    tap.caller(0, invite(CALLER_RTP, types));
    tap.callee(1000, answer(CALLEE_RTP, types));
    let mut number = 0u16;
    for (code, timestamp) in [(1, 800), (11, 4000), (16, 8000), (17, 12_000), (11, 16_000)] {
        for _ in 0..10 {
            let millis = 2000 + 20 * u64::from(number);
            let event = [code, 0x0a, 0, 160];
            tap.udp(millis, CALLER_RTP, CALLEE_RTP, &rtp_with(101, number, timestamp, 1, &event));
            number += 1;
        }
    }
    let (call, streams) = tap.call();
    let digits: Vec<&str> = call.dtmf.iter().map(|dtmf| dtmf.digit.as_str()).collect();
    assert_eq!(digits, ["1", "#", "flash", "#"]);
    assert!(call.dtmf.iter().all(|dtmf| dtmf.source == DtmfSource::Rfc4733));
    assert_eq!((call.dtmf[0].time, call.dtmf[1].time), (at(2000), at(2200)));
    assert_eq!((streams[0].payload_type, streams[0].codec.as_deref()), (101, None));
}

#[test]
fn four_octets_of_an_unknown_dynamic_type_are_a_telephone_event() {
    for (payload_type, digits) in [(96, 1), (95, 0)] {
        let mut tap = call(CALLER_RTP, CALLEE_RTP);
        for number in 0..5 {
            let event = rtp_with(payload_type, number, 800, 1, &[5, 0x0a, 0, 160]);
            tap.udp(2000 + 20 * u64::from(number), CALLER_RTP, CALLEE_RTP, &event);
        }
        assert_eq!(tap.call().0.dtmf.len(), digits, "payload type {payload_type}");
    }
}

#[test]
fn numbers_that_a_source_spends_on_another_destination_are_not_lost() {
    let mut tap = call(CALLER_RTP, CALLEE_RTP);
    let other = "198.51.100.9:6000";
    tap.stream(2000, CALLER_RTP, CALLEE_RTP, 1, 0..50);
    tap.stream(3000, CALLER_RTP, other, 1, 50..80);
    tap.stream(3600, CALLER_RTP, CALLEE_RTP, 1, 80..100);
    let (_, streams) = tap.call();
    assert_eq!(streams.iter().map(|stream| stream.lost).sum::<u64>(), 0);
    // Another source's numbers are no explanation.
    let mut tap = call(CALLER_RTP, CALLEE_RTP);
    tap.stream(2000, CALLER_RTP, CALLEE_RTP, 1, 0..50);
    tap.stream(3000, CALLER_RTP, other, 9, 50..80);
    tap.stream(3600, CALLER_RTP, CALLEE_RTP, 1, 80..100);
    assert_eq!(tap.call().1[0].lost, 30);
}

/// T.38 (RFC 6913 section 4) replaces the sound: RTP goes on counting while it runs, or pauses.
#[test]
fn numbers_missing_while_t38_runs_are_not_lost() {
    for (is_fax, lost) in [(true, 0), (false, 100)] {
        let mut tap = call(CALLER_RTP, CALLEE_RTP);
        tap.stream(2000, CALLER_RTP, CALLEE_RTP, 1, 0..50);
        let reinvite = request("INVITE", 2);
        tap.caller(3000, if is_fax { reinvite.body("application/sdp", T38) } else { reinvite });
        tap.stream(5000, CALLER_RTP, CALLEE_RTP, 1, 150..200);
        assert_eq!(tap.call().1[0].lost, lost);
    }
}

/// RTP goes on for a while after T.38 was offered, and pauses for more than a second.
#[test]
fn a_short_gap_or_one_long_after_the_offer_of_t38_is_loss() {
    // When the sound after the gap begins, and how many packets came before it, from 2 s on.
    for (millis, packets, lost) in [(5000, 50, 30), (3900, 50, 30), (3980, 50, 30), (16_000, 400, 30)] {
        let mut tap = call(CALLER_RTP, CALLEE_RTP);
        tap.stream(2000, CALLER_RTP, CALLEE_RTP, 1, 0..20);
        tap.caller(2395, request("INVITE", 2).body("application/sdp", T38));
        tap.stream(2400, CALLER_RTP, CALLEE_RTP, 1, 20..packets);
        tap.stream(millis, CALLER_RTP, CALLEE_RTP, 1, packets + 30..packets + 60);
        let is_fax = millis == 5000;
        assert_eq!(tap.call().1[0].lost, if is_fax { 0 } else { lost }, "{millis} ms");
    }
}

#[test]
fn spread_and_mean_of_times_and_sizes() {
    let mut tap = call(CALLER_RTP, CALLEE_RTP);
    // 10, 30, 10, 30 ms apart; 140 and 240 octets.
    for (index, millis) in [0, 10, 40, 50, 80].into_iter().enumerate() {
        let (number, payload) = (index as u16, vec![0xd5; if index % 2 == 0 { 100 } else { 200 }]);
        tap.udp(
            2000 + millis,
            CALLER_RTP,
            CALLEE_RTP,
            &rtp_with(8, number, u32::from(number) * 160, 1, &payload),
        );
    }
    let stream = &tap.call().1[0];
    assert_eq!((stream.iat_ms_mean, stream.iat_ms_sd), (Some(20.0), Some(10.0)));
    assert_eq!((stream.iat_ms_min, stream.iat_ms_max), (Some(10.0), Some(30.0)));
    assert_eq!((stream.size_min, stream.size_max, stream.size_mean), (140, 240, 180.0));
    assert_eq!(stream.size_sd, 48.99);
}

#[test]
fn a_held_call_announces_no_endpoint() {
    for media in ["0.0.0.0:4000", "192.0.2.1:0"] {
        let mut tap = Tap::new();
        tap.caller(0, invite(media, "RTP/AVP 8"));
        tap.stream(1000, CALLEE_RTP, media.replace(":0", ":4000").as_str(), 1, 0..30);
        let records = tap.close();
        assert_eq!((records.calls[0].1.len(), records.streams.len()), (0, 1), "{media}");
    }
}

#[test]
fn intervals_and_figures_of_a_stream_add_up() {
    let mut tap = call(CALLER_RTP, CALLEE_RTP);
    tap.stream(2000, CALLER_RTP, CALLEE_RTP, 1, 0..1250);
    let (call, streams) = tap.call();
    let stream = &streams[0];
    assert_eq!((stream.packets, stream.unique, stream.lost, stream.duplicates), (1250, 1250, 0, 0));
    assert_eq!((stream.bytes, stream.ip_bytes), (1250 * 160, 1250 * 200));
    assert_eq!((stream.size_min, stream.size_mean, stream.size_max, stream.size_sd), (200, 200.0, 200, 0.0));
    assert_eq!(
        (stream.iat_ms_min, stream.iat_ms_mean, stream.iat_ms_max),
        (Some(20.0), Some(20.0), Some(20.0))
    );
    assert_eq!((stream.iat_ms_sd, stream.delta_ms_max, stream.ptime_ms), (Some(0.0), Some(20.0), Some(20.0)));
    assert_eq!((stream.loss_bursts, stream.burst_len_mean, stream.burst_len_max), (0, None, None));
    let counts: Vec<_> = stream.intervals.iter().map(|part| (part.start, part.packets)).collect();
    assert_eq!(counts, [(at(2000), 500), (at(12_000), 500), (at(22_000), 250)]);
    // 1,250 packets in 24.98 s.
    assert_eq!(stream.rate_bps, Some(80_064.051));
    assert_eq!((stream.silence_pct, stream.clipped_pct), (Some(100.0), Some(0.0)));
    assert_eq!((stream.call, call.streams.as_slice()), (Some(call.id), [stream.id].as_slice()));
    assert_eq!(call.mos, stream.mos);
    assert!(stream.mos.is_some_and(|mos| (4.3..4.5).contains(&mos)), "{:?}", stream.mos);
    assert!(stream.intervals.iter().all(|interval| interval.mos == stream.mos));
}

/// Payload type 8 is PCMA (RFC 3551 table 4), unless SDP says otherwise.
#[test]
fn sound_is_measured_in_the_g711_of_rfc_3551_where_that_is_wanted() {
    let pcma = "RTP/AVP 8 96\r\na=rtpmap:96 PCMA/8000";
    let other = "RTP/AVP 8\r\na=rtpmap:8 G722/8000";
    for (measure_sound, types, payload_type, silence) in
        [(true, pcma, 8, Some(100.0)), (false, pcma, 8, None), (true, pcma, 96, None), (true, other, 8, None)]
    {
        let mut tap = Tap::with(|config| config.measure_sound = measure_sound);
        tap.caller(0, invite(CALLER_RTP, types));
        tap.callee(1000, answer(CALLEE_RTP, types));
        for number in 0..10 {
            let packet = rtp(payload_type, number, u32::from(number) * 160, 1);
            tap.udp(2000 + 20 * u64::from(number), CALLER_RTP, CALLEE_RTP, &packet);
        }
        let stream = &tap.call().1[0];
        assert_eq!(stream.silence_pct, silence, "{measure_sound}, payload type {payload_type}, {types}");
    }
}

#[test]
fn loss_is_counted_by_stream_by_interval_and_by_burst() {
    let mut tap = call(CALLER_RTP, CALLEE_RTP);
    for number in (0..1000u16).filter(|number| !matches!(number, 100 | 101 | 600..=605)) {
        tap.udp(
            2000 + 20 * u64::from(number),
            CALLER_RTP,
            CALLEE_RTP,
            &rtp(8, number, u32::from(number) * 160, 1),
        );
    }
    let (call, streams) = tap.call();
    let stream = &streams[0];
    assert_eq!((stream.lost, stream.loss_bursts), (8, 2));
    assert_eq!((stream.burst_len_mean, stream.burst_len_max), (Some(4.0), Some(6)));
    let lost: Vec<_> = stream.intervals.iter().map(|part| part.lost).collect();
    assert_eq!(lost, [2, 6]);
    let mos: Vec<_> = stream.intervals.iter().filter_map(|part| part.mos).collect();
    assert!(mos[1] < mos[0] && mos[0] < 4.4, "{mos:?}");
    assert_eq!(call.mos_worst_interval, Some(mos[1]));
}

#[test]
fn a_stream_of_one_interval_sounds_as_its_interval() {
    let mut tap = call(CALLER_RTP, CALLEE_RTP);
    tap.stream(2000, CALLER_RTP, CALLEE_RTP, 1, 0..200);
    // Ten are lost in a row.
    tap.stream(2000 + 20 * 210, CALLER_RTP, CALLEE_RTP, 1, 210..400);
    let stream = &tap.call().1[0];
    let of_interval: Vec<_> = stream.intervals.iter().map(|interval| (interval.lost, interval.mos)).collect();
    assert_eq!(of_interval, [(10, stream.mos)]);
    assert!(stream.mos.is_some_and(|mos| mos < 4.3), "{:?}", stream.mos);
}

/// Reports about streams, RFC 3550 section 6.
mod rtcp {
    use super::*;

    const CALLER_RTCP: &str = "192.0.2.1:4001";
    const CALLEE_RTCP: &str = "198.51.100.1:6001";

    fn words(values: &[u32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_be_bytes()).collect()
    }

    /// A report block: fraction and packets lost, jitter, LSR and DLSR.
    fn block(ssrc: u32, fraction: u32, lost: u32, jitter: u32, last_sr: u32, delay: u32) -> [u32; 6] {
        [ssrc, fraction << 24 | lost, 1000, jitter, last_sr, delay]
    }

    fn sender_report(ssrc: u32, ntp: (u32, u32), packets: u32, octets: u32) -> Vec<u8> {
        words(&[0x80c8_0006, ssrc, ntp.0, ntp.1, 160, packets, octets])
    }

    fn receiver_report(ssrc: u32, block: [u32; 6]) -> Vec<u8> {
        [words(&[0x81c9_0007, ssrc]), words(&block)].concat()
    }

    fn talk() -> Tap {
        let mut tap = call(CALLER_RTP, CALLEE_RTP);
        tap.stream(2000, CALLER_RTP, CALLEE_RTP, 1, 0..50);
        tap.stream(2005, CALLEE_RTP, CALLER_RTP, 2, 0..50);
        tap
    }

    #[test]
    fn a_receiver_report_tells_of_the_opposite_stream() {
        let mut tap = talk();
        tap.udp(3000, CALLER_RTCP, CALLEE_RTCP, &sender_report(1, (0x1111_2222, 0x3333_4444), 50, 8000));
        // LSR is the middle of the NTP time; DLSR counts 1/65536 s: held for half a second, 40 ms under way.
        let report = receiver_report(2, block(1, 64, 3, 80, 0x2222_3333, 0x8000));
        tap.udp(3540, CALLEE_RTCP, CALLER_RTCP, &report);
        let (_, streams) = tap.call();
        let (there, back) = (&streams[0], &streams[1]);
        assert_eq!(
            (there.rtcp_reports, there.rtcp_lost, there.rtcp_lost_pct_max),
            (Some(1), Some(3), Some(25.0))
        );
        assert_eq!((there.rtcp_jitter_ms_mean, there.rtcp_jitter_ms_max), (Some(10.0), Some(10.0)));
        assert_eq!((there.rtcp_rtt_ms_max, there.rtt_ms), (Some(40.0), Some(40.0)));
        assert_eq!((there.rtcp_sent_packets, there.rtcp_sent_bytes), (Some(50), Some(8000)));
        assert_eq!((back.rtcp_reports, back.rtcp_sent_packets), (None, None));
    }

    /// By G.107 worked by hand: PCMU in packets of 20 ms, 400 ms to the receiver (half the round trip) and
    /// 5 ms in the adaptive buffer. Without a round trip there is no conversational quality.
    #[test]
    fn a_round_trip_gives_the_conversational_quality() {
        let mut tap = talk();
        tap.udp(3000, CALLER_RTCP, CALLEE_RTCP, &sender_report(1, (0x1111_2222, 0x3333_4444), 50, 8000));
        let report = receiver_report(2, block(1, 0, 0, 0, 0x2222_3333, 0x8000));
        tap.udp(4300, CALLEE_RTCP, CALLER_RTCP, &report);
        let (_, streams) = tap.call();
        let (there, back) = (&streams[0], &streams[1]);
        assert_eq!((there.rtt_ms, back.mos_cq), (Some(800.0), None));
        let x = (425.0_f64 / 100.0).log2();
        let root = |value: f64| (1.0 + value.powi(6)).powf(1.0 / 6.0);
        let r: f64 = 93.2 - 25.0 * (root(x) - 3.0 * root(x / 3.0) + 2.0);
        let mos = 1.0 + 0.035 * r + r * (r - 60.0) * (100.0 - r) * 7e-6;
        let (cq, lq) = (there.mos_cq.unwrap(), there.mos.unwrap());
        assert!((cq - mos).abs() < 0.005 && lq > 4.4, "{cq} after delay, {mos} by hand; {lq}");
    }

    #[test]
    fn the_jitter_of_several_reports_is_their_mean_and_their_largest() {
        let mut tap = talk();
        for (second, jitter) in [(3, 80), (4, 240)] {
            tap.udp(
                1000 * second,
                CALLEE_RTCP,
                CALLER_RTCP,
                &receiver_report(2, block(1, 0, 0, jitter, 0, 0)),
            );
        }
        let stream = &tap.call().1[0];
        assert_eq!((stream.rtcp_jitter_ms_mean, stream.rtcp_jitter_ms_max), (Some(20.0), Some(30.0)));
        assert_eq!((stream.rtcp_reports, stream.rtcp_rtt_ms_max), (Some(2), None));
    }

    #[test]
    fn rtcp_on_the_port_of_rtp_is_found_too() {
        let mut tap = talk();
        tap.udp(3000, CALLEE_RTP, CALLER_RTP, &receiver_report(2, block(1, 0, 7, 0, 0, 0)));
        assert_eq!(tap.call().1[0].rtcp_lost, Some(7));
    }

    #[test]
    fn a_report_on_a_source_that_was_never_seen_tells_nothing() {
        let mut tap = talk();
        tap.udp(3000, CALLEE_RTCP, CALLER_RTCP, &receiver_report(2, block(99, 0, 7, 0, 0, 0)));
        assert!(tap.call().1.iter().all(|stream| stream.rtcp_reports.is_none()));
    }

    #[test]
    fn a_bye_and_a_cname_are_of_the_source_that_they_name() {
        let mut tap = talk();
        let sdes = [words(&[0x81ca_0003, 1]), b"\x01\x05alice\x00".to_vec()].concat();
        let report = sender_report(1, (1, 1), 50, 8000);
        let bye = words(&[0x81cb_0001, 1]);
        tap.udp(3000, CALLER_RTCP, CALLEE_RTCP, &[report, sdes, bye].concat());
        let (_, streams) = tap.call();
        assert_eq!((streams[0].rtcp_cname.as_deref(), streams[0].rtcp_bye), (Some("alice"), Some(at(3000))));
        assert_eq!((streams[1].rtcp_cname.as_deref(), streams[1].rtcp_bye), (None, None));
    }

    /// RFC 3711 section 3.4: SRTCP appends an index and a tag to packets whose lengths no longer add up.
    #[test]
    fn encrypted_reports_give_no_figures() {
        let mut tap = talk();
        let mut report = receiver_report(2, block(1, 0, 7, 0, 0, 0));
        report.extend([0x80, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        tap.udp(3000, CALLEE_RTCP, CALLER_RTCP, &report);
        assert_eq!(tap.call().1[0].rtcp_reports, None);
    }
}
