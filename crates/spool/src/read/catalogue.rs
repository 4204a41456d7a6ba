//! The segments of one directory: totals per day in memory, single segments when they are needed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use ringtap_model::Nanos;

use crate::far::storage::Stub;
use crate::files::entry_names;
use crate::segment::listed::{ListedSegment, Location};
use crate::segment::name::{ByCategory, Category, Segment, day_start};

/// The days of one directory and their totals. A day is listed again when its directory has changed. The
/// memory does not grow with the number of segments.
#[derive(Clone, Debug, Default)]
pub(crate) struct Catalogue {
    days: BTreeMap<String, Day>,
}

/// Totals of a day's directory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Day {
    /// By category.
    pub(crate) bytes: ByCategory,
    /// By category.
    pub(crate) segments: ByCategory,
    /// When the first segment of each category begins.
    pub(crate) first: [Option<Nanos>; Category::ALL.len()],
    /// When the directory changed last, if that is long enough ago to be told from another change.
    changed: Option<SystemTime>,
}

impl Catalogue {
    /// Reads the directory again. A directory that does not exist has no days.
    pub(crate) fn refresh(&mut self, dir: &Path, location: Location) -> io::Result<()> {
        let mut there = BTreeSet::new();
        for day in entry_names(dir)? {
            if day_start(&day).is_none() {
                continue;
            }
            let path = dir.join(&day);
            let Ok(changed) = fs::metadata(&path).and_then(|metadata| metadata.modified()) else { continue };
            if self.days.get(&day).is_none_or(|known| known.changed != Some(changed)) {
                // Files may be added within a tick of the file system's clock.
                let settled = SystemTime::now().duration_since(changed).is_ok_and(|since| since > TICK);
                let mut fresh = Day { changed: settled.then_some(changed), ..Day::default() };
                for item in list(dir, &day, location)? {
                    let at = item.segment.category() as usize;
                    fresh.bytes[at] += item.bytes;
                    fresh.segments[at] += 1;
                    fresh.first[at].get_or_insert(item.begins);
                }
                self.days.insert(day.clone(), fresh);
            }
            there.insert(day);
        }
        self.days.retain(|day, _| there.contains(day));
        Ok(())
    }

    /// The totals of a day.
    pub(crate) fn day(&self, day: &str) -> Option<&Day> {
        self.days.get(day)
    }

    /// All days, in order.
    pub(crate) fn days(&self) -> impl DoubleEndedIterator<Item = (&String, &Day)> {
        self.days.iter()
    }

    /// Bytes on disk.
    pub(crate) fn bytes(&self) -> ByCategory {
        self.sum(|day| day.bytes)
    }

    /// Number of segments.
    pub(crate) fn segments(&self) -> ByCategory {
        self.sum(|day| day.segments)
    }

    /// When the oldest segment of a category begins.
    pub(crate) fn oldest(&self, category: Category) -> Option<Nanos> {
        self.days.values().find_map(|day| day.first[category as usize])
    }

    fn sum(&self, figure: impl Fn(&Day) -> ByCategory) -> ByCategory {
        let add = |sum: ByCategory, day: &Day| {
            let more = figure(day);
            Category::ALL.map(|category| sum[category as usize] + more[category as usize])
        };
        self.days.values().fold([0; Category::ALL.len()], add)
    }
}

/// The segments of a day, in order.
pub(crate) fn list(dir: &Path, day: &str, location: Location) -> io::Result<Vec<ListedSegment>> {
    let mut found = Vec::new();
    for file in entry_names(&dir.join(day))? {
        let Some(segment) = Segment::of_file(day, &file) else { continue };
        let Some((worker, begins)) = segment.origin() else { continue };
        let bytes = match location {
            // A stub that cannot be read counts as zero bytes; the segment expires all the same.
            Location::Far => Stub::read(dir, &segment).ok().flatten().map_or(0, |stub| stub.all),
            Location::Spool | Location::Tier => size(dir, &segment),
        };
        found.push((worker, ListedSegment { segment, location, bytes, begins, ends: begins + LONGEST }));
    }
    found.sort_by(|(_, a), (_, b)| a.segment.cmp(&b.segment));
    // A segment has ended when the next one of its worker and category begins. Of the last one only the
    // longest span is known.
    let mut next: BTreeMap<(u16, Category), Nanos> = BTreeMap::new();
    for (worker, item) in found.iter_mut().rev() {
        if let Some(next) = next.insert((*worker, item.segment.category()), item.begins) {
            item.ends = item.ends.min(next);
        }
    }
    Ok(found.into_iter().map(|(_, item)| item).collect())
}

/// Bytes of a segment on the disk, with the files beside it. Holes take none.
pub(crate) fn size(dir: &Path, segment: &Segment) -> u64 {
    segment
        .files(dir)
        .iter()
        .filter_map(|path| fs::metadata(path).ok())
        .map(|metadata| metadata.blocks() * 512)
        .sum()
}

/// The longest span of a segment that the configuration allows.
pub(crate) const LONGEST: Nanos = Nanos::from_secs(3_600);
/// Clocks of file systems advance in ticks of some milliseconds, of some in two seconds.
const TICK: Duration = Duration::from_secs(3);
