//! What is counted of the calls of one key.

use std::collections::BTreeMap;

use ringtap_model::{Call, CallState, Nanos, Registration, RegistrationState, Stream};

use crate::bytes::{Bytes, put};
use crate::occupancy::Occupancy;
use crate::sketch::Sketch;

/// Something that is measured of each call or stream, and kept as a [`Sketch`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// First INVITE to first 18x, or 2xx where there is none, in milliseconds.
    PostDialDelay,
    /// First INVITE to final failure, in milliseconds.
    FailureDelay,
    /// First INVITE to first 1xx, in milliseconds.
    TryingDelay,
    /// First INVITE to first 2xx, in milliseconds.
    AnswerTime,
    /// BYE to its answer, in milliseconds.
    DisconnectDelay,
    /// Answer to release, in milliseconds.
    Duration,
    /// Mean over a registration of REGISTER to its 200, in milliseconds.
    RegistrationDelay,
    /// MOS-LQ of a stream.
    Mos,
    /// Loss of a stream in percent.
    Loss,
    /// Mean jitter of a stream in milliseconds.
    Jitter,
    /// Round trip of a stream in milliseconds.
    RoundTrip,
}

/// How many there are.
const MEASURES: usize = Measure::RoundTrip as usize + 1;

/// How a call went, as far as figures need it: times of its messages, and what was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CallTimes {
    /// How far it had come.
    pub state: CallState,
    /// Final code of its INVITE, 0 for none.
    pub code: u16,
    /// First INVITE; None where it was not seen.
    pub invite: Option<Nanos>,
    /// First 100.
    pub trying: Option<Nanos>,
    /// First 18x.
    pub ringing: Option<Nanos>,
    /// First 2xx.
    pub answer: Option<Nanos>,
    /// When it was released, or failed.
    pub end: Option<Nanos>,
    /// Post-dial delay in milliseconds.
    pub pdd_ms: Option<f64>,
    /// Session disconnect delay in milliseconds.
    pub sdd_ms: Option<f64>,
    /// Answer to release, in milliseconds.
    pub duration_ms: Option<f64>,
}

impl CallTimes {
    /// Of a record.
    pub fn of(call: &Call) -> Self {
        Self {
            state: call.state,
            code: if call.final_code < 700 { call.final_code } else { 0 },
            invite: call.invite,
            trying: call.trying,
            ringing: call.ringing,
            answer: call.answer,
            end: call.end,
            pdd_ms: call.pdd_ms,
            sdd_ms: call.sdd_ms,
            duration_ms: call.duration_ms,
        }
    }
}

/// What a call gives to each key that it has: at once, when it is over, or when it is answered and again
/// when it is released.
#[derive(Clone, Debug, PartialEq)]
pub struct CallFacts {
    code: u16,
    counted: bool,
    begun: bool,
    completed: bool,
    short: bool,
    drops: u64,
    values: [Option<f64>; 7],
    span: Option<(Nanos, Nanos)>,
}

impl CallFacts {
    pub(crate) fn of(call: &Call, streams: &[Stream], short: Nanos) -> Self {
        let last = streams.iter().map(|stream| stream.last).max();
        Self {
            drops: call.capture_drops,
            span: call.invite.zip(call.end.or(last)),
            ..Self::whole(&CallTimes::of(call), short)
        }
    }

    /// All that a call gives which is over; `short` is the longest short call.
    pub fn whole(call: &CallTimes, short: Nanos) -> Self {
        let since = |to: Option<Nanos>| {
            let (from, to) = (call.invite?.micros(), to?.micros());
            (to >= from).then(|| (to - from) as f64 / 1e3)
        };
        let code = call.code;
        let answered = (200..300).contains(&code);
        let failed = call.state == CallState::Failed && code >= 400 && !matches!(code, 401 | 402 | 407);
        let first = [call.trying, call.ringing, call.answer].into_iter().flatten().min();
        let duration = call.duration_ms.filter(|_| answered);
        Self {
            code,
            counted: true,
            begun: call.invite.is_some(),
            completed: call.state == CallState::Completed,
            short: duration.is_some_and(|duration| duration <= short.millis_f64()),
            drops: 0,
            values: [
                call.pdd_ms,
                since(call.end.filter(|_| failed)),
                since(first),
                since(call.answer),
                call.sdd_ms,
                duration,
                None,
            ],
            span: None,
        }
    }

    /// The part of it that is known when the call is answered: the attempt, and the delays of the set-up.
    pub fn at_answer(mut self) -> Self {
        (self.completed, self.short) = (false, false);
        self.values[Measure::DisconnectDelay as usize] = None;
        self.values[Measure::Duration as usize] = None;
        self
    }

    /// What [`at_answer`](Self::at_answer) left out.
    pub fn after_answer(mut self) -> Self {
        self.counted = false;
        self.values[..=Measure::AnswerTime as usize].fill(None);
        self
    }
}

/// Counts and distributions of the calls of one key. Two cells merge into the one that all their calls would
/// have made: in any order, in any grouping.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// Call attempts by final code, 0 for none.
    pub codes: BTreeMap<u16, u64>,
    /// Calls of which the INVITE was not seen: they are no attempts.
    pub begun_before: u64,
    /// Attempts that were answered, then released.
    pub completed: u64,
    /// Answered calls that were short.
    pub short: u64,
    /// Attempts from the same number to the same number as another within the time before.
    pub repeated: u64,
    /// Attempts to register that ended.
    pub registrations: u64,
    /// Those that failed.
    pub registrations_failed: u64,
    /// Most packets that the monitor lost during one of the calls.
    pub capture_drops: u64,
    /// Packets of the streams.
    pub packets: u64,
    sketches: [Sketch; MEASURES],
    /// Calls in progress.
    pub occupancy: Occupancy,
}

impl Cell {
    /// The distribution of a measure.
    pub fn sketch(&self, measure: Measure) -> &Sketch {
        &self.sketches[measure as usize]
    }

    /// Call attempts.
    pub fn attempts(&self) -> u64 {
        self.codes.values().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Share of the packets that the monitor is known to have lost, 0 to 1: a lower bound.
    pub fn capture_loss(&self) -> f64 {
        self.capture_drops as f64 / self.packets.saturating_add(self.capture_drops).max(1) as f64
    }

    /// Adds a call, or what is known of it at one moment.
    pub fn call(&mut self, call: &CallFacts, with_occupancy: bool) {
        self.capture_drops = self.capture_drops.max(call.drops);
        for (value, sketch) in call.values.iter().zip(&mut self.sketches) {
            value.iter().for_each(|value| sketch.add(*value));
        }
        if !call.begun {
            self.begun_before += u64::from(call.counted);
            return;
        }
        if call.counted {
            *self.codes.entry(call.code).or_default() += 1;
        }
        self.completed += u64::from(call.completed);
        self.short += u64::from(call.short);
        if let Some((from, to)) = call.span.filter(|_| with_occupancy) {
            self.occupancy.add(from, to);
        }
    }

    pub(crate) fn stream(&mut self, stream: &Stream) {
        let expected = stream.unique.saturating_add(stream.lost);
        let loss = (expected > 0).then(|| 100.0 * stream.lost as f64 / expected as f64);
        let values = [
            (Measure::Mos, stream.mos),
            (Measure::Loss, loss),
            (Measure::Jitter, stream.jitter_ms_mean),
            (Measure::RoundTrip, stream.rtt_ms),
        ];
        for (measure, value) in values {
            value.iter().for_each(|value| self.sketches[measure as usize].add(*value));
        }
        self.packets = self.packets.saturating_add(stream.packets);
    }

    pub(crate) fn registration(&mut self, registration: &Registration) {
        let refused = registration.state == RegistrationState::Refused;
        let attempts = u64::from(registration.attempts.unwrap_or(1));
        let failed = u64::from(registration.failed.unwrap_or(refused.into()));
        self.registrations = self.registrations.saturating_add(attempts);
        self.registrations_failed = self.registrations_failed.saturating_add(failed.min(attempts));
        let sketch = &mut self.sketches[Measure::RegistrationDelay as usize];
        registration.rrd_ms_mean.iter().for_each(|delay| sketch.add(*delay));
    }

    /// Adds an interval of a stream, as a stream of its length would count.
    pub fn interval(&mut self, mos: Option<f64>, packets: u64, lost: u64, jitter_ms: f64) {
        let expected = packets.saturating_add(lost);
        let loss = (expected > 0).then(|| 100.0 * lost as f64 / expected as f64);
        // A stream without packets has no jitter.
        let jitter = (packets > 0).then_some(jitter_ms);
        for (measure, value) in [(Measure::Mos, mos), (Measure::Loss, loss), (Measure::Jitter, jitter)] {
            value.iter().for_each(|value| self.sketches[measure as usize].add(*value));
        }
        self.packets = self.packets.saturating_add(packets);
    }

    /// Adds one attempt to register, with the time from REGISTER to 200 in milliseconds.
    pub fn registration_attempt(&mut self, failed: bool, delay_ms: Option<f64>) {
        self.registrations = self.registrations.saturating_add(1);
        self.registrations_failed = self.registrations_failed.saturating_add(failed.into());
        let sketch = &mut self.sketches[Measure::RegistrationDelay as usize];
        delay_ms.iter().for_each(|delay| sketch.add(*delay));
    }

    /// Takes back what [`merge`](Self::merge) added of a cell. Capture drops are a maximum, so they stay, and
    /// so do calls in progress.
    pub fn subtract(&mut self, other: &Self) {
        for (code, count) in &other.codes {
            if let Some(sum) = self.codes.get_mut(code) {
                *sum = sum.saturating_sub(*count);
            }
        }
        self.codes.retain(|_, count| *count > 0);
        for (count, other) in self.counts_mut().into_iter().zip(other.counts()) {
            *count = count.saturating_sub(other);
        }
        for (sketch, other) in self.sketches.iter_mut().zip(&other.sketches) {
            sketch.subtract(other);
        }
    }

    /// Adds the calls of another.
    pub fn merge(&mut self, other: &Self) {
        for (code, count) in &other.codes {
            let sum = self.codes.entry(*code).or_default();
            *sum = sum.saturating_add(*count);
        }
        for (count, other) in self.counts_mut().into_iter().zip(other.counts()) {
            *count = count.saturating_add(other);
        }
        self.capture_drops = self.capture_drops.max(other.capture_drops);
        for (sketch, other) in self.sketches.iter_mut().zip(&other.sketches) {
            sketch.merge(other);
        }
        self.occupancy.merge(&other.occupancy);
    }

    fn counts(&self) -> [u64; 7] {
        [
            self.begun_before,
            self.completed,
            self.short,
            self.repeated,
            self.registrations,
            self.registrations_failed,
            self.packets,
        ]
    }

    fn counts_mut(&mut self) -> [&mut u64; 7] {
        [
            &mut self.begun_before,
            &mut self.completed,
            &mut self.short,
            &mut self.repeated,
            &mut self.registrations,
            &mut self.registrations_failed,
            &mut self.packets,
        ]
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        put(out, self.codes.len() as u64);
        for (code, count) in &self.codes {
            put(out, u64::from(*code));
            put(out, *count);
        }
        self.counts().into_iter().chain([self.capture_drops]).for_each(|count| put(out, count));
        self.sketches.iter().for_each(|sketch| sketch.write(out));
        self.occupancy.write(out);
    }

    pub(crate) fn read(bytes: &mut Bytes<'_>) -> Option<Self> {
        let mut cell = Self::default();
        for _ in 0..bytes.length()? {
            let code = u16::try_from(bytes.number()?).ok()?;
            cell.codes.insert(code, bytes.number()?);
        }
        for count in cell.counts_mut() {
            *count = bytes.number()?;
        }
        cell.capture_drops = bytes.number()?;
        for sketch in &mut cell.sketches {
            *sketch = Sketch::read(bytes)?;
        }
        cell.occupancy = Occupancy::read(bytes)?;
        Some(cell)
    }
}
