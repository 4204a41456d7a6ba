//! The database that a command searches.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use clap::Args;
use ringtap_store::{Migration, OnMigration, Reader};

use crate::exit::Misuse;

/// Where it is.
#[derive(Args, Clone, Debug)]
pub(crate) struct StoreArgs {
    /// Directory of the database; without this, the one that `run` writes to unless configured otherwise
    #[arg(long, value_name = "DIR", default_value_os_t = ringtap_daemon::default_records())]
    store: PathBuf,
}

impl StoreArgs {
    /// The directory.
    pub(crate) fn directory(&self) -> &Path {
        &self.store
    }

    /// Opens it.
    ///
    /// # Errors
    ///
    /// It cannot be read; or nobody named it and it is not at the usual place.
    pub(crate) fn open(&self) -> anyhow::Result<Reader> {
        // Who may not look there is told so by the reader: it may well exist.
        if self.store == ringtap_daemon::default_records() && matches!(self.store.try_exists(), Ok(false)) {
            let usual = self.store.display();
            let text = format!(
                "name the database with `--store <DIR>`, or a capture, <FILE>..., where the command reads \
                 captures: the usual directory, {usual}, does not exist"
            );
            return Err(Misuse(text).into());
        }
        open(&self.store)
    }
}

/// Opens a database; standard error says how far the migration of day files of an older version is.
///
/// # Errors
///
/// It cannot be read.
pub(crate) fn open(directory: &Path) -> anyhow::Result<Reader> {
    Ok(Reader::open(directory)?.on_migration(on_migration()))
}

/// Says on standard error how far a migration is.
pub(crate) fn on_migration() -> OnMigration {
    let told = Mutex::new(Instant::now());
    OnMigration::new(move |migration: &Migration| {
        let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
        let is_end = migration.moved == 0 || migration.is_done;
        if is_end || told.elapsed() >= BETWEEN {
            *told = Instant::now();
            // Whoever closed it does not want to know.
            let _ = writeln!(io::stderr(), "{migration}");
        }
    })
}

/// How often progress is told.
const BETWEEN: Duration = Duration::from_secs(5);
