//! The process that holds the master key and the signing key, seen from the daemon.

use std::sync::Arc;

use anyhow::Context;
use ringtap_spool::{MasterKey, RemoteKeys, Signer};

use crate::config::{Config, Secrets};
use crate::processes::child::{Process, Role, Start};

/// The running process.
#[derive(Debug)]
pub(crate) struct KeyHolder {
    pub(crate) process: Process,
    keys: RemoteKeys,
}

impl KeyHolder {
    /// Starts the process, if there are any keys.
    ///
    /// # Errors
    ///
    /// A key cannot be read.
    pub(crate) fn start(config: &Config) -> anyhow::Result<Option<Self>> {
        let Some(files) = config.spool.key_files() else { return Ok(None) };
        let process = Process::start("the keys", Start::new(Role::Keys(files), config), None)?;
        let connecting = process.clone();
        let keys = RemoteKeys::open(move || connecting.connect())?;
        Ok(Some(Self { process, keys }))
    }

    /// What stands for the keys in the daemon.
    pub(crate) fn secrets(&self) -> Secrets {
        let sign = Signer::of_process(&self.keys).map(Arc::new);
        Secrets { seal: MasterKey::of_process(&self.keys), sign }
    }

    /// Once what a killed writer left is checked: from now on the process opens no key on the disk.
    ///
    /// # Errors
    ///
    /// The process has ended.
    pub(crate) fn end_recovery(&self) -> anyhow::Result<()> {
        self.keys.end_recovery().context("[spool]")
    }
}
