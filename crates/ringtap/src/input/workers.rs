//! A team of engines in lockstep, shared by threads: the records of a single engine, in less time.

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
use super::order::{Record, pass_in_order};
use super::schedule::{Done, Schedule, Task, run_small};

/// How often a thread looks for something to do before it sleeps: some microseconds, less than waking it up
/// takes.
const SPINS: u32 = 1000;

/// What a team has done.
pub(super) struct Outcome {
    pub(super) counters: Counters,
    /// The input, after its last frame.
    pub(super) frames: Merge,
    pub(super) span: Option<TimeSpan>,
}

/// Threads that work through one input.
struct Team<F> {
    schedule: Mutex<Schedule>,
    changed: Condvar,
    /// Changes of the schedule so far, and threads that sleep.
    changes: AtomicUsize,
    sleeping: AtomicUsize,
    /// Is told how many bytes of the input were read; whether to go on.
    on_read: F,
}

/// Passes an input through `workers` engines by as many threads. `on_read` is told how many bytes were read,
/// and says whether to go on.
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
    let engines = Engine::team(config, workers);
    let workers = engines.len();
    let team = Team {
        schedule: Mutex::new(Schedule::new(engines, Batches::new(frames, Assigner::new(config, workers)))),
        changed: Condvar::new(),
        changes: AtomicUsize::new(0),
        sleeping: AtomicUsize::new(0),
        on_read,
    };
    thread::scope(|scope| {
        let team = &team;
        let start = |me| {
            let builder = thread::Builder::new().name(format!("worker {me}"));
            builder.spawn_scoped(scope, move || team.work(me, None::<&mut ()>, |(), _| false))
        };
        // Any thread can run any engine: fewer threads take longer, no more.
        let threads: Vec<_> = (1..workers).map_while(|me| start(me).ok()).collect();
        team.work(0, Some(sink), |sink, records| {
            pass_in_order(records, sink);
            sink.has_enough()
        });
        // Joined here, or the panic of one would go on in this thread.
        threads.into_iter().for_each(|thread| _ = thread.join());
    });
    let schedule = team.schedule.into_inner().unwrap_or_else(PoisonError::into_inner);
    let failed = schedule.has_failed;
    let (counters, input) = schedule.into_results();
    let input = input.filter(|_| !failed).ok_or_else(worker_failed)?;
    let (frames, span) = input.into_parts();
    Ok(Outcome { counters, frames, span })
}

impl<F: Fn(u64) -> bool> Team<F> {
    /// Runs a thread until there is nothing left to do. `pass` passes records to the sink, and returns
    /// whether that has enough.
    fn work<S>(&self, me: usize, mut sink: Option<&mut S>, pass: impl Fn(&mut S, Vec<Record>) -> bool) {
        let _guard = Guard(self);
        let mut schedule = self.lock();
        while !schedule.is_finished(sink.is_some()) {
            let Some(task) = schedule.next(me, sink.is_some()) else {
                schedule = self.wait(schedule);
                continue;
            };
            if schedule.has_more() {
                self.wake();
            }
            drop(schedule);
            let done = match task {
                Task::Stage { worker, mut member, stage, batch } => {
                    let more = member.run(worker, stage, batch.as_ref());
                    Done::Stage { worker, member, more }
                }
                Task::Small { mut members, batches } => {
                    let records = run_small(&mut members, &batches);
                    Done::Small { members, batches, records }
                }
                Task::Read { mut input, chunk } => {
                    let batches: Vec<_> = input.next(chunk).collect();
                    let has_ended = batches.is_empty() || !(self.on_read)(input.offset());
                    Done::Read { input, batches, has_ended }
                }
                Task::Pass(records) => {
                    let has_enough = sink.as_deref_mut().is_some_and(|sink| pass(sink, records));
                    Done::Pass { has_enough }
                }
            };
            schedule = self.lock();
            schedule.done(done);
            self.changes.fetch_add(1, Ordering::Release);
        }
        drop(schedule);
        self.wake();
    }

    fn lock(&self) -> MutexGuard<'_, Schedule> {
        self.schedule.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        if self.sleeping.load(Ordering::Acquire) > 0 {
            self.changed.notify_all();
        }
    }

    /// Waits for a change of the schedule.
    fn wait<'a>(&'a self, schedule: MutexGuard<'a, Schedule>) -> MutexGuard<'a, Schedule> {
        let seen = self.changes.load(Ordering::Acquire);
        drop(schedule);
        for _ in 0..SPINS {
            if self.changes.load(Ordering::Acquire) != seen {
                return self.lock();
            }
            std::hint::spin_loop();
        }
        let schedule = self.lock();
        if self.changes.load(Ordering::Acquire) != seen {
            return schedule;
        }
        self.sleeping.fetch_add(1, Ordering::AcqRel);
        let schedule = self.changed.wait(schedule).unwrap_or_else(PoisonError::into_inner);
        self.sleeping.fetch_sub(1, Ordering::AcqRel);
        schedule
    }
}

/// Tells the other threads when one panics: its engine is lost.
struct Guard<'a, F: Fn(u64) -> bool>(&'a Team<F>);

impl<F: Fn(u64) -> bool> Drop for Guard<'_, F> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.lock().has_failed = true;
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

    fn team(capture: &Capture) -> Team<impl Fn(u64) -> bool> {
        let config = Config { max_calls: 16, max_streams: 16, ..Config::default() };
        let batches = Batches::new(Merge::new(std::slice::from_ref(capture)), Assigner::new(&config, 4));
        Team {
            schedule: Mutex::new(Schedule::new(Engine::team(&config, 4), batches)),
            changed: Condvar::new(),
            changes: AtomicUsize::new(0),
            sleeping: AtomicUsize::new(0),
            on_read: |_| true,
        }
    }

    /// Where the system refuses further threads, one has all engines.
    #[test]
    fn one_thread_can_run_all_engines() {
        let capture = capture();
        let team = team(&capture);
        team.work(0, Some(&mut Found::default()), |_, _| false);
        let schedule = team.schedule.into_inner().expect("no thread has panicked");
        let (counters, input) = schedule.into_results();
        assert_eq!((counters.frames, counters.udp_other), (40_000, 40_000));
        assert!(input.is_some_and(|input| input.offset() == capture.size()));
    }

    #[test]
    fn reading_ends_where_it_is_told_to() {
        let capture = capture();
        let config = Config::default();
        let frames = Merge::new(std::slice::from_ref(&capture));
        let outcome = run(&config, 3, frames, &mut Found::default(), |_| false).expect("no thread panics");
        assert!((1..40_000).contains(&outcome.counters.frames), "{}", outcome.counters.frames);
    }

    #[test]
    fn nobody_waits_for_a_thread_that_has_panicked() {
        let capture = capture();
        let team = team(&capture);
        thread::scope(|scope| {
            let waiting =
                scope.spawn(|| {
                    // With its engine gone, the others would wait for it without an end.
                    let schedule = team.lock();
                    drop(team.changed.wait_timeout_while(schedule, Duration::from_secs(60), |schedule| {
                        !schedule.has_failed
                    }));
                    team.work(1, None::<&mut ()>, |(), _| false);
                });
            let failing = scope.spawn(|| {
                let _guard = Guard(&team);
                std::panic::resume_unwind(Box::new("a bug"));
            });
            assert!(failing.join().is_err());
            assert!(waiting.join().is_ok());
        });
        assert!(team.lock().has_failed);
    }
}
