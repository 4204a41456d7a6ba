//! The process's user, its capabilities, and its service manager.

use std::ffi::CString;
use std::os::fd::{AsFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::{Component, Path};
use std::time::Duration;

use anyhow::{Context, bail};
use caps::{CapSet, Capability};
use nix::sys::resource::{Resource, setrlimit};
use nix::unistd::{User, geteuid, initgroups, setgid, setgroups, setuid};
use rustix::fs::{CWD, Gid, Mode, OFlags, Uid, fchown, fstat, mkdirat, openat};
use rustix::io::Errno;
use sd_notify::NotifyState;

/// The user of `[process] user`.
pub(crate) fn user(name: &str) -> anyhow::Result<Option<User>> {
    user_of("[process] user", name)
}

/// The user to become, as that key names it, looked up before anything is opened.
pub(crate) fn user_of(key: &str, name: &str) -> anyhow::Result<Option<User>> {
    if name.is_empty() {
        return Ok(None);
    }
    let found = User::from_name(name).with_context(|| format!("{key}: cannot look up `{name}`"))?;
    let Some(user) = found else {
        bail!(
            "{key}: there is no user `{name}`: create it (`useradd --system {name}`), or leave it \
            empty"
        );
    };
    if user.uid == geteuid() {
        return Ok(None);
    }
    if !geteuid().is_root() {
        bail!("{key}: only root can become `{name}`: start as root, or as `{name}` with capabilities");
    }
    Ok(Some(user))
}

/// The same with a directory that others must not look into, mode 0700.
pub(crate) fn private_directory(path: &Path, user: Option<&User>) -> anyhow::Result<()> {
    if path.exists() {
        return Ok(());
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    directory(parent, user)?;
    let failed = || format!("cannot create the directory {}", path.display());
    let name = path.file_name().with_context(failed)?;
    let parent = open_directory(CWD, parent, OFlags::empty()).with_context(failed)?;
    mkdirat(&parent, name, Mode::from_raw_mode(0o700)).with_context(failed)?;
    let made = open_directory(&parent, Path::new(name), OFlags::NOFOLLOW).with_context(failed)?;
    user.map_or(Ok(()), |user| give(&made, user)).with_context(failed)
}

/// Creates a directory with its parents, and gives those that are new to `user`.
///
/// Each step starts at the directory that was opened before, and follows no link that is not root's: whoever
/// may write in one of them cannot make root give another file away.
pub(crate) fn directory(path: &Path, user: Option<&User>) -> anyhow::Result<()> {
    let failed =
        || format!("cannot create the directory {}: name one on a disk that is writable", path.display());
    let there = path.ancestors().find(|part| part.as_os_str().is_empty() || part.exists());
    let there = there.unwrap_or(Path::new(""));
    let missing = path.strip_prefix(there).with_context(failed)?;
    let start = if there.as_os_str().is_empty() { Path::new(".") } else { there };
    let mut parent = open_directory(CWD, start, OFlags::empty()).with_context(failed)?;
    for name in missing.components() {
        let Component::Normal(name) = name else { bail!("{}: it has `..` or `.` in it", failed()) };
        let made = match mkdirat(&parent, name, Mode::from_raw_mode(0o750)) {
            Ok(()) => true,
            // Somebody was quicker: the directory keeps its owner.
            Err(Errno::EXIST) => false,
            Err(error) => return Err(error).with_context(failed),
        };
        parent = open_directory(&parent, Path::new(name), OFlags::NOFOLLOW).with_context(failed)?;
        if let (true, Some(user)) = (made, user) {
            give(&parent, user).with_context(|| {
                format!("cannot give {} in {} to the user `{}`", name.display(), path.display(), user.name)
            })?;
        }
    }
    Ok(())
}

fn open_directory(parent: impl AsFd, name: &Path, more: OFlags) -> rustix::io::Result<OwnedFd> {
    openat(parent, name, OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC | more, Mode::empty())
}

/// Gives the directory that root has just made, and no other one.
fn give(directory: &OwnedFd, user: &User) -> anyhow::Result<()> {
    let found = fstat(directory)?;
    if found.st_uid != geteuid().as_raw() {
        bail!("somebody has put another directory in its place");
    }
    Ok(fchown(directory, Some(Uid::from_raw(user.uid.as_raw())), Some(Gid::from_raw(user.gid.as_raw())))?)
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

/// Becomes the owner of a directory, where root runs a command on files that another user writes: that user
/// may have put links there, and they must not lead to more than it may touch itself.
///
/// # Errors
///
/// The directory does not exist, or the system refuses the change.
pub fn become_owner_of(directory: &Path) -> anyhow::Result<()> {
    let shown = directory.display();
    let found = std::fs::metadata(directory).with_context(|| format!("cannot read `{shown}`"))?;
    let (uid, gid) = (found.uid(), found.gid());
    if !geteuid().is_root() || uid == 0 {
        return Ok(());
    }
    let failed = || format!("cannot become user {uid}, who owns `{shown}`");
    match User::from_uid(uid.into()).ok().flatten() {
        Some(user) => {
            initgroups(&CString::new(user.name).with_context(failed)?, gid.into()).with_context(failed)?;
        }
        None => setgroups(&[gid.into()]).with_context(failed)?,
    }
    setgid(gid.into()).with_context(failed)?;
    setuid(uid.into()).with_context(failed)
}

/// Has the system write no core dump, and lets no other process of the same user read this one's memory.
pub fn forbid_dumps() {
    let forbidden =
        nix::sys::prctl::set_dumpable(false).and_then(|()| setrlimit(Resource::RLIMIT_CORE, 0, 0));
    if let Err(error) = forbidden {
        log::warn!(target: "run", "a core dump of this process would contain keys: {error}");
    }
}

/// Notifies the service manager, if there is one. It connects to nothing: the confinement refuses that.
pub(crate) fn notify(states: &[NotifyState<'_>]) {
    let Some(name) = std::env::var_os("NOTIFY_SOCKET") else { return };
    let text: String = states.iter().map(|state| format!("{state}\n")).collect();
    let sent = UnixDatagram::unbound().and_then(|socket| match name.as_bytes().strip_prefix(b"@") {
        Some(name) => socket.send_to_addr(text.as_bytes(), &SocketAddr::from_abstract_name(name)?),
        None => socket.send_to(text.as_bytes(), &name),
    });
    if let Err(error) = sent {
        log::debug!(target: "run", "cannot notify the service manager: {error}");
    }
}

/// How often the service manager expects a watchdog message; None if it does not.
pub(crate) fn watchdog() -> Option<Duration> {
    let mut micros = 0;
    // Twice within its timeout.
    sd_notify::watchdog_enabled(false, &mut micros).then(|| Duration::from_micros(micros / 2))
}
