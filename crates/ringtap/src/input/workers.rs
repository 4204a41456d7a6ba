//! Threads that share one input: the records of one thread, in less time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use anyhow::anyhow;
use ringtap_capture::Merge;
use ringtap_engine::team::Assigner;
use ringtap_engine::{Config, Counters, Engine};
use ringtap_export::find::Listener;
use ringtap_report::summary::TimeSpan;

use super::batches::Batches;
use super::order::pass_in_order;
use super::pipeline::{Pipeline, pass_groups};
use super::plan::{Plan, Surroundings};
use super::schedule::Schedule;

/// How often a thread looks for something to do before it sleeps: some microseconds, less than waking it up
/// takes.
const SPINS: u32 = 1000;
/// Threads for each engine: beside it, reading and records are work for one.
const THREADS_OF_ENGINE: usize = 2;

/// What the threads have done.
pub(super) struct Outcome {
    pub(super) counters: Counters,
    /// The input, after its last frame.
    pub(super) frames: Merge,
    pub(super) span: Option<TimeSpan>,
}

/// Threads that work through one input.
struct Team<P, F> {
    plan: Mutex<P>,
    changed: Condvar,
    /// Changes of the plan so far, and threads that sleep.
    changes: AtomicUsize,
    sleeping: AtomicUsize,
    /// Is told how many bytes of the input were read; whether to go on.
    on_read: F,
}

/// Passes an input through one engine, or several for many threads, by `workers` threads. `on_read` is told
/// how many bytes were read, and says whether to go on.
///
/// # Errors
///
/// A thread panicked.
pub(super) fn run<S: Listener>(
    config: &Config,
    workers: usize,
    frames: Merge,
    sink: &mut S,
    on_read: impl Fn(u64) -> bool + Sync,
) -> anyhow::Result<Outcome> {
    let results = match workers / THREADS_OF_ENGINE {
        ..2 => {
            let engine = Engine::new(config.clone());
            let completer = engine.completer();
            let pipeline = Team::new(Pipeline::new(engine, frames), on_read);
            let pass = |groups| {
                pass_groups(groups, &completer, sink);
                sink.has_enough()
            };
            pipeline.run(workers, pass).into_results()
        }
        engines => {
            let batches = Batches::new(frames, Assigner::new(config, engines));
            let team = Team::new(Schedule::new(Engine::team(config, engines), batches), on_read);
            let pass = |records| {
                pass_in_order(records, sink);
                sink.has_enough()
            };
            team.run(workers, pass).into_results()
        }
    };
    let (counters, frames, span) = results.ok_or_else(worker_failed)?;
    Ok(Outcome { counters, frames, span })
}

impl<P: Plan + Send, F: Fn(u64) -> bool + Sync> Team<P, F> {
    fn new(plan: P, on_read: F) -> Self {
        Self {
            plan: Mutex::new(plan),
            changed: Condvar::new(),
            changes: AtomicUsize::new(0),
            sleeping: AtomicUsize::new(0),
            on_read,
        }
    }

    /// Runs so many threads to the end, of which this one passes records to the sink.
    fn run(self, threads: usize, mut pass: impl FnMut(P::Records) -> bool) -> P {
        thread::scope(|scope| {
            let team = &self;
            let start = |me| {
                let builder = thread::Builder::new().name(format!("worker {me}"));
                builder.spawn_scoped(scope, move || team.work(me, None))
            };
            // Any thread can do any task: fewer threads take longer, no more.
            let threads: Vec<_> = (1..threads).map_while(|me| start(me).ok()).collect();
            team.work(0, Some(&mut pass));
            // Joined here, or the panic of one would go on in this thread.
            threads.into_iter().for_each(|thread| _ = thread.join());
        });
        self.plan.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<P: Plan, F: Fn(u64) -> bool> Team<P, F> {
    /// Runs a thread until there is nothing left to do. `pass` passes records to the sink, and returns
    /// whether that has enough.
    fn work<'a>(&'a self, me: usize, pass: Option<&'a mut dyn FnMut(P::Records) -> bool>) {
        let _guard = Guard(self);
        let passes = pass.is_some();
        let mut surroundings = Surroundings { on_read: &self.on_read, pass };
        let mut plan = self.lock();
        while !plan.is_finished(passes) {
            let Some(task) = plan.next(me, passes) else {
                plan = self.wait(plan);
                continue;
            };
            if plan.has_more() {
                self.wake();
            }
            drop(plan);
            let done = P::perform(task, &mut surroundings);
            plan = self.lock();
            plan.done(done);
            self.changes.fetch_add(1, Ordering::Release);
        }
        drop(plan);
        self.wake();
    }

    fn lock(&self) -> MutexGuard<'_, P> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        if self.sleeping.load(Ordering::Acquire) > 0 {
            self.changed.notify_all();
        }
    }

    /// Waits for a change of the plan.
    fn wait<'a>(&'a self, plan: MutexGuard<'a, P>) -> MutexGuard<'a, P> {
        let seen = self.changes.load(Ordering::Acquire);
        drop(plan);
        for _ in 0..SPINS {
            if self.changes.load(Ordering::Acquire) != seen {
                return self.lock();
            }
            std::hint::spin_loop();
        }
        let plan = self.lock();
        if self.changes.load(Ordering::Acquire) != seen {
            return plan;
        }
        self.sleeping.fetch_add(1, Ordering::AcqRel);
        let plan = self.changed.wait(plan).unwrap_or_else(PoisonError::into_inner);
        self.sleeping.fetch_sub(1, Ordering::AcqRel);
        plan
    }
}

/// Tells the other threads when one panics: what it worked on is lost.
struct Guard<'a, P: Plan, F: Fn(u64) -> bool>(&'a Team<P, F>);

impl<P: Plan, F: Fn(u64) -> bool> Drop for Guard<'_, P, F> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.lock().fail();
            self.0.changes.fetch_add(1, Ordering::Release);
            self.0.changed.notify_all();
        }
    }
}

fn worker_failed() -> anyhow::Error {
    anyhow!("a worker thread panicked: read the input in one thread with `--workers 1`, and report the bug")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ringtap_capture::{Capture, Writer};
    use ringtap_model::{Frame, LinkType, Nanos};

    use super::super::order::Found;
    use super::*;

    impl Listener for Found {}

    /// Datagrams of no protocol, a thousand in each of 40 half seconds, from many ports.
    fn capture() -> Capture {
        let mut writer = Writer::new(Vec::new(), &[LinkType(101)]).expect("a vector takes everything");
        for number in 0..40_000u64 {
            let mut data = vec![0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 198, 51, 100, 1];
            data.extend((10_000 + number as u16 % 999).to_be_bytes());
            data.extend([0x20, 0, 0, 8, 0, 0]);
            let time = Nanos::from_secs(1_700_000_000) + Nanos::from_micros(500 * number);
            let frame = Frame { time, number: 0, link: LinkType(101), wire_len: 28, data: &data };
            writer.write(&frame).expect("a vector takes everything");
        }
        let bytes = writer.finish().expect("a vector takes everything");
        Capture::from_bytes("test", bytes).expect("a capture")
    }

    fn all(_: u64) -> bool {
        true
    }

    /// Two engines, or one.
    fn team(capture: &Capture) -> Team<Schedule, impl Fn(u64) -> bool> {
        let config = Config { max_calls: 16, max_streams: 16, ..Config::default() };
        let batches = Batches::new(Merge::new(std::slice::from_ref(capture)), Assigner::new(&config, 4));
        Team::new(Schedule::new(Engine::team(&config, 4), batches), all)
    }

    fn pipeline(capture: &Capture) -> Team<Pipeline, impl Fn(u64) -> bool> {
        let config = Config { max_calls: 16, max_streams: 16, ..Config::default() };
        Team::new(Pipeline::new(Engine::new(config), Merge::new(std::slice::from_ref(capture))), all)
    }

    /// Where the system refuses further threads, one does everything.
    #[test]
    fn one_thread_can_do_all_tasks() {
        let capture = capture();
        let of_team = team(&capture).run(1, |_| false).into_results();
        let of_pipeline = pipeline(&capture).run(1, |_| false).into_results();
        for (counters, frames, span) in [of_team, of_pipeline].map(|results| results.expect("no panic")) {
            assert_eq!((counters.frames, counters.udp_other), (40_000, 40_000));
            assert_eq!(frames.offset(), capture.size());
            assert!(span.is_some());
        }
    }

    #[test]
    fn reading_ends_where_it_is_told_to() {
        let capture = capture();
        let config = Config::default();
        for workers in [2, 3, 4, 5] {
            let frames = Merge::new(std::slice::from_ref(&capture));
            let outcome = run(&config, workers, frames, &mut Found::default(), |_| false);
            let frames = outcome.expect("no thread panics").counters.frames;
            assert!((1..40_000).contains(&frames), "{workers} workers: {frames}");
        }
    }

    #[test]
    fn nobody_waits_for_a_thread_that_has_panicked() {
        let capture = capture();
        panics_in(&team(&capture));
        panics_in(&pipeline(&capture));
    }

    fn panics_in<P: Plan + Send, F: Fn(u64) -> bool + Sync>(team: &Team<P, F>) {
        thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                // With its engine gone, the others would wait for it without an end.
                let plan = team.lock();
                let limit = Duration::from_secs(60);
                drop(team.changed.wait_timeout_while(plan, limit, |plan| !plan.is_finished(false)));
                team.work(1, None);
            });
            let failing = scope.spawn(|| {
                let _guard = Guard(team);
                std::panic::resume_unwind(Box::new("a bug"));
            });
            assert!(failing.join().is_err());
            assert!(waiting.join().is_ok());
        });
        assert!(team.lock().is_finished(true));
    }
}
