//! One process at a time deletes.

use std::fs::File;
use std::path::Path;

use crate::error::Error;
use crate::files::create_dir;

/// The directory of the holds, in the spool's directory: what is locked.
pub(crate) const HOLDS: &str = "holds";

/// Held by one process at a time: no segment is deleted while a hold is set or released.
#[derive(Debug)]
pub(crate) struct DeletionLock(#[expect(dead_code, reason = "held until it is dropped")] File);

impl DeletionLock {
    /// Waits until no other process has it.
    pub(crate) fn wait(dir: &Path) -> Result<Self, Error> {
        let path = dir.join(HOLDS);
        let open = || {
            create_dir(&path)?;
            // Whoever may read a directory may lock it.
            let file = File::open(&path)?;
            file.lock()?;
            Ok(Self(file))
        };
        open().map_err(|error| Error::io(&path, "locked", error))
    }
}
