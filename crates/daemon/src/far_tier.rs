//! The bucket of a running ringtap: a process of its own speaks to it, started before privileges are dropped.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, bail};
use ringtap_bucket::Settings;
use ringtap_spool::{FarStorage, RemoteStorage, is_anything_far};

use crate::config::{Config, Retention};
use crate::processes::child::{BucketSource, Process, Role, Start};
use crate::processes::environment::Credentials;

/// The bucket in use, if there is one, shared by threads.
#[derive(Debug, Default)]
pub(crate) struct FarTier {
    bucket: Option<RunningBucket>,
    /// The end of its process has been logged.
    ended: AtomicBool,
}

#[derive(Debug)]
struct RunningBucket {
    settings: Settings,
    far: Arc<RemoteStorage>,
    process: Process,
}

impl FarTier {
    /// Starts the process for the bucket that `[retention] tier` names, or for the one that already has
    /// segments of this spool.
    ///
    /// # Errors
    ///
    /// Credentials are missing, or segments are in another bucket.
    pub(super) fn start(config: &Config, credentials: Credentials) -> anyhow::Result<Self> {
        let retention = &config.retention;
        let settings = match config.spool.directory() {
            Some(spool) => wanted(spool, retention)?,
            None => None,
        };
        let Some(settings) = settings else {
            credentials.discard().context("cannot read the credentials of the environment")?;
            return Ok(Self::default());
        };
        let source = BucketSource {
            settings: settings.clone(),
            needed: retention.far().is_some(),
            environment: credentials.any(),
        };
        let start = Start::new(Role::NetworkStarter(source), config);
        let process = Process::start("the network client", start, Some(credentials.into_stdio()))
            .context("[retention] tier")?;
        let connecting = process.clone();
        let far = RemoteStorage::new(settings.url(), move || connecting.connect());
        let bucket = Some(RunningBucket { settings, far: Arc::new(far), process });
        Ok(Self { bucket, ended: AtomicBool::new(false) })
    }

    /// The bucket.
    pub(super) fn settings(&self) -> Option<&Settings> {
        self.bucket.as_ref().map(|bucket| &bucket.settings)
    }

    /// The same as the spool's far storage.
    pub(super) fn far(&self) -> Option<Arc<dyn FarStorage>> {
        self.bucket.as_ref().map(|bucket| Arc::clone(&bucket.far) as Arc<dyn FarStorage>)
    }

    /// Whether a new configuration goes on with the bucket in use.
    ///
    /// # Errors
    ///
    /// It names another one, or other credentials: the process that speaks to it has been told at the start.
    pub(super) fn check(&self, spool: &Path, retention: &Retention) -> anyhow::Result<()> {
        let fresh = wanted(spool, retention)?;
        let Some(fresh) = fresh.filter(|fresh| Some(fresh) != self.settings()) else { return Ok(()) };
        bail!(
            "[retention] tier: {} with its other keys is used from the next start: restart ringtap",
            fresh.describe()
        )
    }

    /// Notes in the spool which bucket its segments move to, once privileges are dropped.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub(super) fn note(&self, spool: &Path, retention: &Retention) -> anyhow::Result<()> {
        match self.settings().filter(|_| retention.far().is_some()) {
            Some(settings) => settings.write(spool).context("[retention] tier"),
            None => Ok(()),
        }
    }

    /// Logs once that the process has ended. The daemon goes on: calls are recorded without a bucket too.
    pub(super) fn watch(&self) {
        let ended = self.bucket.as_ref().and_then(|bucket| bucket.process.ended()).is_some();
        if ended && !self.ended.swap(true, Ordering::Relaxed) {
            log::error!(
                target: "spool",
                "the network client has ended: segments stay in the spool, and those in the bucket \
                 cannot be read or deleted, until ringtap is restarted; everything else goes on"
            );
        }
    }

    /// Has the process end.
    pub(super) fn close(&self) {
        if let Some(bucket) = &self.bucket {
            bucket.process.close();
        }
    }
}

/// The bucket that a configuration names, or else the one that has segments of the spool: they keep their age
/// limits.
fn wanted(spool: &Path, retention: &Retention) -> anyhow::Result<Option<Settings>> {
    let there = Settings::read(spool).context("[retention] tier")?;
    let Some(named) = retention.far() else { return Ok(there) };
    if let Some(there) = there.filter(|there| there.url() != named.url()) {
        refuse_another(spool, &there, &named)?;
    }
    Ok(Some(named))
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
