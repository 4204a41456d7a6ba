//! Services as a tracker of the engine.

use ringtap_engine::{Context, Sink, SipMessage, Tracker, Wants};

use crate::monitor::Monitor;
use crate::observation::{Observation, Observer};
use crate::settings::Settings;

/// Emits [`Findings`](crate::Findings) at the end.
///
/// For one engine: workers of a team share SIP messages by their Call-ID, so each would see some of what a
/// service answers. They pass [`Observation`]s to one monitor instead.
#[derive(Debug)]
pub struct AvailabilityTracker {
    monitor: Option<Monitor>,
    observer: Observer,
}

impl AvailabilityTracker {
    /// With empty tables.
    pub fn new(settings: Settings) -> Self {
        Self { monitor: Some(Monitor::new(settings)), observer: Observer::default() }
    }
}

impl Tracker for AvailabilityTracker {
    const WANTS: Wants = Wants { sip: true, ..Wants::NOTHING };

    fn sip<S: Sink>(&mut self, sip: &SipMessage<'_>, cx: &mut Context<'_, S>) {
        if let Some(monitor) = &mut self.monitor {
            monitor.observe(&Observation::of(sip, cx.drops(), &mut self.observer));
        }
    }

    fn close<S: Sink>(&mut self, cx: &mut Context<'_, S>) {
        if let Some(monitor) = self.monitor.take() {
            cx.emit(&monitor.close());
        }
    }
}
