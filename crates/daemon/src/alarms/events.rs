//! What an engine tells, as alarms see it.

use std::collections::HashMap;
use std::sync::Arc;

use ringtap_alarm::{CallAnswered, CallBegan, CallEnded, Event, IntervalSeen, RegistrationSeen};
use ringtap_engine::{self as engine, CallNumber, CallPhase};
use ringtap_kpi::Trunks;
use ringtap_model::{Call, CallState, Id};

/// Makes events of what an engine's sink is told.
#[derive(Clone, Debug)]
pub struct LiveEvents {
    trunks: Arc<Trunks>,
    /// The number of each call in progress: its record, when it ends, has none.
    numbers: HashMap<Id, u64>,
}

impl LiveEvents {
    /// With these trunks.
    pub fn new(trunks: Arc<Trunks>) -> Self {
        Self { trunks, numbers: HashMap::new() }
    }

    /// Of a call in progress that reached a new phase.
    pub fn progress(&mut self, phase: CallPhase, number: CallNumber, call: &Call) -> Option<Event> {
        let number = number.to_bits();
        match phase {
            CallPhase::Started => {
                self.numbers.insert(call.id, number);
                let mut began = CallBegan::new(number, call);
                began.trunk_from = self.trunks.name(call.src.ip).into();
                began.trunk_to = self.trunks.name(call.dst.ip).into();
                Some(Event::Began(Box::new(began)))
            }
            CallPhase::Ringing => None,
            CallPhase::Answered => {
                CallAnswered::new(number, call).map(|answered| Event::Answered(Box::new(answered)))
            }
            CallPhase::Released => {
                // Its record, which comes later, tells nothing new.
                self.numbers.remove(&call.id);
                Some(Event::Ended(Box::new(CallEnded::new(number, call))))
            }
        }
    }

    /// Of the record of a call that ended, or whose BYE was probably lost: then it is not the last. None of
    /// one that was released before.
    pub fn ended(&mut self, call: &Call, is_last: bool) -> Option<Event> {
        let number = match is_last {
            true => self.numbers.remove(&call.id),
            false => self.numbers.get(&call.id).copied(),
        };
        // The input ended before the call did.
        let goes_on = matches!(call.state, CallState::Active | CallState::Ringing | CallState::Trying);
        let number = number.filter(|_| !goes_on)?;
        Some(Event::Ended(Box::new(CallEnded::new(number, call))))
    }

    /// Of ten seconds of a stream.
    pub fn interval(&self, seen: &engine::IntervalSeen<'_>) -> Event {
        Event::Interval(Box::new(IntervalSeen {
            call: seen.call.map(CallNumber::to_bits),
            time: seen.time,
            codec: seen.codec.map(Box::from),
            packets: seen.packets,
            lost: seen.lost,
            jitter_ms: seen.jitter_ms,
            mos: seen.mos,
        }))
    }

    /// Of an attempt to register.
    pub fn registration(&self, attempt: &engine::RegistrationAttempt<'_>) -> Event {
        Event::Registration(Box::new(RegistrationSeen {
            time: attempt.time,
            aor: attempt.aor.into(),
            src: attempt.src.ip,
            device: attempt.user_agent.map(Box::from),
            code: attempt.code,
            delay_ms: attempt.delay.map(|delay| delay.millis_f64()),
        }))
    }
}
