//! A worker: one source of packets, one engine, one thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ringtap_capture::live::{self, Tap};
use ringtap_engine::{CallNumber, CallPhase, Engine, Sink, StreamEnd, team};
use ringtap_model::{Call, Frame, Message, Nanos, Registration};
use ringtap_recorder::recorder::{Recorder, RecordingSink};
use ringtap_store::RecordSender;

use super::shared_status::{SharedStatus, WorkerReport};
use crate::config::Speed;

/// A worker about to begin.
pub(crate) struct Worker {
    pub(crate) number: usize,
    pub(crate) engine: Engine,
    pub(crate) outlet: StoreSink,
    /// Where packets are kept.
    pub(crate) recorder: Option<Recorder>,
    pub(crate) board: Arc<SharedStatus>,
    pub(crate) stop: Arc<AtomicBool>,
    /// Workers in all.
    pub(crate) team: u64,
    /// Frames so far.
    pub(crate) taken: u64,
    /// Time by its packets.
    pub(crate) now: Nanos,
}

/// Where an engine's records go: into the store's queue, which never makes it wait.
pub(crate) struct StoreSink {
    inlet: RecordSender,
    begun: u64,
}

impl StoreSink {
    pub(crate) fn new(inlet: RecordSender) -> Self {
        Self { inlet, begun: 0 }
    }
}

impl Sink for StoreSink {
    const PROGRESS: bool = true;

    fn call(&mut self, call: Call, streams: Vec<StreamEnd>) {
        self.inlet.call(call, streams.into_iter().map(|stream| stream.record).collect());
    }

    fn stream(&mut self, stream: StreamEnd) {
        self.inlet.stream(stream.record);
    }

    fn registration(&mut self, registration: Registration) {
        self.inlet.registration(registration);
    }

    fn message(&mut self, message: Message) {
        self.inlet.message(message);
    }

    fn progress(&mut self, phase: CallPhase, _: CallNumber, call: &Call) {
        self.begun += u64::from(phase == CallPhase::Started);
        self.inlet.progress(call);
    }
}

/// Time where no packets come.
pub(crate) enum Clock {
    /// As it is now: packets come from the wire.
    Wall,
    /// As it would be in the capture, replayed so many times as fast; none where it goes as fast as it can.
    Replay(Speed),
}

/// A worker whose source has ended. What is under way in its engine is not: the engines of a team end
/// together.
pub(crate) struct EndedWorker {
    worker: Worker,
    tap: Tap,
    /// Why, where nobody asked for it.
    pub(crate) failed: Option<live::Error>,
}

impl Worker {
    /// Takes packets until it is told to stop, or none will come any more.
    pub(crate) fn run(mut self, mut tap: Tap, clock: &Clock, cpu: Option<u16>) -> EndedWorker {
        let pinned = cpu.map_or(Ok(()), |cpu| live::pin(cpu.into()));
        let result = pinned.and_then(|()| self.follow(&mut tap, clock));
        for note in tap.warnings().iter().filter(|_| tap.ended()) {
            log::warn!(target: "capture", "{}", note);
        }
        self.report(&mut tap);
        self.post(&mut tap, true);
        EndedWorker { worker: self, tap, failed: result.err() }
    }

    fn follow(&mut self, tap: &mut Tap, clock: &Clock) -> Result<(), live::Error> {
        let mut reported = Instant::now();
        // When the last packet came, by the clock.
        let mut heard = Instant::now();
        while !self.stop.load(Ordering::Relaxed) && !tap.ended() {
            let taken = tap.batch(WAIT, |frames| self.take(frames, clock))?;
            if taken == 0 {
                let now = match clock {
                    Clock::Wall => Some(ringtap_report::time::now()),
                    Clock::Replay(Speed::Max) => None,
                    Clock::Replay(Speed::Times(times)) => {
                        Some(self.now + Nanos((heard.elapsed().as_secs_f64() * times * 1e9) as u64))
                    }
                };
                match (now, &mut self.recorder) {
                    (Some(now), None) => self.engine.tick(now, &mut self.outlet),
                    (Some(now), Some(recorder)) => {
                        recorder.tick(now);
                        let outlet = &mut self.outlet;
                        self.engine.tick(now, &mut RecordingSink::new(outlet, recorder, &[]));
                    }
                    // What other workers sent.
                    (None, _) => self.batch(&[]),
                }
            } else {
                heard = Instant::now();
            }
            if reported.elapsed() >= REPORT {
                reported = Instant::now();
                self.report(tap);
            }
        }
        Ok(())
    }

    // HOT: a batch as the source gives it.
    fn take(&mut self, frames: &[Frame<'_>], clock: &Clock) {
        self.now = frames.last().map_or(self.now, |last| last.time.max(self.now));
        let (Clock::Wall, true, Some(first)) = (clock, self.team > 1, frames.first()) else {
            return self.batch(frames);
        };
        // Numbers that are unique over all workers.
        let mut numbered = [*first; live::BATCH];
        for part in frames.chunks(live::BATCH) {
            for (place, frame) in numbered.iter_mut().zip(part) {
                self.taken += 1;
                *place = Frame { number: self.taken * self.team + self.number as u64 + 1, ..*frame };
            }
            self.batch(&numbered[..part.len()]);
        }
    }

    // HOT: the engine alone, or with the recorder at its hooks.
    fn batch(&mut self, frames: &[Frame<'_>]) {
        let Self { engine, outlet, recorder, now, .. } = self;
        match recorder {
            None => engine.batch(frames, outlet),
            Some(recorder) => {
                recorder.begin(frames.len(), *now);
                engine.batch(frames, &mut RecordingSink::new(outlet, recorder, frames));
                recorder.rest(frames);
                recorder.tick(*now);
            }
        }
    }

    /// Ends what is under way, of one that works alone.
    fn close(&mut self) {
        let Self { engine, outlet, recorder, .. } = self;
        match recorder {
            None => engine.close(outlet),
            Some(recorder) => engine.close(&mut RecordingSink::new(outlet, recorder, &[])),
        }
    }

    /// A stage of the end, of one in a team.
    fn stage(&mut self, stage: team::Stage) -> bool {
        let Self { engine, outlet, recorder, .. } = self;
        match recorder {
            None => engine.stage(stage, &[], outlet),
            Some(recorder) => engine.stage(stage, &[], &mut RecordingSink::new(outlet, recorder, &[])),
        }
    }

    /// A few times a second: what was counted goes up, what was lost elsewhere comes in.
    fn report(&mut self, tap: &mut Tap) {
        self.outlet.inlet.clock(self.now);
        if let Some(recorder) = &mut self.recorder {
            recorder.report();
        }
        self.post(tap, false);
        self.engine.report_external_drops(self.board.external_drops());
    }

    fn post(&self, tap: &mut Tap, done: bool) {
        let report = WorkerReport {
            counters: self.engine.counters().clone(),
            under_way: if done { (0, 0) } else { self.engine.under_way() },
            begun: self.outlet.begun,
            cpu: thread_time(),
            tap: tap.counters(),
            timestamps: Some(tap.timestamps()),
            now: self.now,
            beat: Some(Instant::now()),
            kept: self.recorder.as_ref().map(Recorder::counts),
            done,
        };
        self.board.report(self.number, report);
    }
}

/// Ends what is under way in the engines of all workers, together.
pub(crate) fn close(mut ended: Vec<EndedWorker>) {
    match &mut ended[..] {
        [EndedWorker { worker, .. }] => worker.close(),
        team => team::close(|stage| {
            team.iter_mut().fold(false, |more, EndedWorker { worker, .. }| worker.stage(stage) | more)
        }),
    }
    for EndedWorker { worker, tap, .. } in &mut ended {
        worker.post(tap, true);
        if let Some(mut recorder) = worker.recorder.take() {
            recorder.report();
            recorder.close(worker.now);
        }
    }
}

/// Processor time of this thread.
fn thread_time() -> Duration {
    let clock = nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID;
    nix::time::clock_gettime(clock).map(Duration::from).unwrap_or_default()
}

/// The longest that a worker waits for packets: timers are looked at in between.
const WAIT: Duration = Duration::from_millis(50);
/// How often a worker reports.
const REPORT: Duration = Duration::from_millis(200);
