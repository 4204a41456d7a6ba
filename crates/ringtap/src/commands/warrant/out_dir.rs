//! The directory into which files for an authority are written.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, chown};
use std::path::Path;

use anyhow::Context;

use crate::exit::Misuse;

/// Makes a directory, mode 0700, for the owner of the register, as whom the files are written.
pub(in crate::commands) fn make(directory: &Path, register: &Path) -> anyhow::Result<()> {
    let made = fs::DirBuilder::new().mode(0o700).create(directory);
    match made {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let text = format!(
                "`--out {}` exists: name a directory that does not, so that nothing is mixed up",
                directory.display()
            );
            return Err(Misuse(text).into());
        }
        made => made.with_context(|| format!("cannot make the directory `{}`", directory.display()))?,
    }
    let Ok(owner) = fs::metadata(register) else { return Ok(()) };
    let own = fs::metadata(directory).map(|own| own.uid() == owner.uid());
    if own.is_ok_and(|is_same| is_same) {
        return Ok(());
    }
    chown(directory, Some(owner.uid()), Some(owner.gid())).with_context(|| {
        format!("cannot give the directory `{}` to the owner of the register", directory.display())
    })
}
