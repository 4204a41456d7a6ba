//! The threads: started in order, and ended in order.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::Context;
use ringtap_engine::Engine;
use ringtap_model::Nanos;
use ringtap_recorder::amend::AmendingThread;
use ringtap_recorder::recorder::Recorder;
use ringtap_report::text::counted;
use ringtap_spool::DeletionLog;
use ringtap_store::StoreWriter;

use crate::config::{Config, Secrets};
use crate::far_tier::FarTier;
use crate::housekeeping::HousekeepingThread;
use crate::recording::Recording;
use crate::shared_status::{self, SharedStatus};
use crate::source::Source;
use crate::worker::{self, Clock, EndedWorker, StoreSink, Worker};

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// As it was asked to, or with its files.
    Done,
    /// A worker failed; what it had was written as far as possible, and is in the log.
    WorkerFailed,
}

/// Threads at work.
pub(crate) struct Threads {
    pub(crate) board: Arc<SharedStatus>,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) workers: Vec<JoinHandle<EndedWorker>>,
    pub(crate) tending: Option<HousekeepingThread>,
    pub(crate) recording: Option<Recording>,
    pub(crate) amending: Option<AmendingThread>,
    pub(crate) files: bool,
}

/// An engine for each worker, and how many calls and streams they follow together.
fn engines(config: &Config, workers: usize, is_replay: bool) -> (Vec<Engine>, usize, usize) {
    // Replays are repeatable; on the wire nobody may know which keys collide.
    let seed = match is_replay {
        true => ringtap_engine::Config::default().seed,
        false => RandomState::new().hash_one(0),
    };
    let limits = config.engine.engine(seed, !is_replay);
    let (calls, streams) = (limits.max_calls, limits.max_streams);
    let engines = match workers {
        1 => vec![Engine::new(limits)],
        _ => Engine::team(&limits, workers),
    };
    log::info!(
        target: "engine",
        "tables for {calls} calls and {streams} streams; {} MiB in use",
        shared_status::resident() >> 20,
    );
    (engines, calls, streams)
}

impl Threads {
    pub(crate) fn start(
        config: &Config,
        source: Source,
        keeper: &StoreWriter,
        secrets: &Secrets,
        far_tier: &Arc<FarTier>,
    ) -> anyhow::Result<Self> {
        let workers = source.taps.len();
        let (engines, calls, streams) = engines(config, workers, source.files);
        let posts = source.taps.iter().map(|(_, post)| post.clone()).collect();
        let board = Arc::new(SharedStatus::new(posts, keeper.counts_handle()));
        let mut threads = Self {
            recording: Recording::start(config, workers, calls, source.files, secrets, &board, far_tier)?,
            board,
            stop: Arc::new(AtomicBool::new(false)),
            workers: Vec::new(),
            tending: None,
            amending: None,
            files: source.files,
        };
        if threads.recording.is_some() {
            let keep = config.spool.late();
            let inlet = keeper.sender().context("the store has ended")?;
            let records = config.store.directory.clone();
            let amending =
                AmendingThread::start(records, inlet, keep, Arc::clone(&threads.board.corrections));
            threads.amending = Some(amending.context("cannot start a thread that puts records right")?);
        }
        let mut written = Vec::new();
        for ((tap, post), engine) in source.taps.into_iter().zip(engines) {
            let settings = config.spool.settings(post.number, tap.link(), source.files, secrets);
            let recorder = match settings {
                Some(settings) => threads.recorder(settings, streams, config.spool.undecided())?,
                None => None,
            };
            written.extend(recorder.as_ref().map(Recorder::written));
            let worker = Worker {
                number: post.number,
                engine,
                recorder,
                outlet: StoreSink::new(keeper.sender().context("the store has ended")?),
                board: Arc::clone(&threads.board),
                stop: Arc::clone(&threads.stop),
                team: workers as u64,
                taken: 0,
                now: Nanos::ZERO,
            };
            let clock = if source.files { Clock::Replay(config.capture.speed) } else { Clock::Wall };
            let cpu = config.capture.cpus.get(post.number).copied();
            let run = move || worker.run(tap, &clock, cpu);
            let thread = thread::Builder::new().name(format!("worker-{}", post.number));
            threads.workers.push(thread.spawn(run).context("cannot start a worker thread")?);
        }
        if let Some(directory) = config.spool.directory() {
            threads.tending = Some(HousekeepingThread::start(
                directory.to_owned(),
                Arc::clone(far_tier),
                config.store.directory.clone(),
                config.retention.clone(),
                DeletionLog::of(directory, secrets.sign.clone()),
                written,
                Arc::clone(&threads.board),
            )?);
        }
        Ok(threads)
    }

    /// A worker's recorder; None where nothing is recorded.
    fn recorder(
        &self,
        settings: ringtap_spool::WriterSettings,
        streams: usize,
        undecided: usize,
    ) -> anyhow::Result<Option<Recorder>> {
        let Some(recording) = &self.recording else { return Ok(None) };
        let (orders, eraser) = (Arc::clone(&recording.orders), recording.erasing.eraser());
        let mut recorder =
            Recorder::open(settings, streams, undecided, orders, Some(eraser)).context("[spool]")?;
        for segment in recorder.written().quarantined() {
            log::error!(
                target: "spool",
                "{segment} has no seal and was not begun by this spool's writers: moved to quarantine/; find \
                 out who put it there, or whether the signing key was changed after a kill"
            );
        }
        if let Some(amending) = &self.amending {
            recorder.amend_by(amending.amender());
        }
        Ok(Some(recorder))
    }

    /// Ends everything in order: engines, then the store.
    pub(crate) fn stop(self, keeper: StoreWriter) -> anyhow::Result<Outcome> {
        let replayed = self.files && self.board.done();
        self.stop.store(true, Ordering::Relaxed);
        let (mut ended, mut exit, mut whole) = (Vec::new(), Outcome::Done, true);
        for (number, worker) in self.workers.into_iter().enumerate() {
            match worker.join() {
                Ok(one) => {
                    if let Some(error) = &one.failed {
                        log::error!(target: "worker", "worker {number} ended: {error}");
                        exit = Outcome::WorkerFailed;
                    }
                    ended.push(one);
                }
                Err(_) => {
                    log::error!(target: "worker", "worker {number} ended by a fault of the program");
                    (exit, whole) = (Outcome::WorkerFailed, false);
                }
            }
        }
        if whole {
            worker::close(ended);
        } else {
            // A team cannot end without one of its own. The next start records what was under way.
            log::error!(target: "worker", "calls under way are in the journal alone");
            drop(ended);
        }
        if let Some(amending) = self.amending {
            amending.close();
        }
        if let Some(recording) = self.recording {
            recording.erasing.close();
            recording.cases.close();
        }
        if let Some(tending) = self.tending {
            tending.close();
        }
        // What was read from files is waited for: nobody has to be quick.
        let counts = keeper.close(if replayed { REPLAYED } else { STOPPED });
        let snapshot = self.board.snapshot();
        log::info!(
            target: "run",
            "stopped: {} of {} seen; {} written{}{}",
            counted(snapshot.sum(|report| report.begun), "call"),
            counted(snapshot.sum(|report| report.tap.received), "frame"),
            counted(counts.written.records(), "record"),
            match counts.outbox_records { 0 => String::new(), waiting => format!(", {waiting} wait in the outbox for the next start"), },
            match counts.records_dropped() { 0 => String::new(), dropped => format!(", {dropped} dropped"), },
        );
        Ok(exit)
    }
}

/// How long the day files get at the end for what waits in the outbox.
pub(crate) const STOPPED: Duration = Duration::from_secs(5);

pub(crate) const REPLAYED: Duration = Duration::from_secs(600);
