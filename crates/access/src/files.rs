//! Files that nobody else may read.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use zeroize::Zeroizing;

use crate::error::Error;

/// Makes a directory, mode 0700, and those above it. New ones are on the disk once this has returned.
///
/// # Errors
///
/// It cannot be made, or others may write to it.
pub(crate) fn private_dir(dir: &Path) -> Result<(), Error> {
    create_dir(dir).map_err(|error| Error::io(dir, "created", error))?;
    let mode = fs::metadata(dir).map_err(|error| Error::io(dir, "read", error))?.mode();
    if mode & 0o022 != 0 {
        let problem = "others may write to its directory; run `chmod 700` on it, and think about who did";
        return Err(Error::Key { path: dir.to_owned(), problem });
    }
    Ok(())
}

fn create_dir(dir: &Path) -> io::Result<()> {
    let above = dir.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match DirBuilder::new().mode(0o700).create(dir) {
        Ok(()) => sync_dir(above),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && dir.is_dir() => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound && above != dir => {
            create_dir(above)?;
            create_dir(dir)
        }
        Err(error) => Err(error),
    }
}

/// Writes the names of a directory to the disk.
pub(crate) fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// Opens a regular file, and no link, for reading and writing; makes it, mode 0600, if it does not exist.
pub(crate) fn open_or_create(path: &Path) -> io::Result<File> {
    open(OpenOptions::new().read(true).write(true).create(true).truncate(false), path)
}

/// Opens a regular file, and no link, for reading.
pub(crate) fn open_to_read(path: &Path) -> io::Result<File> {
    open(OpenOptions::new().read(true), path)
}

fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
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
    let mut file = open(OpenOptions::new().write(true).create_new(true), &draft)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&draft, path)?;
    path.parent().map_or(Ok(()), sync_dir)
}

/// The bytes of a short file; none if it does not exist.
pub(crate) fn read_secret(path: &Path) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
    let file = match open_to_read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    // Without growing, so that no copy stays behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(MOST));
    file.take(MOST as u64).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Keys are shorter.
const MOST: usize = 4096;
