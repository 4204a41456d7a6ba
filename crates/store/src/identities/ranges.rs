//! Addresses that never change hands, as the daemon was configured with them: beside the sessions, so that a
//! question has them without the file that names them.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use ringtap_model::Identity;

use crate::{Error, directory};

/// Writes the ranges that are in force from now on, in place of those before: a line of JSON each.
///
/// # Errors
///
/// They cannot be written.
pub fn write_ranges(records: &Path, ranges: &[Identity]) -> Result<(), Error> {
    let dir = super::directory(records);
    let (path, draft) = (dir.join(NAME), dir.join(DRAFT));
    let failed = |error| Error::file(&path, error);
    if ranges.is_empty() {
        return match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error)),
            _ => Ok(()),
        };
    }
    match DirBuilder::new().mode(0o700).create(&dir) {
        Ok(()) => directory::sync_parent(&dir).map_err(failed)?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(failed(error)),
    }
    let write = || -> io::Result<()> {
        let mut text = Vec::new();
        for range in ranges {
            serde_json::to_writer(&mut text, range)?;
            text.push(b'\n');
        }
        // What a kill left of it may be anybody's.
        let _ = fs::remove_file(&draft);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
        file.write_all(&text)?;
        file.sync_all()?;
        fs::rename(&draft, &path)?;
        File::open(&dir)?.sync_all()
    };
    write().map_err(failed)
}

/// Those that were written last.
pub(super) fn read_ranges(dir: &Path) -> Result<Vec<Identity>, Error> {
    let path = dir.join(NAME);
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.map_err(|error| Error::file(&path, error))?,
    };
    let read = |line: &str| {
        serde_json::from_str(line).map_err(|error| Error::Corrupt {
            path: path.clone(),
            reason: format!("a range cannot be read: {error}"),
        })
    };
    text.lines().map(read).collect()
}

const NAME: &str = "static.jsonl";
const DRAFT: &str = "static.jsonl.new";
