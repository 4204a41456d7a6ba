//! Records that outlive their day: those of calls on hold, in day files of their own below `held`.
//!
//! A [`Reader`](crate::Reader) reads them where the day itself has been deleted.

use std::path::Path;
use std::time::Duration;

use ringtap_model::{Call, Id, Stream};

use crate::Error;
use crate::day_files::{CACHE, DayFiles};
use crate::migration::OnMigration;
use crate::record::{AnyRecord, PendingRecord};

/// Below the directory of the day files.
pub(crate) const HELD: &str = "held";
/// How long the lock of another process is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// Stores a call and its streams where they stay when their day is deleted. The same again does no harm.
///
/// # Errors
///
/// A file that cannot be written.
pub fn hold(dir: &Path, call: &Call, streams: &[Stream]) -> Result<(), Error> {
    let streams = streams.iter().map(|stream| AnyRecord::Stream(Box::new(stream.clone())));
    let records: Vec<PendingRecord> =
        std::iter::once(AnyRecord::Call(Box::new(call.clone()))).chain(streams).map(Into::into).collect();
    DayFiles::create(&dir.join(HELD), PATIENCE, None, CACHE, OnMigration::default())?.store(&records)
}

/// Deletes what [`hold`] stored of a call.
///
/// # Errors
///
/// A file that cannot be written.
pub fn release(dir: &Path, call: &Id) -> Result<(), Error> {
    let held = dir.join(HELD);
    if held.is_dir() {
        DayFiles::create(&held, PATIENCE, None, CACHE, OnMigration::default())?.remove(call)
    } else {
        Ok(())
    }
}
