//! What alarms know over a restart: those that stand, silences, and what was learned.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The file beside the records.
pub(crate) struct StateFile {
    path: PathBuf,
    written: String,
}

impl StateFile {
    /// In the directory of the records.
    pub(crate) fn in_directory(records: &Path) -> Self {
        Self { path: records.join(FILE), written: String::new() }
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What the previous run left; None where there was none.
    ///
    /// # Errors
    ///
    /// The file is there and cannot be read, or is longer than any that this program writes.
    pub(crate) fn read(&self) -> io::Result<Option<String>> {
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut text = String::new();
        file.take(LONGEST + 1).read_to_string(&mut text)?;
        if text.len() as u64 > LONGEST {
            return Err(io::Error::other(format!("it is longer than {} MiB", LONGEST >> 20)));
        }
        Ok(Some(text))
    }

    /// Replaces it, unless it says the same already.
    pub(crate) fn write(&mut self, text: String) -> io::Result<()> {
        if text == self.written {
            return Ok(());
        }
        let draft = self.path.with_extension("new");
        match fs::remove_file(&draft) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        // Never through a link.
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o640).open(&draft)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&draft, &self.path)?;
        self.written = text;
        Ok(())
    }
}

/// The file beside the records.
const FILE: &str = "alarms.state";
/// Longer than the state of ten thousand standing alarms and a million learned destinations.
const LONGEST: u64 = 64 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_a_link_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let mut state = StateFile::in_directory(dir.path());
        assert_eq!(state.read().unwrap(), None);
        let victim = dir.path().join("victim");
        fs::write(&victim, "mine").unwrap();
        std::os::unix::fs::symlink(&victim, dir.path().join("alarms.new")).unwrap();
        state.write("one".into()).unwrap();
        state.write("two".into()).unwrap();
        assert_eq!(state.read().unwrap().as_deref(), Some("two"));
        assert_eq!(fs::read_to_string(victim).unwrap(), "mine");
    }
}
