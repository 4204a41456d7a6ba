//! The database that a command searches.

use std::path::{Path, PathBuf};

use clap::Args;
use ringtap_store::Reader;

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
        Ok(Reader::open(&self.store)?)
    }
}
