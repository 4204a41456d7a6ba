//! A small disk.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A file system in memory, unmounted when dropped. It needs root.
pub(crate) struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts it at this folder; `size` as in tmpfs(5), for example `64m`. None, and the test skipped, where
    /// nothing can be mounted.
    #[track_caller]
    pub(crate) fn mount(folder: &Path, size: &str) -> Option<Self> {
        let options = ["-t", "tmpfs", "-o", &format!("size={size}"), "ringtap-test"];
        let mount = Command::new("mount").args(options).arg(folder).output().expect("mount runs");
        if !mount.status.success() {
            ringtap_testing::skip("mounting", String::from_utf8_lossy(&mount.stderr));
            return None;
        }
        Some(Self(folder.to_owned()))
    }

    pub(crate) fn resize(&self, size: &str) {
        let mount = Command::new("mount").args(["-o", &format!("remount,size={size}")]).arg(&self.0).status();
        assert!(mount.is_ok_and(|status| status.success()), "{}: {size}", self.0.display());
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}
