//! What became of calls, by trunk: over all workers, so that there are no more series than need be.

use std::collections::BTreeMap;

use super::family::{Family, MetricKind, Value};
use crate::outcomes::Histogram;
use crate::shared_status::Snapshot;
use crate::trunk_outcomes::{OTHER, TrunkFigures};

/// All of it.
pub(super) fn families(now: &Snapshot) -> Vec<Family> {
    let mut trunks: BTreeMap<&str, TrunkFigures> = BTreeMap::new();
    for report in &now.reports {
        for (name, figures) in report.trunks.each() {
            match trunks.get_mut(name) {
                Some(sum) => sum.merge(figures),
                None => _ = trunks.insert(name, figures.clone()),
            }
        }
    }
    if trunks.is_empty() {
        trunks.extend(
            crate::trunk_outcomes::TrunkOutcomes::default().each().map(|(_, none)| (OTHER, none.clone())),
        );
    }
    let family = |name, help, kind, value: &dyn Fn(&TrunkFigures) -> Value| {
        let sample =
            |(name, figures): (&&str, &TrunkFigures)| (vec![("trunk", (*name).to_owned())], value(figures));
        Family { name, help, kind, samples: trunks.iter().map(sample).collect() }
    };
    let histogram = |name, help, figure: fn(&TrunkFigures) -> &Histogram| {
        let value = |figures: &TrunkFigures| Value::Distribution(Box::new(figure(figures).clone()));
        family(name, help, MetricKind::Histogram, &value)
    };
    vec![
        family(
            "ringtap_trunk_calls_ended",
            "Calls that ended and came from or went to a trunk; other are those of no trunk.",
            MetricKind::Counter,
            &|figures| Value::Whole(figures.attempts),
        ),
        family(
            "ringtap_trunk_calls_answered",
            "Those of them that were answered.",
            MetricKind::Counter,
            &|figures| Value::Whole(figures.answered),
        ),
        histogram(
            "ringtap_trunk_post_dial_delay_seconds",
            "From the INVITE to ringing or answer.",
            |figures| &figures.post_dial_delay,
        ),
        histogram("ringtap_trunk_stream_mos", "MOS of each stream of these calls.", |figures| &figures.mos),
        histogram("ringtap_trunk_stream_loss_ratio", "Packets lost of each stream, 0 to 1.", |figures| {
            &figures.loss
        }),
        histogram("ringtap_trunk_stream_jitter_seconds", "Mean jitter of each stream.", |figures| {
            &figures.jitter
        }),
    ]
}
