//! Extended reports, feedback and lists of reports, through the whole engine.

use ringtap_model::{Call, LostAt, RtcpReportKind, Stream};

use crate::testing::{CALLEE_RTP, CALLER_RTP, Tap, request, response};

const CALLER_RTCP: &str = "192.0.2.1:4001";
const CALLEE_RTCP: &str = "198.51.100.1:6001";

/// A call with three seconds of media: SSRC 1 from the caller, without numbers 40 to 49, and 2 from the
/// callee.
fn talk() -> Tap {
    let mut tap = Tap::new();
    tap.caller(0, request("INVITE", 1).sdp(CALLER_RTP, "RTP/AVP 0"));
    tap.callee(1000, response("200 OK", "INVITE", 1).sdp(CALLEE_RTP, "RTP/AVP 0"));
    tap.stream(2000, CALLER_RTP, CALLEE_RTP, 1, 0..40);
    tap.stream(3000, CALLER_RTP, CALLEE_RTP, 1, 50..150);
    tap.stream(2005, CALLEE_RTP, CALLER_RTP, 2, 0..150);
    tap
}

fn words(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_be_bytes()).collect()
}

/// A receiver report of source 2 on source 1.
fn receiver_report(fraction: u32, lost: u32, highest: u32) -> Vec<u8> {
    words(&[0x81c9_0007, 2, 1, fraction << 24 | lost, highest, 0, 0, 0])
}

/// VoIP metrics of source 2 on source 1.
fn voip(mos_lq: u8, round_trip: u32, end_system: u32) -> Vec<u8> {
    let head = words(&[0x80cf_000a, 2, 0x0700_0008, 1, 0x0203_0405, 80 << 16 | 900]);
    let levels = [0xec, 0xc0, 55, 16, 88, 127, mos_lq, 127, 0x30, 0];
    [head, words(&[round_trip << 16 | end_system]), levels.to_vec(), vec![0, 60, 0, 80, 0, 120]].concat()
}

fn streams(tap: Tap) -> (Call, Vec<Stream>) {
    tap.call()
}

#[test]
fn voip_metrics_fill_the_fields_of_the_stream_that_they_judge() {
    let mut tap = talk();
    tap.udp(5000, CALLEE_RTCP, CALLER_RTCP, &voip(41, 150, 90));
    tap.udp(5005, CALLEE_RTCP, CALLER_RTCP, &voip(41, 150, 90));
    tap.udp(6000, CALLEE_RTCP, CALLER_RTCP, &voip(39, 152, 92));
    let (_, streams) = streams(tap);
    let (there, back) = (&streams[0], &streams[1]);
    assert_eq!((there.xr_reports, there.xr_mos_lq, there.xr_mos_cq), (Some(2), Some(3.9), None));
    assert_eq!((there.xr_loss_pct, there.xr_discard_pct), (Some(0.781), Some(1.172)));
    assert_eq!((there.xr_burst_ms, there.xr_gap_ms), (Some(80.0), Some(900.0)));
    assert_eq!((there.xr_rtt_ms, there.xr_end_system_ms), (Some(152.0), Some(92.0)));
    assert_eq!((there.xr_signal_dbm0, there.xr_noise_dbm0), (Some(-20.0), Some(-64.0)));
    assert_eq!((there.xr_r_factor, there.xr_buffer_ms), (Some(88.0), Some(60.0)));
    let listed: Vec<_> = there.reports.iter().map(|report| (report.kind, report.mos_lq)).collect();
    assert_eq!(listed, [(RtcpReportKind::Voip, Some(4.1)), (RtcpReportKind::Voip, Some(3.9))]);
    assert_eq!((back.xr_reports, back.reports.len()), (None, 0));
    // Half the round trip that the receiver measured, and its end system's delay.
    let basis = "delay_ms=168.0 network_ms=76.0 from=xr end_system=xr";
    assert_eq!(there.mos_cq_basis.as_deref(), Some(basis));
    assert!(there.mos_cq < there.mos && there.mos_cq.is_some());
}

/// RFC 3611 sections 4.4 and 4.5: the callee, which receives, tells its time; the caller answers 30 ms later,
/// of which it held it for 20.
#[test]
fn reference_times_and_their_answers_give_the_round_trip_to_the_sender() {
    let mut tap = talk();
    tap.udp(5000, CALLEE_RTCP, CALLER_RTCP, &words(&[0x80cf_0004, 2, 0x0400_0002, 0x1111_2222, 0x3333_4444]));
    let held = 20 * 65_536 / 1000;
    tap.udp(5030, CALLER_RTCP, CALLEE_RTCP, &words(&[0x80cf_0005, 1, 0x0500_0003, 2, 0x2222_3333, held]));
    let (_, streams) = streams(tap);
    let trip = streams[0].rtcp_sender_rtt_ms.unwrap();
    assert!((trip - 10.0).abs() < 0.02, "{trip}");
    assert_eq!(streams[1].rtcp_sender_rtt_ms, None);
}

#[test]
fn feedback_and_application_packets_are_counted_by_kind() {
    let mut tap = talk();
    let nack = words(&[0x81cd_0003, 2, 1, 0x0009_0000]);
    let pli = words(&[0x81ce_0002, 2, 1]);
    let fir = words(&[0x84ce_0004, 2, 0, 1, 0x0100_0000]);
    for (at, data) in [(5000, &nack), (5100, &nack), (5200, &pli), (5300, &fir)] {
        tap.udp(at, CALLEE_RTP, CALLER_RTP, data);
    }
    tap.udp(5400, CALLER_RTCP, CALLEE_RTCP, &[words(&[0x80cc_0002, 1]), b"PoC1".to_vec()].concat());
    // A trace of packets, and statistics, of the receiver.
    let runs = words(&[0x80cf_0005, 2, 0x0100_0003, 1, 0x0000_000f, 0x400f_0000]);
    tap.udp(5500, CALLEE_RTCP, CALLER_RTCP, &runs);
    let (_, streams) = streams(tap);
    assert_eq!(streams[0].rtcp_counts, ["nack=2", "pli=1", "fir=1", "xr:loss-rle=1", "app:PoC1=1"]);
    assert_eq!(streams[1].rtcp_counts, [""; 0]);
}

#[test]
fn loss_that_the_receiver_has_too_was_before_here_and_other_loss_in_the_capture() {
    for (lost, place) in [(10, LostAt::BeforeTap), (0, LostAt::Capture), (35, LostAt::BehindTap)] {
        let mut tap = talk();
        let fraction = lost * 256 / 150;
        tap.udp(5990, CALLEE_RTCP, CALLER_RTCP, &receiver_report(fraction, lost, 149));
        let (_, streams) = streams(tap);
        assert_eq!(streams[0].lost_at, Some(place), "{:?}", streams[0].lost_at_evidence);
        assert_eq!(streams[1].lost_at, None);
    }
}

#[test]
fn a_report_on_other_numbers_and_one_that_is_encrypted_tell_nothing() {
    let mut tap = talk();
    tap.udp(5990, CALLEE_RTCP, CALLER_RTCP, &receiver_report(0, 0, 9000));
    let (_, of_others) = streams(tap);
    assert_eq!(of_others[0].lost_at, Some(LostAt::Unknown));
    let evidence = of_others[0].lost_at_evidence.as_deref();
    assert_eq!(
        evidence,
        Some("10 packets missing here; 1 report of the receiver does not fit the numbers here")
    );
    let mut tap = talk();
    let encrypted =
        [receiver_report(0, 10, 149), vec![0x80, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]].concat();
    tap.udp(5990, CALLEE_RTCP, CALLER_RTCP, &encrypted);
    let (_, streams) = streams(tap);
    assert_eq!(streams[0].lost_at, Some(LostAt::Unknown));
    assert_eq!(
        streams[0].lost_at_evidence.as_deref(),
        Some("10 packets missing here; no RTCP about it can be read")
    );
}

/// One stream may exist, so eight rows may be stored in all: a longer list has its first and its last.
#[test]
fn past_the_ceiling_of_all_lists_the_last_report_replaces_the_one_before() {
    let mut tap = Tap::with(|config| config.max_streams = 2);
    tap.caller(0, request("INVITE", 1).sdp(CALLER_RTP, "RTP/AVP 0"));
    tap.callee(1000, response("200 OK", "INVITE", 1).sdp(CALLEE_RTP, "RTP/AVP 0"));
    tap.stream(2000, CALLER_RTP, CALLEE_RTP, 1, 0..150);
    tap.stream(2005, CALLEE_RTP, CALLER_RTP, 2, 0..150);
    for number in 0..20 {
        tap.udp(5000 + 20 * number, CALLEE_RTCP, CALLER_RTCP, &receiver_report(0, number as u32, 149));
    }
    tap.udp(6000, CALLER_RTCP, CALLEE_RTCP, &words(&[0x81c9_0007, 1, 2, 0, 149, 0, 0, 0]));
    assert_eq!(tap.engine.counters().rtcp_reports_refused, 1);
    let (_, streams) = streams(tap);
    assert_eq!((streams[0].reports.len(), streams[0].rtcp_reports), (16, Some(20)));
    assert_eq!(streams[0].reports.last().and_then(|report| report.lost), Some(19));
    assert_eq!((streams[1].reports.len(), streams[1].rtcp_reports), (0, Some(1)));
}
