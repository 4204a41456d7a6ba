//! Files and directories: what several folders of the spool do with them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Names of a directory's entries; none if the directory does not exist.
pub(crate) fn entry_names(dir: &Path) -> io::Result<Vec<String>> {
    let entries = if_present(fs::read_dir(dir))?.into_iter().flatten();
    Ok(entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect())
}

/// Deletes a file; one that does not exist is no error.
pub(crate) fn remove_if_present(path: &Path) -> io::Result<()> {
    if_present(fs::remove_file(path)).map(|_| ())
}

/// None if the file does not exist.
pub(crate) fn if_present<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Another thing than a regular file lies where a file of the spool should.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is not a regular file, but a directory, a link, a pipe or a device")]
pub(crate) struct Irregular;

/// Whether a regular file was expected and something else was there.
pub(crate) fn is_irregular(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Irregular>())
}

/// Opens a regular file for reading. Opening anything else never blocks, as a pipe would, and follows no link
/// out of the spool.
///
/// # Errors
///
/// As [`File::open`], and [`Irregular`].
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    open_only_regular(OpenOptions::new().read(true), path)
}

/// Opens a regular file for reading and writing; see [`open_regular`].
pub(crate) fn open_regular_to_change(path: &Path) -> io::Result<File> {
    open_only_regular(OpenOptions::new().read(true).write(true), path)
}

fn open_only_regular(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    match options.custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW).open(path) {
        Ok(file) if file.metadata()?.is_file() => Ok(file),
        Ok(_) => Err(io::Error::other(Irregular)),
        // A link, or a socket.
        Err(error) if matches!(error.raw_os_error(), Some(libc::ELOOP | libc::ENXIO)) => {
            Err(io::Error::other(Irregular))
        }
        Err(error) => Err(error),
    }
}

/// Reads a regular file; see [`open_regular`].
pub(crate) fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Creates a file for writing, in place of one that is there. A link there is replaced, not followed.
pub(crate) fn create_anew(path: &Path) -> io::Result<File> {
    remove_if_present(path)?;
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// Opens a file for reading and writing, or creates it; see [`open_regular`].
pub(crate) fn open_or_create(path: &Path) -> io::Result<File> {
    open_only_regular(OpenOptions::new().read(true).write(true).create(true).truncate(false), path)
}

/// Creates a directory and those above it. New ones are on the disk once this has returned: what is synced in
/// them later would be lost with them.
pub(crate) fn create_dir(dir: &Path) -> io::Result<()> {
    let above = dir.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match fs::create_dir(dir) {
        Ok(()) => sync_dir(above),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && dir.is_dir() => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound && above != dir => {
            create_dir(above)?;
            create_dir(dir)
        }
        Err(error) => Err(error),
    }
}

/// Writes the names of a directory to the disk: those of files that were created, renamed or deleted in it.
pub(crate) fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// Writes a file in one step: after a power cut there is the old file or the new one, never a part.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let draft = path.with_extension("new");
    let write = || {
        let mut fresh = create_anew(&draft)?;
        fresh.write_all(bytes)?;
        fresh.sync_all()?;
        fs::rename(&draft, path)
    };
    let written = write();
    if written.is_err() {
        // A full disk needs its space.
        let _ = remove_if_present(&draft);
    }
    written?;
    match path.parent() {
        Some(dir) => sync_dir(dir),
        None => Ok(()),
    }
}
