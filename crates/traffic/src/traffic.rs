//! All calls together, frame by frame in order of time.

use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use ringtap_model::Nanos;

use crate::error::Error;
use crate::frame::Framer;
use crate::plan;
use crate::rng::Rng;
use crate::scenario::Scenario;
use crate::session::Session;
use crate::stream::Sounds;
use crate::truth::{Records, Truth};

/// The frames of a scenario. It holds the calls under way and nothing else, however long the traffic is.
#[derive(Debug)]
pub struct Traffic {
    scenario: Scenario,
    sounds: Sounds,
    framer: Framer,
    calls: Arrivals,
    registrations: Arrivals,
    /// The next frame of every source of every session.
    queue: BinaryHeap<Turn>,
    sessions: Vec<Slot>,
    free: Vec<u32>,
    turns: u64,
    records: Records,
}

/// A session and how many of its sources have not ended.
#[derive(Debug)]
struct Slot {
    session: Option<Session>,
    live: u8,
}

/// Whose turn it is when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Turn {
    at: Nanos,
    /// Of two at the same time the one that was entered first.
    order: u64,
    slot: u32,
    source: u8,
}

impl Ord for Turn {
    /// The heap gives the greatest: the earliest is that.
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (other.at, other.order).cmp(&(self.at, self.order))
    }
}

impl PartialOrd for Turn {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// A Poisson process: what comes independently, at a rate.
#[derive(Debug)]
struct Arrivals {
    rng: Rng,
    /// Between two, in seconds.
    mean: f64,
    next: Nanos,
    begun: u64,
    total: u64,
}

impl Arrivals {
    fn new(rng: Rng, start: Nanos, mean: f64, total: u64) -> Self {
        let mut arrivals = Self { rng, mean, next: start, begun: 0, total };
        arrivals.step();
        arrivals
    }

    fn step(&mut self) {
        self.next += Nanos::from_micros((self.rng.exponential() * self.mean * 1e6) as u64);
    }

    fn due(&self) -> Option<Nanos> {
        (self.begun < self.total).then_some(self.next)
    }

    /// The number and the time of the next.
    fn take(&mut self) -> (u64, Nanos) {
        let arrival = (self.begun, self.next);
        self.begun += 1;
        self.step();
        arrival
    }
}

impl Traffic {
    /// Traffic of that scenario.
    ///
    /// # Errors
    ///
    /// Where its values do not go together.
    pub fn new(scenario: Scenario) -> Result<Self, Error> {
        scenario.check()?;
        let Scenario { seed, start, calls, registrations, rate, .. } = scenario;
        // Registrations come while calls do; without calls, as often as those would.
        let spread = if calls > 0 && registrations > 0 { calls as f64 / registrations as f64 } else { 1.0 };
        Ok(Self {
            sounds: Sounds::new(scenario.voice.clone(), seed),
            framer: Framer::default(),
            calls: Arrivals::new(Rng::new(seed, 1), start, 1.0 / rate, calls),
            registrations: Arrivals::new(Rng::new(seed, 2), start, spread / rate, registrations),
            queue: BinaryHeap::new(),
            sessions: Vec::new(),
            free: Vec::new(),
            turns: 0,
            records: Records::new(),
            scenario,
        })
    }

    /// The next frame, from its Ethernet header on, and when it is captured; None when all calls have ended. Times never go
    /// back, and are whole microseconds.
    #[expect(clippy::should_implement_trait, reason = "the frame borrows from the generator")]
    pub fn next(&mut self) -> Option<(Nanos, &[u8])> {
        self.admit();
        let mut top = self.queue.peek_mut()?;
        let Turn { at, slot, source, .. } = *top;
        let entry = &mut self.sessions[slot as usize];
        // INVARIANT: a slot with a turn in the queue has its session.
        let session = entry.session.as_mut()?;
        session.emit(source, &self.sounds, &mut self.framer);
        match session.next_at(source) {
            Some(next) => {
                self.turns += 1;
                (top.at, top.order) = (next, self.turns);
            }
            None => {
                PeekMut::pop(top);
                entry.live -= 1;
                if entry.live == 0 {
                    self.free.push(slot);
                    if let Some(session) = entry.session.take() {
                        session.truth(&mut self.records);
                    }
                }
            }
        }
        Some((at, self.framer.frame()))
    }

    /// Records that have become complete since the last time: those of each call and registration once its last frame has
    /// been given. Taking them now and then keeps them from gathering.
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

    /// Calls and registrations that have begun and not ended.
    pub fn under_way(&self) -> usize {
        self.sessions.len() - self.free.len()
    }

    /// Begins what comes before the next frame.
    fn admit(&mut self) {
        loop {
            let (call, registration) = (self.calls.due(), self.registrations.due());
            let Some(next) = call.into_iter().chain(registration).min() else { return };
            if self.queue.peek().is_some_and(|turn| turn.at < next) {
                return;
            }
            let session = if call == Some(next) {
                let (number, at) = self.calls.take();
                plan::call(&self.scenario, number, at)
            } else {
                let (number, at) = self.registrations.take();
                plan::registration(&self.scenario, number, at)
            };
            self.enter(session);
        }
    }

    fn enter(&mut self, session: Session) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.sessions.push(Slot { session: None, live: 0 });
            (self.sessions.len() - 1) as u32
        });
        let mut live = 0;
        for source in 0..session.sources() {
            // A stream that loses every packet has no turn.
            let Some(at) = session.next_at(source) else { continue };
            self.turns += 1;
            self.queue.push(Turn { at, order: self.turns, slot, source });
            live += 1;
        }
        self.sessions[slot as usize] = Slot { session: Some(session), live };
    }
}
