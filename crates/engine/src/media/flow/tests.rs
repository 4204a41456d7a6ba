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

/// As the engine takes them: straight where that is allowed.
fn run(packets: impl IntoIterator<Item = RtpPacket>) -> (Flow, Rest, Vec<IntervalRow>) {
    let mut packets = packets.into_iter();
    let (mut flow, mut rest) = Flow::new(Key::NONE, key(), &packets.next().unwrap(), 0);
    flow.switch(&mut rest, 0, PCMU);
    flow.flags &= !RECLOCKED;
    let mut rows = Vec::new();
    for packet in packets {
        if !flow.fast_path(&packet) {
            rows.extend(flow.slow_path(&mut rest, &packet, |_, _| 0).ended);
        }
    }
    (flow, rest, rows)
}

fn totals(packets: impl IntoIterator<Item = RtpPacket>) -> Totals {
    let (flow, rest, _) = run(packets);
    flow.totals(&rest)
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
    let (flow, rest, rows) =
        run((0..1250).filter(|i| !(600..610).contains(i)).map(|i| packet(i, u64::from(i) * 20_000)));
    let counts: Vec<_> = rows.iter().map(|row| (row.packets, row.lost)).collect();
    assert_eq!(counts, [(500, 0), (490, 10)]);
    assert_eq!(flow.running_interval(&rest).packets, 250);
}

/// A path that becomes 300 ms longer for good costs what comes late until a buffer has followed, no more.
#[test]
fn a_step_in_delay_is_followed() {
    let (flow, rest, rows) =
        run((0..1000).map(|i| packet(i, u64::from(i) * 20_000 + if i < 250 { 0 } else { 300_000 })));
    let late: u32 = [rows[0], flow.running_interval(&rest)]
        .iter()
        .map(|row| ringtap_quality::jitterbuffer::discards(&row.bins).fixed50)
        .sum();
    assert!((35..=110).contains(&late), "{late} packets late");
}

/// One packet opens the NAT half a second before the sound, with the same timestamp.
#[test]
fn a_packet_that_opens_a_nat_is_no_base() {
    let (flow, rest, _) =
        run((0..400).map(|i| packet(i, u64::from(i) * 20_000 + if i == 0 { 0 } else { 500_000 })));
    assert_eq!(ringtap_quality::jitterbuffer::discards(&flow.running_interval(&rest).bins).fixed50, 0);
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
