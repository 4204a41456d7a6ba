//! Files that hold secrets.

use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use crate::error::Error;

/// A key file is no longer than this.
const MOST: u64 = 4096;
/// A file with many keys is no longer than this.
const MOST_KEYS: u64 = 1 << 20;

/// The first 4 KiB of a file that only its owner and its group may read.
///
/// # Errors
///
/// The file cannot be read, or others may read or change it.
pub fn read(path: &Path) -> Result<Zeroizing<Vec<u8>>, Error> {
    read_up_to(path, MOST)
}

fn read_up_to(path: &Path, most: u64) -> Result<Zeroizing<Vec<u8>>, Error> {
    let file = std::fs::File::open(path).map_err(|error| Error::io(path, "opened", error))?;
    let metadata = file.metadata().map_err(|error| Error::io(path, "read", error))?;
    if metadata.mode() & 0o027 != 0 {
        return Err(Error::key(
            path,
            "others may read or change it; run `chmod 600` on it, and think about who did",
        ));
    }
    let mut bytes = Zeroizing::new(Vec::with_capacity(most as usize));
    file.take(most).read_to_end(&mut bytes).map_err(|error| Error::io(path, "read", error))?;
    Ok(bytes)
}

/// The first MiB of a file that only its owner and its group may read, with many keys.
///
/// # Errors
///
/// The file cannot be read, or others may read or change it.
pub fn read_long(path: &Path) -> Result<Zeroizing<Vec<u8>>, Error> {
    read_up_to(path, MOST_KEYS)
}

/// The file itself, or the files in the directory, in order of their names.
pub(crate) fn files_at(path: &Path) -> Result<Vec<PathBuf>, Error> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = std::fs::read_dir(path).map_err(|error| Error::io(path, "read", error))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.is_file());
    files.sort_unstable();
    match files.is_empty() {
        true => Err(Error::key(path, "the directory has no files")),
        false => Ok(files),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_file_that_others_may_read_is_no_secret() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        std::fs::write(&path, "x").unwrap();
        for (mode, good) in
            [(0o600, true), (0o400, true), (0o640, true), (0o644, false), (0o660, false), (0o604, false)]
        {
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            match read(&path) {
                Ok(bytes) => assert!(good && **bytes == *b"x", "{mode:o}"),
                Err(error) => assert!(!good && error.to_string().contains("chmod 600"), "{mode:o}: {error}"),
            }
        }
        assert!(read(&dir.path().join("none")).unwrap_err().to_string().contains("spelling"));
    }
}
