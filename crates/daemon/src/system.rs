//! The process's user, its capabilities, and its service manager.

use std::ffi::CString;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use caps::{CapSet, Capability};
use nix::unistd::{User, chown, geteuid, initgroups, setgid, setuid};
use sd_notify::NotifyState;

/// The user to become, looked up before anything is opened.
pub(crate) fn user(name: &str) -> anyhow::Result<Option<User>> {
    if name.is_empty() {
        return Ok(None);
    }
    let found = User::from_name(name).with_context(|| format!("[process] user: cannot look up `{name}`"))?;
    let Some(user) = found else {
        bail!(
            "[process] user: there is no user `{name}`: create it (`useradd --system {name}`), or leave it \
            empty"
        );
    };
    if user.uid == geteuid() {
        return Ok(None);
    }
    if !geteuid().is_root() {
        bail!(
            "[process] user: only root can become `{name}`: start as root, or as `{name}` with capabilities"
        );
    }
    Ok(Some(user))
}

/// Creates a directory with its parents, and gives those that are new to `user`.
pub(crate) fn directory(path: &Path, user: Option<&User>) -> anyhow::Result<()> {
    let new: Vec<&Path> =
        path.ancestors().take_while(|part| !part.as_os_str().is_empty() && !part.exists()).collect();
    std::fs::create_dir_all(path).with_context(|| {
        format!("cannot create the directory {}: name one on a disk that is writable", path.display())
    })?;
    let Some(user) = user else { return Ok(()) };
    for made in new {
        chown(made, Some(user.uid), Some(user.gid))
            .with_context(|| format!("cannot give {} to the user `{}`", made.display(), user.name))?;
    }
    Ok(())
}

/// Becomes `user` and drops every capability, and all ways to gain new ones. Call it before there is a second
/// thread: each thread has its own capabilities.
pub(crate) fn give_up(user: Option<&User>) -> anyhow::Result<()> {
    let failed = |what: &str| format!("cannot drop privileges: {what}");
    // This needs CAP_SETPCAP; without it, the bounding set is of no use to a program.
    for capability in caps::all() {
        let _ = caps::drop(None, CapSet::Bounding, capability);
    }
    if let Some(user) = user {
        let name = CString::new(user.name.as_str()).with_context(|| failed("its groups"))?;
        initgroups(&name, user.gid).with_context(|| failed("its groups"))?;
        setgid(user.gid).with_context(|| failed("its group"))?;
        setuid(user.uid).with_context(|| failed("its user"))?;
    }
    // An error means that the kernel has no ambient capabilities.
    let _ = caps::clear(None, CapSet::Ambient);
    caps::clear(None, CapSet::Inheritable).with_context(|| failed("inheritable capabilities"))?;
    caps::clear(None, CapSet::Effective).with_context(|| failed("capabilities"))?;
    caps::clear(None, CapSet::Permitted).with_context(|| failed("capabilities"))?;
    nix::sys::prctl::set_no_new_privs().with_context(|| failed("new privileges"))?;
    let held = caps::read(None, CapSet::Permitted).with_context(|| failed("capabilities"))?;
    if let Some(held) = held.iter().map(Capability::to_string).next() {
        bail!("cannot drop the capability {held}");
    }
    Ok(())
}

/// Notifies the service manager, if there is one.
pub(crate) fn notify(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(false, states) {
        log::debug!(target: "run", "cannot notify the service manager: {error}");
    }
}

/// How often the service manager expects a watchdog message; None if it does not.
pub(crate) fn watchdog() -> Option<Duration> {
    let mut micros = 0;
    // Twice within its timeout.
    sd_notify::watchdog_enabled(false, &mut micros).then(|| Duration::from_micros(micros / 2))
}
