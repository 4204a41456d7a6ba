//! What the far ends say of a stream and of a call: RTCP, and quality reports in signalling.

use ringtap_model::{Call, LostAt, Party, QualityReport, QualityView, RtcpReport, RtcpReportKind, Stream};

use crate::calls::{figure, percent};
use crate::style::Style;
use crate::table::{Cell, Column};
use crate::text::counted;
use crate::time;

/// Columns of the table of RTCP reports.
pub(crate) const COLUMNS: &[Column] = &[
    Column::word("RTCP", 0),
    Column::word("KIND", 0),
    Column::figure("LOSS", 0),
    Column::figure("LOST", 4),
    Column::figure("DISCARDED", 3),
    Column::figure("JITTER", 0),
    Column::figure("ROUND TRIP", 1),
    Column::figure("R", 2),
    Column::figure("MOS", 0),
    Column::figure("MOS-CQ", 1),
];

/// Where packets were lost, in a word or two; empty where none was, or nobody knows.
pub(crate) fn place(lost_at: Option<LostAt>) -> &'static str {
    match lost_at {
        Some(LostAt::BeforeTap) => "before",
        Some(LostAt::BehindTap) => "behind",
        Some(LostAt::Sender) => "sender",
        Some(LostAt::Capture) => "capture",
        Some(LostAt::Unknown) | None => "-",
    }
}

/// Name and value of each figure that RTCP gives of a stream.
pub(crate) fn figures(stream: &Stream) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    if let Some(at) = stream.lost_at {
        let place = match at {
            LostAt::BeforeTap => "before here",
            LostAt::BehindTap => "behind here",
            LostAt::Sender => "at the sender",
            LostAt::Capture => "in our capture",
            LostAt::Unknown => "unknown",
        };
        let evidence = stream.lost_at_evidence.as_deref().unwrap_or("no evidence");
        lines.push(("Lost where", format!("{place}: {evidence}")));
    }
    if let Some(reports) = stream.rtcp_reports {
        let lost = counted(stream.rtcp_lost.unwrap_or_default(), "packet");
        let worst = percent(stream.rtcp_lost_pct_max);
        let jitter = ms(stream.rtcp_jitter_ms_mean);
        let told = counted(reports, "report");
        lines.push(("Receiver", format!("{lost} lost, at most {worst} at a time; jitter {jitter} ({told})")));
    }
    if let Some(sent) = stream.rtcp_sent_packets {
        let trip = stream.rtcp_sender_rtt_ms.map(|trip| format!("; round trip to it {trip:.1} ms"));
        lines.push(("Sender", format!("{} sent{}", counted(sent, "packet"), trip.unwrap_or_default())));
    }
    if let Some(reports) = stream.xr_reports {
        lines.push(("VoIP metrics", voip(stream, reports)));
    }
    if !stream.rtcp_counts.is_empty() {
        lines.push(("Other RTCP", stream.rtcp_counts.join(", ")));
    }
    lines
}

/// The last VoIP metrics of the receiver.
fn voip(stream: &Stream, reports: u64) -> String {
    let mut text = format!(
        "MOS {} (R {}), MOS-CQ {}; {} lost, {} discarded",
        figure(stream.xr_mos_lq, 1),
        figure(stream.xr_r_factor, 0),
        figure(stream.xr_mos_cq, 1),
        percent(stream.xr_loss_pct),
        percent(stream.xr_discard_pct),
    );
    let delays = [
        ("round trip", stream.xr_rtt_ms),
        ("end system", stream.xr_end_system_ms),
        ("buffer", stream.xr_buffer_ms),
    ];
    for (name, delay) in delays.into_iter().filter_map(|(name, delay)| Some((name, delay?))) {
        text = format!("{text}, {name} {delay:.0} ms");
    }
    format!("{text} ({})", counted(reports, "report"))
}

/// The row of a receiver's report; None for a sender's.
pub(crate) fn row(report: &RtcpReport) -> Option<Vec<Cell>> {
    let kind = match report.kind {
        RtcpReportKind::Receiver => "receiver",
        RtcpReportKind::Voip => "voip",
        RtcpReportKind::Sender => return None,
    };
    let lost = if report.lost_pct > Some(0.0) { Style::Fair } else { Style::Plain };
    Some(vec![
        Cell::plain(time::clock(report.time)),
        Cell::plain(kind),
        Cell::new(percent(report.lost_pct), lost),
        Cell::known(report.lost.map(|lost| lost.to_string())),
        Cell::known(report.discard_pct.map(|discarded| percent(Some(discarded)))),
        Cell::known(report.jitter_ms.map(|jitter| format!("{jitter:.2} ms"))),
        Cell::known(report.rtt_ms.map(|trip| format!("{trip:.1} ms"))),
        Cell::known(report.r_factor.map(|r| format!("{r:.0}"))),
        Cell::new(figure(report.mos_lq, 1), Style::of_mos(report.mos_lq)),
        Cell::new(figure(report.mos_cq, 1), Style::of_mos(report.mos_cq)),
    ])
}

/// Each quality report of a call in a line.
pub(crate) fn quality(call: &Call) -> impl Iterator<Item = (&'static str, String)> {
    call.quality_reports.iter().map(|report| ("Reported", sentence(report)))
}

fn sentence(report: &QualityReport) -> String {
    let by = match report.by {
        Some(Party::Caller) => "caller",
        Some(Party::Callee) => "callee",
        Some(Party::Network) => "network",
        None => report.reporter.as_deref().unwrap_or("unknown"),
    };
    let view = if report.view == QualityView::Remote { ", of the other side" } else { "" };
    let number = |value: Option<f64>, name: &str, unit: &str| Some(format!("{name} {}{unit}", value?));
    let count = |value: Option<u64>, name: &str| Some(format!("{} {name}", value?));
    let figures = [
        number(report.mos_lq, "MOS", ""),
        number(report.mos_cq, "MOS-CQ", ""),
        number(report.r_factor, "R", ""),
        count(report.received, "received"),
        count(report.lost, "lost"),
        number(report.loss_pct, "loss", " %"),
        number(report.discard_pct, "discarded", " %"),
        number(report.jitter_ms, "jitter", " ms"),
        number(report.rtt_ms, "round trip", " ms"),
        number(report.end_system_ms, "end system", " ms"),
    ];
    let figures: Vec<_> = figures.into_iter().flatten().collect();
    let figures = if figures.is_empty() { "no figures".to_owned() } else { figures.join(", ") };
    format!("by {by}{view}: {figures} ({} at {})", report.source, time::clock(report.time))
}

fn ms(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_string(), |value| format!("{value:.2} ms"))
}
