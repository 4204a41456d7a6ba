//! The bucket of a spool, for the commands that read segments.

use std::path::Path;
use std::sync::Arc;

use ringtap_bucket::{Bucket, Settings};
use ringtap_spool::FarStorage;

/// The bucket that a spool names; None if it never had one. It is contacted, and its credentials are read,
/// only when a segment is needed.
pub(crate) fn of(spool: &Path) -> anyhow::Result<Option<Arc<dyn FarStorage>>> {
    let settings = Settings::read(spool)?;
    Ok(settings.map(|settings| Arc::new(Bucket::late(settings)) as Arc<dyn FarStorage>))
}
