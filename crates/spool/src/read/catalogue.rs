//! What there is on the disk: per day in memory, per segment when it is looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use ringtap_model::Nanos;

use crate::far::storage::Stub;
use crate::files::entry_names;
use crate::segment::listed::{Listed, Place};
use crate::segment::name::{Category, Segment, Sizes, day_start};

/// Days of one directory, and what each holds. A day is listed again when its directory has changed: what is kept here is small
/// however much there is on the disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct Catalogue {
    days: BTreeMap<String, Day>,
}

/// What a day's directory holds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Day {
    /// By category.
    pub(crate) bytes: Sizes,
    /// By category.
    pub(crate) segments: Sizes,
    /// When the first segment of each category begins.
    pub(crate) first: [Option<Nanos>; Category::ALL.len()],
    /// When the directory had changed last, where that is long enough ago to be told from another change.
    changed: Option<SystemTime>,
}

impl Catalogue {
    /// Looks at the directory again. One that is not there has no days.
    pub(crate) fn refresh(&mut self, dir: &Path, place: Place) -> io::Result<()> {
        let mut there = BTreeSet::new();
        for day in entry_names(dir)? {
            if day_start(&day).is_none() {
                continue;
            }
            let path = dir.join(&day);
            let Ok(changed) = fs::metadata(&path).and_then(|told| told.modified()) else { continue };
            if self.days.get(&day).is_none_or(|known| known.changed != Some(changed)) {
                // Files may come within the time that the file system's clock stands still.
                let settled = SystemTime::now().duration_since(changed).is_ok_and(|since| since > TICK);
                let mut fresh = Day { changed: settled.then_some(changed), ..Day::default() };
                for item in list(dir, &day, place)? {
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

    /// What a day holds.
    pub(crate) fn day(&self, day: &str) -> Option<&Day> {
        self.days.get(day)
    }

    /// In order.
    pub(crate) fn days(&self) -> impl DoubleEndedIterator<Item = (&String, &Day)> {
        self.days.iter()
    }

    /// Bytes on disk.
    pub(crate) fn bytes(&self) -> Sizes {
        self.sum(|day| day.bytes)
    }

    /// How many.
    pub(crate) fn segments(&self) -> Sizes {
        self.sum(|day| day.segments)
    }

    /// When the first packet of a category came.
    pub(crate) fn oldest(&self, category: Category) -> Option<Nanos> {
        self.days.values().find_map(|day| day.first[category as usize])
    }

    fn sum(&self, figure: impl Fn(&Day) -> Sizes) -> Sizes {
        let add = |sum: Sizes, day: &Day| {
            let more = figure(day);
            Category::ALL.map(|category| sum[category as usize] + more[category as usize])
        };
        self.days.values().fold([0; Category::ALL.len()], add)
    }
}

/// The segments of a day, in order.
pub(crate) fn list(dir: &Path, day: &str, place: Place) -> io::Result<Vec<Listed>> {
    let mut found = Vec::new();
    for file in entry_names(&dir.join(day))? {
        let Some(segment) = Segment::of_file(day, &file) else { continue };
        let Some((worker, begins)) = segment.origin() else { continue };
        let bytes = match place {
            // One that cannot be read counts as nothing, and has its clock.
            Place::Far => Stub::read(dir, &segment).ok().flatten().map_or(0, |stub| stub.all),
            Place::Spool | Place::Tier => size(dir, &segment),
        };
        found.push((worker, Listed { segment, place, bytes, begins, ends: begins + LONGEST }));
    }
    found.sort_by(|(_, a), (_, b)| a.segment.cmp(&b.segment));
    // A segment has ended when the next of its worker and category begins; of the last it is known only how long one may be.
    let mut next: BTreeMap<(u16, Category), Nanos> = BTreeMap::new();
    for (worker, item) in found.iter_mut().rev() {
        if let Some(next) = next.insert((*worker, item.segment.category()), item.begins) {
            item.ends = item.ends.min(next);
        }
    }
    Ok(found.into_iter().map(|(_, item)| item).collect())
}

/// What a segment takes on the disk with everything beside it: blocks that are holes take nothing.
pub(crate) fn size(dir: &Path, segment: &Segment) -> u64 {
    segment.files(dir).iter().filter_map(|path| fs::metadata(path).ok()).map(|told| told.blocks() * 512).sum()
}

/// A segment is not longer: the most that the configuration takes.
const LONGEST: Nanos = Nanos::from_secs(3_600);
/// Clocks of file systems stand still for some milliseconds at a time, of some for two seconds.
const TICK: Duration = Duration::from_secs(3);
