//! An output file that appears only when it is complete.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use tempfile::NamedTempFile;

/// A file written under a temporary name beside its target and renamed by [`Target::keep`]. If it is dropped
/// before that, the temporary file is removed. A device or a pipe is written to directly.
#[derive(Debug)]
pub struct Target {
    asked: PathBuf,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Beside { file: NamedTempFile, name: PathBuf },
    Direct(File),
}

impl Target {
    /// Opens the temporary file, so that a path without write permission fails before the work begins.
    pub fn create(path: &Path) -> anyhow::Result<Self> {
        let asked = path.to_path_buf();
        let named = || format!("cannot write {}", path.display());
        // Replace the target of a symbolic link, not the link.
        let name = path.canonicalize().unwrap_or_else(|_| asked.clone());
        let place = match fs::metadata(&name) {
            Ok(there) if there.is_dir() => bail!("{} is a directory; name a file in it", path.display()),
            Ok(there) if !there.is_file() => Place::Direct(direct(&name, &there).with_context(named)?),
            _ => Place::Beside { file: beside(&name).with_context(named)?, name },
        };
        Ok(Self { asked, place })
    }

    /// Renames the file to its final name.
    pub fn keep(self) -> anyhow::Result<()> {
        let failed = || format!("cannot write {}", self.asked.display());
        match self.place {
            Place::Direct(mut file) => file.flush().with_context(failed),
            Place::Beside { file, name } => {
                // A full disk or a lost share may be reported only here.
                file.as_file().sync_all().with_context(failed)?;
                file.persist(&name).map(drop).with_context(failed)
            }
        }
    }

    /// The final path.
    pub fn path(&self) -> &Path {
        &self.asked
    }

    fn file(&mut self) -> &mut File {
        match &mut self.place {
            Place::Beside { file, .. } => file.as_file_mut(),
            Place::Direct(file) => file,
        }
    }
}

fn beside(name: &Path) -> io::Result<NamedTempFile> {
    let folder = match name.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    // The same mode as any new file; the umask applies.
    tempfile::Builder::new()
        .prefix(".ringtap-")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder)
}

fn direct(name: &Path, there: &fs::Metadata) -> io::Result<File> {
    let kind = there.file_type();
    match kind.is_char_device() || kind.is_fifo() {
        true => OpenOptions::new().write(true).open(name),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is neither a file nor a pipe")),
    }
}

impl Write for Target {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.file().write(data)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file().flush()
    }
}

impl Seek for Target {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file().seek(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_when_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.pcap");
        let mut target = Target::create(&path).unwrap();
        target.write_all(b"half").unwrap();
        assert!(!path.exists());
        drop(target);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "nothing is left");

        fs::write(&path, b"old").unwrap();
        let mut target = Target::create(&path).unwrap();
        target.write_all(b"whole").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        target.keep().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    }

    #[test]
    fn a_link_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, b"").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let mut target = Target::create(&link).unwrap();
        target.write_all(b"new").unwrap();
        target.keep().unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert!(link.symlink_metadata().unwrap().is_symlink());
    }

    #[test]
    fn devices_are_written_to_and_never_replaced() {
        let mut target = Target::create(Path::new("/dev/null")).unwrap();
        target.write_all(b"x").unwrap();
        target.keep().unwrap();
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
        let mut full = Target::create(Path::new("/dev/full")).unwrap();
        assert_eq!(full.write_all(b"x").unwrap_err().kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn what_cannot_be_written_is_known_at_once() {
        assert!(Target::create(Path::new("/proc/no-such/out")).is_err());
        assert!(Target::create(Path::new("/tmp")).unwrap_err().to_string().contains("directory"));
    }
}
