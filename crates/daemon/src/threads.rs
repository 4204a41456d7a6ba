//! Starts the threads in order, and stops them in order.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::Context;
use ringtap_alarm::Change;
use ringtap_capture::live::Tap;
use ringtap_engine::Engine;
use ringtap_kpi::Trunks;
use ringtap_model::Nanos;
use ringtap_recorder::amend::AmendingThread;
use ringtap_recorder::recorder::Recorder;
use ringtap_recorder::recovery::RecoveredCalls;
use ringtap_report::text::counted;
use ringtap_report::time;
use ringtap_spool::{DeletionLog, WriterSettings, WriterStatus};
use ringtap_store::{RecordSender, Recovered, StoreWriter};

use crate::alarms::{AlarmFeed, AlarmService, AlarmStart, LiveEvents};
use crate::availability::{self, AvailabilityFeed, AvailabilityStart, AvailabilityThread};
use crate::clock_watch::ClockWatch;
use crate::config::{Config, Secrets};
use crate::far_tier::FarTier;
use crate::handover;
use crate::heads::{HeadLog, RememberedHeads};
use crate::housekeeping::HousekeepingThread;
use crate::intercept::{self, InterceptThread};
use crate::kpis::KpiThread;
use crate::radius::{RadiusFeed, RadiusThread};
use crate::recording::Recording;
use crate::recovered;
use crate::shared_status::{self, SharedStatus};
use crate::source::Source;
use crate::trunk_outcomes::TrunkOutcomes;
use crate::worker::{self, Clock, EndedWorker, StoreSink, Worker};
use crate::worker_tracker::{WorkerTracker, intercepted};

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// On request, or after the last file.
    Done,
    /// A worker failed; the log says why. Its records were written as far as possible.
    WorkerFailed,
    /// Records could not be written when the program ended; the log says how many, and why.
    RecordsLost,
}

/// The running threads.
pub(crate) struct Threads {
    pub(crate) shared_status: Arc<SharedStatus>,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) workers: Vec<JoinHandle<EndedWorker>>,
    pub(crate) housekeeping: Option<HousekeepingThread>,
    /// None in a replay, whose times are not the present ones.
    pub(crate) kpis: Option<KpiThread>,
    /// None where no alarms are configured.
    pub(crate) alarms: Option<AlarmService>,
    pub(crate) recording: Option<Recording>,
    pub(crate) amending: Option<AmendingThread>,
    /// Records the calls that the previous run left; ends by itself.
    pub(crate) recovering: Option<JoinHandle<()>>,
    /// Follows sessions of subscribers; `None` where they are not followed.
    pub(crate) radius: Option<RadiusThread>,
    /// Follows telephone services; `None` where they are not followed.
    pub(crate) availability: Option<AvailabilityThread>,
    /// `None` where nothing is intercepted.
    pub(crate) intercept: Option<InterceptThread>,
    pub(crate) files: bool,
    /// Calls in progress at the end are left to the next run. A replay begins at its beginning again.
    pub(crate) hands_over: bool,
}

/// An engine for each worker, and the calls and streams that they can follow together.
fn engines(
    config: &Config,
    workers: usize,
    is_replay: bool,
    (radius, availability): (RadiusFeed, AvailabilityFeed),
) -> (Vec<Engine<WorkerTracker>>, usize, usize) {
    // An attacker must not know which keys collide, in a replay neither.
    let seed = RandomState::new().hash_one(0);
    let limits = config.engine.engine(&config.quality, seed, !is_replay);
    let (calls, streams) = (limits.max_calls, limits.max_streams);
    let engines = match workers {
        1 => vec![Engine::with_tracker(limits, WorkerTracker { radius, availability, intercept: None })],
        _ => {
            let tracker = || WorkerTracker {
                radius: radius.clone(),
                availability: availability.of_another_worker(),
                intercept: None,
            };
            Engine::team_with_trackers(&limits, workers, tracker)
        }
    };
    log::info!(
        target: "engine",
        "tables hold {calls} calls and {streams} streams; {} MiB of memory in use",
        shared_status::resident() >> 20,
    );
    (engines, calls, streams)
}

impl Threads {
    pub(crate) fn start(
        config: &Config,
        source: Source,
        store: &StoreWriter,
        recovered: Recovered,
        secrets: &Secrets,
        far_tier: &Arc<FarTier>,
        clock: &Arc<ClockWatch>,
    ) -> anyhow::Result<Self> {
        let workers = source.taps.len();
        let records = &config.store.directory;
        let (radius, feed) = RadiusThread::start(source.radius, records, store, source.files)?;
        let (following, services) = availability::feed(config.availability.settings(), source.files);
        let (engines, calls, streams) =
            engines(config, workers, source.files, (feed, services.of_another_worker()));
        let infos = source.taps.iter().map(|(_, info)| info.clone()).collect();
        let shared_status = Arc::new(SharedStatus::new(infos, store.counts_handle()));
        let recording =
            Recording::start(config, workers, calls, source.files, secrets, &shared_status, far_tier)?;
        let (intercept, feeds) = intercept::start(source.intercept, config, store, source.files)?;
        let _ = radius.as_ref().map(|radius| shared_status.radius.set(Arc::clone(&radius.figures)));
        let mut threads = Self {
            recording,
            shared_status,
            stop: Arc::new(AtomicBool::new(false)),
            workers: Vec::new(),
            housekeeping: None,
            kpis: None,
            alarms: None,
            amending: None,
            recovering: None,
            radius,
            availability: None,
            intercept,
            files: source.files,
            hands_over: !source.files && config.journal.enabled,
        };
        threads.amend(config, store)?;
        let trunks = Arc::new(config.trunks().context("the trunks of the configuration cannot be used")?);
        let feed = threads.alarms(config, &trunks, store)?;
        threads.follow_services(following, store, &feed)?;
        let remembered = RememberedHeads::of(config);
        let (mut ready, mut taps, mut written) = (Vec::new(), Vec::new(), Vec::new());
        for ((tap, info), mut engine) in source.taps.into_iter().zip(engines) {
            let packets = feeds.as_ref().and_then(|feeds| intercepted(&mut engine, info.number, feeds));
            let settings =
                config.spool.settings(info.number, tap.link(), config.engine.owners(), source.files, secrets);
            let sender = || store.sender().context("the store's thread has stopped");
            let recorder = match settings {
                Some(settings) => {
                    let settings = remembered.given_to(settings);
                    threads.recorder(settings, streams, config.spool.undecided(), sender()?)?
                }
                None => None,
            };
            written.extend(recorder.as_ref().map(Recorder::written));
            let outcomes = TrunkOutcomes::new(Arc::clone(&trunks));
            let worker = Worker {
                number: info.number,
                engine,
                recorder,
                sink: StoreSink::new(sender()?, outcomes, feed.clone(), packets).following(&services),
                shared_status: Arc::clone(&threads.shared_status),
                stop: Arc::clone(&threads.stop),
                team: workers as u64,
                received: 0,
                now: Nanos::ZERO,
            };
            ready.push(worker);
            taps.push(tap);
        }
        threads.begin(ready, taps, recovered, store, config, far_tier)?;
        if let Some(directory) = config.spool.directory() {
            let signer = secrets.sign.as_ref().map(|signer| signer.public());
            let heads = HeadLog::new(config, directory, signer, remembered, written.clone());
            let log = DeletionLog::of(directory, secrets.sign.clone());
            threads.keep_house(config, directory, (log, heads), written, far_tier, clock)?;
        }
        Ok(threads)
    }

    /// Starts the thread that follows services, where they are followed.
    fn follow_services(
        &mut self,
        following: Option<AvailabilityStart>,
        store: &StoreWriter,
        alarms: &Option<AlarmFeed>,
    ) -> anyhow::Result<()> {
        let Some(following) = following else { return Ok(()) };
        // Set once, here.
        let _ = self.shared_status.availability.set(Arc::clone(&following.figures));
        let sender = store.sender().context("the store's thread has stopped")?;
        self.availability = Some(following.start(sender, alarms.clone())?);
        Ok(())
    }

    /// Starts the thread that deletes and moves segments.
    fn keep_house(
        &mut self,
        config: &Config,
        directory: &Path,
        (log, heads): (DeletionLog, HeadLog),
        written: Vec<Arc<WriterStatus>>,
        far_tier: &Arc<FarTier>,
        clock: &Arc<ClockWatch>,
    ) -> anyhow::Result<()> {
        self.housekeeping = Some(HousekeepingThread::start(
            directory.to_owned(),
            Arc::clone(far_tier),
            config.retention.clone(),
            log,
            written,
            heads,
            Arc::clone(&self.shared_status),
            Arc::clone(clock),
        )?);
        Ok(())
    }

    /// Starts the thread of the alarms, if there are any; returns what workers tell them by.
    fn alarms(
        &mut self,
        config: &Config,
        trunks: &Arc<Trunks>,
        store: &StoreWriter,
    ) -> anyhow::Result<Option<AlarmFeed>> {
        let alarms = config.alarms();
        if !alarms.is_enabled() {
            return Ok(None);
        }
        let dropped = Arc::default();
        let (feed, events) = AlarmFeed::new(LiveEvents::new(Arc::clone(trunks)), Arc::clone(&dropped));
        let directories = [Some(config.store.directory.as_path()), config.spool.directory()];
        let service = AlarmService::start(AlarmStart {
            settings: alarms.settings,
            kpi: config.kpi.settings(),
            events,
            dropped,
            sender: store.sender().context("the store's thread has stopped")?,
            records: config.store.directory.clone(),
            directories: directories.into_iter().flatten().map(Path::to_owned).collect(),
            shared_status: Arc::clone(&self.shared_status),
            is_replay: self.files,
            tell: self.teller(),
        })?;
        // Set once, here.
        let _ = self.shared_status.alarms.set(Arc::clone(&service.handle));
        self.alarms = Some(service);
        Ok(Some(feed))
    }

    /// Hands changes of alarms to who is told, once that is known.
    fn teller(&self) -> Box<dyn FnMut(&Change) + Send> {
        let shared_status = Arc::clone(&self.shared_status);
        Box::new(move |change| {
            if let Some(notices) = shared_status.notices.get() {
                notices.tell(change);
            }
        })
    }

    /// Shows what became of Identity headers among the metrics.
    pub(crate) fn show_identities(&self, counts: Arc<ringtap_stir::Counts>) {
        let _ = self.shared_status.identities.set(counts);
    }

    /// Starts the thread that amends records, if packets are recorded.
    fn amend(&mut self, config: &Config, store: &StoreWriter) -> anyhow::Result<()> {
        if self.recording.is_some() {
            let keep = config.spool.late();
            let sender = store.sender().context("the store's thread has stopped")?;
            let records = config.store.directory.clone();
            let corrections = Arc::clone(&self.shared_status.corrections);
            let amending = AmendingThread::start(records, sender, keep, corrections);
            self.amending = Some(amending.context("cannot start the thread that amends records")?);
        }
        Ok(())
    }

    /// Recovers what the previous run left, and starts the workers.
    fn begin(
        &mut self,
        mut ready: Vec<Worker>,
        taps: Vec<Tap>,
        recovered: Recovered,
        store: &StoreWriter,
        config: &Config,
        far_tier: &FarTier,
    ) -> anyhow::Result<()> {
        // By now, the spool's writers have closed what the previous run left open; they have written nothing.
        let (last, recovered) = (recovered.last, RecoveredCalls::new(recovered.calls));
        let going_on = match self.files {
            true => HashSet::new(),
            false => {
                let settle = || _ = store.flush(STOPPED);
                handover::go_on(&recovered, (last, time::now()), &mut ready, settle)
            }
        };
        if !self.files {
            let records = config.store.directory.clone();
            self.kpis = Some(KpiThread::start(records, config.kpi.settings())?);
        }
        let sender = store.sender().context("the store's thread has stopped")?;
        self.recovering = recovered::record(recovered, going_on, config, far_tier, sender)?;
        for (worker, tap) in ready.into_iter().zip(taps) {
            let clock = if self.files { Clock::Replay(config.capture.speed) } else { Clock::Wall };
            let (number, cpu) = (worker.number, config.capture.cpus.get(worker.number).copied());
            let run = move || worker.run(tap, &clock, cpu);
            let thread = thread::Builder::new().name(format!("worker-{number}"));
            self.workers.push(thread.spawn(run).context("cannot start a worker thread")?);
        }
        Ok(())
    }

    /// A worker's recorder; None where nothing is recorded.
    fn recorder(
        &self,
        settings: WriterSettings,
        streams: usize,
        undecided: usize,
        journal: RecordSender,
    ) -> anyhow::Result<Option<Recorder>> {
        let Some(recording) = &self.recording else { return Ok(None) };
        let (shared_policy, eraser) = (Arc::clone(&recording.shared_policy), recording.erasing.eraser());
        let mut recorder =
            Recorder::open(settings, streams, undecided, shared_policy, Some(eraser)).context("[spool]")?;
        for segment in recorder.written().quarantined() {
            log::error!(
                target: "spool",
                "{segment} has no seal, and it or some of its chunks were not written by this spool's \
                 writers: in quarantine/ now; find out who put it there, or whether a key was changed after \
                 a kill"
            );
        }
        for finding in recorder.written().disagreements() {
            log::error!(
                target: "spool",
                "the spool is not as it was left: {finding}; recording goes on. Find out who changed it, \
                 and run `ringtap verify --head` with the heads in the log"
            );
        }
        if let Some(amending) = &self.amending {
            recorder.amend_by(amending.amender());
        }
        recorder.note_in(journal);
        Ok(Some(recorder))
    }

    /// Stops everything in order: engines first, the store last.
    pub(crate) fn stop(self, store: StoreWriter) -> anyhow::Result<Outcome> {
        let replayed = self.files && self.shared_status.done();
        self.stop.store(true, Ordering::Relaxed);
        let (mut ended, mut exit, mut whole) = (Vec::new(), Outcome::Done, true);
        for (number, worker) in self.workers.into_iter().enumerate() {
            match worker.join() {
                Ok(one) => {
                    if let Some(error) = &one.failed {
                        log::error!(target: "worker", "worker {number} failed: {error}");
                        exit = Outcome::WorkerFailed;
                    }
                    ended.push(one);
                }
                Err(_) => {
                    log::error!(target: "worker", "worker {number} crashed: please report this fault of \
                    ringtap");
                    (exit, whole) = (Outcome::WorkerFailed, false);
                }
            }
        }
        let mut handed_over = Vec::new();
        if whole {
            handed_over = worker::close(ended, self.hands_over);
        } else {
            // The workers can only finish together. The next start records the calls from the journal.
            log::error!(target: "worker", "calls in progress are not recorded now: the next start records \
            them from the journal");
            drop(ended);
        }
        // The engines are gone, and with them who passes packets to it.
        self.radius.into_iter().for_each(RadiusThread::close);
        self.availability.into_iter().for_each(AvailabilityThread::close);
        self.intercept.into_iter().for_each(InterceptThread::close);
        self.alarms.into_iter().for_each(AlarmService::close);
        if let Some(amending) = self.amending {
            amending.close();
        }
        self.recovering.into_iter().for_each(wait_for_recovery);
        if let Some(recording) = self.recording {
            recording.erasing.close();
            recording.cases.close();
        }
        if let Some(housekeeping) = self.housekeeping {
            housekeeping.close();
        }
        self.kpis.into_iter().for_each(KpiThread::close);
        // A replay has time: it waits until all records are written.
        let dropped_before = store.counts().records_dropped();
        if !handed_over.is_empty() {
            let calls = counted(handed_over.len() as u64, "call");
            log::info!(target: "run", "{calls} in progress: the next start goes on with them");
        }
        let patience = if replayed { REPLAYED } else { STOPPED };
        let counts = store.hand_over(patience, time::now(), handed_over);
        let snapshot = self.shared_status.snapshot();
        let waiting = match counts.outbox_records {
            0 => String::new(),
            waiting => format!(", {waiting} wait in the outbox for the next start"),
        };
        let dropped = match counts.records_dropped() {
            0 => String::new(),
            dropped => format!(", {dropped} dropped"),
        };
        log::info!(
            target: "run",
            "stopped: {} of {} seen; {} written{}{}",
            counted(snapshot.sum(|report| report.begun), "call"),
            counted(snapshot.sum(|report| report.tap.received), "frame"),
            counted(counts.written.records(), "record"),
            waiting,
            dropped,
        );
        if exit == Outcome::Done && counts.records_dropped() > dropped_before {
            exit = Outcome::RecordsLost;
        }
        Ok(exit)
    }
}

fn wait_for_recovery(recovering: JoinHandle<()>) {
    if recovering.join().is_err() {
        log::error!(
            target: "store",
            "the thread that records calls of the previous run crashed: the next start tries again; please \
             report this fault of ringtap",
        );
    }
}

/// How long a stop waits for the day files to accept the outbox's records.
pub(crate) const STOPPED: Duration = Duration::from_secs(5);

/// The same after a replay.
pub(crate) const REPLAYED: Duration = Duration::from_secs(600);
