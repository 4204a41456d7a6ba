//! A team of engines in lockstep, each in a thread of its own: the records of one engine, sooner.
//!
//! The thread that reads shares frames out and takes records; meanwhile the workers have the batch before.
//! They meet after each stage, at a barrier that also tells whether any has more to do.

use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, Scope};

use anyhow::anyhow;
use ringtap_engine::team::{self, BatchCutter, ClockTick, Stage, assign};
use ringtap_engine::{Config, Counters, Engine, Sink, StreamEnd};
use ringtap_model::{Call, Frame, Message, Registration};

/// Frames that the workers handle between two meetings: enough that meeting costs little.
const BATCH: usize = 8192;
/// Batches that wait for a worker.
const AHEAD: usize = 2;
/// How often a worker looks whether the others have come before it lets others have the core.
const SPINS: u32 = 2000;

/// What a worker found.
enum Record {
    Call(Box<Call>, Vec<StreamEnd>),
    Stream(Box<StreamEnd>),
    Registration(Box<Registration>),
    Message(Box<Message>),
}

/// Keeps what was found, in its order.
#[derive(Default)]
struct Found(Vec<Record>);

impl Sink for Found {
    fn call(&mut self, call: Call, streams: Vec<StreamEnd>) {
        self.0.push(Record::Call(Box::new(call), streams));
    }
    fn stream(&mut self, stream: StreamEnd) {
        self.0.push(Record::Stream(Box::new(stream)));
    }
    fn registration(&mut self, registration: Registration) {
        self.0.push(Record::Registration(Box::new(registration)));
    }
    fn message(&mut self, message: Message) {
        self.0.push(Record::Message(Box::new(message)));
    }
}

impl Record {
    fn tell<S: Sink>(self, sink: &mut S) {
        match self {
            Self::Call(call, streams) => sink.call(*call, streams),
            Self::Stream(stream) => sink.stream(*stream),
            Self::Registration(registration) => sink.registration(*registration),
            Self::Message(message) => sink.message(*message),
        }
    }
}

/// One worker's part of a batch.
#[derive(Default)]
struct Job<'a> {
    tick: Option<ClockTick>,
    /// Whether any worker has some.
    has_fragments: bool,
    fragments: Vec<Frame<'a>>,
    frames: Vec<Frame<'a>>,
}

/// What comes back of it; with the last, what the worker counted.
struct Done {
    found: Vec<Record>,
    counters: Option<Box<Counters>>,
}

struct Worker<'a> {
    jobs: SyncSender<Job<'a>>,
    done: Receiver<Done>,
}

/// Worker threads, fed from the thread that reads.
pub(super) struct Team<'a> {
    workers: Vec<Worker<'a>>,
    cutter: BatchCutter,
    tick: Option<ClockTick>,
    pending: Vec<Frame<'a>>,
    /// Batches whose records have not been taken yet.
    under_way: usize,
}

impl<'a> Team<'a> {
    /// Starts so many threads. They end when the team is closed, or dropped.
    pub(super) fn start<'scope>(workers: usize, scope: &'scope Scope<'scope, '_>) -> Self
    where
        'a: 'scope,
    {
        let engines = Engine::team(&Config::default(), workers);
        let meeting = Arc::new(Meeting::new(engines.len()));
        let start = |engine| {
            let (jobs, todo) = sync_channel(AHEAD);
            let (ready, done) = sync_channel(2 * AHEAD);
            let meeting = Arc::clone(&meeting);
            scope.spawn(move || work(engine, &todo, &ready, &meeting));
            Worker { jobs, done }
        };
        let workers = engines.into_iter().map(start).collect();
        Self { workers, cutter: BatchCutter::default(), tick: None, pending: Vec::new(), under_way: 0 }
    }

    /// Takes frames in order, whose numbers ascend; records come some batches later.
    pub(super) fn batch<S: Sink>(&mut self, frames: &[Frame<'a>], sink: &mut S) -> anyhow::Result<()> {
        for frame in frames {
            if let Some(tick) = self.cutter.next_frame(frame.time) {
                self.hand_out(sink)?;
                self.tick = Some(tick);
            } else if self.pending.len() >= BATCH {
                self.hand_out(sink)?;
            }
            self.pending.push(*frame);
        }
        Ok(())
    }

    /// Ends everything that is under way, and the threads; gives what all workers counted.
    pub(super) fn close<S: Sink>(mut self, sink: &mut S) -> anyhow::Result<Counters> {
        self.hand_out(sink)?;
        while self.under_way > 0 {
            self.take(sink)?;
        }
        let mut counters = Counters::default();
        let (jobs, done): (Vec<_>, Vec<_>) =
            self.workers.into_iter().map(|worker| (worker.jobs, worker.done)).unzip();
        drop(jobs);
        for done in &done {
            let Done { found, counters: counted } = done.recv().map_err(|_| died())?;
            found.into_iter().for_each(|record| record.tell(sink));
            counters += counted.as_deref().ok_or_else(died)?;
        }
        Ok(counters)
    }

    /// Shares the pending frames out.
    fn hand_out<S: Sink>(&mut self, sink: &mut S) -> anyhow::Result<()> {
        if self.pending.is_empty() && self.tick.is_none() {
            return Ok(());
        }
        let mut jobs: Vec<Job<'a>> = self.workers.iter().map(|_| Job::default()).collect();
        for frame in self.pending.drain(..) {
            let assignment = assign(&frame, jobs.len());
            let job = &mut jobs[assignment.worker];
            let list = if assignment.is_fragment { &mut job.fragments } else { &mut job.frames };
            list.push(frame);
        }
        let has_fragments = jobs.iter().any(|job| !job.fragments.is_empty());
        let tick = self.tick.take();
        for (worker, job) in self.workers.iter().zip(jobs) {
            worker.jobs.send(Job { tick, has_fragments, ..job }).map_err(|_| died())?;
        }
        self.under_way += 1;
        while self.under_way > AHEAD {
            self.take(sink)?;
        }
        Ok(())
    }

    /// Takes the records of the oldest batch.
    fn take<S: Sink>(&mut self, sink: &mut S) -> anyhow::Result<()> {
        for worker in &self.workers {
            let done = worker.done.recv().map_err(|_| died())?;
            done.found.into_iter().for_each(|record| record.tell(sink));
        }
        self.under_way -= 1;
        Ok(())
    }
}

fn died() -> anyhow::Error {
    anyhow!("a worker thread has failed; `--workers 1` reads the same input in one thread")
}

/// A worker's life: batches until there are no more, then the end of everything under way.
fn work(mut engine: Engine, todo: &Receiver<Job<'_>>, ready: &SyncSender<Done>, meeting: &Meeting) {
    let _guard = Guard(meeting);
    let mut place = Place::default();
    let mut sink = Found::default();
    for job in todo {
        team::batch(job.tick, job.has_fragments, |stage| {
            let frames = match stage {
                Stage::Fragments => &job.fragments[..],
                Stage::Decode => &job.frames[..],
                _ => &[],
            };
            meeting.any(&mut place, engine.stage(stage, frames, &mut sink))
        });
        let found = std::mem::take(&mut sink.0);
        if meeting.failed() || ready.send(Done { found, counters: None }).is_err() {
            // Nobody reads any more: nor shall the others wait.
            return meeting.failed.store(true, Relaxed);
        }
    }
    team::close(|stage| meeting.any(&mut place, engine.stage(stage, &[], &mut sink)));
    let counters = Some(Box::new(engine.counters().clone()));
    // Nobody waits any more where reading failed.
    let _ = ready.send(Done { found: sink.0, counters });
}

/// Where workers wait for each other.
struct Meeting {
    workers: usize,
    arrived: AtomicUsize,
    held: AtomicUsize,
    /// Whether anyone said yes, for this meeting, the next, and the one after that, which is made ready.
    yes: [AtomicBool; 3],
    /// A worker is gone: waiting for it would never end.
    failed: AtomicBool,
}

/// How many meetings a worker has been to.
#[derive(Default)]
struct Place(usize);

impl Meeting {
    fn new(workers: usize) -> Self {
        Self {
            workers,
            arrived: AtomicUsize::new(0),
            held: AtomicUsize::new(0),
            yes: [const { AtomicBool::new(false) }; 3],
            failed: AtomicBool::new(false),
        }
    }

    fn failed(&self) -> bool {
        self.failed.load(Relaxed)
    }

    /// Waits for all workers; true if `own` is, for any of them. False at once where a worker is gone.
    fn any(&self, place: &mut Place, own: bool) -> bool {
        let number = place.0;
        place.0 += 1;
        if own {
            self.yes[number % 3].store(true, Relaxed);
        }
        if self.arrived.fetch_add(1, AcqRel) + 1 == self.workers {
            // Nobody asks for the meeting after the next before this one is over.
            self.yes[(number + 2) % 3].store(false, Relaxed);
            self.arrived.store(0, Relaxed);
            self.held.store(number + 1, Release);
        }
        let mut spins = 0;
        while self.held.load(Acquire) <= number {
            if self.failed() {
                return false;
            }
            spins += 1;
            if spins < SPINS { std::hint::spin_loop() } else { thread::yield_now() }
        }
        self.yes[number % 3].load(Relaxed)
    }
}

/// Tells the others when a worker dies.
struct Guard<'a>(&'a Meeting);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.failed.store(true, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everyone_hears_the_same_at_every_meeting() {
        let meeting = Meeting::new(3);
        thread::scope(|scope| {
            for worker in 0..3 {
                let meeting = &meeting;
                scope.spawn(move || {
                    let mut place = Place::default();
                    for round in 0..3000 {
                        // Each says yes in some rounds, and in every fifth nobody does.
                        let own = round % 5 == worker + 1;
                        let anyone = (1..=3).contains(&(round % 5));
                        assert_eq!(meeting.any(&mut place, own), anyone, "round {round}");
                    }
                });
            }
        });
    }

    #[test]
    fn nobody_waits_for_the_dead() {
        let meeting = Meeting::new(2);
        meeting.failed.store(true, Relaxed);
        assert!(!meeting.any(&mut Place::default(), true));
    }
}
