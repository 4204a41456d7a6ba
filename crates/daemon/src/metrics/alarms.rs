//! Alarms: how many stand, and whether they see everything.

use ringtap_model::Severity;

use super::family::{Family, MetricKind, Value};
use crate::shared_status::SharedStatus;

/// All of it; zeros where no alarms are configured.
pub(super) fn families(shared_status: &SharedStatus) -> Vec<Family> {
    let figures = shared_status.alarms.get().map(|alarms| alarms.figures()).unwrap_or_default();
    let standing = Severity::ALL.iter().zip(figures.standing);
    let standing = standing
        .map(|(severity, count)| (vec![("severity", severity.name().to_owned())], Value::Whole(count)))
        .collect();
    let counts = figures.counts;
    let refused = [
        ("queue", figures.dropped),
        ("calls", counts.calls_refused),
        ("subjects", counts.subjects_refused),
        ("alarms", counts.alarms_refused),
        ("late", counts.late),
    ];
    let refused =
        refused.map(|(place, count)| (vec![("place", place.to_owned())], Value::Whole(count))).into();
    let one = |value| vec![(Vec::new(), Value::Whole(value))];
    let family = |name, help, kind, samples| Family { name, help, kind, samples };
    vec![
        family(
            "ringtap_alarms_standing",
            "Alarms that stand, acknowledged and silenced ones included.",
            MetricKind::Gauge,
            standing,
        ),
        family("ringtap_alarms_raised", "Alarms that were raised.", MetricKind::Counter, one(figures.raised)),
        family(
            "ringtap_alarm_events",
            "Calls, intervals of streams and attempts to register that alarms looked at.",
            MetricKind::Counter,
            one(counts.events),
        ),
        family(
            "ringtap_alarm_events_lost",
            "What alarms did not count: no room in their queue, among the calls, subjects or alarms; or \
            it came too late for its time.",
            MetricKind::Counter,
            refused,
        ),
    ]
}
