//! What the process with the keys does.

use std::sync::Arc;

use nix::unistd::User;
use ringtap_spool::{KeyService, MasterKey, Signer};

use crate::config::KeyFiles;
use crate::processes::confinement::Confinement;
use crate::processes::serving::{Work, serve_all};
use crate::system;

/// Reads the keys, then drops privileges and everything else that serving them does not need.
pub(crate) fn prepared(files: &KeyFiles, user: Option<&User>) -> anyhow::Result<Work> {
    let master = match (files.seal.as_os_str().is_empty(), files.seal_command.is_empty()) {
        (false, _) => Some(MasterKey::read(&files.seal)?),
        (true, false) => Some(MasterKey::of_command(&files.seal_command)?),
        (true, true) => None,
    };
    let signer = match files.sign.as_os_str().is_empty() {
        true => None,
        false => Some(Signer::read(&files.sign)?),
    };
    system::give_up(user)?;
    Confinement::of_keys().apply("keys")?;
    let service = KeyService::new(master, signer);
    Ok(Box::new(move |socket| {
        serve_all(&socket, Arc::new(move |connection| service.serve(connection)), CONNECTIONS)
    }))
}

/// Connections at once: two for each worker, and some to spare.
const CONNECTIONS: usize = 1024;
