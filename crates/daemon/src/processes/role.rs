//! One of the daemon's processes: what it does once it is started.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use zeroize::Zeroizing;

use crate::processes::child::{Role, Start, read_line};
use crate::processes::serving::Work;
use crate::processes::{hook_role, key_role, network_role, notify_role};
use crate::{logger, system};

/// Runs as such a process until the daemon ends.
///
/// # Errors
///
/// Standard input is not the daemon's socket.
pub fn run() -> anyhow::Result<()> {
    system::forbid_dumps();
    // The daemon gets these signals too, and still needs this process to end in order.
    for signal in [SIGTERM, SIGINT, SIGHUP] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    let socket = io::stdin().as_fd().try_clone_to_owned().context("standard input is closed")?;
    let socket = UnixStream::from(socket);
    let not_ours = "only `ringtap run` starts this command";
    let line = Zeroizing::new(read_line(&socket).context(not_ours)?.context(not_ours)?);
    let start: Start = serde_json::from_str(&line).context(not_ours)?;
    logger::level(start.log);
    let (answer, work) = match prepared(start) {
        Ok(work) => (String::new(), Some(work)),
        Err(error) => (format!("{error:#}").replace('\n', " "), None),
    };
    (&socket).write_all(format!("{answer}\n").as_bytes())?;
    match work {
        Some(work) => work(socket),
        None => Ok(()),
    }
}

fn prepared(start: Start) -> anyhow::Result<Work> {
    let user = system::user(&start.user)?;
    match start.role {
        Role::Keys(files) => key_role::prepared(&files, user.as_ref()),
        Role::NetworkStarter(source) => network_role::starter(source, user.as_ref(), start.log),
        Role::NotifyStarter(source) => notify_role::starter(source, user.as_ref(), start.log),
        Role::Notify { targets, host } => notify_role::client(&targets, &host, user.as_ref()),
        Role::HookStarter(source) => hook_role::starter(source),
        Role::Hook(open) => hook_role::deliverer(open, user.as_ref()),
        Role::Network { settings, keys } => network_role::client(settings, keys, user.as_ref()),
    }
}
