//! Records that outlive their day: those of calls on hold, in day files of their own below `held`.
//!
//! A [`Reader`](crate::Reader) reads them where the day itself has been deleted.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ringtap_model::Id;

use crate::Error;
use crate::files::Files;
use crate::row::Row;

/// Below the directory of the day files.
pub(crate) const HELD: &str = "held";
/// How long another process's lock is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// Keeps records, as JSON, whatever becomes of their day: a call and its streams. The same again does no harm.
///
/// # Errors
///
/// A text that is no record; a file that cannot be written.
pub fn hold(dir: &Path, records: &[String]) -> Result<(), Error> {
    let rows: Vec<Row> = records
        .iter()
        .map(|record| Row::parse(record.clone()))
        .collect::<Result<_, _>>()
        .map_err(|source| Error::Record { source: Arc::new(source) })?;
    Files::create(&dir.join(HELD), PATIENCE, None)?.store(&rows)
}

/// Gives up what is held of a call.
///
/// # Errors
///
/// A file that cannot be written.
pub fn release(dir: &Path, call: &Id) -> Result<(), Error> {
    let held = dir.join(HELD);
    if held.is_dir() { Files::create(&held, PATIENCE, None)?.remove(call) } else { Ok(()) }
}
