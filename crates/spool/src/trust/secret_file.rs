//! Files that hold secrets.

use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use zeroize::Zeroizing;

use crate::error::Error;

/// A key file is no longer than this.
const MOST: u64 = 4096;

/// The first 4 KiB of a file that only its owner and its group may read.
///
/// # Errors
///
/// The file cannot be read, or others may read or change it.
pub fn read(path: &Path) -> Result<Zeroizing<Vec<u8>>, Error> {
    let file = std::fs::File::open(path).map_err(|error| Error::io(path, "opened", error))?;
    let metadata = file.metadata().map_err(|error| Error::io(path, "read", error))?;
    if metadata.mode() & 0o027 != 0 {
        return Err(Error::key(
            path,
            "others may read or change it; run `chmod 600` on it, and think about who did",
        ));
    }
    let mut bytes = Zeroizing::new(Vec::with_capacity(MOST as usize));
    file.take(MOST).read_to_end(&mut bytes).map_err(|error| Error::io(path, "read", error))?;
    Ok(bytes)
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
