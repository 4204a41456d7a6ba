//! Disk space that is put aside for when there is none: for the log of deletions, and for copies of held
//! chunks.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate};

use crate::files::remove_if_present;

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
        let allocate = || -> io::Result<()> {
            Ok(fallocate(File::create(&self.0)?, FallocateFlags::empty(), 0, BYTES)?)
        };
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
