//! The recording rules of all workers, and the threads that erase calls and write the product log.

use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use ringtap_recorder::cases::CaseThread;
use ringtap_recorder::erase::ErasingThread;
use ringtap_recorder::policy::{LegKey, PauseTrigger, PolicySettings, RecordingPolicy, SharedPolicy};
use ringtap_report::time;
use ringtap_spool::DeletionLog;

use crate::config::{Config, HeaderField, Secrets};
use crate::far_tier::FarTier;
use crate::rule_book::{HeldBook, RuleBook};
use crate::shared_status::SharedStatus;

/// What the workers share for recording.
pub(crate) struct Recording {
    pub(crate) shared_policy: Arc<SharedPolicy>,
    pub(crate) rule_book: Arc<RuleBook>,
    pub(crate) erasing: ErasingThread,
    pub(crate) cases: CaseThread,
    /// Chooses the calls of a `share` if the configuration has no `share_key`.
    pub(crate) secret: String,
}

impl Recording {
    /// None without a spool. `calls` is the number of calls that each worker can follow.
    pub(crate) fn start(
        config: &Config,
        workers: usize,
        calls: usize,
        files: bool,
        secrets: &Secrets,
        shared_status: &Arc<SharedStatus>,
        far_tier: &Arc<FarTier>,
    ) -> anyhow::Result<Option<Self>> {
        let Some(directory) = config.spool.directory() else { return Ok(None) };
        // A replay is repeatable. On the wire, nobody must know which calls are chosen.
        let secret = if files { "replay".to_owned() } else { RandomState::new().hash_one(0).to_string() };
        let policy = policy(config, &secret)?;
        let cases =
            CaseThread::start(directory).context("cannot start the thread that writes product.log")?;
        let shared_policy = Arc::new(SharedPolicy::new(policy, workers, calls).with(cases.reporter()));
        log::info!(target: "spool", "packets of calls are recorded in {}", directory.display());
        log_rules(&shared_policy);
        config.say_which_rules_hold();
        let wait = Duration::from_nanos(config.spool.age().0) + MARGIN;
        let dirs = [Some(directory), config.retention.tier()].into_iter().flatten().map(Path::to_owned);
        let deletions = DeletionLog::of(directory, secrets.sign.clone());
        let far_tier = Arc::clone(far_tier);
        let far = Box::new(move || far_tier.far());
        let erasing = ErasingThread::start(
            dirs.collect(),
            far,
            deletions,
            wait,
            files,
            Arc::clone(&shared_status.corrections),
        )
        .context("[spool] directory")?;
        let rule_book = Arc::new(RuleBook::of(config));
        Ok(Some(Self { shared_policy, rule_book, erasing, cases, secret }))
    }

    /// Applies the rules of a new configuration, which was read while the book was held.
    pub(crate) fn reload(&self, config: &Config, mut book: HeldBook<'_>) {
        match policy(config, &self.secret) {
            Ok(policy) => {
                book.replace(config);
                self.shared_policy.replace(policy);
                log_rules(&self.shared_policy);
            }
            Err(error) => log::error!(target: "rules", "the rules in effect stay: {error:#}"),
        }
    }
}

/// The rules of the configuration. `secret` is used if it has no `share_key`.
///
/// # Errors
///
/// A file of numbers cannot be read.
pub(crate) fn policy(config: &Config, secret: &str) -> anyhow::Result<RecordingPolicy> {
    let (rules, products) = config
        .rules()
        .map_err(|(place, key, problem)| anyhow::anyhow!("[[keep]] rule {} {key}: {problem}", place + 1))?;
    let spool = &config.spool;
    let switch = |digits: &str, header: &HeaderField| PauseTrigger {
        digits: digits.as_bytes().to_vec(),
        header: header.0.clone(),
    };
    Ok(RecordingPolicy::new(PolicySettings {
        rules,
        products,
        legs: spool.legs.iter().map(|name| LegKey::of_name(name)).collect(),
        secret: if spool.share_key.is_empty() { secret } else { &spool.share_key }.to_owned(),
        pause: switch(&spool.pause_digits, &spool.pause_header),
        resume: switch(&spool.resume_digits, &spool.resume_header),
        everything: config.keeps_everything(),
        since: time::now(),
        listeners: spool.listeners,
    }))
}

pub(crate) fn log_rules(shared_policy: &SharedPolicy) {
    let (policy, _) = shared_policy.policy();
    policy.lines().iter().for_each(|line| log::debug!(target: "rules", "{}", line));
}

/// How much longer than `age` writing a packet may take.
pub(crate) const MARGIN: Duration = Duration::from_secs(5);
