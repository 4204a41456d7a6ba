//! All calls of a scenario, frame by frame in order of time.

use ringtap_model::Nanos;

use crate::background::Background;
use crate::batch::Batch;
use crate::error::Error;
use crate::frame::Framer;
use crate::plan::{self, NewSession};
use crate::queue::{AHEAD, Queue, ScheduledFrame};
use crate::rng::Rng;
use crate::scenario::Scenario;
use crate::sender::Sounds;
use crate::session::Session;
use crate::slab::Slab;
use crate::stream::Stream;
use crate::truth::{Records, SummaryTruth, Truth};

/// The frames of a scenario. Memory depends on the active calls only, not on the length of the traffic.
#[derive(Debug)]
pub struct Traffic {
    scenario: Scenario,
    sounds: Sounds,
    framer: Framer,
    calls: Arrivals,
    registrations: Arrivals,
    background: Background,
    /// The next frame of every source of every session.
    queue: Queue,
    /// Frames left until [`Self::look_ahead`] touches memory again.
    ahead: u32,
    sessions: Slab<Session>,
    streams: Slab<Stream>,
    records: Records,
    summary: SummaryTruth,
    /// Whether the summary record was made.
    ended: bool,
    /// Earliest capture time, see [`Self::fill_due`].
    now: Nanos,
}

/// Arrivals of a Poisson process.
#[derive(Debug)]
struct Arrivals {
    rng: Rng,
    /// Mean time between two, in seconds.
    mean: f64,
    next: Nanos,
    begun: u64,
    total: u64,
    /// No arrival is later.
    until: Nanos,
}

impl Arrivals {
    fn new(rng: Rng, scenario: &Scenario, mean: f64, total: u64) -> Self {
        let until = scenario.duration.map_or(Nanos::MAX, |duration| scenario.start + duration);
        let mut arrivals = Self { rng, mean, next: scenario.start, begun: 0, total, until };
        arrivals.step();
        arrivals
    }

    fn step(&mut self) {
        self.next += Nanos::from_micros((self.rng.exponential() * self.mean * 1e6) as u64);
    }

    fn due(&self) -> Option<Nanos> {
        (self.begun < self.total && self.next <= self.until).then_some(self.next)
    }

    /// Returns the number and time of the next arrival.
    fn next_arrival(&mut self) -> (u64, Nanos) {
        let arrival = (self.begun, self.next);
        self.begun += 1;
        self.step();
        arrival
    }
}

impl Traffic {
    /// Prepares the traffic of a scenario.
    ///
    /// # Errors
    ///
    /// The values of the scenario are inconsistent.
    pub fn new(scenario: Scenario) -> Result<Self, Error> {
        scenario.check()?;
        let Scenario { seed, start, calls, registrations, rate, .. } = scenario;
        // Registrations are spread over the time of the calls; without calls, at the same rate.
        let spread = if calls > 0 && registrations > 0 { calls as f64 / registrations as f64 } else { 1.0 };
        Ok(Self {
            sounds: Sounds::new(scenario.voice.clone(), seed),
            framer: Framer::default(),
            calls: Arrivals::new(Rng::new(seed, 1), &scenario, 1.0 / rate, calls),
            registrations: Arrivals::new(Rng::new(seed, 2), &scenario, spread / rate, registrations),
            background: Background::new(&scenario),
            queue: Queue::new(start),
            ahead: 0,
            sessions: Slab::new(),
            streams: Slab::new(),
            records: Records::new(),
            summary: SummaryTruth::default(),
            ended: false,
            now: Nanos::ZERO,
            scenario,
        })
    }

    /// The next frame, from its Ethernet header on, and its capture time; None when all calls have ended.
    /// Times never decrease, and are whole microseconds.
    #[expect(clippy::should_implement_trait, reason = "the frame borrows from the generator")]
    pub fn next(&mut self) -> Option<(Nanos, &[u8])> {
        let at = self.step()?;
        Some((at, self.framer.frame()))
    }

    /// Appends frames to a batch until it is full or the traffic has ended; returns their number.
    pub fn fill(&mut self, batch: &mut Batch) -> usize {
        let before = batch.len();
        while batch.has_room() {
            let Some(at) = self.step() else { break };
            batch.push(at, self.framer.frame());
        }
        batch.len() - before
    }

    /// Appends the frames that are due at `now`, as far as the batch has room, and returns when the next
    /// frame is due; None when the traffic has ended. Their capture time is `now`: if each batch is sent at
    /// once, the truth has the times on the wire, even if frames are late. `now` must not decrease.
    pub fn fill_due(&mut self, now: Nanos, batch: &mut Batch) -> Option<Nanos> {
        self.now = now;
        loop {
            let due = self.due();
            match due {
                Some(at) if at <= now && batch.has_room() => {
                    let Some(at) = self.step() else { break None };
                    batch.push(at, self.framer.frame());
                }
                Some(_) => break due,
                None => {
                    self.end();
                    break None;
                }
            }
        }
    }

    /// Records completed since the last call: those of each call and registration after its last frame, and
    /// the summary at the end. Call it regularly, so that they do not accumulate.
    pub fn truth(&mut self) -> impl Iterator<Item = Truth> {
        self.records.drain(..)
    }

    /// Calls that have begun.
    pub fn calls(&self) -> u64 {
        self.calls.begun
    }

    /// Registrations that have begun.
    pub fn registrations(&self) -> u64 {
        self.registrations.begun
    }

    /// Calls and registrations in progress.
    pub fn active_sessions(&self) -> usize {
        self.sessions.len()
    }

    /// Earliest time of the first frame.
    pub fn start(&self) -> Nanos {
        self.scenario.start
    }

    /// Summary of the frames so far.
    pub fn summary(&self) -> &SummaryTruth {
        &self.summary
    }

    /// Time of the next frame.
    fn due(&mut self) -> Option<Nanos> {
        self.admit();
        let scheduled = self.queue.next_at();
        match (scheduled, self.background.next_at()) {
            (Some(scheduled), Some(background)) => Some(scheduled.min(background)),
            (None, Some(background)) => Some(background)
                .filter(|at| self.scenario.duration.is_some_and(|d| *at < self.scenario.start + d)),
            (scheduled, None) => scheduled,
        }
    }

    /// Writes the next frame and returns its time.
    // HOT: once for each frame.
    fn step(&mut self) -> Option<Nanos> {
        self.admit();
        let scheduled = self.queue.next_at();
        if let Some(at) = self.background_before(scheduled) {
            return Some(at);
        }
        let Some(ScheduledFrame { at, source, .. }) = self.queue.pop() else {
            self.end();
            return None;
        };
        self.look_ahead();
        let late = self.now - at;
        match source & KIND {
            STREAM => {
                let stream = &mut self.streams[source];
                stream.emit(late, &self.scenario, &self.sounds, &mut self.framer);
                self.summary.rtp += 1;
                let (next, session) = (stream.next_at(), stream.session);
                self.reschedule(next, source, session);
            }
            SIGNALLING => {
                let session = &mut self.sessions[source & !KIND];
                session.signal(late, &mut self.framer);
                self.summary.signalling += 1;
                let next = session.next_at();
                self.reschedule(next, source, source & !KIND);
            }
            _ => {
                let session = &mut self.sessions[source & !KIND];
                session.report(&self.streams, &mut self.framer);
                self.summary.rtcp += 1;
                let next = session.next_report_at();
                self.reschedule(next, source, source & !KIND);
            }
        }
        self.sent(at);
        Some(at)
    }

    /// Touches the memory that the next frames need, so that cache misses overlap: with 100,000 streams, each
    /// access misses the cache.
    fn look_ahead(&mut self) {
        if self.ahead > 0 {
            self.ahead -= 1;
            return;
        }
        let streams = self.queue.upcoming().filter(|source| source & KIND == STREAM);
        let read = streams.fold(0, |sum: u64, source| sum.wrapping_add(self.streams[source].touch()));
        std::hint::black_box(read);
        self.ahead = AHEAD as u32 - 1;
    }

    /// Counts the frame that was written.
    fn sent(&mut self, at: Nanos) {
        let at = at.max(self.now);
        let Self { summary, framer, .. } = self;
        if summary.frames == 0 {
            summary.first = at;
        }
        summary.frames += 1;
        summary.bytes += framer.frame().len() as u64;
        summary.last = at;
    }

    /// Writes a packet of no call if it comes before the next scheduled frame.
    fn background_before(&mut self, scheduled: Option<Nanos>) -> Option<Nanos> {
        let at = self.background.next_at()?;
        // Without one, other traffic continues until its end.
        let end = scheduled.or_else(|| Some(self.scenario.start + self.scenario.duration?))?;
        if at >= end {
            return None;
        }
        self.background.emit(&mut self.framer, &mut self.summary);
        self.sent(at);
        Some(at)
    }

    /// Schedules the next frame of a source, or removes a source that has ended, and its session with the
    /// last.
    fn reschedule(&mut self, next: Option<Nanos>, source: u32, session: u32) {
        if let Some(next) = next {
            return self.queue.push(next, source);
        }
        let ended = &mut self.sessions[session];
        ended.live -= 1;
        if ended.live > 0 {
            return;
        }
        if let Some(ended) = self.sessions.remove(session) {
            let known = self.records.len();
            ended.truth(&self.streams, &mut self.records);
            self.records.range(known..).for_each(|record| self.summary.count(record));
            for stream in ended.streams() {
                self.streams.remove(stream);
            }
        }
    }

    /// Ends the traffic.
    #[cold]
    fn end(&mut self) {
        if !std::mem::replace(&mut self.ended, true) {
            self.records.push_back(Truth::Summary(self.summary.clone()));
        }
    }

    /// Starts the calls and registrations that begin before the next frame.
    fn admit(&mut self) {
        loop {
            let (call, registration) = (self.calls.due(), self.registrations.due());
            let Some(next) = call.into_iter().chain(registration).min() else { return };
            if self.queue.next_at().is_some_and(|at| at < next) {
                return;
            }
            let new_session = if call == Some(next) {
                let (number, at) = self.calls.next_arrival();
                plan::call(&self.scenario, number, at)
            } else {
                let (number, at) = self.registrations.next_arrival();
                plan::registration(&self.scenario, number, at)
            };
            self.add_session(new_session);
        }
    }

    fn add_session(&mut self, new_session: NewSession) {
        let NewSession { session, streams } = new_session;
        let index = self.sessions.insert(session);
        let session = &mut self.sessions[index];
        let signalling = session.next_at().map(|at| (at, index | SIGNALLING));
        let reports = session.next_report_at().map(|at| (at, index | REPORTS));
        for (at, source) in signalling.into_iter().chain(reports) {
            self.queue.push(at, source);
            session.live += 1;
        }
        for (mut stream, fork) in streams {
            stream.session = index;
            let (at, side) = (stream.next_at(), stream.sender().side);
            let number = self.streams.insert(stream);
            session.add(number, side, fork);
            // A stream that loses every packet has no frames.
            if let Some(at) = at {
                self.queue.push(at, number | STREAM);
                session.live += 1;
            }
        }
    }
}

/// The kind of a source, in its two highest bits; its number is in the others.
const KIND: u32 = 3 << 30;
const STREAM: u32 = 0;
const SIGNALLING: u32 = 1 << 30;
const REPORTS: u32 = 2 << 30;
