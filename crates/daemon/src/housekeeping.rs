//! The thread that deletes and moves segments by age and disk space, and its log lines.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::Context;
use ringtap_recorder::holding;
use ringtap_report::text::counted;
use ringtap_spool::{
    DeletionLog, DeletionReason, DiskSpace, Janitor, JanitorEvent, UploadRate, WriterStatus,
};

use super::far_tier::FarTier;
use super::heads::HeadLog;
use super::shared_status::SharedStatus;
use crate::clock_watch::ClockWatch;
use crate::config::Retention;

/// The running thread.
pub(crate) struct HousekeepingThread {
    limits: Sender<Retention>,
    thread: JoinHandle<()>,
}

impl HousekeepingThread {
    /// Starts housekeeping of the spool in `directory`.
    #[expect(clippy::too_many_arguments, reason = "what it looks after, and by which limits")]
    pub(crate) fn start(
        directory: PathBuf,
        far_tier: Arc<FarTier>,
        retention: Retention,
        deletions: DeletionLog,
        writers: Vec<Arc<WriterStatus>>,
        heads: HeadLog,
        shared_status: Arc<SharedStatus>,
        clock: Arc<ClockWatch>,
    ) -> anyhow::Result<Self> {
        let (limits, changes) = channel();
        let store = heads.records.clone();
        let holding = Holding { store, spool: directory.clone(), checked: None, failed: false };
        let janitor = Janitor::new(directory.clone(), retention.limits(), deletions, writers);
        let run = move || {
            let housekeeper = Housekeeper { directory, far_tier, holding, retention, janitor, heads, clock };
            housekeeper.run(&changes, &shared_status);
        };
        let thread = thread::Builder::new().name("janitor".into()).spawn(run);
        Ok(Self {
            limits,
            thread: thread.context("cannot start the thread that deletes and moves segments")?,
        })
    }

    /// Applies new limits.
    pub(crate) fn change(&self, retention: &Retention) {
        // The thread ends only with the program.
        let _ = self.limits.send(retention.clone());
    }

    /// Stops after the current step.
    pub(crate) fn close(self) {
        drop(self.limits);
        let _ = self.thread.join();
    }
}

struct Housekeeper {
    directory: PathBuf,
    far_tier: Arc<FarTier>,
    holding: Holding,
    retention: Retention,
    janitor: Janitor,
    heads: HeadLog,
    clock: Arc<ClockWatch>,
}

impl Housekeeper {
    fn run(mut self, changes: &Receiver<Retention>, shared_status: &SharedStatus) {
        self.put_into_effect(true);
        loop {
            self.holding.check();
            self.heads.check();
            let Self { janitor, retention, far_tier, clock, .. } = &mut self;
            // One reading for both: the clock may step at any moment.
            let time = clock.look();
            janitor.suspend_age(time.step.is_some());
            let more = janitor.step(time.now, |event| log_event(retention, far_tier, &event));
            shared_status.report_spool(janitor.status().clone());
            let pause = match (more, janitor.is_far_busy()) {
                (true, _) => Duration::ZERO,
                (false, true) => TRANSFER_INTERVAL,
                (false, false) => CHECK_INTERVAL,
            };
            match changes.recv_timeout(pause) {
                Ok(fresh) => {
                    self.retention = fresh;
                    self.reload();
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return self.heads.end(),
            }
        }
    }

    /// Applies a new configuration.
    fn reload(&mut self) {
        let checked = self.far_tier.check(&self.directory, &self.retention);
        if let Err(error) = checked.and_then(|()| self.far_tier.note(&self.directory, &self.retention)) {
            log::error!(target: "spool", "{error:#}; segments move as before the reload");
        }
        self.put_into_effect(false);
    }

    fn put_into_effect(&mut self, start: bool) {
        let Self { janitor, retention, far_tier, .. } = self;
        janitor.set_limits(retention.limits());
        if let Some(tier) = retention.tier()
            && let Err(error) = janitor.set_tier(tier)
        {
            log::error!(target: "spool", "[retention] tier: {error}");
        }
        let rate = match (retention.far(), retention.tier_rate()) {
            (None, _) => UploadRate::Stopped,
            (Some(_), None) => UploadRate::Unlimited,
            (Some(_), Some(rate)) => UploadRate::BytesPerSecond(rate),
        };
        match far_tier.settings().zip(far_tier.far()) {
            Some((settings, far)) if start => {
                if rate != UploadRate::Stopped {
                    let moves = retention.moves();
                    log::info!(target: "spool", "segments move to {} {moves}", settings.describe());
                }
                janitor.set_far(far, rate);
            }
            Some(_) => janitor.set_upload_rate(rate),
            None => {}
        }
    }
}

/// Calls that were put on hold while in progress.
struct Holding {
    store: PathBuf,
    spool: PathBuf,
    checked: Option<Instant>,
    failed: bool,
}

impl Holding {
    /// Holds the calls that have ended meanwhile.
    fn check(&mut self) {
        if self.checked.is_some_and(|checked| checked.elapsed() < PENDING) {
            return;
        }
        self.checked = Some(Instant::now());
        match holding::complete(&self.store, &self.spool) {
            Ok(done) => {
                self.failed = false;
                for hold in done.iter().filter(|hold| !hold.product) {
                    log::info!(
                        target: "spool",
                        "call {}: ended, now on hold for {}",
                        hold.call_id,
                        hold.case,
                    );
                }
            }
            // It is retried, and logged once.
            Err(error) if !std::mem::replace(&mut self.failed, true) => {
                log::error!(target: "spool", "cannot put a call on hold that has ended: {error:#}; trying \
                again");
            }
            Err(_) => {}
        }
    }
}

fn log_event(retention: &Retention, far_tier: &FarTier, event: &JanitorEvent) {
    match event {
        JanitorEvent::Deleted { reason, segments, bytes, names, held } => {
            let why = match reason {
                DeletionReason::Age => format!("older than [retention] {}", names.0.category()),
                DeletionReason::Size => format!("beyond [retention] {}_size", names.0.category()),
                DeletionReason::Space => format!("disk space is below [retention] free = {}", retention.free),
            };
            let held = match held {
                0 => String::new(),
                held => format!("; {} of held calls copied first", counted(*held, "chunk")),
            };
            log::info!(
                target: "spool",
                "{} deleted, {} MiB: {why}: {} to {}{held}",
                counted(*segments, "segment"),
                bytes >> 20,
                names.0,
                names.1,
            );
        }
        JanitorEvent::UnprovenCopyDeleted(segment) => log::error!(
            target: "spool",
            "held/{segment} is deleted: no hold needs it. No seal of this spool proved it: it was damaged, a \
             kill left it unsealed, or somebody put it there; find out which"
        ),
        JanitorEvent::Moved(segment) => match far_tier.far().filter(|_| retention.far().is_some()) {
            Some(far) => log::info!(target: "spool", "segment {segment} moved to {}", far.url()),
            None => log::info!(target: "spool", "segment {segment} moved to the tier"),
        },
        JanitorEvent::FarLost(error) => log::error!(
            target: "spool",
            "cannot move segments to the bucket or delete them there: {error}; they stay until the bucket \
            works again",
        ),
        JanitorEvent::FarRestored => log::info!(target: "spool", "the bucket works again"),
        JanitorEvent::Failed(error) => {
            log::error!(target: "spool", "cannot delete or move segments: {error}")
        }
        JanitorEvent::Recovered => log::info!(target: "spool", "segments can be deleted and moved again"),
        JanitorEvent::RecordingStopped(space) => log::error!(
            target: "spool",
            "recording has stopped: {} of the disk, and no segment may be deleted; calls are still followed \
            and their records written; free some space, release holds, or lower [retention] free = {}",
            free(space),
            retention.free,
        ),
        JanitorEvent::RecordingResumed(space) => {
            log::info!(target: "spool", "recording resumes: {} of the disk", free(space))
        }
        other => log::info!(target: "spool", "{other:?}"),
    }
}

fn free(space: &DiskSpace) -> String {
    let share = space.free as f64 * 100.0 / space.total.max(1) as f64;
    format!("{} MiB ({share:.1}%) are free", space.free >> 20)
}

/// How often calls on hold that were in progress are checked for their end.
const PENDING: Duration = Duration::from_secs(5);
/// How often disk space is checked.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// The same while a transfer to or from the bucket is running.
const TRANSFER_INTERVAL: Duration = Duration::from_millis(50);
