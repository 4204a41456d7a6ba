//! The queue from the workers to the alarms.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use ringtap_alarm::{Event, HealthFigure};
use ringtap_engine::{CallNumber, CallPhase, IntervalSeen, RegistrationAttempt};
use ringtap_model::{Call, Nanos};

use super::events::LiveEvents;

/// The end of the queue that a worker has. It never waits.
#[derive(Clone)]
pub(crate) struct AlarmFeed {
    queue: SyncSender<Event>,
    /// Events that did not reach the alarms, since their queue was full.
    dropped: Arc<AtomicU64>,
    events: LiveEvents,
}

impl AlarmFeed {
    /// A queue, with one of its ends for a worker: clone it for the others.
    pub(crate) fn new(events: LiveEvents, dropped: Arc<AtomicU64>) -> (Self, Receiver<Event>) {
        let (queue, receiver) = sync_channel(QUEUE);
        (Self { queue, dropped, events }, receiver)
    }

    pub(crate) fn progress(&mut self, phase: CallPhase, number: CallNumber, call: &Call) {
        let event = self.events.progress(phase, number, call);
        self.send(event);
    }

    pub(crate) fn ended(&mut self, call: &Call, is_last: bool) {
        let event = self.events.ended(call, is_last);
        self.send(event);
    }

    pub(crate) fn interval(&self, seen: &IntervalSeen<'_>) {
        self.send(Some(self.events.interval(seen)));
    }

    pub(crate) fn registration(&self, attempt: &RegistrationAttempt<'_>) {
        self.send(Some(self.events.registration(attempt)));
    }

    /// A figure of the services that are followed.
    pub(crate) fn health(&self, time: Nanos, figure: HealthFigure, subject: &str, value: f64) {
        self.send(Some(Event::Health { time, figure, subject: subject.into(), value }));
    }

    fn send(&self, event: Option<Event>) {
        if event.is_some_and(|event| self.queue.try_send(event).is_err()) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Events that wait: two seconds of a hundred thousand streams and a thousand calls a second.
const QUEUE: usize = 1 << 16;
