//! Deletes segments: first the log says so, then the files go.

use std::fs;
use std::path::{Path, PathBuf};

use ringtap_model::Nanos;

use crate::error::Error;
use crate::far::storage::{self, Stub};
use crate::files::remove_if_present;
use crate::layout::{FAR, HELD, TIER};
use crate::read::catalogue;
use crate::retain::inventory::Inventory;
use crate::retain::policy::{DeletionReason, Limits};
use crate::retain::product_log::ProductLog;
use crate::retain::reserve::Reserve;
use crate::segment::listed::{ListedSegment, Location};
use crate::segment::name::{Category, Segment};
use crate::trust::deletion_entry::Deletion;
use crate::trust::deletion_log::DeletionLog;
use crate::trust::deletion_summary;
use crate::trust::sign::Signer;

/// A segment to delete.
pub(crate) struct ExpiredSegment {
    pub(crate) item: ListedSegment,
    pub(crate) reason: DeletionReason,
    /// Chunks of calls on hold that were copied out of it.
    pub(crate) held: u64,
}

/// Segments of one category that were deleted for one reason.
pub(crate) struct DeletedGroup {
    pub(crate) reason: DeletionReason,
    pub(crate) segments: u64,
    pub(crate) bytes: u64,
    pub(crate) names: (Segment, Segment),
    pub(crate) held: u64,
}

/// Deletes segments of one spool.
pub(crate) struct Deleter {
    spool: PathBuf,
    log: DeletionLog,
    reserve: Reserve,
    /// Length of the log of deletions after it was shortened last.
    log_length: u64,
    /// Length of the product log after it was shortened last.
    product_log_length: u64,
}

impl Deleter {
    pub(crate) fn new(spool: &Path, log: DeletionLog) -> Self {
        let reserve = Reserve::of(spool);
        Self { spool: spool.to_owned(), log, reserve, log_length: 0, product_log_length: 0 }
    }

    pub(crate) fn signer(&self) -> Option<&Signer> {
        self.log.signer()
    }

    /// Puts space aside for the log and for copies.
    pub(crate) fn reserve(&self) {
        // A file system that cannot do this may have some left when it is needed.
        let _ = self.log.reserve();
        self.reserve.allocate();
    }

    /// Runs `write` again with the reserved space if the disk is full.
    pub(crate) fn with_reserve<T>(&self, mut write: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
        match write() {
            Err(error) if error.is_full() && self.reserve.release() => write(),
            result => result,
        }
    }

    /// Writes to the log of deletions that these segments are deleted. They may go once this has succeeded.
    pub(crate) fn announce(
        &self,
        now: Nanos,
        expired: &[ExpiredSegment],
        inventory: &Inventory,
        limits: &Limits,
    ) -> Result<(), Error> {
        let mut entries = Vec::with_capacity(expired.len());
        let mut products = Vec::new();
        for ExpiredSegment { item, reason, .. } in expired {
            let Some(dir) = inventory.dir(item.location) else { continue };
            if item.segment.category() == Category::Product {
                products.push((entries.len(), (dir, &item.segment)));
            }
            entries.push(Deletion::segment(dir, &item.segment, now, &why(item, *reason, limits))?);
        }
        self.add_cases(&mut entries, &products)?;
        self.with_reserve(|| self.log.append(&entries))
    }

    /// Adds the cases that the deleted interception product belonged to.
    fn add_cases(
        &self,
        entries: &mut [Deletion],
        products: &[(usize, (&Path, &Segment))],
    ) -> Result<(), Error> {
        if products.is_empty() {
            return Ok(());
        }
        let segments: Vec<_> = products.iter().map(|(_, of)| *of).collect();
        for ((at, _), cases) in products.iter().zip(ProductLog::of(&self.spool).cases(&segments)?) {
            if let Some(entry) = entries.get_mut(*at) {
                entry.cases = cases;
            }
        }
        Ok(())
    }

    /// Deletes the files of segments that have been announced, and returns what was deleted and what failed.
    pub(crate) fn delete(
        &self,
        expired: &[ExpiredSegment],
        inventory: &Inventory,
    ) -> (Vec<DeletedGroup>, Vec<Error>) {
        let (mut groups, mut errors) = (Vec::new(), Vec::new());
        let kinds = DeletionReason::ALL
            .into_iter()
            .flat_map(|reason| Category::ALL.map(|category| (reason, category)));
        for (reason, category) in kinds {
            let alike = expired
                .iter()
                .filter(|expired| (expired.reason, expired.item.segment.category()) == (reason, category));
            groups.extend(delete_group(reason, alike.collect(), inventory, &mut errors));
        }
        (groups, errors)
    }

    /// Summarises the beginning of the log once the log has doubled in length. After a failure it tries again
    /// when the log has doubled once more.
    pub(crate) fn shorten_log(&mut self) -> Result<(), Error> {
        let length = fs::metadata(self.log.path()).map_or(0, |metadata| metadata.len());
        if length < deletion_summary::SHORT.max(2 * self.log_length) {
            return Ok(());
        }
        self.log_length = length;
        let far = self.spool.join(FAR);
        let dirs = [&self.spool, &self.spool.join(TIER), &self.spool.join(HELD), &far];
        // A file of which nothing can be learned counts as present.
        let exists = |path: &PathBuf| path.try_exists().unwrap_or(true);
        let is_present = |segment: &Segment| {
            exists(&Stub::path(&far, segment)) || dirs.iter().any(|dir| segment.files(dir).iter().any(exists))
        };
        match self.log.shorten(&is_present) {
            Ok(length) => self.log_length = length,
            Err(error) if error.is_full() => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Removes entries of the product log whose packets are gone.
    pub(crate) fn shorten_product_log(&mut self, now: Nanos) -> Result<(), Error> {
        let spool = &self.spool;
        let dirs = [spool.clone(), spool.join(TIER), spool.join(FAR), spool.join(HELD)];
        if let Some(length) = ProductLog::of(spool).shorten(&dirs, now, self.product_log_length)? {
            self.product_log_length = length;
        }
        Ok(())
    }
}

fn delete_group(
    reason: DeletionReason,
    expired: Vec<&ExpiredSegment>,
    inventory: &Inventory,
    errors: &mut Vec<Error>,
) -> Option<DeletedGroup> {
    let (first, last) = (expired.first()?, expired.last()?);
    let names = (first.item.segment.clone(), last.item.segment.clone());
    let mut group = DeletedGroup { reason, segments: 0, bytes: 0, names, held: 0 };
    for ExpiredSegment { item, held, .. } in expired {
        let Some(dir) = inventory.dir(item.location) else { continue };
        match delete_files(dir, item) {
            Ok(freed) => {
                group.segments += 1;
                group.bytes += freed;
                group.held += held;
            }
            Err(error) => errors.push(error),
        }
    }
    (group.segments > 0).then_some(group)
}

/// Deletes the files of a segment; of one in far storage, what is known of it here. Returns the bytes that
/// this frees.
fn delete_files(dir: &Path, item: &ListedSegment) -> Result<u64, Error> {
    if item.location == Location::Far {
        return storage::remove(dir, &item.segment).map_err(|error| Error::io(dir, "written", error));
    }
    let freed = catalogue::size(dir, &item.segment);
    for path in item.segment.files(dir) {
        remove_if_present(&path).map_err(|error| Error::io(&path, "deleted", error))?;
    }
    Ok(freed)
}

/// The reason as the log of deletions has it.
fn why(item: &ListedSegment, reason: DeletionReason, limits: &Limits) -> String {
    let category = item.segment.category();
    match reason {
        DeletionReason::Age => {
            let age = limits.age[category as usize].unwrap_or_default();
            format!("older than {category} is kept: {} s", age.0 / 1_000_000_000)
        }
        DeletionReason::Size => {
            let size = limits.size[category as usize].unwrap_or_default();
            format!("beyond what {category} may take: {size} bytes")
        }
        DeletionReason::Space => format!("the disk of the {} is short of room", item.location.name()),
    }
}
