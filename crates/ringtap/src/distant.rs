//! Where segments lie that are far: what a spool says of it, for the commands that read.

use std::path::Path;
use std::sync::Arc;

use ringtap_bucket::{Bucket, Settings};
use ringtap_spool::FarStorage;

/// The place that a spool names; None where nothing of it ever lay far. It is asked when something there is
/// needed, and so are its credentials.
pub(crate) fn of(spool: &Path) -> anyhow::Result<Option<Arc<dyn FarStorage>>> {
    let settings = Settings::read(spool)?;
    Ok(settings.map(|settings| Arc::new(Bucket::late(settings)) as Arc<dyn FarStorage>))
}
