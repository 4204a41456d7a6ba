//! The figures of the same hour a week ago.

use std::collections::HashMap;

use ringtap_kpi::{Cell, Dimension, Key, View};
use ringtap_model::Nanos;

use crate::names::Family;
use crate::rule::{Per, Rule, Watched};
use crate::window::Reading;

/// The figures of one hour of the past.
#[derive(Debug, Default)]
pub(crate) struct Baseline {
    /// The hour that they are of.
    pub(crate) hour: Option<(Nanos, Nanos)>,
    cells: HashMap<Key, Cell>,
}

impl Baseline {
    pub(crate) fn set(&mut self, hour: (Nanos, Nanos), cells: &[(Key, Cell)]) {
        self.hour = Some(hour);
        self.cells = cells.iter().cloned().collect();
    }

    /// The figure of a rule in that hour. A number of calls is that of a time as long as the rule's.
    pub(crate) fn read(&self, rule: &Rule, subject: &str) -> Reading {
        let none = Reading { value: None, behind: 0 };
        let Some((from, to)) = self.hour else { return none };
        let mut sum = Cell::default();
        for dimension in dimensions(rule.per) {
            if let Some(cell) = self.cells.get(&Key::new(*dimension, subject)) {
                sum.merge(cell);
            }
        }
        let (value, behind) = match rule.watched {
            Watched::Kpi(figure) => (figure.value)(&View { cell: &sum, concurrent: None }),
            Watched::Begun => (Some(sum.attempts() as f64), sum.attempts()),
            _ => return none,
        };
        let scale = rule.over.secs_f64() / to.since(from).secs_f64().max(1.0);
        let value = value.map(|value| if rule.watched.is_count() { value * scale } else { value });
        Reading { value, behind }
    }
}

/// Whether the KPIs of the past have the figure of a rule.
pub(crate) fn has_past(rule: &Rule) -> bool {
    let is_kept = match rule.watched {
        Watched::Kpi(_) => rule.watched.family() != Family::Registrations,
        Watched::Begun => true,
        _ => false,
    };
    is_kept && !dimensions(rule.per).is_empty()
}

fn dimensions(per: Per) -> &'static [Dimension] {
    match per {
        Per::Total => &[Dimension::Total],
        Per::Trunk => &[Dimension::TrunkIn, Dimension::TrunkOut],
        Per::TrunkIn => &[Dimension::TrunkIn],
        Per::TrunkOut => &[Dimension::TrunkOut],
        Per::Direction => &[Dimension::Direction],
        Per::Codec => &[Dimension::Codec],
        Per::Device => &[Dimension::Device],
        Per::Prefix => &[Dimension::Prefix],
        _ => &[],
    }
}
