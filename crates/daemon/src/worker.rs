//! A worker: one source of packets, one engine, one thread.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ringtap_capture::live::{self, Tap};
use ringtap_engine::{
    CallNumber, CallPhase, ContinuedCall, ContinuedMedia, Engine, IntervalSeen, RegistrationAttempt, Sink,
    StreamEnd, TargetSeen, team,
};
use ringtap_model::{Call, CallState, Frame, Id, Message, Nanos, Registration, Transaction};
use ringtap_recorder::noted_decision::NotedDecision;
use ringtap_recorder::recorder::{Recorder, RecordingSink};
use ringtap_store::{CallNote, RecordSender};

use super::shared_status::{SharedStatus, WorkerReport};
use crate::alarms::AlarmFeed;
use crate::availability::AvailabilityFeed;
use crate::call_notes;
use crate::config::Speed;
use crate::intercept::PacketFeed;
use crate::live_calls::CallList;
use crate::outcomes::Outcomes;
use crate::trunk_outcomes::TrunkOutcomes;
use crate::worker_tracker::WorkerTracker;

/// A worker before its start.
pub(crate) struct Worker {
    pub(crate) number: usize,
    pub(crate) engine: Engine<WorkerTracker>,
    pub(crate) sink: StoreSink,
    /// None if nothing is recorded.
    pub(crate) recorder: Option<Recorder>,
    pub(crate) shared_status: Arc<SharedStatus>,
    pub(crate) stop: Arc<AtomicBool>,
    /// Number of workers.
    pub(crate) team: u64,
    /// Frames received so far.
    pub(crate) received: u64,
    /// Time of its last packet.
    pub(crate) now: Nanos,
}

/// Passes an engine's records to the store's queue, without waiting.
pub(crate) struct StoreSink {
    sender: RecordSender,
    begun: u64,
    outcomes: Outcomes,
    trunks: TrunkOutcomes,
    /// None where no alarms are configured.
    alarms: Option<AlarmFeed>,
    /// None where nothing is intercepted.
    intercept: Option<PacketFeed>,
    availability: AvailabilityFeed,
    /// What the next run has to know of the calls in progress, once this one ends.
    notes: HashMap<Id, Vec<CallNote>>,
    handed_over: Vec<HandedOver>,
}

/// A call that the next run goes on with: its record, and notes.
pub(crate) type HandedOver = (Call, Vec<CallNote>);

impl StoreSink {
    pub(crate) fn new(
        sender: RecordSender,
        trunks: TrunkOutcomes,
        alarms: Option<AlarmFeed>,
        intercept: Option<PacketFeed>,
    ) -> Self {
        Self {
            sender,
            begun: 0,
            outcomes: Outcomes::default(),
            trunks,
            alarms,
            intercept,
            availability: AvailabilityFeed::default(),
            notes: HashMap::new(),
            handed_over: Vec::new(),
        }
    }
}

impl StoreSink {
    /// Passes on records of calls, too, where services are followed.
    pub(crate) fn following(self, services: &AvailabilityFeed) -> Self {
        Self { availability: services.of_another_worker(), ..self }
    }
}

impl Sink for StoreSink {
    const PROGRESS: bool = true;
    const LOST: bool = true;
    const INTERVALS: bool = true;
    const TARGETS: bool = true;

    fn target(&mut self, seen: &TargetSeen<'_>) {
        self.intercept.iter_mut().for_each(|packets| packets.target(seen));
    }

    fn lost(&mut self, mut call: Call, streams: Vec<StreamEnd>) {
        self.trunks.trunks().annotate(&mut call);
        self.alarms.iter_mut().for_each(|alarms| alarms.ended(&call, false));
        self.availability.ended(&call, &streams, false);
        self.sender.call(call, streams.into_iter().map(|stream| stream.record).collect());
    }

    fn call(&mut self, mut call: Call, streams: Vec<StreamEnd>) {
        self.trunks.trunks().annotate(&mut call);
        self.trunks.add(&call, &streams);
        self.alarms.iter_mut().for_each(|alarms| alarms.ended(&call, true));
        self.availability.ended(&call, &streams, true);
        self.outcomes.add_call(&call);
        streams.iter().for_each(|stream| self.outcomes.add_stream(&stream.record));
        // It is recorded as it is: nobody knows whether there will be a next run.
        let is_in_progress = matches!(call.state, CallState::Active | CallState::Ringing | CallState::Trying);
        if let Some(notes) = self.notes.remove(&call.id).filter(|_| is_in_progress) {
            self.handed_over.push((call.clone(), notes));
        }
        self.sender.call(call, streams.into_iter().map(|stream| stream.record).collect());
    }

    fn stream(&mut self, stream: StreamEnd) {
        self.outcomes.add_stream(&stream.record);
        self.sender.stream(stream.record);
    }

    fn registration(&mut self, registration: Registration) {
        self.outcomes.add_registration(&registration);
        self.sender.registration(registration);
    }

    fn message(&mut self, message: Message) {
        self.sender.message(message);
    }

    fn transaction(&mut self, transaction: Transaction) {
        self.sender.transaction(transaction);
    }

    fn progress(&mut self, phase: CallPhase, number: CallNumber, call: &Call) {
        self.begun += u64::from(phase == CallPhase::Started);
        self.alarms.iter_mut().for_each(|alarms| alarms.progress(phase, number, call));
        if phase == CallPhase::Answered {
            self.availability.answered(number.to_bits(), call);
        }
        self.sender.progress(number.to_bits(), call);
    }

    fn wants_intervals(&self) -> bool {
        self.alarms.is_some()
    }

    fn interval(&mut self, interval: &IntervalSeen<'_>) {
        self.alarms.iter().for_each(|alarms| alarms.interval(interval));
    }

    fn registration_attempt(&mut self, attempt: &RegistrationAttempt<'_>) {
        self.alarms.iter().for_each(|alarms| alarms.registration(attempt));
    }
}

/// The clock while no packets arrive.
pub(crate) enum Clock {
    /// The time of day: packets come from the wire.
    Wall,
    /// The time in the capture, at the speed of the replay; none at full speed.
    Replay(Speed),
}

/// A worker whose source has ended. Its engine has not: the engines of all workers finish together.
pub(crate) struct EndedWorker {
    worker: Worker,
    tap: Tap,
    /// Why it ended, unless on request.
    pub(crate) failed: Option<live::Error>,
}

impl Worker {
    /// Processes packets until it is asked to stop or the source ends.
    pub(crate) fn run(mut self, mut tap: Tap, clock: &Clock, cpu: Option<u16>) -> EndedWorker {
        let pinned = cpu.map_or(Ok(()), |cpu| live::pin(cpu.into()));
        let result = pinned.and_then(|()| self.follow(&mut tap, clock));
        for note in tap.warnings().iter().filter(|_| tap.ended()) {
            log::warn!(target: "capture", "{}", note);
        }
        self.report(&mut tap);
        self.report_figures(&mut tap, true);
        EndedWorker { worker: self, tap, failed: result.err() }
    }

    fn follow(&mut self, tap: &mut Tap, clock: &Clock) -> Result<(), live::Error> {
        let mut reported = Instant::now();
        // When the last packet arrived, by the clock.
        let mut last_packet = Instant::now();
        while !self.stop.load(Ordering::Relaxed) && !tap.ended() {
            let looked = ringtap_report::time::now();
            let count = tap.batch(WAIT, |frames| self.receive(frames, clock))?;
            if count == 0 {
                self.engine.tracker_mut().intercept.iter().for_each(|signalling| signalling.idle(looked));
                let now = match clock {
                    Clock::Wall => Some(ringtap_report::time::now()),
                    Clock::Replay(Speed::Max) => None,
                    Clock::Replay(Speed::Times(times)) => {
                        Some(self.now + Nanos((last_packet.elapsed().as_secs_f64() * times * 1e9) as u64))
                    }
                };
                match (now, &mut self.recorder) {
                    (Some(now), None) => self.engine.tick(now, &mut self.sink),
                    (Some(now), Some(recorder)) => {
                        recorder.tick(now);
                        let sink = &mut self.sink;
                        self.engine.tick(now, &mut RecordingSink::new(sink, recorder, &[]));
                    }
                    // Handles messages of other workers.
                    (None, _) => self.batch(&[]),
                }
            } else {
                last_packet = Instant::now();
            }
            if reported.elapsed() >= REPORT {
                reported = Instant::now();
                self.report(tap);
            }
        }
        Ok(())
    }

    // HOT: numbers a batch and passes it on.
    fn receive(&mut self, frames: &[Frame<'_>], clock: &Clock) {
        self.now = frames.last().map_or(self.now, |last| last.time.max(self.now));
        let (Clock::Wall, true, Some(first)) = (clock, self.team > 1, frames.first()) else {
            return self.batch(frames);
        };
        // Frame numbers are unique over all workers.
        let mut numbered = [*first; live::BATCH];
        for chunk in frames.chunks(live::BATCH) {
            for (numbered, frame) in numbered.iter_mut().zip(chunk) {
                self.received += 1;
                *numbered = Frame { number: self.received * self.team + self.number as u64 + 1, ..*frame };
            }
            self.batch(&numbered[..chunk.len()]);
        }
    }

    // HOT: the engine alone, or with the recorder as its sink.
    fn batch(&mut self, frames: &[Frame<'_>]) {
        let Self { engine, sink, recorder, now, .. } = self;
        engine.tracker_mut().intercept.iter_mut().for_each(|signalling| signalling.begin(frames));
        match recorder {
            None => engine.batch(frames, sink),
            Some(recorder) => {
                recorder.begin(frames.len(), *now);
                engine.batch(frames, &mut RecordingSink::new(sink, recorder, frames));
                recorder.rest(frames);
                recorder.tick(*now);
            }
        }
        if let (Some(signalling), Some(packets)) = (&mut engine.tracker_mut().intercept, &mut sink.intercept)
        {
            signalling.pass_on(frames, packets);
        }
    }

    /// Goes on with a call of the previous run, if this worker has its signalling.
    pub(crate) fn go_on(
        &mut self,
        call: &ContinuedCall,
        decision: Option<NotedDecision>,
        now: Nanos,
    ) -> Option<ContinuedMedia> {
        let Self { engine, sink, recorder, .. } = self;
        let media = match recorder {
            None => engine.continue_call(call, now, sink)?,
            Some(recorder) => {
                let mut sink = RecordingSink::new(&mut *sink, recorder, &[]);
                let media = engine.continue_call(call, now, &mut sink)?;
                recorder.go_on(&call.record.call_id, decision);
                media
            }
        };
        // Streams that are noted from now on are this run's.
        for note in call_notes::notes(call.legs.clone(), None) {
            sink.sender.note(media.call().to_bits(), note);
        }
        Some(media)
    }

    /// Notes what the next run needs to go on with the calls in progress.
    fn note_calls(&mut self) {
        for (number, id, legs) in self.engine.continuing() {
            let decision = self.recorder.as_ref().and_then(|recorder| recorder.decision_of(number));
            self.sink.notes.insert(id, call_notes::notes(legs, decision));
        }
    }

    /// Finishes the calls of a single worker.
    fn close(&mut self) {
        let Self { engine, sink, recorder, .. } = self;
        match recorder {
            None => engine.close(sink),
            Some(recorder) => engine.close(&mut RecordingSink::new(sink, recorder, &[])),
        }
    }

    /// Runs one stage of finishing together with other workers.
    fn stage(&mut self, stage: team::Stage) -> bool {
        let Self { engine, sink, recorder, .. } = self;
        match recorder {
            None => engine.stage(stage, &[], sink),
            Some(recorder) => engine.stage(stage, &[], &mut RecordingSink::new(sink, recorder, &[])),
        }
    }

    /// Reports figures, and passes losses elsewhere to the engine; a few times a second.
    fn report(&mut self, tap: &mut Tap) {
        self.sink.sender.clock(self.now);
        if let Some(recorder) = &mut self.recorder {
            recorder.report();
        }
        self.report_figures(tap, false);
        let live_calls = &self.shared_status.live_calls;
        if let Some(most) = live_calls.asked(self.number) {
            let (calls, total) = self.engine.calls_in_progress(most);
            live_calls.answer(self.number, CallList { calls, total });
        }
        self.engine.report_external_drops(self.shared_status.external_drops());
    }

    fn report_figures(&self, tap: &mut Tap, done: bool) {
        let report = WorkerReport {
            counters: self.engine.counters().clone(),
            under_way: if done { (0, 0) } else { self.engine.under_way() },
            begun: self.sink.begun,
            outcomes: self.sink.outcomes.clone(),
            trunks: self.sink.trunks.clone(),
            registrations: self.engine.registrations(),
            cpu: thread_time(),
            tap: tap.counters(),
            timestamps: Some(tap.timestamps()),
            now: self.now,
            reported_at: Some(Instant::now()),
            recording: self.recorder.as_ref().map(Recorder::counts),
            done,
        };
        self.shared_status.report(self.number, report);
    }
}

/// Finishes the calls of all workers together. Returns those in progress, if they are handed over to the next
/// run.
pub(crate) fn close(mut ended: Vec<EndedWorker>, hands_over: bool) -> Vec<HandedOver> {
    if hands_over {
        ended.iter_mut().for_each(|EndedWorker { worker, .. }| worker.note_calls());
    }
    match &mut ended[..] {
        [EndedWorker { worker, .. }] => worker.close(),
        team => team::close(|stage| {
            team.iter_mut().fold(false, |more, EndedWorker { worker, .. }| worker.stage(stage) | more)
        }),
    }
    let mut handed_over = Vec::new();
    for EndedWorker { worker, tap, .. } in &mut ended {
        handed_over.append(&mut worker.sink.handed_over);
        worker.sink.availability.replayed(worker.now);
        worker.report_figures(tap, true);
        if let Some(mut recorder) = worker.recorder.take() {
            recorder.report();
            recorder.close(worker.now);
        }
    }
    handed_over
}

/// CPU time of this thread.
fn thread_time() -> Duration {
    let clock = nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID;
    nix::time::clock_gettime(clock).map(Duration::from).unwrap_or_default()
}

/// Longest wait for packets between two checks of timers.
const WAIT: Duration = Duration::from_millis(50);
/// How often a worker reports.
const REPORT: Duration = Duration::from_millis(200);
