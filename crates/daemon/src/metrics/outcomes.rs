//! What became of calls, streams and registrations.

use ringtap_model::{CallState, RegistrationState};
use ringtap_quality::kpi::Kpi;

use super::family::{Family, MetricKind, Rows, Value, by_labels, labelled, of_each};
use crate::outcomes::{CLASSES, Histogram, Outcomes};
use crate::shared_status::{Snapshot, WorkerInfo, WorkerReport};

/// All of it.
pub(super) fn families(now: &Snapshot, workers: &[WorkerInfo]) -> Vec<Family> {
    let histogram = |name, help, figure: fn(&Outcomes) -> &Histogram| {
        let value = |report: &WorkerReport| Value::Distribution(Box::new(figure(&report.outcomes).clone()));
        of_each((name, help, MetricKind::Histogram), now, workers, &value)
    };
    let kpis = |name, help, figure: fn((u64, u64)) -> u64| {
        let rows = |report: &WorkerReport| -> Rows {
            let kpis = Kpi::ALL.into_iter().zip(report.outcomes.kpis);
            labelled(kpis.map(|(kpi, counts)| (kpi.name(), figure(counts))).collect())
        };
        by_labels((name, help, MetricKind::Counter), &["kpi"], now, workers, &rows)
    };
    let ended = by_labels(
        (
            "ringtap_calls_ended",
            "Calls that ended, by state and class of the final code.",
            MetricKind::Counter,
        ),
        &["state", "class"],
        now,
        workers,
        &|report| table(CallState::ALL.iter().map(|state| state.name()), &report.outcomes.calls),
    );
    let help = "Registrations that ended, by state and class of the last answer.";
    let registrations = by_labels(
        ("ringtap_registrations_ended", help, MetricKind::Counter),
        &["state", "class"],
        now,
        workers,
        &|report| {
            let names = RegistrationState::ALL.iter().map(|state| state.name());
            table(names, &report.outcomes.registrations)
        },
    );
    vec![
        ended,
        kpis("ringtap_kpi_met", "Call attempts that meet an indicator, such as ASR.", |(met, _)| met),
        kpis("ringtap_kpi_attempts", "Call attempts that an indicator counts.", |(_, attempts)| attempts),
        of_each(
            ("ringtap_answered_seconds", "Time from answer to release, of all calls.", MetricKind::Counter),
            now,
            workers,
            &|report| Value::Real(report.outcomes.answered_s),
        ),
        histogram("ringtap_post_dial_delay_seconds", "From the INVITE to ringing or answer.", |outcomes| {
            &outcomes.post_dial_delay
        }),
        histogram("ringtap_stream_mos", "MOS of each stream.", |outcomes| &outcomes.mos),
        histogram("ringtap_stream_loss_ratio", "Packets lost of each stream, 0 to 1.", |outcomes| {
            &outcomes.loss
        }),
        histogram("ringtap_stream_jitter_seconds", "Mean jitter of each stream.", |outcomes| {
            &outcomes.jitter
        }),
        of_each(
            (
                "ringtap_registrations",
                "Registrations in the table, refused ones included.",
                MetricKind::Gauge,
            ),
            now,
            workers,
            &|report| Value::Whole(report.registrations as u64),
        ),
        registrations,
    ]
}

/// Rows of a table by state and class.
fn table<const STATES: usize>(
    states: impl Iterator<Item = &'static str>,
    counts: &[[u64; CLASSES.len()]; STATES],
) -> Rows {
    let rows = states.zip(counts);
    rows.flat_map(|(state, row)| {
        CLASSES.into_iter().zip(row).map(move |(class, count)| (vec![state, class], *count))
    })
    .collect()
}
