//! A team of engines in lockstep, one per thread: the records of a single engine, in less time.
//!
//! The reading thread distributes frames and collects records, while the workers process the batch before.
//! The workers meet after each stage at a barrier, which also tells whether any of them has more to do.

use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, Scope};

use anyhow::anyhow;
use ringtap_capture::OwnedFrames;
use ringtap_engine::team::{self, BatchCutter, ClockTick, Stage, assign};
use ringtap_engine::{Config, Counters, Engine, Sink, StreamEnd};
use ringtap_model::{Call, Frame, Id, Message, Registration};

/// Frames in a batch of the team: enough to make the barriers cheap.
const BATCH: usize = 8192;
/// Batches that wait for a worker.
const AHEAD: usize = 2;
/// How often a worker checks the barrier before it yields the core.
const SPINS: u32 = 2000;

/// A record of a worker.
enum Record {
    Call(Box<Call>, Vec<StreamEnd>),
    Stream(Box<StreamEnd>),
    Registration(Box<Registration>),
    Message(Box<Message>),
}

/// Collects records in order.
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
    /// Its place among the records of a batch. Which worker made it depends on the seed of the hashes, and
    /// tells nothing.
    fn place(&self) -> (u8, u64, Id) {
        match self {
            Self::Call(call, _) => (0, call.invite.unwrap_or_default().0, call.id),
            Self::Stream(stream) => (1, stream.serial, stream.record.id),
            Self::Registration(registration) => (2, registration.first.0, registration.id),
            Self::Message(message) => (3, message.time.0, message.id),
        }
    }

    fn pass_to<S: Sink>(self, sink: &mut S) {
        match self {
            Self::Call(call, streams) => sink.call(*call, streams),
            Self::Stream(stream) => sink.stream(*stream),
            Self::Registration(registration) => sink.registration(*registration),
            Self::Message(message) => sink.message(*message),
        }
    }
}

/// One worker's share of a batch. The frames are copies: the reading thread reads on meanwhile.
#[derive(Default)]
struct Job {
    tick: Option<ClockTick>,
    /// Whether any worker of the team has fragments.
    has_fragments: bool,
    fragments: OwnedFrames,
    frames: OwnedFrames,
}

/// The result of a job; the last one has the worker's counters.
struct Done {
    found: Vec<Record>,
    counters: Option<Box<Counters>>,
}

struct Worker {
    jobs: SyncSender<Job>,
    done: Receiver<Done>,
}

/// Worker threads, and the reading thread's connections to them.
pub(super) struct Team {
    workers: Vec<Worker>,
    cutter: BatchCutter,
    tick: Option<ClockTick>,
    /// The next job of each worker, and the number of frames in all of them.
    pending: Vec<Job>,
    frames: usize,
    /// Batches whose records have not been collected yet.
    in_flight: usize,
}

impl Team {
    /// Starts the threads. They end when the team is closed or dropped.
    pub(super) fn start<'scope>(config: &Config, workers: usize, scope: &'scope Scope<'scope, '_>) -> Self {
        let engines = Engine::team(config, workers);
        let barrier = Arc::new(StageBarrier::new(engines.len()));
        let start = |engine| {
            let (jobs, todo) = sync_channel(AHEAD);
            let (ready, done) = sync_channel(2 * AHEAD);
            let barrier = Arc::clone(&barrier);
            scope.spawn(move || work(engine, &todo, &ready, &barrier));
            Worker { jobs, done }
        };
        let workers: Vec<Worker> = engines.into_iter().map(start).collect();
        let pending = workers.iter().map(|_| Job::default()).collect();
        Self { workers, cutter: BatchCutter::default(), tick: None, pending, frames: 0, in_flight: 0 }
    }

    /// Processes frames, whose numbers must ascend; their records come some batches later.
    pub(super) fn batch<S: Sink>(&mut self, frames: &[Frame<'_>], sink: &mut S) -> anyhow::Result<()> {
        for frame in frames {
            if let Some(tick) = self.cutter.next_frame(frame.time) {
                self.distribute(sink)?;
                self.tick = Some(tick);
            } else if self.frames >= BATCH {
                self.distribute(sink)?;
            }
            let assignment = assign(frame, self.pending.len());
            let job = &mut self.pending[assignment.worker];
            let list = if assignment.is_fragment { &mut job.fragments } else { &mut job.frames };
            list.push(frame);
            self.frames += 1;
        }
        Ok(())
    }

    /// Completes all batches, ends the threads, and returns the sum of their counters.
    pub(super) fn close<S: Sink>(mut self, sink: &mut S) -> anyhow::Result<Counters> {
        self.distribute(sink)?;
        while self.in_flight > 0 {
            self.collect(sink)?;
        }
        let mut counters = Counters::default();
        let (jobs, done): (Vec<_>, Vec<_>) =
            self.workers.into_iter().map(|worker| (worker.jobs, worker.done)).unzip();
        drop(jobs);
        let mut records = Vec::new();
        for done in &done {
            let Done { found, counters: counted } = done.recv().map_err(|_| worker_failed())?;
            records.extend(found);
            counters += counted.as_deref().ok_or_else(worker_failed)?;
        }
        pass_in_order(records, sink);
        Ok(counters)
    }

    /// Distributes the pending frames to the workers.
    fn distribute<S: Sink>(&mut self, sink: &mut S) -> anyhow::Result<()> {
        if self.frames == 0 && self.tick.is_none() {
            return Ok(());
        }
        let has_fragments = self.pending.iter().any(|job| !job.fragments.is_empty());
        let tick = self.tick.take();
        for (worker, pending) in self.workers.iter().zip(&mut self.pending) {
            let job = Job { tick, has_fragments, ..std::mem::take(pending) };
            worker.jobs.send(job).map_err(|_| worker_failed())?;
        }
        self.frames = 0;
        self.in_flight += 1;
        while self.in_flight > AHEAD {
            self.collect(sink)?;
        }
        Ok(())
    }

    /// Collects the records of the oldest batch.
    fn collect<S: Sink>(&mut self, sink: &mut S) -> anyhow::Result<()> {
        let mut records = Vec::new();
        for worker in &self.workers {
            records.extend(worker.done.recv().map_err(|_| worker_failed())?.found);
        }
        pass_in_order(records, sink);
        self.in_flight -= 1;
        Ok(())
    }
}

/// Passes the records of all workers on, in an order that depends on the input alone.
fn pass_in_order<S: Sink>(mut records: Vec<Record>, sink: &mut S) {
    records.sort_by_key(Record::place);
    records.into_iter().for_each(|record| record.pass_to(sink));
}

fn worker_failed() -> anyhow::Error {
    anyhow!("a worker thread panicked: read the input in one thread with `--workers 1`, and report the bug")
}

/// Runs a worker: processes batches until there are no more, then closes its engine.
fn work(mut engine: Engine, todo: &Receiver<Job>, ready: &SyncSender<Done>, barrier: &StageBarrier) {
    let _guard = Guard(barrier);
    let mut round = Round::default();
    let mut sink = Found::default();
    for job in todo {
        let [fragments, whole] =
            [&job.fragments, &job.frames].map(|frames| frames.iter().collect::<Vec<_>>());
        team::batch(job.tick, job.has_fragments, |stage| {
            let frames = match stage {
                Stage::Fragments => &fragments[..],
                Stage::Decode => &whole[..],
                _ => &[],
            };
            barrier.any(&mut round, engine.stage(stage, frames, &mut sink))
        });
        let found = std::mem::take(&mut sink.0);
        if barrier.failed() || ready.send(Done { found, counters: None }).is_err() {
            // Nobody reads the records any more, so the other workers must not wait either.
            return barrier.failed.store(true, Relaxed);
        }
    }
    team::close(|stage| barrier.any(&mut round, engine.stage(stage, &[], &mut sink)));
    let counters = Some(Box::new(engine.counters().clone()));
    // Nobody receives this if reading failed.
    let _ = ready.send(Done { found: sink.0, counters });
}

/// A barrier where workers wait for each other after each stage.
struct StageBarrier {
    workers: usize,
    arrived: AtomicUsize,
    completed: AtomicUsize,
    /// Whether any worker said yes: at this round, the next, and the one after it, which is being reset.
    yes: [AtomicBool; 3],
    /// A worker has failed, so waiting for it would never end.
    failed: AtomicBool,
}

/// The number of rounds that a worker has passed.
#[derive(Default)]
struct Round(usize);

impl StageBarrier {
    fn new(workers: usize) -> Self {
        Self {
            workers,
            arrived: AtomicUsize::new(0),
            completed: AtomicUsize::new(0),
            yes: [const { AtomicBool::new(false) }; 3],
            failed: AtomicBool::new(false),
        }
    }

    fn failed(&self) -> bool {
        self.failed.load(Relaxed)
    }

    /// Waits for all workers; true if `own` is true for any of them. False at once if a worker has failed.
    fn any(&self, round: &mut Round, own: bool) -> bool {
        let number = round.0;
        round.0 += 1;
        if own {
            self.yes[number % 3].store(true, Relaxed);
        }
        if self.arrived.fetch_add(1, AcqRel) + 1 == self.workers {
            // No worker reads the round after the next before this one is over.
            self.yes[(number + 2) % 3].store(false, Relaxed);
            self.arrived.store(0, Relaxed);
            self.completed.store(number + 1, Release);
        }
        let mut spins = 0;
        while self.completed.load(Acquire) <= number {
            if self.failed() {
                return false;
            }
            spins += 1;
            if spins < SPINS { std::hint::spin_loop() } else { thread::yield_now() }
        }
        self.yes[number % 3].load(Relaxed)
    }
}

/// Tells the other workers when a worker panics.
struct Guard<'a>(&'a StageBarrier);

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
    fn all_workers_get_the_same_answer_in_every_round() {
        let barrier = StageBarrier::new(3);
        thread::scope(|scope| {
            for worker in 0..3 {
                let barrier = &barrier;
                scope.spawn(move || {
                    let mut round = Round::default();
                    for number in 0..3000 {
                        // Each worker says yes in some rounds, and none in every fifth.
                        let own = number % 5 == worker + 1;
                        let anyone = (1..=3).contains(&(number % 5));
                        assert_eq!(barrier.any(&mut round, own), anyone, "round {number}");
                    }
                });
            }
        });
    }

    #[test]
    fn nobody_waits_for_a_failed_worker() {
        let barrier = StageBarrier::new(2);
        barrier.failed.store(true, Relaxed);
        assert!(!barrier.any(&mut Round::default(), true));
    }
}
