use ringtap_model::Endpoint;

use super::*;

const PCMU: Timing = Timing { tick: 125_000.0, event: false };

fn key() -> FlowKey {
    let end = |last| Endpoint::new([192, 0, 2, last].into(), 4000);
    FlowKey { src: end(1), dst: end(2), ssrc: 7 }
}

fn packet(index: u32, micros: u64) -> RtpPacket {
    RtpPacket {
        now: Nanos::from_micros(1_000_000_000 + micros),
        sequence: index as u16,
        timestamp: index * 160,
        payload_type: 0,
        marker: index == 0,
        payload_len: 160,
        ip_len: 200,
    }
}

/// As the engine handles them: on the fast path where that is allowed.
fn run(packets: impl IntoIterator<Item = RtpPacket>) -> (Flow, SlowState, Vec<IntervalRow>) {
    let mut packets = packets.into_iter();
    let (mut flow, mut slow) = Flow::new(Key::NONE, key(), &packets.next().unwrap(), 0);
    flow.switch(&mut slow, 0, PCMU);
    flow.flags &= !RECLOCKED;
    let mut rows = Vec::new();
    for packet in packets {
        if !flow.fast_path(&packet) {
            rows.extend(flow.slow_path(&mut slow, &packet, |_, _| 0).ended);
        }
    }
    (flow, slow, rows)
}

fn totals(packets: impl IntoIterator<Item = RtpPacket>) -> Totals {
    let (flow, slow, _) = run(packets);
    flow.totals(&slow)
}

/// RFC 3550 section 6.4.1, worked by hand: three packets on time, one 4 ms late, one back on time.
#[test]
fn jitter_by_hand() {
    let flow = totals([packet(0, 0), packet(1, 20_000), packet(2, 44_000), packet(3, 60_000)]);
    let j2 = 4.0 / 16.0;
    let j3 = j2 + (4.0 - j2) / 16.0;
    assert!((f64::from(flow.jitter_max) / 1e6 - j3).abs() < 1e-6);
    assert!((flow.jitter_sum / 1e6 - (j2 + j3)).abs() < 1e-6);
    assert_eq!((flow.step, flow.jitters), (160, 3));
}

/// Every other packet is 4 ms late, for 25 seconds.
#[test]
fn the_sum_of_jitter_is_over_all_intervals() {
    let late = |index: u32| u64::from(index % 2) * 4000;
    let (flow, slow, rows) =
        run((0..1250).map(|index| packet(index, u64::from(index) * 20_000 + late(index))));
    assert_eq!(rows.len(), 2, "intervals that have ended");
    let (mut jitter, mut sum) = (0.0, 0.0);
    for _ in 1..1250 {
        jitter += (4.0 - jitter) / 16.0;
        sum += jitter;
    }
    let totals = flow.totals(&slow);
    assert!((totals.jitter_sum / 1e6 - sum).abs() < 1.0, "{} ms", totals.jitter_sum / 1e6);
    assert_eq!(totals.jitters, 1249);
}

#[test]
fn repeats_leave_jitter_and_delta_alone() {
    let once: Vec<_> =
        (0..500).map(|i| packet(i, u64::from(i) * 20_000 + u64::from(i * 7919 % 3000))).collect();
    let twice =
        once.iter().flat_map(|packet| [*packet, RtpPacket { now: packet.now + Nanos(5000), ..*packet }]);
    let a = totals(once.clone());
    let b = totals(twice);
    assert_eq!(
        (a.jitter_sum, a.delta_max, a.numbering.unique),
        (b.jitter_sum, b.delta_max, b.numbering.unique)
    );
    assert_eq!(b.packets(), 1000);
}

/// Whatever way packets take, and whatever they have around their payload.
#[test]
fn sizes_add_up() {
    let sized = |index: u32| {
        let payload_len = match index % 50 {
            ..20 => 160,
            20..40 => 33,
            _ => 20 + index % 7,
        };
        let ip_len = payload_len + if index % 101 == 3 { 44 } else { 40 };
        RtpPacket { payload_len, ip_len, ..packet(index, u64::from(index) * 20_000) }
    };
    let all: Vec<_> = (0..600)
        .filter(|index| index % 97 != 5)
        .flat_map(|index| std::iter::repeat_n(sized(index), if index % 83 == 9 { 2 } else { 1 }))
        .collect();
    let flow = totals(all.iter().copied());
    let sizes = || all.iter().map(|packet| u64::from(packet.ip_len));
    assert_eq!((flow.size_sum, flow.size_squares), (sizes().sum(), sizes().map(|n| (n * n) as f64).sum()));
    assert_eq!(
        (Some(u64::from(flow.size_min)), Some(u64::from(flow.size_max))),
        (sizes().min(), sizes().max())
    );
    assert_eq!(flow.payload_sum, all.iter().map(|packet| u64::from(packet.payload_len)).sum());
    assert_eq!((flow.size_min, flow.size_max), (60, 204));
}

#[test]
fn intervals_are_ten_seconds() {
    let (flow, slow, rows) =
        run((0..1250).filter(|i| !(600..610).contains(i)).map(|i| packet(i, u64::from(i) * 20_000)));
    let counts: Vec<_> = rows.iter().map(|row| (row.packets, row.lost)).collect();
    assert_eq!(counts, [(500, 0), (490, 10)]);
    assert_eq!(flow.running_interval(&slow).packets, 250);
}

/// A path that becomes 300 ms longer for good costs what comes late until a buffer has followed, no more.
#[test]
fn a_step_in_delay_is_followed() {
    let (flow, slow, rows) =
        run((0..1000).map(|i| packet(i, u64::from(i) * 20_000 + if i < 250 { 0 } else { 300_000 })));
    let late: u32 = [rows[0], flow.running_interval(&slow)]
        .iter()
        .map(|row| ringtap_quality::jitterbuffer::discards(&row.bins).fixed50)
        .sum();
    assert!((35..=110).contains(&late), "{late} packets late");
}

/// One packet opens the NAT half a second before the sound, with the same timestamp.
#[test]
fn a_packet_that_opens_a_nat_is_no_base() {
    let (flow, slow, _) =
        run((0..400).map(|i| packet(i, u64::from(i) * 20_000 + if i == 0 { 0 } else { 500_000 })));
    assert_eq!(ringtap_quality::jitterbuffer::discards(&flow.running_interval(&slow).bins).fixed50, 0);
}

/// Speech of 20 ms between silence descriptors every 160 ms, which are more.
#[test]
fn packet_time_is_that_of_speech() {
    let mut packets = Vec::new();
    let mut timestamp = 0;
    for index in 0..300u32 {
        let speech = index % 10 < 4;
        timestamp += if speech { 160 } else { 1280 };
        let len = if speech { 33 } else { 7 };
        packets.push(RtpPacket { timestamp, payload_len: len, ..packet(index, u64::from(timestamp) * 125) });
    }
    assert_eq!(totals(packets).step, 160);
}

#[test]
fn a_stream_of_weeks_fills_no_table() {
    let (_, _, rows) = run((0..300).map(|i| packet(i, u64::from(i) * 86_400_000_000 / 20)));
    assert!(rows.len() < 200, "{} intervals", rows.len());
}

#[test]
fn a_restart_of_numbering_is_no_loss_and_no_jitter() {
    let second = (0..300)
        .map(|i| RtpPacket { timestamp: 99 + i * 160, ..packet(i, 6_000_000 + u64::from(i) * 20_000) });
    let flow = totals((0..300).map(|i| packet(i, u64::from(i) * 20_000)).chain(second));
    assert_eq!((flow.numbering.lost(), flow.numbering.unique), (0, 600));
    assert!(flow.jitter_max < 1.0);
}

#[test]
fn an_outage_that_clock_and_time_vouch_for_is_loss() {
    let kept = (0..100).chain(5100..5200);
    let flow = totals(kept.map(|i| packet(i, u64::from(i) * 20_000)));
    assert_eq!(flow.numbering.lost(), 5000);
}

#[test]
fn a_packet_is_late_for_at_most_half_a_second_of_packets() {
    // 20 ms, 1 ms, 10 s, unknown.
    for (tick, step, limit) in
        [(125_000.0, 160, 25), (125_000.0, 8, 100), (125_000.0, 80_000, 4), (0.0, 160, 100)]
    {
        assert_eq!(late_limit(tick, step), limit);
    }
}

#[test]
fn packets_are_known_to_be_sent_when_clock_and_time_agree() {
    let sent = |ticks, seconds: f64| sent_between(125_000.0, 160, ticks, seconds * 1e9);
    assert_eq!(sent(80_000, 10.0), Some(500));
    assert_eq!((sent(80_000, 11.0), sent(80_000, 11.2)), (Some(500), None));
    assert_eq!((sent(80_000, 9.1), sent(80_000, 9.0)), (Some(500), None));
    // Within a second, a tenth of a second.
    assert_eq!((sent(160, 0.119), sent(160, 0.121)), (Some(1), None));
    assert_eq!(
        (sent(0, 0.0), sent_between(0.0, 160, 160, 2e7), sent_between(1.0, 0, 160, 2e7)),
        (None, None, None)
    );
}

#[test]
fn a_delay_is_whole_nanoseconds_up_to_four_seconds() {
    for (delay, nanos) in
        [(0.0, 0), (1.0, 1), (1_400_000.0, 1_400_000), (4e9, 4_000_000_000), (9e9, 4_000_000_000)]
    {
        assert_eq!(clock::whole(delay), nanos);
    }
}

#[test]
fn a_time_counts_in_units_of_2_to_the_20_nanoseconds() {
    assert_eq!((coarse(Nanos(0)), coarse(Nanos((1 << 20) - 1)), coarse(Nanos(5 << 20))), (0, 0, 5));
    assert_eq!(coarse(Nanos(1 << 52)), 0);
    assert_eq!((signed(Nanos(7)), signed(Nanos(u64::MAX))), (7, i64::MAX));
}

#[test]
fn sizes_beyond_16_bits_are_the_largest_size() {
    assert_eq!((short(1500), short(65_535), short(70_000)), (1500, 65_535, 65_535));
}

#[test]
fn times_between_packets_are_those_of_all_and_the_gap_that_of_new_ones() {
    let copy = RtpPacket { now: packet(1, 50_000).now, ..packet(1, 20_000) };
    let flow = totals([packet(0, 0), packet(1, 20_000), copy, packet(2, 60_000)]);
    let ms = |nanos: f32| f64::from(nanos) / 1e6;
    assert_eq!((ms(flow.iat_min), ms(flow.iat_max), ms(flow.delta_max)), (10.0, 30.0, 40.0));
    assert_eq!(flow.iat_squares / 1e12, 400.0 + 900.0 + 100.0);
}

#[test]
fn a_late_packet_is_no_longer_lost_in_its_interval() {
    let order = (0..40u32).map(|index| match index {
        20 => 21,
        21 => 20,
        _ => index,
    });
    let (flow, slow, _) = run(order
        .filter(|index| *index != 30)
        .zip(0..)
        .map(|(index, step): (u32, u64)| packet(index, step * 20_000)));
    let row = flow.running_interval(&slow);
    assert_eq!((row.packets, row.unique, row.lost), (39, 39, 1));
    let (flow, slow, _) = run([0, 1, 1, 2, 2].map(|index| packet(index, u64::from(index) * 20_000)));
    let row = flow.running_interval(&slow);
    assert_eq!((row.packets, row.unique, row.lost), (5, 3, 0));
}

#[test]
fn an_interval_begins_where_its_ten_seconds_begin_not_at_its_first_packet() {
    let (_, _, rows) = run([0, 1, 1300, 1301, 2000].map(|index| packet(index, u64::from(index) * 20_000)));
    let seconds: Vec<u64> =
        rows.iter().map(|row| row.start.since(packet(0, 0).now).0 / 1_000_000_000).collect();
    assert_eq!(seconds, [0, 20]);
    assert_eq!(rows[1].packets, 2);
}

#[test]
fn the_mean_jitter_of_an_interval_is_that_of_its_packets() {
    // 4 ms late and back: 4/16, then (4 + 15/4)/16 ms. The first packet has no jitter.
    let (flow, slow, _) = run([packet(0, 0), packet(1, 24_000), packet(2, 40_000)]);
    let wanted = (0.25 + (4.0 - 0.25) / 16.0 + 0.25) / 2.0;
    assert!((f64::from(flow.running_interval(&slow).jitter) / 1e6 - wanted).abs() < 1e-4);
}

/// RFC 3551 section 4.1: the marker begins a talkspurt, where receivers set their playout anew.
#[test]
fn a_talkspurt_after_silence_is_a_new_base_of_delay() {
    let delayed = |marker| {
        let (flow, slow, _) = run((0..100).map(|index| {
            let (ticks, late) = if index < 50 { (0, 0) } else { (1600, 90_000) };
            let mut packet = packet(index, u64::from(index) * 20_000 + u64::from(ticks) * 125 + late);
            packet.timestamp += ticks;
            packet.marker = marker && index == 50;
            packet
        }));
        ringtap_quality::jitterbuffer::discards(&flow.running_interval(&slow).bins).fixed50
    };
    assert_eq!(delayed(true), 0);
    assert!(delayed(false) > 0);
}

#[test]
fn another_clock_begins_with_a_new_base_and_no_jitter() {
    let (mut flow, mut slow, _) = run((0..50).map(|index| packet(index, u64::from(index) * 20_000)));
    flow.switch(&mut slow, 96, Timing { tick: 1e9 / 48_000.0, event: false });
    assert!(flow.flags & RECLOCKED != 0);
    for index in 50..100 {
        let packet = RtpPacket {
            payload_type: 96,
            timestamp: 5_000_000 + index * 960,
            ..packet(index, u64::from(index) * 20_000)
        };
        if !flow.fast_path(&packet) {
            flow.slow_path(&mut slow, &packet, |_, _| 0);
        }
    }
    assert_eq!(flow.type_packets(&slow), 50);
    let totals = flow.totals(&slow);
    // 49 of the first clock, and of the second all but the one that changes it.
    assert_eq!((totals.jitters, totals.step), (49 + 49, 960));
    assert!(totals.jitter_max < 1000.0, "{} ns", totals.jitter_max);
}

/// RFC 4733 section 2.2.1: timestamps of an event stand still.
#[test]
fn telephone_events_leave_clock_and_jitter_alone() {
    let (mut flow, mut slow, _) = run((0..50).map(|index| packet(index, u64::from(index) * 20_000)));
    flow.switch(&mut slow, 101, Timing { tick: 125_000.0, event: true });
    assert!(flow.is_event() && flow.flags & RECLOCKED == 0);
    for index in 50..60 {
        let event =
            RtpPacket { payload_type: 101, timestamp: 8000, ..packet(index, u64::from(index) * 20_000) };
        assert!(!flow.fast_path(&event));
        flow.slow_path(&mut slow, &event, |_, _| 0);
    }
    flow.switch(&mut slow, 0, PCMU);
    assert!(!flow.is_event());
    for index in 60..70 {
        flow.slow_path(&mut slow, &packet(index, u64::from(index) * 20_000), |_, _| 0);
    }
    let totals = flow.totals(&slow);
    assert_eq!((totals.jitters, totals.jitter_max, totals.step), (59, 0.0, 160));
}

#[test]
fn a_pause_that_the_clock_does_not_know_is_a_new_time_base() {
    let packets = |pause: u64| {
        (0..100u32)
            .map(move |index| packet(index, u64::from(index) * 20_000 + if index < 50 { 0 } else { pause }))
    };
    // Up to three seconds it is delay.
    assert!(totals(packets(2_900_000)).jitter_max > 1e8);
    let flow = totals(packets(3_100_000));
    assert_eq!((flow.jitter_max, flow.jitters), (0.0, 98));
}

#[test]
fn a_stream_counts_steps_in_which_number_and_clock_advance_together() {
    let sequential = |packets: Vec<RtpPacket>| run(packets).1.sequential;
    assert_eq!(sequential((0..4).map(|index| packet(index, u64::from(index) * 20_000)).collect()), 3);
    // A gap, a step back of the clock, a step of more than ten seconds at 90 kHz.
    let clocks = [(0, 0), (2, 320), (3, 300), (4, 900_300), (5, 900_301)];
    let packets =
        clocks.map(|(index, timestamp)| RtpPacket { timestamp, ..packet(index, u64::from(index) * 20_000) });
    assert_eq!(sequential(packets.to_vec()), 1);
}

#[test]
fn the_slow_path_asks_for_numbers_spent_elsewhere_only_when_some_are_missing() {
    let (mut flow, mut slow, _) = run((0..10).map(|index| packet(index, u64::from(index) * 20_000)));
    assert!(flow.leaps(11) && !flow.leaps(10) && !flow.leaps(9));
    assert_eq!(flow.numbers(&slow), (0, 9));
    let asked = |flow: &mut Flow, slow: &mut SlowState, index: u32| {
        let mut asked = None;
        flow.slow_path(slow, &packet(index, u64::from(index) * 20_000), |highest, missing| {
            asked = Some((highest & 0xffff, missing));
            0
        });
        asked
    };
    assert_eq!(asked(&mut flow, &mut slow, 10), None);
    assert_eq!(asked(&mut flow, &mut slow, 14), Some((10, 3)));
    assert_eq!(asked(&mut flow, &mut slow, 13), None);
}

#[test]
fn only_the_next_packet_of_an_ordinary_stream_takes_the_fast_path() {
    let (flow, _, _) = run((0..10).map(|index| packet(index, u64::from(index) * 20_000)));
    let next = packet(10, 200_000);
    let takes = |packet: RtpPacket| { flow }.fast_path(&packet);
    assert!(takes(next));
    assert!(!takes(RtpPacket { sequence: 11, ..next }));
    assert!(!takes(RtpPacket { sequence: 9, ..next }));
    assert!(!takes(RtpPacket { payload_type: 8, ..next }));
    assert!(!takes(RtpPacket { ip_len: 201, ..next }));
    assert!(!takes(RtpPacket { now: packet(9, 179_999).now, ..next }));
    assert!(!takes(packet(10, 3_300_000)));
    assert!(!takes(packet(10, 10_100_000)));
    assert!(takes(RtpPacket { payload_len: 80, ip_len: 120, ..next }));
    for flag in [SPLIT, PROVISIONAL, RECLOCKED] {
        let mut flow = flow;
        flow.flags |= flag;
        assert!(!flow.fast_path(&next));
    }
}
