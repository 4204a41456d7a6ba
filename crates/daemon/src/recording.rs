//! What workers record by: rules, and the threads that erase and write down whose product is kept.

use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use ringtap_recorder::cases::CaseThread;
use ringtap_recorder::erase::ErasingThread;
use ringtap_recorder::orders::{LegKey, Orders, PauseTrigger, Ruling, RulingSettings};
use ringtap_spool::DeletionLog;

use crate::config::{Config, Field, Secrets};
use crate::far_tier::FarTier;
use crate::shared_status::SharedStatus;

/// What workers keep by.
pub(crate) struct Recording {
    pub(crate) orders: Arc<Orders>,
    pub(crate) erasing: ErasingThread,
    pub(crate) cases: CaseThread,
    /// For the choice of calls, where the configuration has none.
    pub(crate) secret: String,
}

impl Recording {
    /// None where nothing is kept. `calls` is what each worker may follow.
    pub(crate) fn start(
        config: &Config,
        workers: usize,
        calls: usize,
        files: bool,
        secrets: &Secrets,
        board: &Arc<SharedStatus>,
        far_tier: &Arc<FarTier>,
    ) -> anyhow::Result<Option<Self>> {
        let Some(directory) = config.spool.directory() else { return Ok(None) };
        // Replays are repeatable; on the wire nobody may know which calls are chosen.
        let secret = if files { "replay".to_owned() } else { RandomState::new().hash_one(0).to_string() };
        let ruling = ruling(config, &secret)?;
        let cases = CaseThread::start(directory).context("cannot start a thread that writes cases down")?;
        let orders = Arc::new(Orders::new(ruling, workers, calls).with(cases.clerk()));
        log::info!(target: "spool", "packets of calls go to {}", directory.display());
        log_rules(&orders);
        let wait = Duration::from_nanos(config.spool.age().0) + MARGIN;
        let dirs = [Some(directory), config.retention.tier()].into_iter().flatten().map(Path::to_owned);
        let deletions = DeletionLog::of(directory, secrets.sign.clone());
        let far_tier = Arc::clone(far_tier);
        let far = Box::new(move || far_tier.far());
        let erasing =
            ErasingThread::start(dirs.collect(), far, deletions, wait, files, Arc::clone(&board.corrections))
                .context("[spool] directory")?;
        Ok(Some(Self { orders, erasing, cases, secret }))
    }

    /// Rules as they are written now.
    pub(crate) fn reload(&self, config: &Config) {
        match ruling(config, &self.secret) {
            Ok(ruling) => {
                self.orders.replace(ruling);
                log_rules(&self.orders);
            }
            Err(error) => log::error!(target: "rules", "nothing changes: {error:#}"),
        }
    }
}

/// The rules of the configuration. `secret` where that has none of its own.
///
/// # Errors
///
/// A file of numbers that cannot be read any more.
pub(crate) fn ruling(config: &Config, secret: &str) -> anyhow::Result<Ruling> {
    let (rules, products) = config
        .rules()
        .map_err(|(place, key, problem)| anyhow::anyhow!("[[keep]] rule {} {key}: {problem}", place + 1))?;
    let spool = &config.spool;
    let switch = |digits: &str, header: &Field| PauseTrigger {
        digits: digits.as_bytes().to_vec(),
        header: header.0.clone(),
    };
    Ok(Ruling::new(RulingSettings {
        rules,
        products,
        legs: spool.legs.iter().map(|name| LegKey::of_name(name)).collect(),
        secret: if spool.share_key.is_empty() { secret } else { &spool.share_key }.to_owned(),
        pause: switch(&spool.pause_digits, &spool.pause_header),
        resume: switch(&spool.resume_digits, &spool.resume_header),
        everything: config.keeps_everything(),
    }))
}

pub(crate) fn log_rules(orders: &Orders) {
    let (ruling, _) = orders.ruling();
    ruling.lines().iter().for_each(|line| log::debug!(target: "rules", "{}", line));
}

/// How much longer than `age` a packet may be on its way to the disk.
pub(crate) const MARGIN: Duration = Duration::from_secs(5);
