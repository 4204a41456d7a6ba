//! Services as a tracker of the engine.

use ringtap_engine::{Context, Sink, SipMessage, Tracker, Wants};

use crate::monitor::Monitor;
use crate::settings::Settings;

/// Emits [`Findings`](crate::Findings) at the end.
///
/// For one engine: workers of a team share SIP messages by their Call-ID, so each would see some of what a
/// service answers.
#[derive(Debug)]
pub struct AvailabilityTracker(Option<Monitor>);

impl AvailabilityTracker {
    /// With empty tables.
    pub fn new(settings: Settings) -> Self {
        Self(Some(Monitor::new(settings)))
    }
}

impl Tracker for AvailabilityTracker {
    const WANTS: Wants = Wants { sip: true, ..Wants::NOTHING };

    fn sip<S: Sink>(&mut self, sip: &SipMessage<'_>, cx: &mut Context<'_, S>) {
        let drops = cx.drops();
        if let Some(monitor) = &mut self.0 {
            monitor.message(sip, drops);
        }
    }

    fn close<S: Sink>(&mut self, cx: &mut Context<'_, S>) {
        if let Some(monitor) = self.0.take() {
            cx.emit(&monitor.close());
        }
    }
}
