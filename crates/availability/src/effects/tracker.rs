//! Availability and what its effects depend on, as a tracker of the engine.

use ringtap_engine::{Context, LostTime, Sink, SipMessage, StreamEnd, Tracker, Wants};
use ringtap_model::Call;

use super::table::{CallReport, FactTable};
use crate::monitor::Monitor;
use crate::observation::{Observation, Observer};
use crate::settings::Settings;

/// Emits [`Findings`](crate::Findings) at the end, then [`Observed`](crate::Observed). For one engine, as
/// [`AvailabilityTracker`](crate::AvailabilityTracker).
#[derive(Debug)]
pub struct EffectsTracker {
    monitor: Option<Monitor>,
    observer: Observer,
    facts: FactTable,
}

impl EffectsTracker {
    /// With empty tables.
    pub fn new(settings: Settings) -> Self {
        let facts = FactTable::new(&settings);
        Self { monitor: Some(Monitor::new(settings)), observer: Observer::default(), facts }
    }
}

impl Tracker for EffectsTracker {
    const WANTS: Wants = Wants { sip: true, lost_times: true, calls: true, ..Wants::NOTHING };

    fn sip<S: Sink>(&mut self, sip: &SipMessage<'_>, cx: &mut Context<'_, S>) {
        let observation = Observation::of(sip, cx.drops(), &mut self.observer);
        self.facts.message(&observation);
        if let Some(monitor) = &mut self.monitor {
            monitor.observe(&observation);
        }
    }

    fn lost_time(&mut self, lost: &LostTime) {
        self.facts.lost_time(lost);
    }

    fn call_ended(&mut self, call: &Call, streams: &[StreamEnd]) {
        let report = CallReport::ended(call, streams, true, &self.observer);
        report.into_iter().for_each(|report| self.facts.report(report));
    }

    fn close<S: Sink>(&mut self, cx: &mut Context<'_, S>) {
        if let Some(monitor) = self.monitor.take() {
            cx.emit(&monitor.close());
        }
        let observed = self.facts.observed(cx.now());
        cx.emit(&observed);
    }
}
