//! What the two processes for the network do: one speaks to the bucket, the other one starts it again.

use std::fs;
use std::os::linux::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use nix::unistd::User;
use ringtap_bucket::{Bucket, Keys, Settings};
use ringtap_spool::FarService;

use crate::config::LogLevel;
use crate::processes::channel;
use crate::processes::child::{BucketSource, Process, Role, Start};
use crate::processes::confinement::Confinement;
use crate::processes::environment::Variables;
use crate::processes::serving::{Work, serve_all};
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
    let client = ClientStart { settings: source.settings, keys, log };
    let watched = WATCHED.map(identity);
    let mut starter = Starter { process: client.start()?, client, watched, started: Instant::now() };
    Ok(Box::new(move |socket| starter.run(&socket)))
}

/// Makes the client, which reads the certificates of this machine, and then confines itself.
pub(crate) fn client(settings: Settings, keys: Keys, user: Option<&User>) -> anyhow::Result<Work> {
    let bucket = Bucket::open(settings.clone(), &keys)?;
    system::give_up(user)?;
    let (ports, files) = reached(&settings, &keys);
    Confinement::of_network(&ports, files).apply("the network client")?;
    drop((settings, keys));
    let service = FarService::new(Arc::new(bucket));
    Ok(Box::new(move |socket| {
        serve_all(&socket, Arc::new(move |connection| service.serve(connection)), CONNECTIONS)
    }))
}

/// How the process that speaks to the bucket starts.
struct ClientStart {
    settings: Settings,
    keys: Keys,
    log: LogLevel,
}

impl ClientStart {
    fn start(&self) -> anyhow::Result<Process> {
        let role = Role::Network { settings: self.settings.clone(), keys: self.keys.clone() };
        Process::start("the network client", Start { role, user: String::new(), log: self.log }, None)
    }
}

/// Ports that requests go to, and files that they need.
fn reached(settings: &Settings, keys: &Keys) -> (Vec<u16>, Vec<PathBuf>) {
    (keys.ports(settings, |name| std::env::var(name).ok()), keys.files())
}

/// Passes the daemon's connections on to the process that speaks to the bucket, and starts it again if it
/// has ended. It reads nothing of what they say.
struct Starter {
    client: ClientStart,
    process: Process,
    /// The files that were there when it was started.
    watched: [Option<(u64, u64)>; WATCHED.len()],
    started: Instant,
}

impl Starter {
    fn run(&mut self, socket: &UnixStream) -> anyhow::Result<()> {
        while let Some(connection) = channel::accept(socket)? {
            let outdated = WATCHED.map(identity) != self.watched;
            if outdated || self.process.ended().is_some() {
                self.start_again(outdated);
            }
            let passed = self.process.pass(&connection);
            if let Err(error) = passed {
                // The daemon sees that its connection is closed, and tries again.
                log::debug!(target: "run", "the network client cannot be reached: {error}");
            }
        }
        self.process.close();
        Ok(())
    }

    fn start_again(&mut self, outdated: bool) {
        if outdated {
            log::info!(target: "run", "name resolution has changed: the network client is started again");
        } else {
            log::error!(
                target: "run",
                "the network client has ended: it is started again; what it was uploading is uploaded again"
            );
        }
        self.process.close();
        thread::sleep(PAUSE.saturating_sub(self.started.elapsed()));
        (self.started, self.watched) = (Instant::now(), WATCHED.map(identity));
        match self.client.start() {
            Ok(process) => self.process = process,
            Err(error) => log::error!(target: "run", "{error:#}; the next transfer tries again"),
        }
    }
}

/// Which file has this name now: programs that write it make it anew, and the rules for files are for those
/// that are there when they are made.
fn identity(path: &str) -> Option<(u64, u64)> {
    let found = fs::metadata(path).ok()?;
    Some((found.st_dev(), found.st_ino()))
}

/// Files without which no name is resolved.
const WATCHED: [&str; 3] = ["/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf"];
/// Least time between two starts.
const PAUSE: Duration = Duration::from_secs(1);
/// Connections at once: each may hold a piece of an upload.
const CONNECTIONS: usize = 32;
