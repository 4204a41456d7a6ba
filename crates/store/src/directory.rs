//! Names that survive a power cut: a file that is synced is lost all the same if its name is not.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Makes a directory and those above it, where they are missing, durably.
pub(crate) fn create(dir: &Path) -> io::Result<()> {
    if dir.is_dir() {
        return Ok(());
    }
    if let Some(above) = dir.parent().filter(|above| !above.as_os_str().is_empty()) {
        create(above)?;
    }
    match fs::create_dir(dir) {
        // Another process was faster.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && dir.is_dir() => {}
        made => made?,
    }
    sync_parent(dir)
}

/// Makes the name of a file or a directory durable, or that it has none any more.
pub(crate) fn sync_parent(path: &Path) -> io::Result<()> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(dir)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_made_once_and_a_file_in_their_place_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("a/b/c");
        create(&deep).and_then(|()| create(&deep)).unwrap();
        assert!(deep.is_dir());
        fs::write(dir.path().join("file"), b"").unwrap();
        assert_eq!(create(&dir.path().join("file")).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert!(create(&dir.path().join("file/below")).is_err());
    }
}
