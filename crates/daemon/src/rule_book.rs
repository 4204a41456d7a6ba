//! The ordinary recording rules as they are written, and how the console changes them.
//!
//! INVARIANT: nothing here knows of a rule that intercepts, so that neither an answer nor how long it takes
//! tells of one, and no change touches one. Rules are on the disk before they are in effect.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, bail};
use ringtap_recorder::policy::SharedPolicy;
use ringtap_report::time;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::config::compiled_rules::{keeps_everything, ordinary_rules};
use crate::config::rule_file::{of_json, to_json};
use crate::config::{Config, KeepRule, KeepScope, RuleFile};
use crate::retention_report::RuleReport;

/// What became of a new list of rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleOutcome {
    /// They are in effect, or would be; the version that they are then.
    Done(String),
    /// Somebody changed them meanwhile; the version that they are now.
    Changed(String),
    /// Nothing changes: these are wrong.
    Wrong(Vec<RuleMistake>),
}

/// A mistake in a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleMistake {
    /// Its index in the list.
    pub rule: Option<usize>,
    /// The key of `[[keep]]`.
    pub key: String,
    /// What is wrong with its value, and what to do.
    pub problem: String,
}

/// The ordinary rules of the running daemon.
#[derive(Debug)]
pub(crate) struct RuleBook {
    /// The file that has them once they were changed; `None` if they may not be.
    path: Option<PathBuf>,
    written: Mutex<Written>,
}

#[derive(Debug)]
struct Written {
    rules: Vec<KeepRule>,
    /// The file, as it is on the disk; `None` before the first change.
    file: Option<RuleFile>,
    /// What is recorded where there are no rules.
    otherwise: KeepScope,
}

impl Written {
    fn of(config: &Config) -> Self {
        Self { rules: config.own_rules(), file: config.rule_file.clone(), otherwise: config.spool.keep }
    }

    /// The same for the same rules, whichever file they are in.
    fn version(&self) -> String {
        version(&self.rules)
    }
}

impl RuleBook {
    pub(crate) fn of(config: &Config) -> Self {
        let path = config.spool.rules_file().map(Path::to_owned);
        Self { path, written: Mutex::new(Written::of(config)) }
    }

    /// Holds it, so that nobody changes the rules meanwhile.
    pub(crate) fn hold(&self) -> HeldBook<'_> {
        HeldBook(self.written())
    }

    fn written(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The rules in effect, as they are written, and what they decided.
    pub(crate) fn report(&self, shared_policy: &SharedPolicy) -> RuleReport {
        let written = self.written();
        let mut report = RuleReport::of(&shared_policy.policy().0);
        for (state, rule) in report.rules.iter_mut().zip(&written.rules) {
            state.written = Some(to_json(rule));
        }
        report.version = written.version();
        report.file = self.path.as_ref().map(|path| path.display().to_string());
        report
    }

    /// Replaces all rules by others, or only says whether that is possible (`is_trial`).
    ///
    /// # Errors
    ///
    /// They may not be changed here, or the file cannot be written; nothing changes.
    pub(crate) fn change(
        &self,
        shared_policy: &SharedPolicy,
        version: &str,
        rules: &[Map<String, Value>],
        is_trial: bool,
    ) -> anyhow::Result<RuleOutcome> {
        let Some(path) = &self.path else {
            bail!(
                "the rules are those of the configuration: name a file for those of the console with `rules` \
                 in [spool], and restart ringtap"
            )
        };
        let mut written = self.written();
        if version != written.version() {
            return Ok(RuleOutcome::Changed(written.version()));
        }
        let files: Vec<PathBuf> =
            written.rules.iter().flat_map(KeepRule::number_files).map(|(_, file)| file.to_owned()).collect();
        let rules = match of_json(rules, &files) {
            Ok(rules) => rules,
            Err(mistakes) => return Ok(RuleOutcome::Wrong(mistakes.into_iter().map(told).collect())),
        };
        written.check_file(path)?;
        let outcome = RuleOutcome::Done(self::version(&rules));
        if is_trial {
            return Ok(outcome);
        }
        // Files of numbers are read now: what cannot be in effect is not written either.
        let compiled = match ordinary_rules(&rules, written.otherwise) {
            Ok(compiled) => compiled,
            Err((place, key, problem)) => {
                let (rule, key) = (Some(place), key.to_owned());
                return Ok(RuleOutcome::Wrong(vec![RuleMistake { rule, key, problem }]));
            }
        };
        let file = RuleFile::of(rules.clone());
        file.write(path).with_context(|| {
            format!(
                "cannot write the rules to {}: nothing changes; is its directory the daemon's, and is the \
                 disk full?",
                path.display()
            )
        })?;
        let everything = keeps_everything(&rules, written.otherwise);
        let policy = shared_policy.policy().0.with_rules(compiled, everything, time::now());
        shared_policy.replace(policy);
        (written.rules, written.file) = (rules, Some(file));
        Ok(outcome)
    }
}

impl Written {
    /// Refuses where somebody changed the file by hand: what is in it would be lost.
    fn check_file(&self, path: &Path) -> anyhow::Result<()> {
        let found = fs::read_to_string(path).ok();
        if found.as_deref() != self.file.as_ref().map(|file| &*file.text) {
            bail!(
                "{} was changed by hand and is not in effect yet: send SIGHUP to ringtap (`systemctl reload \
                 ringtap`), and change the rules then",
                path.display()
            );
        }
        Ok(())
    }
}

/// The book while nobody else can change the rules.
pub(crate) struct HeldBook<'a>(MutexGuard<'a, Written>);

impl HeldBook<'_> {
    /// The file of the rules, as it was read or written last.
    pub(crate) fn file(&self) -> Option<RuleFile> {
        self.0.file.clone()
    }

    /// Has the rules of a configuration that was read meanwhile.
    pub(crate) fn replace(&mut self, config: &Config) {
        *self.0 = Written::of(config);
    }
}

fn told(mistake: crate::config::EntryMistake) -> RuleMistake {
    let crate::config::EntryMistake { place, key, problem } = mistake;
    RuleMistake { rule: place, key, problem }
}

/// A digest of the rules. It is told only to who may see them.
fn version(rules: &[KeepRule]) -> String {
    let mut hash = Sha256::new();
    rules.iter().for_each(|rule| hash.update(format!("[[keep]]\n{}", rule.lines())));
    hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}
