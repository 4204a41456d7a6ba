//! The bucket of a spool, for the commands that read segments.

use std::path::Path;
use std::sync::Arc;

use ringtap_bucket::{Bucket, Settings};
use ringtap_daemon::become_owner_of;
use ringtap_spool::FarStorage;

/// The bucket that a spool names; None if it never had one. It is contacted, and its credentials are read,
/// only when a segment is needed.
pub(crate) fn of(spool: &Path) -> anyhow::Result<Option<Arc<dyn FarStorage>>> {
    let settings = Settings::read(spool)?;
    Ok(settings.map(|settings| Arc::new(Bucket::late(settings)) as Arc<dyn FarStorage>))
}

/// The same, for a command that changes the spool: credentials are read now, then root becomes the spool's
/// owner.
pub(crate) fn of_owner(spool: &Path) -> anyhow::Result<Option<Arc<dyn FarStorage>>> {
    let bucket = Settings::read(spool)?.map(Bucket::late);
    bucket.iter().for_each(Bucket::prepare);
    become_owner_of(spool)?;
    Ok(bucket.map(|bucket| Arc::new(bucket) as Arc<dyn FarStorage>))
}
