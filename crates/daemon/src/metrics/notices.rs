//! Who was told of alarms.

use super::family::{Family, MetricKind, Value};
use crate::notices::NoticeFigures;

/// All of it; without samples where nobody is told.
pub(super) fn families(figures: &NoticeFigures) -> Vec<Family> {
    let (mut outcomes, mut waiting) = (Vec::new(), Vec::new());
    for (target, counts, left) in &figures.targets {
        for (outcome, count) in [
            ("delivered", counts.delivered),
            ("refused", counts.refused),
            ("dropped", counts.dropped),
            ("replaced", counts.replaced),
            ("retried", counts.retried),
        ] {
            let labels = vec![("target", target.clone()), ("outcome", outcome.to_owned())];
            outcomes.push((labels, Value::Whole(count)));
        }
        waiting.push((vec![("target", target.clone())], Value::Whole(*left)));
    }
    let (counter, gauge) = (MetricKind::Counter, MetricKind::Gauge);
    let family = |name, help, kind, samples| Family { name, help, kind, samples };
    vec![
        family(
            "ringtap_notices",
            "Notices of alarms by [[notify]] target: `delivered`; `refused` by it for good; `dropped` \
             because too many waited; `replaced` by a newer one of the same alarm; `retried` are attempts \
             that failed.",
            counter,
            outcomes,
        ),
        family("ringtap_notices_waiting", "Notices that wait for a [[notify]] target.", gauge, waiting),
        family(
            "ringtap_notices_unsent",
            "Notices of alarms dropped before the process that tells the targets had them.",
            counter,
            vec![(Vec::new(), Value::Whole(figures.dropped))],
        ),
    ]
}
