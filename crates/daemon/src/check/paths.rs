//! The directories and files that a configuration names, and what keeps a user from them.

use std::fs;
use std::io::{Error, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ringtap_notify::Target;
use rustix::fs::Access;
use rustix::io::Errno;

use super::rights::{Rights, may};
use crate::config::{ConfigError, ConfigFile};

/// What the daemon does with a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// Writes files in it, and makes it where it does not exist.
    Directory,
    /// Appends to the file.
    Append,
    /// Reads the file before it becomes another user.
    AtStart,
    /// Reads the file again on SIGHUP.
    Reload,
    /// Reads the file as the user that it becomes.
    Read,
}

/// A path of the configuration.
#[derive(Clone, Debug)]
pub(super) struct NamedPath {
    pub(super) key: (&'static str, &'static str),
    pub(super) path: PathBuf,
    pub(super) purpose: Use,
}

/// What a user finds at a path.
#[derive(Clone, Debug)]
pub(super) enum Looked {
    /// It can be used, or made.
    Usable,
    /// A directory that the user may not make in this one, which exists.
    Missing(PathBuf),
    /// The user may not use this.
    Refused { at: PathBuf, reason: Errno },
    /// The directory can be used, but not so many of its files and directories, such as this one.
    Entries { first: PathBuf, number: usize },
}

/// All paths that the daemon uses as the user that it becomes.
pub(super) fn named(file: &ConfigFile) -> Vec<NamedPath> {
    let config = &file.config;
    let spool = config.spool.directory();
    let directories = [
        (("spool", "directory"), spool),
        (("spool", "rules"), config.spool.rules_file().and_then(Path::parent)),
        (("retention", "tier"), config.retention.tier().filter(|_| spool.is_some())),
        (("store", "directory"), Some(config.store.directory.as_path())),
        (("store", "outbox"), Some(config.store.outbox.as_path())),
        (("journal", "path"), config.journal.path.parent().filter(|_| config.journal.enabled)),
        (("process", "control"), config.process.control().and_then(Path::parent)),
        (("hooks", "directory"), config.hooks_directory()),
        (("intercept", "register"), config.intercept.register()),
        (("intercept", "product"), config.intercept.product()),
    ];
    let directories = directories.into_iter().filter_map(|(key, path)| Some((key, path?.to_owned())));
    // What the spool has in directories of its own, where they exist.
    let inside =
        spool.into_iter().flat_map(|spool| ["held", "holds", "quarantine"].map(|name| spool.join(name)));
    let inside = inside.filter(|path| path.is_dir()).map(|path| (("spool", "directory"), path));
    let heads = Some(&config.spool.heads).filter(|path| spool.is_some() && !path.as_os_str().is_empty());
    let secrets = config.secret_files().into_iter().map(|path| (secret_key(config, &path), path));
    let ranges = config.radius.range_file().map(|path| (("radius", "static"), path.to_owned()));
    let again = std::iter::once((("process", "user"), file.path.clone()))
        .chain(config.number_files().into_iter().map(|path| (("process", "user"), path)));
    let of = |purpose| {
        move |(key, path): ((&'static str, &'static str), PathBuf)| NamedPath { key, path, purpose }
    };
    let targets = config.alarms().targets;
    let certificates =
        targets.iter().filter_map(Target::ca_file).map(|path| (("[notify]", "ca"), path.to_owned()));
    directories
        .chain(inside)
        .map(of(Use::Directory))
        .chain(heads.map(|path| (("spool", "heads"), path.clone())).map(of(Use::Append)))
        .chain(secrets.chain(ranges).map(of(Use::AtStart)))
        .chain(again.map(of(Use::Reload)))
        .chain(certificates.map(of(Use::Read)))
        .collect()
}

/// The key that names a secret file.
fn secret_key(config: &crate::config::Config, path: &Path) -> (&'static str, &'static str) {
    let spool = config.spool.key_files();
    let metrics = config.metrics.files();
    match path {
        path if spool.as_ref().is_some_and(|files| files.seal == path) => ("spool", "seal"),
        path if spool.is_some_and(|files| files.sign == path) => ("spool", "sign"),
        path if metrics.token.as_deref() == Some(path) => ("metrics", "token"),
        path if config.notify_files().any(|secret| secret == path) => ("[notify]", "name"),
        path if config.hook_files().any(|secret| secret == path) => ("[hook]", "name"),
        path if config.radius.secret_file() == Some(path) => ("radius", "secrets"),
        path if config.radius.key_log() == Some(path) => ("radius", "tls_keys"),
        path if config.intercept.key_file() == Some(path) => ("intercept", "key"),
        path if config.intercept.functions() == Some(path) => ("intercept", "deliver"),
        path if config.intercept.certificate_key() == path => ("intercept", "certificate_key"),
        path if config.warrants.key_file() == Some(path) => ("warrants", "key"),
        path if metrics.tls.is_some_and(|(_, key)| key == path) => ("metrics", "certificate_key"),
        _ => ("retention", "tier_credentials"),
    }
}

impl NamedPath {
    /// Looks with the rights of this thread.
    pub(super) fn look(&self) -> Looked {
        let found = match self.purpose {
            Use::Directory => return directory(&self.path),
            Use::Append if self.path.exists() => may(&self.path, Access::WRITE_OK),
            Use::Append => return directory(self.path.parent().unwrap_or(Path::new("."))),
            Use::AtStart | Use::Reload | Use::Read => may(&self.path, Access::READ_OK),
        };
        match found {
            Ok(()) => Looked::Usable,
            Err(reason) => Looked::Refused { at: self.path.clone(), reason },
        }
    }

    fn problem(&self, file: &ConfigFile, problem: String) -> ConfigError {
        file.problem(self.key.0, self.key.1, problem)
    }

    /// It does not exist, and the user may not make it.
    pub(super) fn missing(&self, file: &ConfigFile, there: &Path, rights: &Rights<'_>) -> ConfigError {
        let (name, path) = (rights.name(), self.path.display());
        let problem = format!(
            "`{path}` does not exist, and the user `{name}` may not make it in `{}`: run `install -d -m \
             750 -o {name} {path}` as root, or name another directory",
            there.display()
        );
        self.problem(file, problem)
    }

    /// It does not exist, and only a start as root makes it.
    pub(super) fn made_by_root(&self, file: &ConfigFile, rights: &Rights<'_>) -> ConfigError {
        let (name, path) = (rights.name(), self.path.display());
        let remark = format!(
            "`{path}` does not exist: a start as root makes it. A service that starts as `{name}` needs it \
             before: run `install -d -m 750 -o {name} {path}`"
        );
        self.problem(file, remark)
    }

    /// The user may not use it, or what is at `at`.
    pub(super) fn refused(
        &self,
        file: &ConfigFile,
        at: &Path,
        reason: Errno,
        rights: &Rights<'_>,
    ) -> ConfigError {
        let (name, path, at_shown) = (rights.name(), self.path.display(), at.display());
        let said = Error::from(reason);
        let kind = said.kind();
        let problem = match self.purpose {
            Use::AtStart => format!(
                "`{path}` cannot be read by the user `{name}`: a start as root reads it. A service that \
                 starts as `{name}` (`User=` of its unit) cannot: run `chown {name} {path}`"
            ),
            Use::Reload => format!(
                "`{path}` cannot be read by the user `{name}`, so SIGHUP cannot read it again: run `chgrp \
                 {name} {path} && chmod g+r {path}`, or restart ringtap in place of a reload"
            ),
            _ if kind == ErrorKind::NotADirectory => {
                format!("`{path}`: `{at_shown}` is not a directory: name another path, or move it away")
            }
            _ if kind == ErrorKind::ReadOnlyFilesystem => format!(
                "`{path}` is on a file system that is mounted read-only: name a path on another one, or \
                 mount it to be written to"
            ),
            Use::Read => format!(
                "`{path}` cannot be read by the user `{name}` ({said}): run `chmod o+r {path}`, or name \
                 another file"
            ),
            Use::Directory | Use::Append => format!(
                "`{path}`: the user `{name}` may not use `{at_shown}` ({said}; {}): run `chown {name} \
                 {at_shown}` as root, or name another path",
                owner(at)
            ),
        };
        self.problem(file, problem)
    }

    /// What another user has written there, the first time as root for example.
    pub(super) fn entries(
        &self,
        file: &ConfigFile,
        first: &Path,
        number: usize,
        rights: &Rights<'_>,
    ) -> ConfigError {
        let (name, path) = (rights.name(), self.path.display());
        let more = if number > 1 { format!(" and {} more", number - 1) } else { String::new() };
        let problem = format!(
            "`{}`{more} cannot be written by the user `{name}` ({}): run `chown -R {name} {path}` as root, \
             or name another directory",
            first.display(),
            owner(first)
        );
        self.problem(file, problem)
    }
}

fn owner(path: &Path) -> String {
    match fs::metadata(path) {
        Ok(found) => format!("owner {}, mode {:o}", found.uid(), found.mode() & 0o7777),
        Err(error) => error.to_string(),
    }
}

/// A directory to write in, which may not exist yet.
fn directory(path: &Path) -> Looked {
    let there = path.ancestors().map(|part| if part.as_os_str().is_empty() { Path::new(".") } else { part });
    let Some((there, found)) = there.filter_map(|part| Some((part, fs::metadata(part).ok()?))).next() else {
        return Looked::Refused { at: path.to_owned(), reason: Errno::NOENT };
    };
    let refused = |reason| Looked::Refused { at: there.to_owned(), reason };
    if !found.is_dir() {
        return refused(Errno::NOTDIR);
    }
    if let Err(reason) = may(there, Access::EXEC_OK) {
        return refused(reason);
    }
    let whole = Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK;
    match may(there, whole) {
        Ok(()) if there == path => entries(path),
        Ok(()) => Looked::Usable,
        Err(reason) if there == path || reason == Errno::ROFS => refused(reason),
        Err(_) => Looked::Missing(there.to_owned()),
    }
}

/// Files and directories in it that were written by another user.
fn entries(path: &Path) -> Looked {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let refused = entries.filter_map(|entry| {
        let kind = entry.file_type().ok()?;
        let access = match (kind.is_dir(), kind.is_file()) {
            (true, _) => Access::WRITE_OK | Access::EXEC_OK,
            (_, true) => Access::WRITE_OK,
            _ => return None,
        };
        may(&entry.path(), access).is_err().then(|| entry.path())
    });
    let mut refused: Vec<PathBuf> = refused.take(MOST).collect();
    refused.sort_unstable();
    let number = refused.len();
    match refused.into_iter().next() {
        Some(first) => Looked::Entries { first, number },
        None => Looked::Usable,
    }
}

/// Most entries that are looked at when they cannot be written.
const MOST: usize = 10_000;
