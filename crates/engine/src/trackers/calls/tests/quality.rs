//! Quality reports in signalling.

use ringtap_model::{Party, QualityReportKind, QualityView};

use crate::testing::{CALLEE, CALLER, Sip, Tap, at, request, response};

const COLLECTOR: &str = "203.0.113.9:5060";

fn body(call_id: &str) -> String {
    format!(
        "VQSessionReport: CallTerm\r\nCallID: {call_id}\r\nLocalID: <sip:bob@example.com>\r\n\
         LocalMetrics:\r\nSessionDesc:PT=8 PD=PCMA\r\nPacketLoss:NLR=1.5 JDR=0.5\r\n\
         Delay:RTD=40 ESD=90 IAJ=3\r\n\
         QualityEst:RLQ=88 MOSLQ=4.1 MOSCQ=4.0\r\nRemoteMetrics:\r\nPacketLoss:NLR=0.0 JDR=0.0\r\n"
    )
}

fn publish(call_id: &str) -> Sip {
    request("PUBLISH", 1).call_id("own@198.51.100.1").body("application/vq-rtcpxr", &body(call_id))
}

fn ended() -> Tap {
    let mut tap = Tap::new();
    tap.caller(0, request("INVITE", 1));
    tap.callee(1000, response("200 OK", "INVITE", 1));
    tap.caller(5000, request("BYE", 2));
    tap.callee(5100, response("200 OK", "BYE", 2));
    tap
}

#[test]
fn a_report_belongs_to_the_call_that_its_body_names_also_after_its_end_and_once() {
    let mut tap = ended();
    let report = publish("a@192.0.2.1").bytes();
    tap.udp(5200, CALLEE, COLLECTOR, &report);
    // The next hop, and the answer to a challenge.
    tap.udp(5250, COLLECTOR, "203.0.113.10:5060", &report);
    assert_eq!(tap.engine.counters().quality_reports_unmatched, 0);
    let (call, _) = tap.call();
    let told: Vec<_> = call.quality_reports.iter().map(|report| (report.view, report.loss_pct)).collect();
    assert_eq!(told, [(QualityView::Local, Some(1.5)), (QualityView::Remote, Some(0.0))]);
    let local = &call.quality_reports[0];
    assert_eq!(
        (local.kind, local.by, local.time),
        (QualityReportKind::Session, Some(Party::Callee), at(5200))
    );
    assert_eq!((local.rtt_ms, local.end_system_ms, local.jitter_ms), (Some(40.0), Some(90.0), Some(3.0)));
    assert_eq!((local.r_factor, local.mos_lq, local.mos_cq), (Some(88.0), Some(4.1), Some(4.0)));
    assert_eq!((&*local.source, local.codec.as_deref()), ("VQSessionReport CallTerm", Some("PCMA")));
    assert_eq!(local.reporter.as_deref(), Some("<sip:bob@example.com>"));
    assert_eq!(call.messages, 4, "the report is none of the call's own messages");
}

#[test]
fn a_report_on_a_call_that_is_not_known_is_counted() {
    let mut tap = ended();
    tap.udp(5200, CALLEE, COLLECTOR, &publish("another").bytes());
    tap.wait_until(60_000);
    tap.udp(61_000, CALLEE, COLLECTOR, &publish("a@192.0.2.1").bytes());
    assert_eq!(tap.engine.counters().quality_reports_unmatched, 2);
    assert_eq!(tap.call().0.quality_reports, []);
}

#[test]
fn statistics_of_a_bye_and_its_answer_are_of_their_senders() {
    let mut tap = Tap::new();
    tap.caller(0, request("INVITE", 1));
    tap.callee(1000, response("200 OK", "INVITE", 1));
    tap.caller(5000, request("BYE", 2).header("P-RTP-Stat: PS=200,PR=190,PL=10,JI=3,MOS=3.9"));
    tap.callee(5100, response("200 OK", "BYE", 2).header("X-RTP-Stat: PS=200;PR=200;PL=0"));
    let (call, _) = tap.call();
    let told =
        call.quality_reports.iter().map(|report| (report.by, &*report.source, report.lost, report.mos_lq));
    let wanted = [
        (Some(Party::Caller), "P-RTP-Stat", Some(10), Some(3.9)),
        (Some(Party::Callee), "X-RTP-Stat", Some(0), None),
    ];
    assert_eq!(told.collect::<Vec<_>>(), wanted);
}

#[test]
fn a_flood_of_reports_stays_under_the_ceiling_and_leaves_the_last() {
    let mut tap = ended();
    for number in 0..40 {
        let text = body("a@192.0.2.1").replace("NLR=1.5", &format!("NLR={number}.5"));
        let report = request("PUBLISH", number + 1).call_id("own").body("application/vq-rtcpxr", &text);
        tap.udp(5200 + u64::from(number), CALLER, COLLECTOR, &report.bytes());
    }
    let (call, _) = tap.call();
    assert_eq!(call.quality_reports.len(), 16);
    assert_eq!(call.quality_reports.last().and_then(|report| report.loss_pct), Some(39.5));
}
