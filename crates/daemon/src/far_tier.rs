//! The bucket of a running ringtap: opened before privileges are dropped, and again after a reload.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, bail};
use ringtap_bucket::{Bucket, Settings};
use ringtap_spool::{FarStorage, is_anything_far};

use crate::config::Retention;

/// The bucket in use, shared by threads.
#[derive(Debug, Default)]
pub(crate) struct FarTier(Mutex<Option<Arc<Bucket>>>);

impl FarTier {
    /// The bucket in use now.
    pub(super) fn now(&self) -> Option<Arc<Bucket>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The same as the spool's far storage.
    pub(super) fn far(&self) -> Option<Arc<dyn FarStorage>> {
        self.now().map(|bucket| bucket as Arc<dyn FarStorage>)
    }

    /// Opens the bucket that `[retention] tier` names, or the one that already has segments of this spool.
    /// Returns whether anything changed.
    ///
    /// # Errors
    ///
    /// Credentials are missing, or segments are in another bucket. Nothing changes then.
    pub(super) fn open(&self, spool: &Path, retention: &Retention) -> anyhow::Result<bool> {
        let there = Settings::read(spool).context("[retention] tier")?;
        let fresh = match (retention.far(), there) {
            (Some(named), there) => {
                if let Some(there) = there.filter(|there| there.url() != named.url()) {
                    refuse_another(spool, &there, &named)?;
                }
                Some(named)
            }
            // Segments that are in a bucket keep their age limits.
            (None, there) => there,
        };
        if self.now().map(|bucket| bucket.settings().clone()) == fresh {
            return Ok(false);
        }
        let bucket = match (&fresh, retention.far()) {
            (Some(settings), Some(_)) => Some(Bucket::open(settings.clone()).context("[retention] tier")?),
            (Some(settings), None) => Some(Bucket::late(settings.clone())),
            (None, _) => None,
        };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = bucket.map(Arc::new);
        Ok(true)
    }

    /// Notes in the spool which bucket its segments move to, once privileges are dropped.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub(super) fn note(&self, spool: &Path, retention: &Retention) -> anyhow::Result<()> {
        match self.now().filter(|_| retention.far().is_some()) {
            Some(bucket) => bucket.settings().write(spool).context("[retention] tier"),
            None => Ok(()),
        }
    }
}

/// Segments in one bucket cannot be deleted in another.
fn refuse_another(spool: &Path, there: &Settings, named: &Settings) -> anyhow::Result<()> {
    if !is_anything_far(spool).with_context(|| format!("cannot read `{}`", spool.display()))? {
        return Ok(());
    }
    bail!(
        "[retention] tier: segments of this spool are in {}, not in {}: set tier to the first, or copy its \
         objects to the second and delete `{}/far/tier.toml`",
        there.describe(),
        named.describe(),
        spool.display()
    )
}
