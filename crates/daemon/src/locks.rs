//! Keeps a second daemon away from files that only one may write.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::bail;

use crate::config::Config;

/// The file in a directory that whoever writes there has locked. It stays when the daemon ends: the lock does
/// not.
const LOCK: &str = "lock";

/// Locks that are held as long as this lives.
#[derive(Debug)]
pub(crate) struct Locks {
    #[expect(dead_code, reason = "an open file holds its lock")]
    files: Vec<File>,
}

impl Locks {
    /// Locks the directories of the spool, the store and the outbox, and the journal.
    ///
    /// # Errors
    ///
    /// Another process has one of them.
    pub(crate) fn take(config: &Config) -> anyhow::Result<Self> {
        let directories = [
            ("[spool] directory", config.spool.directory()),
            ("[store] directory", Some(config.store.directory.as_path())),
            ("[store] outbox", Some(config.store.outbox.as_path())),
        ];
        let mut wanted: Vec<(&str, PathBuf)> =
            directories.into_iter().filter_map(|(key, path)| Some((key, path?.join(LOCK)))).collect();
        wanted.push(("[journal] path", config.journal.path.with_extension(LOCK)));
        let mut seen = BTreeSet::new();
        let mut files = Vec::new();
        for (key, path) in wanted {
            // Two keys may name one directory, by two names too.
            let place = path.parent().and_then(|parent| parent.canonicalize().ok());
            // A directory that is not there yet: the store says so, and waits.
            let Some(place) = place else { continue };
            if seen.insert((place, path.file_name().map(ToOwned::to_owned))) {
                files.extend(lock(key, &path)?);
            }
        }
        Ok(Self { files })
    }
}

/// None, and a line in the log, if the file cannot be locked for another reason: a full disk stops nothing.
fn lock(key: &str, path: &Path) -> anyhow::Result<Option<File>> {
    let mut options = OpenOptions::new();
    let options = options.read(true).write(true).create(true).truncate(false).mode(0o640);
    let opened = options.custom_flags(NO_FOLLOW).open(path);
    let locked = opened.map_err(TryLockError::Error).and_then(|file| file.try_lock().map(|()| file));
    match locked {
        Ok(mut file) => {
            // The number is for people.
            let _ = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
            Ok(Some(file))
        }
        Err(TryLockError::WouldBlock) => {
            let holder = fs::read_to_string(path).unwrap_or_default();
            let place = path.parent().unwrap_or(path).display();
            bail!(
                "{key}: another ringtap, process {}, writes to `{place}`: stop it, or name another place",
                holder.trim()
            );
        }
        Err(TryLockError::Error(error)) => {
            let path = path.display();
            log::warn!(
                target: "run",
                "{key}: cannot lock `{path}` ({error}): make sure that no other ringtap writes there"
            );
            Ok(None)
        }
    }
}

/// `O_NOFOLLOW`: root might be led elsewhere.
const NO_FOLLOW: i32 = nix::fcntl::OFlag::O_NOFOLLOW.bits();
