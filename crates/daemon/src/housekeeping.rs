//! The thread that keeps the spool within its clocks and its disk, and what it tells.

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
use super::shared_status::SharedStatus;
use crate::config::Retention;

/// The thread at work.
pub(crate) struct HousekeepingThread {
    limits: Sender<Retention>,
    thread: JoinHandle<()>,
}

impl HousekeepingThread {
    /// Begins to look after the spool in that directory, into which these write; `store` has the records of
    /// its calls.
    pub(crate) fn start(
        directory: PathBuf,
        far_tier: Arc<FarTier>,
        store: PathBuf,
        retention: Retention,
        deletions: DeletionLog,
        keepers: Vec<Arc<WriterStatus>>,
        board: Arc<SharedStatus>,
    ) -> anyhow::Result<Self> {
        let (limits, changes) = channel();
        let holding = Holding { store, spool: directory.clone(), looked: None, failed: false };
        let janitor = Janitor::new(directory.clone(), retention.limits(), deletions, keepers);
        let run =
            move || Housekeeper { directory, far_tier, holding, retention, janitor }.run(&changes, &board);
        let thread = thread::Builder::new().name("janitor".into()).spawn(run);
        Ok(Self { limits, thread: thread.context("cannot start the thread that looks after the spool")? })
    }

    /// From now on this holds.
    pub(crate) fn change(&self, retention: &Retention) {
        // It ends with the program alone.
        let _ = self.limits.send(retention.clone());
    }

    /// Ends with the piece that is being done.
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
}

impl Housekeeper {
    fn run(mut self, changes: &Receiver<Retention>, board: &SharedStatus) {
        self.put_into_effect(true);
        loop {
            self.holding.look();
            let Self { janitor, retention, far_tier, .. } = &mut self;
            let more = janitor.step(ringtap_report::time::now(), |notice| tell(retention, far_tier, &notice));
            board.tend(janitor.status().clone());
            let pause = match (more, janitor.is_far_busy()) {
                (true, _) => Duration::ZERO,
                (false, true) => SOON,
                (false, false) => LOOK,
            };
            match changes.recv_timeout(pause) {
                Ok(fresh) => {
                    self.retention = fresh;
                    self.again();
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// After a change of the configuration.
    fn again(&mut self) {
        let changed = self.far_tier.open(&self.directory, &self.retention);
        match changed {
            Ok(changed) => self.put_into_effect(changed),
            Err(error) => {
                log::error!(target: "spool", "{error:#}; segments move as before");
                self.put_into_effect(false);
            }
        }
    }

    fn put_into_effect(&mut self, changed: bool) {
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
        match far_tier.now() {
            Some(bucket) if changed => {
                if rate != UploadRate::Stopped {
                    let place = bucket.settings().describe();
                    log::info!(target: "spool", "segments move to {place} {}", retention.moves());
                }
                janitor.set_far(bucket, rate);
            }
            Some(_) => janitor.set_upload_rate(rate),
            None => {}
        }
    }
}

/// Calls that were put on hold while they were under way.
struct Holding {
    store: PathBuf,
    spool: PathBuf,
    looked: Option<Instant>,
    failed: bool,
}

impl Holding {
    /// Whether they have ended.
    fn look(&mut self) {
        if self.looked.is_some_and(|looked| looked.elapsed() < PENDING) {
            return;
        }
        self.looked = Some(Instant::now());
        match holding::complete(&self.store, &self.spool) {
            Ok(done) => {
                self.failed = false;
                for hold in done.iter().filter(|hold| !hold.product) {
                    log::info!(
                        target: "spool",
                        "call {}: has ended, and is on hold for {}",
                        hold.call_id,
                        hold.case,
                    );
                }
            }
            // It is tried again, and told once.
            Err(error) if !std::mem::replace(&mut self.failed, true) => {
                log::error!(target: "spool", "a call that has ended cannot be put on hold: {error:#}");
            }
            Err(_) => {}
        }
    }
}

fn tell(retention: &Retention, far_tier: &FarTier, notice: &JanitorEvent) {
    match notice {
        JanitorEvent::Deleted { reason, segments, bytes, names, held } => {
            let why = match reason {
                DeletionReason::Age => format!("older than [retention] {}", names.0.category()),
                DeletionReason::Size => format!("beyond [retention] {}_size", names.0.category()),
                DeletionReason::Space => format!("less than [retention] free = {} is free", retention.free),
            };
            let held = match held {
                0 => String::new(),
                held => format!("; {} of held calls copied before", counted(*held, "chunk")),
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
        JanitorEvent::Moved(segment) => match far_tier.far().filter(|_| retention.far().is_some()) {
            Some(far) => log::info!(target: "spool", "{segment} has moved to {}", far.url()),
            None => log::info!(target: "spool", "{segment} has moved to the tier"),
        },
        JanitorEvent::FarLost(error) => log::error!(
            target: "spool",
            "segments cannot move, or be deleted where they lie far: {error}; what should move stays until \
            it works again",
        ),
        JanitorEvent::FarRestored => log::info!(target: "spool", "the far place works again"),
        JanitorEvent::Failed(error) => {
            log::error!(target: "spool", "something cannot be deleted or moved: {error}")
        }
        JanitorEvent::Recovered => log::info!(target: "spool", "deleting and moving works again"),
        JanitorEvent::RecordingStopped(space) => log::error!(
            target: "spool",
            "recording has stopped: {} of the disk, and nothing is left that may be deleted; calls are \
            still followed and recorded in the store; free some space, release holds, or lower [retention] \
            free = {}",
            free(space),
            retention.free,
        ),
        JanitorEvent::RecordingResumed(space) => {
            log::info!(target: "spool", "recording goes on: {} of the disk", free(space))
        }
        other => log::info!(target: "spool", "{other:?}"),
    }
}

fn free(space: &DiskSpace) -> String {
    let share = space.free as f64 * 100.0 / space.total.max(1) as f64;
    format!("{} MiB ({share:.1}%) are free", space.free >> 20)
}

/// How often calls that were put on hold under way are looked for among those that have ended.
const PENDING: Duration = Duration::from_secs(5);
/// How often the room on the disk is looked at.
const LOOK: Duration = Duration::from_secs(1);
/// The same while something is on its way to a far place, or from there.
const SOON: Duration = Duration::from_millis(50);
