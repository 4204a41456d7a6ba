//! Far storage as the janitor sees it: one transfer at a time, and a pause after each failure.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ringtap_model::Nanos;

use crate::error::Error;
use crate::far::storage::{self, FarStorage, STAGED, Stub};
use crate::far::transfer::{self, RunningTransfer, SegmentUpload, Transfer, TransferOutcome};
use crate::layout::FAR;
use crate::segment::index::IndexRow;
use crate::segment::listed::{ListedSegment, Location};
use crate::segment::name::Segment;

/// Whether older segments move to far storage, and how fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UploadRate {
    /// No segment moves there. Those that are there expire as before.
    Stopped,
    /// As fast as the network allows.
    Unlimited,
    /// At most so many bytes a second.
    BytesPerSecond(u64),
}

/// The transfers to and from far storage.
pub(crate) struct FarTransfers {
    far: Arc<dyn FarStorage>,
    /// The spool's directory.
    spool: PathBuf,
    /// `far/` in it.
    dir: PathBuf,
    rate: UploadRate,
    running: Option<RunningTransfer>,
    /// Chunks of a segment that were fetched for a moment, by their offsets.
    staged: Option<(Segment, BTreeSet<u64>)>,
    /// Failures since the last success.
    failures: u32,
    /// No transfer begins before this time.
    paused_until: Option<Nanos>,
    is_reachable: bool,
}

/// A change that an operator has to know.
pub(crate) enum Reachability {
    Lost(Error),
    Restored,
}

/// A transfer that has ended.
pub(crate) struct EndedTransfer {
    pub(crate) result: Result<TransferOutcome, Error>,
    /// It was told to end: that is no failure of the storage.
    pub(crate) was_stopped: bool,
}

impl FarTransfers {
    /// Deletes what an earlier run fetched for a moment.
    pub(crate) fn new(spool: &Path, far: Arc<dyn FarStorage>, rate: UploadRate) -> Self {
        let dir = spool.join(FAR);
        // What cannot be deleted is overwritten later.
        let _ = fs::remove_dir_all(dir.join(STAGED));
        Self {
            far,
            spool: spool.to_owned(),
            dir,
            rate,
            running: None,
            staged: None,
            failures: 0,
            paused_until: None,
            is_reachable: true,
        }
    }

    pub(crate) fn set_rate(&mut self, rate: UploadRate) {
        self.rate = rate;
    }

    /// What this machine knows of the segments there.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn storage(&self) -> &dyn FarStorage {
        &*self.far
    }

    /// Whether older segments move there.
    pub(crate) fn takes_segments(&self) -> bool {
        self.rate != UploadRate::Stopped
    }

    /// Whether a transfer is running.
    pub(crate) fn is_busy(&self) -> bool {
        self.running.is_some()
    }

    /// Whether the pause after a failure goes on.
    pub(crate) fn is_paused(&self, now: Nanos) -> bool {
        // A clock that was set back does not prolong the pause for ever.
        self.paused_until.is_some_and(|until| now < until && until.since(now) <= LONGEST_PAUSE)
    }

    /// Starts uploading a segment.
    pub(crate) fn send(&mut self, upload: SegmentUpload) -> Result<(), Error> {
        self.begin(Transfer::Send(upload))
    }

    /// Starts fetching chunks of a segment.
    pub(crate) fn fetch(&mut self, segment: Segment, rows: Vec<IndexRow>) -> Result<(), Error> {
        self.begin(Transfer::Fetch(segment, rows))
    }

    fn begin(&mut self, transfer: Transfer) -> Result<(), Error> {
        let rate = match self.rate {
            UploadRate::BytesPerSecond(rate) => Some(rate),
            UploadRate::Stopped | UploadRate::Unlimited => None,
        };
        self.running = Some(RunningTransfer::begin(Arc::clone(&self.far), &self.spool, transfer, rate)?);
        Ok(())
    }

    /// The running transfer, if it uploads this segment.
    pub(crate) fn upload_of(&self, item: &ListedSegment) -> Option<&RunningTransfer> {
        let running = self.running.as_ref()?;
        let sends = running.sending.as_ref() == Some(&item.segment);
        (item.location == Location::Spool && sends).then_some(running)
    }

    /// The transfer that has ended since the last call.
    pub(crate) fn ended(&mut self) -> Option<EndedTransfer> {
        let result = self.running.as_ref().and_then(RunningTransfer::outcome)?;
        let was_stopped = self.running.take().is_some_and(|running| running.is_stopped());
        Some(EndedTransfer { result, was_stopped })
    }

    /// A transfer, and what followed from it, succeeded.
    pub(crate) fn succeeded(&mut self) -> Option<Reachability> {
        (self.failures, self.paused_until) = (0, None);
        (!std::mem::replace(&mut self.is_reachable, true)).then_some(Reachability::Restored)
    }

    /// A transfer failed: the next one begins after a pause.
    pub(crate) fn failed(&mut self, now: Nanos, error: Error) -> Option<Reachability> {
        self.paused_until = Some(now + pause(self.failures));
        self.failures = self.failures.saturating_add(1);
        std::mem::replace(&mut self.is_reachable, false).then_some(Reachability::Lost(error))
    }

    /// These chunks have been fetched.
    pub(crate) fn stage(&mut self, segment: Segment, offsets: BTreeSet<u64>) {
        self.staged = Some((segment, offsets));
    }

    /// The directory that has these chunks of a segment, if they have been fetched.
    pub(crate) fn staged(&self, segment: &Segment, rows: &[IndexRow]) -> Option<PathBuf> {
        let (_, offsets) = self.staged.as_ref().filter(|(staged, _)| staged == segment)?;
        rows.iter().all(|row| offsets.contains(&row.offset)).then(|| self.dir.join(STAGED))
    }

    /// Deletes the chunks that were fetched.
    pub(crate) fn unstage(&mut self, segment: &Segment) -> Result<(), Error> {
        self.staged = None;
        let deleted = transfer::unstage(&self.dir, segment);
        deleted.map_err(|error| Error::io(&self.dir.join(STAGED), "deleted", error))
    }

    /// Starts deleting objects that no stub lists. Returns how many segments have such objects.
    pub(crate) fn delete_unlisted(&mut self, now: Nanos) -> Result<u64, Error> {
        let wrong = |error| Error::io(&self.dir, "read", error);
        let loose = storage::loose_segments(&self.dir).map_err(wrong)?;
        let count = loose.len() as u64;
        if self.is_busy() || self.is_paused(now) {
            return Ok(count);
        }
        let mut orphans = Vec::new();
        for segment in loose {
            match Stub::read(&self.dir, &segment).map_err(wrong)? {
                // A power cut came after the stub was written.
                Some(_) => storage::unlist_loose(&self.dir, &segment).map_err(wrong)?,
                // It is still here: the next upload replaces its objects.
                None if segment.path(&self.spool).exists() => {}
                None => orphans.push(segment),
            }
        }
        orphans.truncate(BATCH);
        if !orphans.is_empty() {
            self.begin(Transfer::Clear(orphans))?;
        }
        Ok(count)
    }
}

/// Five seconds, twice as long after each further failure, ten minutes at most.
fn pause(failures: u32) -> Nanos {
    Nanos((FIRST_PAUSE.0 << failures.min(10)).min(LONGEST_PAUSE.0))
}

const FIRST_PAUSE: Nanos = Nanos::from_secs(5);
const LONGEST_PAUSE: Nanos = Nanos::from_secs(600);
/// Segments whose objects are deleted at once.
const BATCH: usize = 64;
