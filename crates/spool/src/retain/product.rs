//! Which interception product is whose: the cases that an owner was kept for.
//!
//! A segment of product names owners, as every segment does, and no case. What a case has is told in `product.log` in the spool's
//! directory, a line of JSON each time that an owner begins, and read when such a segment is deleted: the log of deletions then
//! names the cases. Owners of which nothing is left in any segment are taken out of it as it grows.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use ringtap_model::Nanos;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::files::if_present;
use crate::retain::deletion_lock::DeletionLock;
use crate::segment::index::{Index, Row};
use crate::segment::listing::segments;
use crate::segment::name::{Category, Segment};
use crate::segment::scan::scan_file;

/// Its name in the spool's directory.
const LOG: &str = "product.log";
/// A log that is shorter is left as it is, and one that is not twice as long as it was when it was looked through last.
const SHORT: u64 = 1 << 20;
/// What was told so lately stays: its segment may not be closed yet, or nothing of it on the disk.
const FRESH: Nanos = Nanos::from_secs(2 * 3_600);

/// An owner that is kept for a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProductOf {
    /// The owner's key.
    #[serde(with = "crate::hex::serde_u64")]
    pub owner: u64,
    /// The case: a LIID.
    pub case: String,
    /// When that was told, in nanoseconds since 1970, UTC.
    pub at: u64,
}

/// Tells which product is whose.
#[derive(Clone, Debug)]
pub struct Products {
    dir: PathBuf,
}

impl Products {
    /// Of the spool in that directory.
    pub fn of(dir: &Path) -> Self {
        Self { dir: dir.to_owned() }
    }

    fn path(&self) -> PathBuf {
        self.dir.join(LOG)
    }

    /// These are kept from now on: on the disk when this returns. Waits while something is deleted.
    ///
    /// # Errors
    ///
    /// The log cannot be written.
    pub fn tell(&self, entries: &[ProductOf]) -> Result<(), Error> {
        let _lock = DeletionLock::wait(&self.dir)?;
        let path = self.path();
        let write = || {
            let mut options = OpenOptions::new();
            let mut file = options.read(true).append(true).create(true).mode(0o600).open(&path)?;
            let mut text = String::new();
            // What a power cut left of a line must not take the next one with it.
            if file.seek(SeekFrom::End(0))? > 0 {
                file.seek(SeekFrom::End(-1))?;
                let mut last = [0];
                file.read_exact(&mut last)?;
                if last != *b"\n" {
                    text.push('\n');
                }
            }
            entries.iter().for_each(|entry| text.push_str(&line(entry)));
            file.write_all(text.as_bytes())?;
            file.sync_data()
        };
        write().map_err(|error| Error::io(&path, "written", error))
    }

    /// What was told. Lines that cannot be read are passed over: each stands for itself.
    ///
    /// # Errors
    ///
    /// The log cannot be read.
    pub fn all(&self) -> Result<Vec<ProductOf>, Error> {
        let path = self.path();
        let text = if_present(fs::read(&path)).map_err(|error| Error::io(&path, "read", error))?;
        let text = text.unwrap_or_default();
        Ok(text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect())
    }

    /// The cases of these segments of product, which lie in those directories.
    pub(crate) fn cases(&self, items: &[(&Path, &Segment)]) -> Result<Vec<Vec<String>>, Error> {
        let mut whose: BTreeMap<u64, Vec<String>> = BTreeMap::new();
        for ProductOf { owner, case, .. } in self.all()? {
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

    /// Takes out what is told of owners of which these directories have nothing any more. In the turn of whoever deletes. Tells the
    /// length after it; nothing where the log is not much longer than that of the last time.
    pub(crate) fn tidy(&self, dirs: &[PathBuf], now: Nanos, before: u64) -> Result<Option<u64>, Error> {
        let path = self.path();
        let length = if_present(fs::metadata(&path)).map_err(|error| Error::io(&path, "read", error))?;
        if length.map_or(0, |told| told.len()) < SHORT.max(2 * before) {
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
        // Once for each case is enough: the newest.
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
            fs::rename(&fresh, &path)
        };
        write().map_err(|error| Error::io(&path, "written", error))?;
        Ok(Some(text.len() as u64))
    }
}

fn line(entry: &ProductOf) -> String {
    // Numbers and texts: they can always be written.
    format!("{}\n", serde_json::to_string(entry).unwrap_or_default())
}

/// Whose chunks a segment has; nobody's where it is not there.
fn owners(dir: &Path, segment: &Segment) -> Result<BTreeSet<u64>, Error> {
    let path = segment.path(dir);
    let read = || -> io::Result<Vec<Row>> {
        let file = if_present(File::open(&path))?;
        let index = if_present(File::open(segment.index_path(dir)))?;
        if let Some(mut index) = index.map(Index::open).transpose()?.flatten()
            && let Some(rows) = index.all()?
        {
            return Ok(rows);
        }
        // Of what lies far, only the index is here.
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
    use crate::write::settings::Settings;
    use crate::write::writer::Keeper;

    fn of(owner: u64, case: &str, at: Nanos) -> ProductOf {
        ProductOf { owner, case: case.to_owned(), at: at.0 }
    }

    #[test]
    fn what_is_told_is_read_whatever_stands_between() {
        let dir = tempfile::tempdir().unwrap();
        let products = Products::of(dir.path());
        assert_eq!(products.all().unwrap(), []);
        let entries = [of(u64::MAX, "A", Nanos(1)), of(2, "B", Nanos(2)), of(2, "A", Nanos(3))];
        products.tell(&entries[..2]).unwrap();
        // A power cut within a line.
        let text = fs::read(products.path()).unwrap();
        fs::write(products.path(), &text[..text.len() - 5]).unwrap();
        products.tell(&entries[2..]).unwrap();
        assert_eq!(products.all().unwrap(), [entries[0].clone(), entries[2].clone()]);
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(products.path()).unwrap().permissions().mode() & 0o077, 0);
    }

    #[test]
    fn cases_of_segments_and_what_is_left_of_the_log() {
        let dir = tempfile::tempdir().unwrap();
        let products = Products::of(dir.path());
        let settings = Settings { memory: 1 << 20, owners: 16, ..Settings::new(dir.path().to_owned()) };
        let mut keeper = Keeper::open(settings).unwrap();
        for key in [1, 2] {
            let owner = keeper.begin(Category::Product, key).unwrap();
            keeper.put_parts(owner, Nanos::from_secs(5), 4, b"abcd");
        }
        // The same owner's ordinary packets are nobody's product.
        let owner = keeper.begin(Category::Media, 3).unwrap();
        keeper.put_parts(owner, Nanos::from_secs(5), 4, b"abcd");
        keeper.close(Nanos::from_secs(6));
        let dirs = [dir.path().to_owned()];
        let all = segments(&dirs).unwrap();
        let segment = all.iter().find(|segment| segment.category() == Category::Product).unwrap();
        let old = Nanos::from_secs(100);
        let told = [of(2, "B", old), of(1, "A", old), of(2, "A", old), of(3, "C", old)];
        products.tell(&told).unwrap();
        let gone = "2026-11-21/000101.250-w0-p-9.pcap".parse().unwrap();
        let cases = products.cases(&[(dir.path(), segment), (dir.path(), &gone)]).unwrap();
        assert_eq!(cases, [vec!["A".to_owned(), "B".to_owned()], vec![]]);

        let now = old + Nanos::from_secs(86_400);
        assert_eq!(products.tidy(&dirs, now, 0).unwrap(), None, "it is short");
        let long: Vec<ProductOf> =
            (0..30_000).map(|number| of(number, "A", old)).chain([of(7, "new", now)]).collect();
        products.tell(&long).unwrap();
        let length = products.tidy(&dirs, now, 0).unwrap().unwrap();
        let left = products.all().unwrap();
        assert_eq!(left, [of(2, "B", old), of(1, "A", old), of(2, "A", old), of(7, "new", now)].to_vec());
        assert_eq!(fs::metadata(products.path()).unwrap().len(), length);
        products.tell(&long).unwrap();
        assert_eq!(products.tidy(&dirs, now, u64::MAX / 2).unwrap(), None, "not twice as long as before");
    }
}
