//! What the capture loses: while that is too much, figures are doubtful, and silence says nothing.

use std::collections::BTreeMap;

use ringtap_model::Nanos;

/// What the capture loses, by interface.
#[derive(Debug)]
pub(crate) struct CaptureLoss {
    /// The share that is too much, in percent.
    limit: f64,
    /// The last value of each interface, in percent.
    values: BTreeMap<Box<str>, f64>,
    last_lossy: Option<Nanos>,
}

impl CaptureLoss {
    /// `limit` is a share, 0 to 1.
    pub(crate) fn new(limit: f64) -> Self {
        Self { limit: limit * 100.0, values: BTreeMap::new(), last_lossy: None }
    }

    pub(crate) fn seen(&mut self, interface: &str, percent: f64, now: Nanos) {
        if let Some(value) = self.values.get_mut(interface) {
            *value = percent;
        } else if self.values.len() < INTERFACES {
            self.values.insert(interface.into(), percent);
        }
        if percent > self.limit {
            self.last_lossy = Some(now);
        }
    }

    /// What it loses now in percent, where that is too much.
    pub(crate) fn too_much(&self) -> Option<f64> {
        self.values.values().copied().filter(|value| *value > self.limit).reduce(f64::max)
    }

    /// Whether it lost too much at a moment of the last time of that length.
    pub(crate) fn was_too_much(&self, over: Nanos, now: Nanos) -> bool {
        self.too_much().is_some() || self.last_lossy.is_some_and(|last| now < last + over)
    }
}

/// Interfaces that are told apart.
const INTERFACES: usize = 256;
