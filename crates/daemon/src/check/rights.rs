//! The rights of the user that the daemon becomes, in a thread of its own: the kernel keeps them by thread.

use std::ffi::CString;
use std::path::Path;
use std::thread;

use anyhow::{Context, anyhow};
use caps::CapSet;
use nix::unistd::{User, geteuid, getgrouplist};
use rustix::fs::{Access, AtFlags, CWD, Gid, Uid, accessat};
use rustix::io::Errno;
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

/// Who looks.
pub(super) struct Rights<'a> {
    /// The user to become; None stays as it is, but without capabilities.
    pub(super) user: Option<&'a User>,
}

impl Rights<'_> {
    /// Runs `look` as the daemon runs once it has dropped its privileges.
    ///
    /// # Errors
    ///
    /// The thread cannot get these rights.
    pub(super) fn of_the_service<T: Send>(&self, look: impl FnOnce() -> T + Send) -> anyhow::Result<T> {
        let inside = || {
            self.become_user()?;
            caps::clear(None, CapSet::Effective).context("capabilities")?;
            caps::clear(None, CapSet::Permitted).context("capabilities")?;
            Ok(look())
        };
        thread::scope(|scope| scope.spawn(inside).join().map_err(|_| anyhow!("the thread has ended"))?)
    }

    fn become_user(&self) -> anyhow::Result<()> {
        let Some(user) = self.user else { return Ok(()) };
        let name = CString::new(user.name.as_str()).context("its name")?;
        let groups = getgrouplist(&name, user.gid).context("its groups")?;
        let groups: Vec<Gid> = groups.into_iter().map(|group| Gid::from_raw(group.as_raw())).collect();
        set_thread_groups(&groups).context("its groups")?;
        let (uid, gid) = (Uid::from_raw(user.uid.as_raw()), Gid::from_raw(user.gid.as_raw()));
        set_thread_res_gid(gid, gid, gid).context("its group")?;
        set_thread_res_uid(uid, uid, uid).context("its user")
    }

    /// Its name.
    pub(super) fn name(&self) -> String {
        let own = || User::from_uid(geteuid()).ok().flatten().map(|user| user.name);
        let name = self.user.map(|user| user.name.clone()).or_else(own);
        name.unwrap_or_else(|| geteuid().to_string())
    }

    /// Whether a start makes directories there before it drops its privileges.
    pub(super) fn root_makes(&self, there: &Path) -> bool {
        geteuid().is_root() && may(there, Access::WRITE_OK | Access::EXEC_OK).is_ok()
    }
}

/// Asks the kernel whether this thread may.
pub(super) fn may(path: &Path, access: Access) -> Result<(), Errno> {
    accessat(CWD, path, access, AtFlags::EACCESS)
}
