//! What endpoints say of a call's quality in signalling: RFC 6035, and header fields of a BYE and its answer.

use ringtap_model::{Nanos, Party, QualityReport, QualityReportKind, QualityView};
use ringtap_wire::quality::{self, Metrics, ReportKind, VqReport};
use ringtap_wire::sip::{Message, NameAddr};

use super::CallEntry;
use crate::text::text;
use crate::update::Side;

/// Reports that one call may hold; past them, the newest replaces the last.
pub(super) const MAX_REPORTS: usize = 16;

impl CallEntry {
    /// A report on this call that a PUBLISH or a NOTIFY brought.
    pub(crate) fn add_report(&mut self, report: &VqReport<'_>, time: Nanos) {
        let (kind, name) = match report.kind {
            ReportKind::Session => (QualityReportKind::Session, "VQSessionReport"),
            ReportKind::Interval => (QualityReportKind::Interval, "VQIntervalReport"),
            ReportKind::Alert => (QualityReportKind::Alert, "VQAlertReport"),
        };
        let detail = text(report.detail);
        let source = detail.map_or_else(|| name.to_owned(), |detail| format!("{name} {detail}"));
        let reporter = report.local_id.and_then(text);
        let by = report.local_id.and_then(|id| self.party(id));
        let views = [(QualityView::Local, report.local), (QualityView::Remote, report.remote)];
        // An alert may come without figures.
        let is_bare = views.iter().all(|(_, metrics)| metrics.is_none());
        for (view, metrics) in views {
            let bare = (is_bare && view == QualityView::Local).then(Metrics::default);
            let Some(metrics) = metrics.or(bare) else { continue };
            let reporter = reporter.as_deref().map(str::to_owned);
            self.store(QualityReport { by, reporter, ..of(&metrics, (time, kind, view), source.clone()) });
        }
    }

    /// What a BYE or its answer says of the media of its sender.
    pub(super) fn add_statistics(&mut self, message: &Message<'_>, side: Side, time: Nanos) {
        let Some((name, metrics)) = quality::statistics(message) else { return };
        let place = (time, QualityReportKind::Statistics, QualityView::Local);
        self.store(QualityReport { by: Some(side.party()), ..of(&metrics, place, name.to_owned()) });
    }

    /// The same report passes again on each hop, and after a challenge.
    fn store(&mut self, report: QualityReport) {
        let reports = &mut self.parties.reports;
        let is_same = |other: &QualityReport| QualityReport { time: report.time, ..other.clone() } == report;
        if reports.iter().any(is_same) {
            return;
        }
        if reports.len() >= MAX_REPORTS {
            reports.pop();
        }
        reports.push(report);
        self.has_grown = true;
    }

    /// The party of the call that an address names.
    fn party(&self, address: &[u8]) -> Option<Party> {
        let user = text(NameAddr::parse(address)?.uri.user?)?;
        let is = |known: &Option<String>| known.as_deref() == Some(&*user);
        let parties = &self.parties;
        let (is_caller, is_callee) = (is(&parties.from_user), is(&parties.to_user) || is(&parties.ruri_user));
        match (is_caller, is_callee) {
            (true, false) => Some(Party::Caller),
            (false, true) => Some(Party::Callee),
            _ => None,
        }
    }
}

fn of(
    metrics: &Metrics<'_>,
    (time, kind, view): (Nanos, QualityReportKind, QualityView),
    source: String,
) -> QualityReport {
    QualityReport {
        time,
        kind,
        view,
        by: None,
        reporter: None,
        source,
        codec: metrics.codec.and_then(text).map(Into::into),
        sent: metrics.sent,
        received: metrics.received,
        lost: metrics.lost,
        loss_pct: metrics.loss_pct,
        discard_pct: metrics.discard_pct,
        jitter_ms: metrics.jitter_ms,
        rtt_ms: metrics.round_trip_ms,
        end_system_ms: metrics.end_system_ms,
        r_factor: metrics.r_factor,
        mos_lq: metrics.mos_lq,
        mos_cq: metrics.mos_cq,
    }
}
