//! Keeps a spool within its limits: deletes and moves segments, and stops recording when nothing is left to
//! delete.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ringtap_model::Nanos;

use crate::error::Error;
use crate::far::storage::FarStorage;
use crate::far::transfer::{SegmentUpload, TransferOutcome};
use crate::far::transfers::{EndedTransfer, FarTransfers, Reachability, UploadRate};
use crate::layout::TIER;
use crate::retain::deleter::{DeletedGroup, Deleter, ExpiredSegment};
use crate::retain::deletion_lock::DeletionLock;
use crate::retain::holds::Holds;
use crate::retain::inventory::Inventory;
use crate::retain::policy::{DiskSpace, Limits, Sweep};
use crate::retain::recording_switch::RecordingSwitch;
use crate::retain::rescue;
use crate::retain::selection::{Selection, Selector};
use crate::retain::space_watch::{SpaceWatch, space};
use crate::retain::status::{JanitorEvent, SpoolStatus};
use crate::retain::tier::{self, TierMove};
use crate::segment::listed::{ListedSegment, Location};
use crate::segment::name::Category;
use crate::trust::deletion_log::DeletionLog;
use crate::write::disk::WriterStatus;

/// Keeps one spool within its limits. It has no thread and no clock: call [`step`](Self::step) every second
/// or so.
pub struct Janitor {
    limits: Limits,
    inventory: Inventory,
    space: SpaceWatch,
    recording: RecordingSwitch,
    deleter: Deleter,
    holds: Holds,
    tier_move: Option<TierMove>,
    far: Option<FarTransfers>,
    /// When the last pass began.
    last_pass: Option<Nanos>,
    has_more: bool,
    /// A failure has been reported, and nothing has worked since.
    has_failed: bool,
    /// The time cannot be trusted.
    is_age_suspended: bool,
    status: SpoolStatus,
}

type Report<'a> = &'a mut dyn FnMut(JanitorEvent);

impl Janitor {
    /// For the spool that these writers write to. What the janitor deletes is in the log before it goes.
    pub fn new(
        dir: PathBuf,
        limits: Limits,
        deletions: DeletionLog,
        writers: Vec<Arc<WriterStatus>>,
    ) -> Self {
        let deleter = Deleter::new(&dir, deletions);
        // Segments that moved there in earlier runs expire as well.
        let tier = dir.join(TIER).canonicalize().ok();
        let mut inventory = Inventory::new(dir);
        tier.into_iter().for_each(|tier| inventory.set_dir(Location::Tier, tier));
        Self {
            limits,
            inventory,
            space: SpaceWatch::new(Box::new(space)),
            recording: RecordingSwitch::new(writers),
            deleter,
            holds: Holds::default(),
            tier_move: None,
            far: None,
            last_pass: None,
            has_more: false,
            has_failed: false,
            is_age_suspended: false,
            status: SpoolStatus::default(),
        }
    }

    /// Measures file systems with this function instead of asking the operating system.
    pub fn with_measure(
        mut self,
        measure: impl FnMut(&Path) -> io::Result<DiskSpace> + Send + 'static,
    ) -> Self {
        self.space.set_measure(Box::new(measure));
        self
    }

    /// Replaces the limits.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
        self.last_pass = None;
    }

    /// Deletes and moves nothing by age, or does so again: the time that [`step`](Self::step) is given may be
    /// wrong. Limits of size and free space still apply.
    pub fn suspend_age(&mut self, suspended: bool) {
        if std::mem::replace(&mut self.is_age_suspended, suspended) != suspended {
            self.last_pass = None;
        }
        self.status.is_age_suspended = suspended;
    }

    /// Moves older segments to this directory, which is created if it does not exist.
    ///
    /// # Errors
    ///
    /// The directory cannot be created, or the spool cannot have a link to it.
    pub fn set_tier(&mut self, tier: &Path) -> Result<(), Error> {
        let linked = tier::link(self.inventory.spool(), tier);
        linked.map_err(|error| Error::io(tier, "linked as the tier of the spool", error))?;
        self.inventory.set_dir(Location::Tier, tier.to_owned());
        self.last_pass = None;
        Ok(())
    }

    /// Uses this far storage, and moves older segments there at that rate.
    pub fn set_far(&mut self, far: Arc<dyn FarStorage>, rate: UploadRate) {
        // A transfer to another storage ends first.
        self.far = None;
        let far = FarTransfers::new(self.inventory.spool(), far, rate);
        self.inventory.set_dir(Location::Far, far.dir().to_owned());
        self.far = Some(far);
        self.status.is_far_lost = false;
        self.last_pass = None;
    }

    /// Changes how fast segments move to far storage.
    pub fn set_upload_rate(&mut self, rate: UploadRate) {
        self.far.iter_mut().for_each(|far| far.set_rate(rate));
        self.last_pass = None;
    }

    /// The state of the spool.
    pub fn status(&self) -> &SpoolStatus {
        &self.status
    }

    /// Whether a transfer to far storage is running: call [`step`](Self::step) again soon.
    pub fn is_far_busy(&self) -> bool {
        self.far.as_ref().is_some_and(FarTransfers::is_busy)
    }

    /// Does a piece of the work. True: there is more, and the next step should follow at once.
    pub fn step(&mut self, now: Nanos, mut report: impl FnMut(JanitorEvent)) -> bool {
        let report: Report<'_> = &mut report;
        self.space.look(&self.limits, &self.inventory, self.recording.full_writes());
        self.status.space = self.space.all();
        self.status.limits.clone_from(&self.limits);
        self.status.has_tier = self.far.is_some() || self.inventory.dir(Location::Tier).is_some();
        self.step_far(now, report);
        let is_due = self.last_pass.is_none_or(|last| now.since(last) >= EVERY || now < last);
        let mut is_hopeless = false;
        if self.tier_move.is_some() {
            let result = self.step_tier_move(report);
            self.has_more = true;
            self.record_result(result, report);
        } else if is_due || self.has_more || self.space.is_any_short() {
            self.last_pass = Some(now);
            let result = self.pass(now, report);
            let is_stuck = result.as_ref().map_or(true, PassResult::is_stuck);
            is_hopeless = is_stuck && self.space.is_short(Location::Spool);
            self.has_more = result.as_ref().is_ok_and(|pass| pass.has_more);
            self.record_result(result.map(|_| ()), report);
        }
        self.update_recording(now, is_hopeless, report);
        if !self.space.is_short(Location::Spool) {
            self.deleter.reserve();
        }
        self.has_more
    }

    /// Bytes that may move: to far storage if there is one, else to the tier.
    fn room(&self, now: Nanos) -> Option<u64> {
        match self.far.as_ref().filter(|far| far.takes_segments()) {
            Some(far) => (!self.space.is_urgent(&self.limits) && !far.is_paused(now)).then_some(u64::MAX),
            None => self.inventory.dir(Location::Tier).and_then(|_| self.space.tier_room(&self.limits)),
        }
    }

    /// One pass over all segments whose time may have come.
    fn pass(&mut self, now: Nanos, report: Report<'_>) -> Result<PassResult, Error> {
        let _lock = DeletionLock::wait(self.inventory.spool())?;
        self.read_holds(report)?;
        self.refresh()?;
        let bytes = self.inventory.bytes();
        let sizes = Category::ALL.map(|category| bytes.iter().map(|bytes| bytes[category as usize]).sum());
        let short = Location::ALL.map(|location| self.space.bytes_to_free(location, &self.limits));
        let mut limits = self.limits.clone();
        if self.is_age_suspended {
            limits = Limits { age: Default::default(), tier_after: None, ..limits };
        }
        let mut sweep = Sweep::new(&limits, now, sizes, short, self.room(now));
        let Selection { expired, to_move, to_fetch, has_more } = self.select(now, &mut sweep, report)?;
        let (moves, deleted) = (to_move.is_some(), expired.len());
        self.delete(now, &expired, report)?;
        if let Some(item) = to_move {
            self.begin_move(item)?;
        }
        if let (Some((item, rows)), Some(far)) = (to_fetch, &mut self.far) {
            far.fetch(item.segment, rows)?;
        }
        if deleted > 0 {
            self.refresh()?;
        }
        // The tier frees space for what should move there.
        if sweep.refused() && self.inventory.dir(Location::Tier).is_some() {
            self.space.set_short(Location::Tier);
        }
        let is_far_busy = self.is_far_busy();
        Ok(PassResult {
            has_more: has_more || moves && !is_far_busy,
            deleted,
            missing: sweep.short(Location::Spool),
            is_far_busy,
        })
    }

    fn read_holds(&mut self, report: Report<'_>) -> Result<(), Error> {
        let holds = Holds::read(self.inventory.spool())?;
        if holds != self.holds {
            let unproven = rescue::prune(self.inventory.spool(), &holds, self.deleter.signer())?;
            unproven.into_iter().for_each(|copy| report(JanitorEvent::UnprovenCopyDeleted(copy)));
            self.holds = holds;
        }
        Ok(())
    }

    fn select(&mut self, now: Nanos, sweep: &mut Sweep, report: Report<'_>) -> Result<Selection, Error> {
        let mut selector = Selector {
            now,
            inventory: &self.inventory,
            holds: &self.holds,
            deleter: &self.deleter,
            far: self.far.as_mut(),
            open: self.recording.open_segments(),
            errors: Vec::new(),
        };
        let selection = selector.select(sweep);
        for error in selector.errors {
            self.record_failure(error, report);
        }
        selection
    }

    /// Deletes segments whose held chunks are safe.
    fn delete(&mut self, now: Nanos, expired: &[ExpiredSegment], report: Report<'_>) -> Result<(), Error> {
        self.deleter.announce(now, expired, &self.inventory, &self.limits)?;
        let (groups, errors) = self.deleter.delete(expired, &self.inventory);
        for error in errors {
            self.record_failure(error, report);
        }
        for DeletedGroup { reason, segments, bytes, names, held } in groups {
            self.status.deleted[reason as usize] += segments;
            self.status.freed[reason as usize] += bytes;
            report(JanitorEvent::Deleted { reason, segments, bytes, names, held });
        }
        self.inventory.remove_empty_days(expired.iter().map(|expired| &expired.item));
        if let Err(error) = self.deleter.shorten_log() {
            self.record_failure(error, report);
        }
        if expired.iter().any(|expired| expired.item.segment.category() == Category::Product) {
            self.deleter.shorten_product_log(now)?;
        }
        Ok(())
    }

    fn begin_move(&mut self, item: ListedSegment) -> Result<(), Error> {
        let spool = self.inventory.spool();
        if let Some(far) = self.far.as_mut().filter(|far| far.takes_segments()) {
            let path = item.segment.path(spool);
            let upload = SegmentUpload::open(spool, item).map_err(|error| Error::io(&path, "read", error))?;
            return upload.map_or(Ok(()), |upload| far.send(upload));
        }
        let Some(tier) = self.inventory.dir(Location::Tier) else { return Ok(()) };
        let path = item.segment.path(tier);
        self.tier_move =
            TierMove::begin(spool, tier, item).map_err(|error| Error::io(&path, "written", error))?;
        Ok(())
    }

    fn step_tier_move(&mut self, report: Report<'_>) -> Result<(), Error> {
        let tier = self.inventory.dir(Location::Tier);
        let (Some(moving), Some(tier)) = (&mut self.tier_move, tier) else { return Ok(()) };
        let path = moving.item.segment.path(tier);
        let wrong = |error| Error::io(&path, "written", error);
        match moving.step(TIER_STEP) {
            Ok(false) => return Ok(()),
            Ok(true) => {}
            Err(error) => {
                moving.give_up();
                self.tier_move = None;
                if error.kind() == io::ErrorKind::StorageFull {
                    self.space.set_short(Location::Tier);
                }
                return Err(wrong(error));
            }
        }
        let _lock = DeletionLock::wait(self.inventory.spool())?;
        let Some(moving) = self.tier_move.take() else { return Ok(()) };
        let item = moving.item.clone();
        if moving.finish().map_err(wrong)? {
            self.record_move(item, report);
            self.refresh()?;
        }
        Ok(())
    }

    /// Handles a transfer that has ended, and starts deleting objects that nothing lists.
    fn step_far(&mut self, now: Nanos, report: Report<'_>) {
        if let Some(EndedTransfer { result, was_stopped }) = self.far.as_mut().and_then(FarTransfers::ended) {
            let result = result.and_then(|outcome| self.accept(outcome, report));
            self.record_transfer(now, result, was_stopped, report);
            // The next transfer need not wait for the clock.
            self.last_pass = None;
        }
        match self.far.as_mut().map(|far| far.delete_unlisted(now)) {
            Some(Ok(loose)) => self.status.loose = loose,
            Some(Err(error)) => self.record_failure(error, report),
            None => {}
        }
    }

    fn record_transfer(
        &mut self,
        now: Nanos,
        result: Result<(), Error>,
        was_stopped: bool,
        report: Report<'_>,
    ) {
        let Some(far) = &mut self.far else { return };
        let change = match result {
            Ok(()) => far.succeeded(),
            Err(_) if was_stopped => None,
            Err(error) => {
                self.status.far_failures += 1;
                far.failed(now, error)
            }
        };
        match change {
            Some(Reachability::Lost(error)) => {
                self.status.is_far_lost = true;
                report(JanitorEvent::FarLost(error));
            }
            Some(Reachability::Restored) => {
                self.status.is_far_lost = false;
                report(JanitorEvent::FarRestored);
            }
            None => {}
        }
    }

    /// Does here what a transfer to or from far storage was for.
    fn accept(&mut self, outcome: TransferOutcome, report: Report<'_>) -> Result<(), Error> {
        match outcome {
            TransferOutcome::Cleared => Ok(()),
            TransferOutcome::Fetched(segment, offsets) => {
                self.far.iter_mut().for_each(|far| far.stage(segment.clone(), offsets.clone()));
                Ok(())
            }
            TransferOutcome::Sent(upload, stub) => {
                let spool = self.inventory.spool();
                let path = upload.item.segment.path(spool);
                let _lock = DeletionLock::wait(spool)?;
                let moved = upload.finish(spool, &stub);
                if moved.map_err(|error| Error::io(&path, "replaced by its copy in far storage", error))? {
                    self.record_move(upload.item, report);
                }
                self.refresh()
            }
        }
    }

    fn record_move(&mut self, item: ListedSegment, report: Report<'_>) {
        self.status.moved.0 += 1;
        self.status.moved.1 += item.bytes;
        self.inventory.remove_empty_days(std::iter::once(&item));
        report(JanitorEvent::Moved(item.segment));
    }

    fn update_recording(&mut self, now: Nanos, is_hopeless: bool, report: Report<'_>) {
        if !self.recording.update(now, is_hopeless, self.space.is_short(Location::Spool)) {
            return;
        }
        let space = self.space.of(Location::Spool);
        self.status.stopped = self.recording.is_stopped();
        report(match self.status.stopped {
            true => JanitorEvent::RecordingStopped(space),
            false => JanitorEvent::RecordingResumed(space),
        });
    }

    fn record_result(&mut self, result: Result<(), Error>, report: Report<'_>) {
        match result {
            Err(error) => self.record_failure(error, report),
            Ok(()) if !self.has_more && std::mem::take(&mut self.has_failed) => {
                report(JanitorEvent::Recovered);
            }
            Ok(()) => {}
        }
    }

    fn record_failure(&mut self, error: Error, report: Report<'_>) {
        self.status.failures += 1;
        if !std::mem::replace(&mut self.has_failed, true) {
            report(JanitorEvent::Failed(error));
        }
    }

    /// Reads what there is on the disk.
    fn refresh(&mut self) -> Result<(), Error> {
        self.inventory.refresh()?;
        self.status.bytes = self.inventory.bytes();
        self.status.segments = self.inventory.segments();
        self.status.oldest = self.inventory.oldest();
        self.status.held = self.holds.calls() as u64;
        self.status.held_bytes = self.inventory.held_bytes();
        Ok(())
    }
}

/// What a pass did.
struct PassResult {
    has_more: bool,
    deleted: usize,
    /// Bytes that the spool is still short of.
    missing: u64,
    is_far_busy: bool,
}

impl PassResult {
    /// The spool is short of space, and no segment may be deleted.
    fn is_stuck(&self) -> bool {
        !self.has_more && !self.is_far_busy && self.deleted == 0 && self.missing > 0
    }
}

/// Time between two passes while there is enough space.
const EVERY: Nanos = Nanos::from_secs(10);
/// Bytes copied to the tier in one step.
const TIER_STEP: u64 = 64 << 20;
