//! Which interception product belongs to which case.
//!
//! A segment of product names owners, as every segment does, but no case. `product.log` in the spool's
//! directory has a line of JSON for each owner that begins and its case. It is read when such a segment is
//! deleted: the log of deletions then names the cases. As the log grows, owners without any chunk are removed
//! from it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use ringtap_model::Nanos;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::files::{if_present, sync_dir};
use crate::retain::deletion_lock::DeletionLock;
use crate::segment::index::{Index, IndexRow};
use crate::segment::listing::segments;
use crate::segment::name::{Category, Segment};
use crate::segment::scan::scan_file;

/// The file in the spool's directory.
const LOG: &str = "product.log";
/// A log shorter than this is not shortened.
const SHORT: u64 = 1 << 20;
/// Entries younger than this stay: their segment may not be closed yet, or not be on the disk.
const FRESH: Nanos = Nanos::from_secs(2 * 3_600);

/// An owner that is recorded for a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProductEntry {
    /// The owner's key.
    #[serde(with = "crate::hex::serde_u64")]
    pub owner: u64,
    /// The case: a LIID.
    pub case: String,
    /// When the entry was written, in nanoseconds since 1970, UTC.
    pub at: u64,
}

/// The product log of a spool.
#[derive(Clone, Debug)]
pub struct ProductLog {
    dir: PathBuf,
}

impl ProductLog {
    /// Of the spool in that directory.
    pub fn of(dir: &Path) -> Self {
        Self { dir: dir.to_owned() }
    }

    fn path(&self) -> PathBuf {
        self.dir.join(LOG)
    }

    /// Appends entries: they are on the disk once this has returned. Waits for the deletion lock.
    ///
    /// # Errors
    ///
    /// The log cannot be written.
    pub fn append(&self, entries: &[ProductEntry]) -> Result<(), Error> {
        let _lock = DeletionLock::wait(&self.dir)?;
        let path = self.path();
        let write = || {
            let mut options = OpenOptions::new();
            let mut file = options.read(true).append(true).create(true).mode(0o600).open(&path)?;
            let mut text = String::new();
            // A line that a power cut left incomplete must not spoil the next one.
            if file.seek(SeekFrom::End(0))? > 0 {
                file.seek(SeekFrom::End(-1))?;
                let mut last = [0];
                file.read_exact(&mut last)?;
                if last != *b"\n" {
                    text.push('\n');
                }
            }
            let is_new = file.metadata()?.len() == 0;
            entries.iter().for_each(|entry| text.push_str(&line(entry)));
            file.write_all(text.as_bytes())?;
            file.sync_data()?;
            if is_new { sync_dir(&self.dir) } else { Ok(()) }
        };
        write().map_err(|error| Error::io(&path, "written", error))
    }

    /// All entries. Lines that cannot be read are skipped: each line is independent.
    ///
    /// # Errors
    ///
    /// The log cannot be read.
    pub fn all(&self) -> Result<Vec<ProductEntry>, Error> {
        let path = self.path();
        let text = if_present(fs::read(&path)).map_err(|error| Error::io(&path, "read", error))?;
        let text = text.unwrap_or_default();
        Ok(text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect())
    }

    /// The cases of these segments of product, each in its directory.
    pub(crate) fn cases(&self, items: &[(&Path, &Segment)]) -> Result<Vec<Vec<String>>, Error> {
        let mut whose: BTreeMap<u64, Vec<String>> = BTreeMap::new();
        for ProductEntry { owner, case, .. } in self.all()? {
            whose.entry(owner).or_default().push(case);
        }
        items
            .iter()
            .map(|(dir, segment)| {
                let owners = owners(dir, segment)?;
                let cases = owners.iter().filter_map(|owner| whose.get(owner)).flatten();
                Ok(cases.collect::<BTreeSet<_>>().into_iter().cloned().collect())
            })
            .collect()
    }

    /// Removes entries of owners without any chunk in these directories. Returns the new length; None if the
    /// log has not doubled since it had the length `before`. The caller holds the deletion lock.
    pub(crate) fn shorten(&self, dirs: &[PathBuf], now: Nanos, before: u64) -> Result<Option<u64>, Error> {
        let path = self.path();
        let length = if_present(fs::metadata(&path)).map_err(|error| Error::io(&path, "read", error))?;
        if length.map_or(0, |metadata| metadata.len()) < SHORT.max(2 * before) {
            return Ok(None);
        }
        let mut there = BTreeSet::new();
        for segment in segments(dirs)?.iter().filter(|segment| segment.category() == Category::Product) {
            for dir in dirs {
                there.extend(owners(dir, segment)?);
            }
        }
        let mut entries = self.all()?;
        entries.retain(|entry| there.contains(&entry.owner) || now.since(Nanos(entry.at)) < FRESH);
        // One entry for each owner and case is enough: the newest.
        let mut known = BTreeSet::new();
        let newest = entries.iter().rev().filter(|entry| known.insert((entry.owner, &entry.case)));
        let lines: Vec<String> = newest.map(line).collect();
        let text: String = lines.into_iter().rev().collect();
        let fresh = path.with_extension("part");
        let write = || {
            let _ = fs::remove_file(&fresh);
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&fresh, &path)?;
            sync_dir(&self.dir)
        };
        write().map_err(|error| Error::io(&path, "written", error))?;
        Ok(Some(text.len() as u64))
    }
}

fn line(entry: &ProductEntry) -> String {
    // Serialising numbers and texts cannot fail.
    format!("{}\n", serde_json::to_string(entry).unwrap_or_default())
}

/// The owners with chunks in a segment; none if it does not exist.
fn owners(dir: &Path, segment: &Segment) -> Result<BTreeSet<u64>, Error> {
    let path = segment.path(dir);
    let read = || -> io::Result<Vec<IndexRow>> {
        let file = if_present(File::open(&path))?;
        let index = if_present(File::open(segment.index_path(dir)))?;
        if let Some(mut index) = index.map(Index::open).transpose()?.flatten()
            && let Some(rows) = index.all()?
        {
            return Ok(rows);
        }
        // Of a segment in far storage, only the index is here.
        let Some(file) = file else { return Ok(Vec::new()) };
        let scan = scan_file(&file)?;
        Ok(scan.rows.into_iter().chain(scan.erased).chain(scan.spoiled).collect())
    };
    let rows = read().map_err(|error| Error::io(&path, "read", error))?;
    Ok(rows.into_iter().map(|row| row.chunk.owner).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::settings::WriterSettings;
    use crate::write::writer::SpoolWriter;

    fn of(owner: u64, case: &str, at: Nanos) -> ProductEntry {
        ProductEntry { owner, case: case.to_owned(), at: at.0 }
    }

    #[test]
    fn what_is_told_is_read_whatever_stands_between() {
        let dir = tempfile::tempdir().unwrap();
        let products = ProductLog::of(dir.path());
        assert_eq!(products.all().unwrap(), []);
        let entries = [of(u64::MAX, "A", Nanos(1)), of(2, "B", Nanos(2)), of(2, "A", Nanos(3))];
        products.append(&entries[..2]).unwrap();
        // A power cut within a line.
        let text = fs::read(products.path()).unwrap();
        fs::write(products.path(), &text[..text.len() - 5]).unwrap();
        products.append(&entries[2..]).unwrap();
        assert_eq!(products.all().unwrap(), [entries[0].clone(), entries[2].clone()]);
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(products.path()).unwrap().permissions().mode() & 0o077, 0);
    }

    #[test]
    fn cases_of_segments_and_what_is_left_of_the_log() {
        let dir = tempfile::tempdir().unwrap();
        let products = ProductLog::of(dir.path());
        let settings =
            WriterSettings { memory: 1 << 20, owners: 16, ..WriterSettings::new(dir.path().to_owned()) };
        let mut writer = SpoolWriter::open(settings).unwrap();
        for key in [1, 2] {
            let owner = writer.begin(Category::Product, key).unwrap();
            writer.put_bytes(owner, Nanos::from_secs(5), 4, b"abcd");
        }
        // The same owner's ordinary packets are no product.
        let owner = writer.begin(Category::Media, 3).unwrap();
        writer.put_bytes(owner, Nanos::from_secs(5), 4, b"abcd");
        writer.close(Nanos::from_secs(6));
        let dirs = [dir.path().to_owned()];
        let all = segments(&dirs).unwrap();
        let segment = all.iter().find(|segment| segment.category() == Category::Product).unwrap();
        let old = Nanos::from_secs(100);
        let entries = [of(2, "B", old), of(1, "A", old), of(2, "A", old), of(3, "C", old)];
        products.append(&entries).unwrap();
        let gone = "2026-11-21/000101.250-w0-p-9.pcap".parse().unwrap();
        let cases = products.cases(&[(dir.path(), segment), (dir.path(), &gone)]).unwrap();
        assert_eq!(cases, [vec!["A".to_owned(), "B".to_owned()], vec![]]);

        let now = old + Nanos::from_secs(86_400);
        assert_eq!(products.shorten(&dirs, now, 0).unwrap(), None, "it is short");
        let long: Vec<ProductEntry> =
            (0..30_000).map(|number| of(number, "A", old)).chain([of(7, "new", now)]).collect();
        products.append(&long).unwrap();
        let length = products.shorten(&dirs, now, 0).unwrap().unwrap();
        let left = products.all().unwrap();
        assert_eq!(left, [of(2, "B", old), of(1, "A", old), of(2, "A", old), of(7, "new", now)].to_vec());
        assert_eq!(fs::metadata(products.path()).unwrap().len(), length);
        products.append(&long).unwrap();
        assert_eq!(products.shorten(&dirs, now, u64::MAX / 2).unwrap(), None, "not twice as long as before");
    }
}
