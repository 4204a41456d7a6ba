//! The configuration of `ringtap run`: `ringtap.toml`, parsed, then validated into useful types.
//!
//! Each section defines its keys in a file of its own, by [`key::section!`]. The default file, the manual's
//! page, the errors, and what a reload compares and applies come from these definitions.

mod alarm_config;
mod alarm_names;
mod alarm_rule;
mod alarms;
mod availability;
mod capture;
mod check;
pub(crate) mod compiled_rules;
mod conversations;
mod country;
mod document;
mod engine;
mod error;
mod hook;
mod hook_config;
mod hooks;
mod hours;
mod identity;
mod intercept;
mod keep_rule;
pub(crate) mod key;
mod kpi;
mod kpi_config;
mod notify_target;
mod page;
mod process;
mod profile;
mod quality;
mod radius;
mod retention;
pub(crate) mod rule_file;
pub(crate) mod rules;
mod spool;
mod store;
#[cfg(test)]
mod tests;
mod trunk;
mod trunks;
mod values;
mod warrant_config;
mod warrants;

use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::de::DeTable;

pub use alarm_config::AlarmConfig;
use alarm_rule::AlarmRule;
use alarms::Alarms;
use availability::Availability;
pub(crate) use capture::Capture;
use conversations::Conversations;
use country::Country;
use document::Document;
use engine::Limits;
pub use error::ConfigError;
pub(crate) use error::EntryMistake;
use hook::HookEntry;
use hooks::Hooks;
use identity::Identity;
pub(crate) use intercept::Intercept;
pub(crate) use keep_rule::KeepRule;
use key::{Key, Keys, Section};
use kpi::Kpi;
pub use kpi_config::KpiConfig;
use notify_target::NotifyTarget;
pub use page::default_file;
#[cfg(test)]
pub(crate) use page::held;
pub(crate) use process::MetricsFiles;
use process::{Log, Metrics, Process};
pub use profile::Profile;
use quality::Quality;
pub(crate) use radius::Following;
use radius::Radius;
pub(crate) use retention::Retention;
pub(crate) use rule_file::RuleFile;
pub(crate) use spool::{KeyFiles, Secrets, Spool};
pub use store::default_records;
use store::{Journal, Store};
use trunk::TrunkGroup;
pub(crate) use values::{HeaderField, KeepScope, LogLevel, Span, Speed};
#[cfg(test)]
use values::{ListenAddress, Size};
pub use warrant_config::WarrantConfig;
use warrants::WarrantPages;

/// Lists the sections of the file, once.
macro_rules! sections {
    ($($name:ident: $Section:ident,)+) => {
        /// The whole file.
        #[derive(Clone, Debug, Default, PartialEq, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct Config {
            $(pub(crate) $name: $Section,)+
            /// What is recorded of which call: the first rule that matches decides.
            pub(crate) keep: Vec<KeepRule>,
            /// The rules that replace the ordinary ones of `keep`, once they were changed in the console.
            #[serde(skip)]
            pub(crate) rule_file: Option<RuleFile>,
            /// Groups of addresses with a name.
            pub(crate) trunk: Vec<TrunkGroup>,
            /// What raises an alarm.
            pub(crate) alarm: Vec<AlarmRule>,
            /// Who is told of alarms.
            pub(crate) notify: Vec<NotifyTarget>,
            /// Who is given calls that have ended.
            pub(crate) hook: Vec<HookEntry>,
        }

        impl Config {
            /// The sections, in the order of the file.
            pub(crate) const SECTIONS: &[Section] = &[$($Section::SECTION),+];

            /// The lists of tables.
            pub(crate) const LISTS: &[Section] = &[
                KeepRule::SECTION,
                TrunkGroup::SECTION,
                AlarmRule::SECTION,
                NotifyTarget::SECTION,
                HookEntry::SECTION,
            ];

            /// Adopts the keys that a reload applies.
            pub(crate) fn adopt_live(&mut self, fresh: Self) {
                $(self.$name.adopt_live(&fresh.$name);)+
                self.keep = fresh.keep;
                self.rule_file = fresh.rule_file;
            }

            /// The keys whose values differ; the first key of a list stands for all its entries.
            pub(crate) fn changed(&self, other: &Self) -> Vec<&'static Key> {
                let rules = self.keep != other.keep || self.rule_file != other.rule_file;
                let rules = KeepRule::SECTION.keys.first().filter(|_| rules);
                let trunks = TrunkGroup::SECTION.keys.first().filter(|_| self.trunk != other.trunk);
                let alarms = AlarmRule::SECTION.keys.first().filter(|_| self.alarm != other.alarm);
                let targets = NotifyTarget::SECTION.keys.first().filter(|_| self.notify != other.notify);
                let sections = std::iter::empty()$(.chain(self.$name.changed(&other.$name)))+;
                sections.chain(rules).chain(trunks).chain(alarms).chain(targets).collect()
            }

            /// The numbers that are not within the bounds of their keys.
            fn check_bounds(&self) -> Vec<key::KeyProblem> {
                std::iter::empty()$(.chain(self.$name.check_bounds()))+.collect()
            }
        }
    };
}

sections! {
    capture: Capture,
    engine: Limits,
    quality: Quality,
    identity: Identity,
    radius: Radius,
    availability: Availability,
    intercept: Intercept,
    warrants: WarrantPages,
    conversations: Conversations,
    store: Store,
    kpi: Kpi,
    alarms: Alarms,
    hooks: Hooks,
    journal: Journal,
    spool: Spool,
    retention: Retention,
    metrics: Metrics,
    log: Log,
    process: Process,
}

impl Config {
    /// What checks the Identity headers of calls.
    ///
    /// # Errors
    ///
    /// A certificate cannot be read.
    pub(crate) fn identity_checker(&self) -> anyhow::Result<ringtap_stir::Checker> {
        self.identity.checker()
    }

    /// The files with keys and credentials.
    pub(crate) fn secret_files(&self) -> Vec<PathBuf> {
        let keys = self.spool.key_files().into_iter().flat_map(|files| [files.seal, files.sign]);
        let credentials = PathBuf::from(self.retention.credentials());
        let MetricsFiles { tls, token } = self.metrics.files();
        let metrics = tls.map(|(_, key)| key).into_iter().chain(token);
        keys.chain([credentials])
            .chain(metrics)
            .chain(self.radius.secret_file().map(Path::to_owned))
            .chain(self.radius.key_log().map(Path::to_owned))
            .chain(self.intercept.key_file().map(Path::to_owned))
            .chain(self.intercept.functions().map(Path::to_owned))
            .chain([self.intercept.certificate_key().to_owned()])
            .chain(self.warrants.key_file().map(Path::to_owned))
            .chain(self.notify_files())
            .chain(self.hook_files())
            .filter(|path| path.is_absolute())
            .collect()
    }

    /// The files with secrets of those who are told of alarms.
    pub(crate) fn notify_files(&self) -> impl Iterator<Item = PathBuf> {
        self.notify.iter().filter_map(NotifyTarget::secret_file)
    }

    /// What is kept by whose law, where a country is named.
    pub(crate) fn kept_by_law(&self) -> Option<String> {
        self.retention.country.kept(self.store.retain, self.store.sessions_retained())
    }

    /// The files of numbers that the rules name.
    pub(crate) fn number_files(&self) -> Vec<PathBuf> {
        let own = self.own_rules();
        let intercepting = self.keep.iter().filter(|rule| rule.intercepts());
        let files = intercepting.chain(&own).flat_map(KeepRule::number_files);
        files.map(|(_, file)| file.to_owned()).collect()
    }

    /// Reads a file. `profile` replaces that of the file.
    ///
    /// # Errors
    ///
    /// The mistakes in it: line, key, and how to correct it.
    pub fn load(path: &Path, profile: Option<Profile>) -> Result<Self, ConfigError> {
        ConfigFile::read(path, profile).map(|file| file.config)
    }

    #[cfg(test)]
    pub(crate) fn parse(text: &str) -> Result<Self, ConfigError> {
        Self::parse_with(text, None)
    }

    fn parse_with(text: &str, profile: Option<Profile>) -> Result<Self, ConfigError> {
        let document = Document::parse(text, Self::SECTIONS, Self::LISTS)?;
        let profile = profile.unwrap_or_else(|| document.profile());
        let law =
            document.text_of("retention", "country").map(Country::of_name).unwrap_or(Country::None).text();
        let mut others = DeTable::parse(&law)
            .map_err(|error| ConfigError::new(None, None, error.message().to_owned()))?
            .into_inner();
        document::complete(&mut others, profile.table()?.get_ref());
        let mut config: Self = document.read(&others)?;
        config.process.profile = profile;
        let mut wrong: Vec<ConfigError> = config
            .check()
            .into_iter()
            .map(|(section, key, problem)| document.at(section, key, problem))
            .collect();
        if let Err((place, key, problem)) = config.check_rules() {
            wrong.push(document.at_entry("keep", place, key, problem));
        } else if config.has_own_rules() && document.has("spool", "keep") {
            let problem = "has no effect beside [[keep]] rules: remove it, and add a last [[keep]] rule \
            without \
                conditions";
            wrong.push(document.at("spool", "keep", problem.to_owned()));
        }
        let alarms = config.read_alarms().err().unwrap_or_default();
        wrong.extend(alarms.into_iter().map(|mistake| mistake.explained(&document)));
        let hooks = config.read_hooks().err().unwrap_or_default();
        wrong.extend(hooks.into_iter().map(|mistake| mistake.explained(&document)));
        wrong.extend(config.trunks().err().map(|error| trunk::explained(&error, &document)));
        ConfigError::all(wrong).map_or(Ok(config), Err)
    }

    /// Number of workers over all interfaces.
    pub(crate) fn workers(&self) -> usize {
        usize::from(self.capture.workers.get()) * self.capture.interfaces.len().max(1)
    }
}

/// A configuration and the text that it was read from, which tells where a key is.
#[derive(Clone, Debug)]
pub struct ConfigFile {
    /// What it says.
    pub config: Config,
    /// The file.
    pub path: PathBuf,
    text: String,
}

impl ConfigFile {
    /// Reads a file. `profile` replaces that of the file.
    ///
    /// # Errors
    ///
    /// The mistakes in it: line, key, and how to correct it.
    pub fn read(path: &Path, profile: Option<Profile>) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path).map_err(|error| ConfigError::unreadable(path, &error))?;
        let config = Config::parse_with(&text, profile).map_err(|wrong| wrong.of(path))?;
        let mut file = Self { config, path: path.to_owned(), text };
        if let Some(rules) = file.config.spool.rules_file() {
            file.check_rules_file(rules)?;
            file.config.rule_file = RuleFile::read(rules)?;
        }
        Ok(file)
    }

    /// The process that captures may write to the directory of this file, so nothing else may be in it that
    /// it must not change.
    fn check_rules_file(&self, rules: &Path) -> Result<(), ConfigError> {
        let whole = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let Some(directory) = rules.parent().filter(|_| rules.is_absolute()) else {
            let problem = "must be an absolute path, for example /var/lib/ringtap/rules/rules.toml";
            return Err(self.problem("spool", "rules", problem.to_owned()));
        };
        let directory = whole(directory);
        let others = self.config.secret_files().into_iter().chain([self.path.clone()]);
        match others.into_iter().find(|path| whole(path).starts_with(&directory)) {
            None => Ok(()),
            Some(other) => {
                let problem = format!(
                    "must be in a directory of its own, to which the daemon may write, and `{}` is below \
                     `{}`: name another one, for example /var/lib/ringtap/rules/rules.toml",
                    other.display(),
                    directory.display()
                );
                Err(self.problem("spool", "rules", problem))
            }
        }
    }

    /// A problem with a key whose value is right, but cannot be used here.
    pub(crate) fn problem(&self, section: &str, key: &str, problem: String) -> ConfigError {
        self.in_document(|document| document.at(section, key, problem))
    }

    /// The same with a key of an entry of a list.
    pub(crate) fn problem_of_entry(
        &self,
        list: &str,
        place: usize,
        key: &str,
        problem: String,
    ) -> ConfigError {
        self.in_document(|document| document.at_entry(list, place, key, problem))
    }

    fn in_document(&self, error: impl FnOnce(&Document<'_>) -> ConfigError) -> ConfigError {
        let error = match Document::parse(&self.text, Config::SECTIONS, Config::LISTS) {
            Ok(document) => error(&document),
            Err(error) => error,
        };
        error.of(&self.path)
    }
}
