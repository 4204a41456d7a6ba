//! Disk space that is put aside for when there is none: for the log of deletions, and for copies of held
//! chunks.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate};

use crate::files::{create_anew, remove_if_present};

/// A file of a mebibyte in the spool's directory.
pub(crate) struct Reserve(PathBuf);

impl Reserve {
    pub(crate) fn of(spool: &Path) -> Self {
        Self(spool.join(NAME))
    }

    /// Puts the space aside. A file system that cannot do this may have some left when it is needed.
    pub(crate) fn allocate(&self) {
        if self.0.exists() {
            return;
        }
        let allocate =
            || -> io::Result<()> { Ok(fallocate(create_anew(&self.0)?, FallocateFlags::empty(), 0, BYTES)?) };
        if allocate().is_err() {
            let _ = remove_if_present(&self.0);
        }
    }

    /// Gives the space back; false if it is in use already.
    pub(crate) fn release(&self) -> bool {
        fs::remove_file(&self.0).is_ok()
    }
}

const NAME: &str = "reserve";
const BYTES: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn space_is_put_aside_here_and_through_no_link() {
        let dir = tempfile::tempdir().unwrap();
        let reserve = Reserve::of(dir.path());
        let elsewhere = dir.path().join("elsewhere");
        std::os::unix::fs::symlink(&elsewhere, dir.path().join(NAME)).unwrap();
        reserve.allocate();
        assert!(!elsewhere.exists());
        assert_eq!(fs::symlink_metadata(dir.path().join(NAME)).unwrap().len(), BYTES);
        assert!(reserve.release() && !reserve.release());
    }
}
