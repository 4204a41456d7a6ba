//! Applies rules to the past.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::sync::Arc;

use indicatif::ProgressBar;
use ringtap_alarm::{ChangeKind, Evaluator, Event, RegistrationSeen, Settings};
use ringtap_daemon::{KpiConfig, LiveEvents, baseline};
use ringtap_engine::{CallNumber, CallPhase, IntervalSeen, RegistrationAttempt, Sink, StreamEnd};
use ringtap_model::{Alarm, Call, Condition, Filter, Id, Message, Nanos, Registration, Stream};
use ringtap_report::text::counted;
use ringtap_report::time;
use ringtap_store::{Query, Reader};

use crate::input::{Input, Listener, Pass};
use crate::interrupt;
use crate::screen::Screen;

/// Judges events in order of time, second by second.
pub(super) struct Replay {
    settings: Settings,
    evaluator: Option<Evaluator>,
    now: Nanos,
    /// Each alarm as it is last.
    alarms: BTreeMap<Id, Alarm>,
}

impl Replay {
    pub(super) fn new(settings: Settings) -> Self {
        Self { settings, evaluator: None, now: Nanos::ZERO, alarms: BTreeMap::new() }
    }

    /// Takes an event, after judging the time before it. `week_ago` gives the figures of an hour.
    fn event(&mut self, event: &Event, mut week_ago: impl FnMut(&mut Evaluator, (Nanos, Nanos))) {
        let time = event.time();
        if self.evaluator.is_none() {
            self.now = time;
            self.evaluator = Some(Evaluator::new(self.settings.clone(), time));
        }
        let Some(evaluator) = &mut self.evaluator else { return };
        while self.now + STEP <= time {
            self.now += STEP;
            if let Some(span) = evaluator.wanted_baseline(self.now) {
                week_ago(evaluator, span);
            }
            for change in evaluator.advance(self.now) {
                if change.kind != ChangeKind::Repeated {
                    self.alarms.insert(change.alarm.id, change.alarm);
                }
            }
        }
        evaluator.event(event);
    }

    /// The alarms in order of time, and what else is to be said.
    pub(super) fn finish(self) -> (Vec<Alarm>, Vec<String>) {
        let mut remarks = Vec::new();
        if let Some(evaluator) = &self.evaluator {
            let counts = evaluator.counts();
            if counts.without_baseline > 0 {
                remarks.push(
                    "rules with of_week_ago were not judged at times without records of a week before"
                        .to_owned(),
                );
            }
            let refused = counts.calls_refused + counts.subjects_refused + counts.alarms_refused;
            if refused > 0 {
                remarks.push(format!(
                    "{} found no room: figures may be too low",
                    counted(refused, "call, subject or alarm")
                ));
            }
        }
        let mut alarms: Vec<Alarm> = self.alarms.into_values().collect();
        alarms.sort_by_key(|alarm| (alarm.raised, alarm.id));
        (alarms, remarks)
    }
}

/// Judges captures as the daemon would.
pub(super) fn of_files(replay: &mut Replay, input: &Input, kpi: &KpiConfig, bar: &ProgressBar) -> Pass {
    let mut live = Live { replay, events: LiveEvents::new(Arc::new(kpi.trunks.clone())) };
    input.pass(&mut live, bar)
}

/// Judges records of the database; returns of how many days.
///
/// # Errors
///
/// They cannot be read.
pub(super) fn of_store(
    replay: &mut Replay,
    reader: &Reader,
    kpi: &KpiConfig,
    (since, until): (Nanos, Nanos),
    screen: &mut Screen,
) -> anyhow::Result<usize> {
    let query = |from: Nanos, to: Nanos, limit: usize| Query {
        limit,
        newest: false,
        ..Filter(vec![Condition::Since(from), Condition::Until(to)]).into()
    };
    // From the first call on: the time before has nothing.
    let first = reader.calls(&query(since, until, 1))?;
    let days = first.days;
    let registration = reader.registrations(&query(since, until, 1))?;
    let begins = first.records.iter().filter_map(Call::start);
    let begins = begins.chain(registration.records.iter().map(|registration| registration.first));
    let Some(mut from) = begins.min() else { return Ok(days) };
    let newest = Query { limit: 1, newest: true, ..Filter(vec![Condition::Until(until)]).into() };
    let last = reader.calls(&newest)?.records.first().and_then(Call::start).unwrap_or(from);
    let mut coming = Coming::default();
    let mut told = from;
    let mut failed = None;
    while from <= last && failed.is_none() {
        let to = (from + CHUNK).min(until);
        let calls = reader.calls(&query(from, to, usize::MAX))?;
        reader.with_streams(&calls.records, |call, streams| coming.call(call, streams))?;
        let registrations = reader.registrations(&query(from, to, usize::MAX))?;
        registrations.records.iter().for_each(|registration| coming.registration(registration));
        coming.until(to, |event| {
            replay.event(event, |evaluator, span| match baseline(reader, span, kpi.settings) {
                Ok(cells) => evaluator.set_baseline(span, &cells),
                Err(error) => failed = Some(error),
            });
        });
        if screen.watched && from.since(told) >= TELL {
            told = from;
            screen.remark(format!("{} judged", time::rfc3339(from)));
        }
        if interrupt::asked() {
            anyhow::bail!(crate::exit::Interrupted);
        }
        from = to;
    }
    coming
        .until(Nanos::MAX, |event| replay.event(event, |evaluator, span| evaluator.set_baseline(span, &[])));
    failed.map_or(Ok(days), |error| Err(error.into()))
}

/// Events of records that were read, in order of time.
#[derive(Default)]
struct Coming {
    heap: BinaryHeap<Reverse<(Nanos, u64)>>,
    events: HashMap<u64, Event>,
    /// Numbers given to calls and to events.
    next: u64,
}

impl Coming {
    fn call(&mut self, call: &Call, streams: &[Stream]) {
        self.next += 1;
        Event::of_record(self.next, call, streams).into_iter().for_each(|event| self.push(event));
    }

    /// A record tells how many attempts there were, and how many failed, not when: the failures come first,
    /// evenly over its time.
    fn registration(&mut self, registration: &Registration) {
        let attempts = registration.attempts.unwrap_or(1).clamp(1, MOST_ATTEMPTS);
        let failed = registration.failed.unwrap_or(0).min(attempts);
        let step = registration.last.since(registration.first).0 / u64::from(attempts);
        for attempt in 0..attempts {
            let is_failed = attempt < failed;
            let code = match (is_failed, registration.code) {
                (true, 300..) => registration.code,
                (true, _) => 403,
                (false, _) => 200,
            };
            self.push(Event::Registration(Box::new(RegistrationSeen {
                time: registration.first + Nanos(step * u64::from(attempt)),
                aor: registration.aor.as_str().into(),
                src: registration.src.ip,
                device: registration.user_agent.as_deref().map(Box::from),
                code,
                delay_ms: registration.rrd_ms_mean.filter(|_| !is_failed),
            })));
        }
    }

    fn push(&mut self, event: Event) {
        self.next += 1;
        self.heap.push(Reverse((event.time(), self.next)));
        self.events.insert(self.next, event);
    }

    /// Passes on what happened before a moment.
    fn until(&mut self, end: Nanos, mut each: impl FnMut(&Event)) {
        while self.heap.peek().is_some_and(|Reverse((time, _))| *time < end) {
            let Some(Reverse((_, number))) = self.heap.pop() else { return };
            self.events.remove(&number).iter().for_each(&mut each);
        }
    }
}

/// Tells the evaluator of the calls of a capture as they go on.
struct Live<'a> {
    replay: &'a mut Replay,
    events: LiveEvents,
}

impl Live<'_> {
    fn event(&mut self, event: Option<Event>) {
        // A capture has no figures of a week ago.
        let none = |evaluator: &mut Evaluator, span| evaluator.set_baseline(span, &[]);
        event.iter().for_each(|event| self.replay.event(event, none));
    }
}

impl Sink for Live<'_> {
    const PROGRESS: bool = true;
    const LOST: bool = true;
    const INTERVALS: bool = true;

    fn lost(&mut self, call: Call, _: Vec<StreamEnd>) {
        let event = self.events.ended(&call, false);
        self.event(event);
    }

    fn call(&mut self, call: Call, _: Vec<StreamEnd>) {
        let event = self.events.ended(&call, true);
        self.event(event);
    }

    fn stream(&mut self, _: StreamEnd) {}
    fn registration(&mut self, _: Registration) {}
    fn message(&mut self, _: Message) {}

    fn progress(&mut self, phase: CallPhase, number: CallNumber, call: &Call) {
        let event = self.events.progress(phase, number, call);
        self.event(event);
    }

    fn interval(&mut self, seen: &IntervalSeen<'_>) {
        let event = self.events.interval(seen);
        self.event(Some(event));
    }

    fn registration_attempt(&mut self, attempt: &RegistrationAttempt<'_>) {
        let event = self.events.registration(attempt);
        self.event(Some(event));
    }
}

impl Listener for Live<'_> {}

/// How far the clock of a replay steps at once.
const STEP: Nanos = Nanos::from_secs(1);
/// Records that are read at once: those of this time.
const CHUNK: Nanos = Nanos::from_secs(600);
/// How much time is judged between two remarks.
const TELL: Nanos = Nanos::from_secs(86_400);
/// Attempts to register of one record that are judged one by one.
const MOST_ATTEMPTS: u32 = 1_000;
