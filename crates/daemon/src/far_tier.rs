//! The far place of a running ringtap: opened while it may be, and again when the configuration changes.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, bail};
use ringtap_bucket::{Bucket, Settings};
use ringtap_spool::{FarStorage, is_anything_far};

use crate::config::Retention;

/// The place, for the threads that need it.
#[derive(Debug, Default)]
pub(crate) struct FarTier(Mutex<Option<Arc<Bucket>>>);

impl FarTier {
    /// As it is now.
    pub(super) fn now(&self) -> Option<Arc<Bucket>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// As it is now, for a spool.
    pub(super) fn far(&self) -> Option<Arc<dyn FarStorage>> {
        self.now().map(|bucket| bucket as Arc<dyn FarStorage>)
    }

    /// Opens what `[retention] tier` names, or what lies far already, for the spool in that directory. False:
    /// nothing has changed.
    ///
    /// # Errors
    ///
    /// No credentials; segments that lie somewhere else. Nothing changes then.
    pub(super) fn open(&self, spool: &Path, retention: &Retention) -> anyhow::Result<bool> {
        let there = Settings::read(spool).context("[retention] tier")?;
        let fresh = match (retention.far(), there) {
            (Some(named), there) => {
                if let Some(there) = there.filter(|there| there.url() != named.url()) {
                    refuse_another(spool, &there, &named)?;
                }
                Some(named)
            }
            // What has its clocks goes on having them.
            (None, there) => there,
        };
        if self.now().map(|bucket| bucket.settings().clone()) == fresh {
            return Ok(false);
        }
        let bucket = match (&fresh, retention.far()) {
            (Some(settings), Some(_)) => {
                let bucket = Bucket::open(settings.clone()).context("[retention] tier")?;
                settings.write(spool).context("[retention] tier")?;
                Some(bucket)
            }
            (Some(settings), None) => Some(Bucket::late(settings.clone())),
            (None, _) => None,
        };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = bucket.map(Arc::new);
        Ok(true)
    }
}

/// What lies at one place cannot be deleted at another.
fn refuse_another(spool: &Path, there: &Settings, named: &Settings) -> anyhow::Result<()> {
    if !is_anything_far(spool).with_context(|| format!("`{}` cannot be read", spool.display()))? {
        return Ok(());
    }
    bail!(
        "[retention] tier: segments of this spool lie in {}, not in {}: name that, or copy what is there to the new place and \
         delete `{}/far/tier.toml`",
        there.describe(),
        named.describe(),
        spool.display()
    )
}
