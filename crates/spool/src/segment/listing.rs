//! All segments of a spool.

use std::io;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::segment::name::Segment;

/// Names of all segments below these directories, each once, in order. Only the first directory must exist.
pub(crate) fn segments(dirs: &[PathBuf]) -> Result<Vec<Segment>, Error> {
    let mut found = Vec::new();
    for (place, dir) in dirs.iter().enumerate() {
        let days = match entries(dir) {
            Ok(days) => days,
            Err(error) if place > 0 && error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(Error::io(dir, "read", error)),
        };
        for day in days {
            // An entry that is no directory, or has gone meanwhile, has no segments.
            for file in entries(&dir.join(&day)).unwrap_or_default() {
                found.extend(Segment::of_file(&day, &file));
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Names of the segments of the last days of a directory, in order.
pub(crate) fn latest_segments(dir: &Path, days: usize) -> io::Result<Vec<Segment>> {
    // Names of days sort by time; the directories beside them, such as `held`, have no segments of their own.
    let is_day = |name: &String| name.starts_with(|first: char| first.is_ascii_digit());
    let mut names: Vec<String> = entries(dir)?.into_iter().filter(is_day).collect();
    names.sort_unstable();
    let mut found = Vec::new();
    for day in names.iter().rev().take(days) {
        let files = entries(&dir.join(day)).unwrap_or_default();
        found.extend(files.iter().filter_map(|file| format!("{day}/{file}").parse::<Segment>().ok()));
    }
    found.sort_unstable();
    Ok(found)
}

fn entries(dir: &Path) -> io::Result<Vec<String>> {
    Ok(std::fs::read_dir(dir)?.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect())
}
