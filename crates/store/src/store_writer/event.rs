//! What a store writer reports.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::{Day, Error, Migration};

/// What an operator should know. Each is reported once, when it begins.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum StoreEvent {
    /// The previous run ended without a clean stop: what it left.
    Recovered {
        /// Calls that were in progress or just released; they are recorded now as far as they were known.
        calls: usize,
        /// Records that wait in the outbox.
        waiting: u64,
        /// Damaged bytes cut off the journal and the outbox.
        cut: u64,
    },
    /// A day file of an older version is migrated: it begins, goes on, or is done.
    Migrating(Migration),
    /// The journal has more than calls in progress may take: entries of it are left out.
    JournalTooLarge {
        /// Their number.
        refused: u64,
    },
    /// Records cannot be written to the day files; they wait.
    Unavailable(Error),
    /// Records can be written to the day files again.
    Available {
        /// How long they could not.
        after: Duration,
        /// Records that wait in the outbox now.
        waiting: u64,
    },
    /// Records come faster than they can be written to the day files: some wait in the outbox.
    Behind,
    /// Everything that waited in the outbox is stored.
    CaughtUp,
    /// The outbox cannot be written: records wait in memory alone, and are dropped when that is full.
    OutboxFailed(Error),
    /// The outbox is full, with the same effect.
    OutboxFull,
    /// The outbox can be written again.
    OutboxRecovered,
    /// The journal cannot be written: calls that begin now would be lost by a kill.
    JournalFailed(Error),
    /// The journal can be written again.
    JournalRecovered,
    /// The program ends, and these records could be written nowhere.
    Dropped(u64),
    /// Days that were deleted because they are older than records are kept.
    DaysDeleted(Vec<Day>),
    /// A day that should be deleted and cannot be.
    DayNotDeleted(Error),
}

/// Where the threads of a writer report.
pub(super) type OnEvent = Box<dyn FnMut(StoreEvent) + Send>;

/// Reports an event of one of the threads.
pub(super) fn report(on_event: &Mutex<OnEvent>, event: StoreEvent) {
    (on_event.lock().unwrap_or_else(PoisonError::into_inner))(event);
}
