//! Which segments one pass deletes, moves or fetches.

use std::collections::BTreeSet;

use ringtap_model::Nanos;

use crate::error::Error;
use crate::far::transfers::FarTransfers;
use crate::retain::deleter::{Deleter, ExpiredSegment};
use crate::retain::holds::Holds;
use crate::retain::inventory::Inventory;
use crate::retain::policy::{DeletionReason, RetentionAction, Sweep};
use crate::retain::rescue;
use crate::segment::index::IndexRow;
use crate::segment::listed::{ListedSegment, Location};
use crate::segment::name::Segment;

/// What one pass does.
#[derive(Default)]
pub(crate) struct Selection {
    pub(crate) expired: Vec<ExpiredSegment>,
    pub(crate) to_move: Option<ListedSegment>,
    /// Chunks in far storage that are needed here before their segment may be deleted.
    pub(crate) to_fetch: Option<(ListedSegment, Vec<IndexRow>)>,
    /// The next pass has more to do.
    pub(crate) has_more: bool,
}

impl Selection {
    fn is_empty(&self) -> bool {
        self.expired.is_empty() && self.to_move.is_none() && self.to_fetch.is_none() && !self.has_more
    }
}

/// Selects segments; copies what is held out of those that are to be deleted.
pub(crate) struct Selector<'a> {
    pub(crate) now: Nanos,
    pub(crate) inventory: &'a Inventory,
    pub(crate) holds: &'a Holds,
    pub(crate) deleter: &'a Deleter,
    pub(crate) far: Option<&'a mut FarTransfers>,
    /// Segments that are being written.
    pub(crate) open: BTreeSet<Segment>,
    /// Why segments that should be deleted stay.
    pub(crate) errors: Vec<Error>,
}

/// What has been done for calls on hold.
enum HeldCopy {
    /// So many chunks are safe.
    Done(u64),
    /// These have to be fetched first.
    Fetch(Vec<IndexRow>),
}

impl Selector<'_> {
    /// Selects at most [`BATCH`] segments to delete, or one to move. Interception product is considered last.
    pub(crate) fn select(&mut self, sweep: &mut Sweep) -> Result<Selection, Error> {
        let selection = self.select_from_all(sweep)?;
        let is_short = Location::ALL.iter().any(|location| sweep.short(*location) > 0);
        if !selection.is_empty() || self.is_far_busy() || !is_short {
            return Ok(selection);
        }
        sweep.include_product();
        self.select_from_all(sweep)
    }

    fn select_from_all(&mut self, sweep: &mut Sweep) -> Result<Selection, Error> {
        let mut selection = Selection::default();
        for day in self.inventory.days() {
            let items = self
                .inventory
                .list(&day, |location, category, begins| sweep.reaches(location, category, begins))?;
            for item in items {
                if !self.consider(item, sweep, &mut selection) {
                    return Ok(selection);
                }
            }
        }
        Ok(selection)
    }

    /// Adds a segment to the selection if its time has come. False: the selection is complete.
    fn consider(&mut self, item: ListedSegment, sweep: &mut Sweep, selection: &mut Selection) -> bool {
        // A segment that was opened after the listing is among the open ones.
        if self.open.contains(&item.segment) {
            return true;
        }
        let Some(action) = sweep.judge(&item) else { return true };
        if let Some(upload) = self.far.as_deref().and_then(|far| far.upload_of(&item)) {
            // The upload goes on, or it ends soon and the segment is deleted in a later pass.
            if action != RetentionAction::Move {
                upload.stop();
            }
            return true;
        }
        match action {
            RetentionAction::Move if self.is_far_busy() => true,
            RetentionAction::Move if selection.expired.is_empty() && selection.to_fetch.is_none() => {
                selection.to_move = Some(item);
                false
            }
            RetentionAction::Delete(reason) if selection.expired.len() < BATCH => {
                self.expire(item, reason, sweep, selection);
                true
            }
            RetentionAction::Move | RetentionAction::Delete(_) => {
                selection.has_more = true;
                false
            }
        }
    }

    fn expire(
        &mut self,
        item: ListedSegment,
        reason: DeletionReason,
        sweep: &mut Sweep,
        selection: &mut Selection,
    ) {
        match self.copy_held(&item) {
            Ok(HeldCopy::Fetch(rows)) => {
                // The chunks come first, once no other transfer is running.
                let is_free =
                    self.far.as_deref().is_some_and(|far| !far.is_paused(self.now) && !far.is_busy());
                if is_free && selection.to_fetch.is_none() {
                    selection.to_fetch = Some((item, rows));
                }
            }
            Ok(HeldCopy::Done(held)) => {
                sweep.done(&item, RetentionAction::Delete(reason), item.bytes);
                selection.expired.push(ExpiredSegment { item, reason, held });
            }
            // It stays; others may go.
            Err(error) => self.errors.push(error),
        }
    }

    /// Copies what is held out of a segment that is to be deleted.
    fn copy_held(&mut self, item: &ListedSegment) -> Result<HeldCopy, Error> {
        let Self { inventory, holds, deleter, .. } = *self;
        let Some(dir) = inventory.dir(item.location) else { return Ok(HeldCopy::Done(0)) };
        let mut from = dir.to_owned();
        let far = self.far.as_deref_mut().filter(|_| item.location == Location::Far);
        if let Some(far) = &far {
            let rows = rescue::held_in_far_storage(far.storage(), dir, item, holds)?;
            if rows.is_empty() {
                return Ok(HeldCopy::Done(0));
            }
            match far.staged(&item.segment, &rows) {
                Some(staged) => from = staged,
                None => return Ok(HeldCopy::Fetch(rows)),
            }
        }
        let copied = deleter
            .with_reserve(|| rescue::rescue(inventory.spool(), &from, item, holds, deleter.signer()))?;
        if let Some(far) = far {
            far.unstage(&item.segment)?;
        }
        Ok(HeldCopy::Done(copied))
    }

    fn is_far_busy(&self) -> bool {
        self.far.as_deref().is_some_and(FarTransfers::is_busy)
    }
}

/// Segments deleted in one pass.
const BATCH: usize = 64;
