//! Day files that stay open for whoever reads them next: to open one, and to have SQLite prepare the
//! statements of a search, takes longer than to find a call by a key.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::day_reader::DayReader;

/// Day files that are open and that nobody reads, for all readers that share them.
///
/// Whoever has them for longer than a piece of work calls [`close_old`](Self::close_old) now and then: the
/// disk space of a file that was deleted stays in use as long as it is open.
#[derive(Debug, Default)]
pub struct OpenFiles(Mutex<Vec<DayReader>>);

impl OpenFiles {
    /// How long a file stays open, however often it is read: after that it is opened anew, as it is then.
    pub const LONGEST: Duration = Duration::from_secs(30);

    /// Closes the files that were open for [`LONGEST`](Self::LONGEST).
    pub fn close_old(&self) {
        self.close_open_for(Self::LONGEST);
    }

    fn close_open_for(&self, longest: Duration) {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let old: Vec<DayReader> = files.extract_if(.., |file| file.open_for() >= longest).collect();
        drop(files);
        // Nobody waits meanwhile.
        drop(old);
    }

    /// A file that was kept, as long as it is the one of that path.
    pub(crate) fn take(&self, path: &Path) -> Option<DayReader> {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The one that was read last has the most of it in memory.
        let place = files.iter().rposition(|file| file.path() == path)?;
        let file = files.remove(place);
        drop(files);
        Some(file).filter(|file| file.is_there() && file.open_for() < Self::LONGEST)
    }

    /// Keeps a file that is whole between statements, unless there are enough. Those that are kept stay: a
    /// search over more days than there is room for would otherwise find none of its files next time.
    pub(crate) fn keep(&self, mut file: DayReader) {
        if !file.sees_changes() || file.never_stop().is_err() {
            return;
        }
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if files.len() < MOST {
            files.push(file);
        }
    }
}

/// Files that are kept: two months, and up to 2 MB of pages and as much of texts each.
const MOST: usize = 64;

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;
    use crate::migration::OnMigration;
    use crate::schema;

    /// Opens the file of that number, which is made where there is none.
    fn opened(dir: &Path, number: usize) -> DayReader {
        let path = dir.join(format!("{number}.sqlite"));
        schema::create(&mut Connection::open(&path).unwrap(), &path).unwrap();
        DayReader::open(path, &OnMigration::default()).unwrap().unwrap()
    }

    #[test]
    fn files_are_closed_after_their_time() {
        let dir = tempfile::tempdir().unwrap();
        let files = OpenFiles::default();
        files.keep(opened(dir.path(), 0));
        files.keep(opened(dir.path(), 1));
        files.close_old();
        let first = files.take(&dir.path().join("0.sqlite")).unwrap();
        assert!(files.take(&dir.path().join("0.sqlite")).is_none(), "somebody reads it");
        let long = first.open_for();
        files.keep(first);
        files.close_open_for(Duration::MAX);
        assert_eq!(files.0.lock().unwrap().len(), 2);
        files.close_open_for(long);
        let left = files.0.lock().unwrap();
        assert!(!left.iter().any(|file| file.path().ends_with("0.sqlite")), "reading makes it no younger");
    }

    #[test]
    fn a_search_that_is_over_stops_nobody_else() {
        let dir = tempfile::tempdir().unwrap();
        let files = OpenFiles::default();
        let mut file = opened(dir.path(), 0);
        file.stop_when(|| true).unwrap();
        let long = "SELECT 1 FROM (WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n) \
                    SELECT n FROM n LIMIT 100000)";
        assert!(file.count(long, &[], u64::MAX >> 1).is_err());
        files.keep(file);
        let file = files.take(&dir.path().join("0.sqlite")).unwrap();
        assert_eq!(file.count(long, &[], u64::MAX >> 1).unwrap(), 100_000);
    }

    #[test]
    fn as_many_are_kept_as_there_is_room_for() {
        let dir = tempfile::tempdir().unwrap();
        let files = OpenFiles::default();
        (0..=MOST).for_each(|number| files.keep(opened(dir.path(), number)));
        let left = |number| files.take(&dir.path().join(format!("{number}.sqlite"))).is_some();
        assert_eq!([0, MOST - 1, MOST].map(left), [true, true, false]);
    }
}
