//! Files that nobody else may read.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use zeroize::Zeroizing;

use crate::error::Error;

/// Makes a directory, mode 0700, in one that is there.
pub(crate) fn private_dir(dir: &Path) -> Result<(), Error> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(dir);
    made.map_err(|error| Error::io(dir, "created", error))?;
    check_private(dir)?;
    let above = above(dir);
    sync_dir(above).map_err(|error| Error::io(above, "synced to disk", error))
}

/// Refuses a directory that others may look into: the names of files would tell them little, but changes of
/// their sizes that something happens.
pub(crate) fn check_private(dir: &Path) -> Result<(), Error> {
    let mode = fs::metadata(dir).map_err(|error| Error::io(dir, "read", error))?.mode();
    if mode & 0o077 != 0 {
        let problem = "others may look into it; run `chmod 700` on it, and think about who did".to_owned();
        return Err(Error::Key { path: dir.to_owned(), problem });
    }
    Ok(())
}

/// The directory that a path is in: this one, for a name alone.
fn above(path: &Path) -> &Path {
    path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Writes the names of a directory to the disk.
pub(crate) fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// Opens a regular file, and no link, for reading and writing.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    open_with(OpenOptions::new().read(true).write(true), path)
}

/// As [`open`]; makes it, mode 0600, if it does not exist.
pub(crate) fn open_or_create(path: &Path) -> io::Result<File> {
    open_with(OpenOptions::new().read(true).write(true).create(true).truncate(false), path)
}

/// As [`open`], for reading alone.
pub(crate) fn open_to_read(path: &Path) -> io::Result<File> {
    open_with(OpenOptions::new().read(true), path)
}

fn open_with(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW;
    let file = options.mode(0o600).custom_flags(flags.bits() as i32).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    Ok(file)
}

/// Writes a file, mode 0600, in one step: after a power cut it is there whole, or not at all.
pub(crate) fn create_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let draft = path.with_added_extension("new");
    match fs::remove_file(&draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = open_with(OpenOptions::new().write(true).create_new(true), &draft)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&draft, path)?;
    sync_dir(above(path))
}

/// The bytes of a short file, up to 4 KiB.
pub(crate) fn read_short(path: &Path) -> io::Result<Zeroizing<Vec<u8>>> {
    // Without growing, so that no copy stays behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(SHORT));
    open_to_read(path)?.take(SHORT as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Keys and heads are shorter.
const SHORT: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_alone_is_in_this_directory() {
        let above = |path: &str| above(Path::new(path)).to_owned();
        assert_eq!(
            [above("key"), above("./key"), above("/key"), above("a/key")],
            [".", ".", "/", "a"].map(|path| Path::new(path).to_owned())
        );
    }
}
