//! What the two processes for the network do: one speaks to the bucket, the other one starts it again.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use nix::unistd::User;
use ringtap_bucket::{Bucket, Keys, Settings};
use ringtap_spool::FarService;

use crate::config::LogLevel;
use crate::processes::child::{BucketSource, Process, Role, Start};
use crate::processes::confinement::Confinement;
use crate::processes::environment::Variables;
use crate::processes::serving::{Work, serve_all};
use crate::processes::starter::Starter;
use crate::system;

/// Reads the credentials, drops privileges, and starts the process that uses them.
pub(crate) fn starter(source: BucketSource, user: Option<&User>, log: LogLevel) -> anyhow::Result<Work> {
    let variables = match source.environment {
        true => Variables::received().context("cannot read the credentials of the environment")?,
        false => Variables::none(),
    };
    let find = |name: &str| variables.value(name);
    let keys = match source.needed {
        true => Keys::find(&source.settings, find)?,
        false => Keys::find_late(&source.settings, find),
    };
    system::give_up(user)?;
    let (ports, files) = reached(&source.settings, &keys);
    Confinement::of_starter(&ports, files).apply("starting the network client")?;
    let start = move || {
        let role = Role::Network { settings: source.settings.clone(), keys: keys.clone() };
        Process::start(NAME, Start { role, user: String::new(), log }, None)
    };
    let mut starter = Starter::begin(NAME, start)?;
    Ok(Box::new(move |socket| starter.run(&socket)))
}

/// Makes the client, which reads the certificates of this machine, and then confines itself.
pub(crate) fn client(settings: Settings, keys: Keys, user: Option<&User>) -> anyhow::Result<Work> {
    let bucket = Bucket::open(settings.clone(), &keys)?;
    system::give_up(user)?;
    let (ports, files) = reached(&settings, &keys);
    Confinement::of_network(&ports, files).apply(NAME)?;
    drop((settings, keys));
    let service = FarService::new(Arc::new(bucket));
    Ok(Box::new(move |socket| {
        serve_all(&socket, Arc::new(move |connection| service.serve(connection)), CONNECTIONS)
    }))
}

/// Ports that requests go to, and files that they need.
fn reached(settings: &Settings, keys: &Keys) -> (Vec<u16>, Vec<PathBuf>) {
    (keys.ports(settings, |name| std::env::var(name).ok()), keys.files())
}

const NAME: &str = "the network client";
/// Connections at once: each may hold a piece of an upload.
const CONNECTIONS: usize = 32;
