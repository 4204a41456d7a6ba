//! `ringtap run --check`: whether this machine has what a configuration names, and whether the user of the
//! service may use it.
//!
//! Everything is looked at, with the code that a start uses where it changes nothing: filters are compiled,
//! interfaces asked, keys and certificates read. Directories are tried with the rights of the user that the
//! daemon becomes. Nothing is written, and `seal_command` is not run.

mod paths;
mod rights;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::path::Path;

use nix::unistd::User;
use ringtap_capture::live;
use ringtap_identity::KeyLog;
use ringtap_model::LinkType;
use ringtap_notify::Sender;
use ringtap_spool::{MasterKey, Signer};
use ringtap_warrant::RegisterKey;

use crate::config::{ConfigError, ConfigFile, KeyFiles};
use crate::processes::notify_source::secret_of;
use crate::system;
use crate::tls::Guard;
use paths::{Looked, NamedPath, Use};
use rights::Rights;

/// What was found.
#[derive(Clone, Debug)]
pub struct CheckReport {
    /// What keeps the daemon from starting, or from storing: each with its key and what to do.
    pub problems: Vec<ConfigError>,
    /// What depends on how the daemon is started.
    pub remarks: Vec<ConfigError>,
    /// What was checked: `filter, 2 interfaces, 5 directories as user ringtap`.
    pub checked: String,
}

/// Looks at all that a configuration names.
pub fn check(file: &ConfigFile) -> CheckReport {
    let mut check = Check { file, problems: Vec::new(), remarks: Vec::new() };
    let user = check.user();
    let mut checked = check.capture();
    checked.extend(check.secrets());
    checked.extend(check.paths(user.as_ref()));
    checked.extend(file.config.kept_by_law());
    let hooks = file.config.hooks();
    check.problems.extend(crate::hooks::check(file, &hooks));
    checked.extend(plural(hooks.len(), "hook", "hooks"));
    let name = Rights { user: user.as_ref() }.name();
    let checked = format!("{} as user {name}", checked.join(", "));
    CheckReport { problems: check.problems, remarks: check.remarks, checked }
}

struct Check<'a> {
    file: &'a ConfigFile,
    problems: Vec<ConfigError>,
    remarks: Vec<ConfigError>,
}

impl Check<'_> {
    fn problem(&mut self, section: &str, key: &str, problem: impl ToString) {
        self.problems.push(self.file.problem(section, key, problem.to_string()));
    }

    /// The user to become, if it is another.
    fn user(&mut self) -> Option<User> {
        system::user(&self.file.config.process.user).unwrap_or_else(|error| {
            let error = format!("{error:#}");
            self.problem("process", "user", error.strip_prefix("[process] user: ").unwrap_or(&error));
            None
        })
    }

    /// Interfaces, and the filter for the frames that they have.
    fn capture(&mut self) -> Vec<String> {
        let capture = &self.file.config.capture;
        let mut links: Vec<LinkType> = Vec::new();
        for interface in &capture.interfaces {
            match live::link_of(interface) {
                Ok(link) => links.extend((!links.contains(&link)).then_some(link)),
                Err(error) => self.problem("capture", "interfaces", error),
            }
        }
        let mut checked = Vec::new();
        if !capture.filter.trim().is_empty() {
            checked.push("filter".to_owned());
            if links.is_empty() {
                links.push(ETHERNET);
            }
            let settings = capture.of_interface("");
            if let Some(error) = links.into_iter().find_map(|link| settings.filter(link).err()) {
                self.problem("capture", "filter", error);
            }
        }
        checked.extend(plural(capture.interfaces.len(), "interface", "interfaces"));
        checked
    }

    /// Files to replay, keys, certificates and credentials, which the daemon opens before it becomes another
    /// user.
    fn secrets(&mut self) -> Vec<String> {
        let config = &self.file.config;
        for path in &config.capture.files {
            if let Err(error) = File::open(path) {
                self.problem("capture", "files", format!("`{}` cannot be read: {error}", path.display()));
            }
        }
        let mut read = 0;
        if let Some(KeyFiles { seal, sign, .. }) = config.spool.key_files() {
            let seal = Some(seal).filter(|path| !path.as_os_str().is_empty());
            let sign = Some(sign).filter(|path| !path.as_os_str().is_empty());
            read += usize::from(seal.is_some()) + usize::from(sign.is_some());
            if let Some(Err(error)) = seal.map(|path| MasterKey::read(&path)) {
                self.problem("spool", "seal", error);
            }
            if let Some(Err(error)) = sign.map(|path| Signer::read(&path)) {
                self.problem("spool", "sign", error);
            }
        }
        if let Some(Err(error)) = config.radius.key_log().map(KeyLog::open) {
            self.problem("radius", "tls_keys", error);
        }
        read += self.metrics();
        read += self.targets();
        read += self.interception();
        read += self.warrant_pages();
        let credentials = Path::new(config.retention.credentials());
        if config.retention.far().is_some() && credentials.is_absolute() {
            read += 1;
            if let Err(error) = ringtap_spool::secret(credentials) {
                self.problem("retention", "tier_credentials", error);
            }
        }
        let replayed = plural(config.capture.files.len(), "file to replay", "files to replay");
        replayed.chain(plural(read, "key file", "key files")).collect()
    }

    /// The register of warrants, and its key; how many files were read.
    fn interception(&mut self) -> usize {
        let intercept = self.file.config.intercept.clone();
        let Some(product) = intercept.product() else { return 0 };
        for (key, problem) in crate::intercept::check(product, &intercept) {
            self.problem("intercept", key, problem);
        }
        [intercept.key_file(), intercept.functions()].into_iter().flatten().count()
    }

    /// The register of warrants that the console uses, and its key; how many files were read.
    fn warrant_pages(&mut self) -> usize {
        let pages = &self.file.config.warrants;
        let Some(register) = pages.register() else { return 0 };
        let no_register = crate::intercept::no_register(register);
        let key = pages.key_file().map(RegisterKey::read);
        let read = usize::from(key.is_some());
        if let Some(problem) = no_register {
            self.problem("warrants", "register", problem);
        }
        if let Some(Err(error)) = key {
            self.problem("warrants", "key", error);
        }
        read
    }

    /// Who is told of alarms; how many files they need.
    fn targets(&mut self) -> usize {
        let targets = self.file.config.alarms().targets;
        for (place, target) in targets.iter().enumerate() {
            let secret = secret_of(target);
            let opened = secret.and_then(|secret| {
                let sender = Sender::open(target, secret.as_deref().map(String::as_str), HOST);
                sender.map_err(|error| error.to_string())
            });
            if let Err(problem) = opened {
                // Most problems are those of a file, and begin with its key or name it.
                let key = match () {
                    () if problem.starts_with("ca ") => "ca",
                    () if problem.contains("header_file") => "header_file",
                    () if problem.contains("password_file") => "password_file",
                    () => "name",
                };
                let begins = problem.strip_prefix(key).map(|rest| rest.trim_start_matches(':').trim_start());
                let problem = begins.unwrap_or(&problem).to_owned();
                self.problems.push(self.file.problem_of_entry("notify", place, key, problem));
            }
        }
        targets.iter().filter(|target| target.secret_file().is_some()).count()
    }

    /// What guards the metrics; how many files that are.
    fn metrics(&mut self) -> usize {
        let files = self.file.config.metrics.files();
        let number = 2 * usize::from(files.tls.is_some()) + usize::from(files.token.is_some());
        if self.file.config.metrics.listen.0.is_none() {
            return 0;
        }
        if let Err(error) = Guard::read(&files) {
            let error = format!("{error:#}");
            let keys = ["certificate_key", "certificate", "token"];
            let named = |key: &&str| error.starts_with(&format!("[metrics] {key}:"));
            let key = keys.into_iter().find(named).unwrap_or("certificate");
            let said = error.strip_prefix(&format!("[metrics] {key}: ")).unwrap_or(&error);
            self.problem("metrics", key, said);
        }
        number
    }

    /// Directories and files, with the rights of the user that the daemon becomes.
    fn paths(&mut self, user: Option<&User>) -> Vec<String> {
        let named = paths::named(self.file);
        let rights = Rights { user };
        let look = || named.iter().map(NamedPath::look).collect::<Vec<_>>();
        let looked = match rights.of_the_service(look) {
            Ok(looked) => looked,
            Err(error) => {
                self.problem("process", "user", format!("its rights cannot be tried: {error:#}"));
                return Vec::new();
            }
        };
        for (path, looked) in named.iter().zip(looked) {
            match looked {
                Looked::Usable => {}
                Looked::Missing(there) if rights.root_makes(&there) => {
                    // The service manager makes those below /run.
                    if user.is_some() && !path.path.starts_with("/run") {
                        self.remarks.push(path.made_by_root(self.file, &rights));
                    }
                }
                Looked::Missing(there) => self.problems.push(path.missing(self.file, &there, &rights)),
                // Whoever starts the daemon reads them: that is checked above.
                Looked::Refused { at, reason } if matches!(path.purpose, Use::AtStart | Use::Reload) => {
                    if user.is_some() {
                        self.remarks.push(path.refused(self.file, &at, reason, &rights));
                    }
                }
                Looked::Refused { at, reason } => {
                    self.problems.push(path.refused(self.file, &at, reason, &rights));
                }
                Looked::Entries { first, number } => {
                    self.problems.push(path.entries(self.file, &first, number, &rights));
                }
            }
        }
        let directories = named.iter().filter(|path| path.purpose == Use::Directory).count();
        plural(directories, "directory", "directories").collect()
    }
}

/// `2 interfaces`; nothing of none.
fn plural(number: usize, one: &str, more: &str) -> impl Iterator<Item = String> {
    let noun = if number == 1 { one } else { more };
    (number > 0).then(|| format!("{number} {noun}")).into_iter()
}

/// LINKTYPE_ETHERNET: most interfaces have it.
const ETHERNET: LinkType = LinkType(1);
/// A host that notices could come from: nobody is told anything here.
const HOST: &str = "localhost";
