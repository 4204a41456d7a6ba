//! What became of the calls of hooks, as `ringtap hooks` saved it last.

use ringtap_hook::HookFigures;

use super::family::{Family, MetricKind, Value};

/// All of it; without samples where no hook has run.
pub(super) fn families(figures: &[HookFigures]) -> Vec<Family> {
    let (mut outcomes, mut waiting) = (Vec::new(), Vec::new());
    for HookFigures { hook, counts, waiting: left } in figures {
        for (outcome, count) in [
            ("delivered", counts.delivered),
            ("refused", counts.refused),
            ("dropped", counts.dropped),
            ("forgotten", counts.forgotten),
            ("retried", counts.retried),
        ] {
            let labels = vec![("hook", hook.clone()), ("outcome", outcome.to_owned())];
            outcomes.push((labels, Value::Whole(count)));
        }
        waiting.push((vec![("hook", hook.clone())], Value::Whole(*left)));
    }
    let family = |name, help, kind, samples| Family { name, help, kind, samples };
    vec![
        family(
            "ringtap_hook_calls",
            "Calls by [[hook]]: `delivered`; `refused` by it for good, or too often; `dropped` because too \
             many waited; `forgotten` by order, or deleted, while they waited; `retried` are attempts that \
             failed.",
            MetricKind::Counter,
            outcomes,
        ),
        family("ringtap_hook_waiting", "Calls that wait for a [[hook]].", MetricKind::Gauge, waiting),
    ]
}
