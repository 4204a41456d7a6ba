//! The segments of a spool in all its locations.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use ringtap_model::Nanos;

use crate::error::Error;
use crate::layout::HELD;
use crate::read::catalogue::{self, Catalogue};
use crate::segment::listed::{ListedSegment, Location};
use crate::segment::name::{ByCategory, Category, day_start};

/// Directories of a spool, and what was found in them at the last look.
pub(crate) struct Inventory {
    dirs: [Option<PathBuf>; Location::ALL.len()],
    catalogues: [Catalogue; Location::ALL.len()],
    spool: PathBuf,
}

impl Inventory {
    pub(crate) fn new(spool: PathBuf) -> Self {
        let mut dirs = Location::ALL.map(|_| None);
        dirs[Location::Spool as usize] = Some(spool.clone());
        Self { dirs, catalogues: Default::default(), spool }
    }

    pub(crate) fn set_dir(&mut self, location: Location, dir: PathBuf) {
        self.dirs[location as usize] = Some(dir);
    }

    /// None if the spool has no such location.
    pub(crate) fn dir(&self, location: Location) -> Option<&Path> {
        self.dirs[location as usize].as_deref()
    }

    /// The spool's own directory.
    pub(crate) fn spool(&self) -> &Path {
        &self.spool
    }

    /// Reads directories that have changed.
    pub(crate) fn refresh(&mut self) -> Result<(), Error> {
        for location in Location::ALL {
            let Some(dir) = &self.dirs[location as usize] else { continue };
            let catalogue = &mut self.catalogues[location as usize];
            catalogue.refresh(dir, location).map_err(|error| Error::io(dir, "read", error))?;
        }
        Ok(())
    }

    /// Bytes on disk by location and category.
    pub(crate) fn bytes(&self) -> [ByCategory; Location::ALL.len()] {
        self.catalogues.each_ref().map(Catalogue::bytes)
    }

    /// Segments by location and category.
    pub(crate) fn segments(&self) -> [ByCategory; Location::ALL.len()] {
        self.catalogues.each_ref().map(Catalogue::segments)
    }

    /// When the oldest segment of each category begins.
    pub(crate) fn oldest(&self) -> [Option<Nanos>; Category::ALL.len()] {
        Category::ALL.map(|category| self.catalogues.iter().filter_map(|known| known.oldest(category)).min())
    }

    /// Bytes of copies for calls on hold.
    pub(crate) fn held_bytes(&self) -> u64 {
        let mut held = Catalogue::default();
        // What cannot be read counts as nothing here; whoever reads it reports the error.
        let _ = held.refresh(&self.spool.join(HELD), Location::Spool);
        held.bytes().iter().sum()
    }

    /// Days of all locations, in order.
    pub(crate) fn days(&self) -> BTreeSet<String> {
        self.catalogues.iter().flat_map(|catalogue| catalogue.days().map(|(day, _)| day.clone())).collect()
    }

    /// The segments of a day in order, without locations that have none of a wanted category.
    pub(crate) fn list(
        &self,
        day: &str,
        is_wanted: impl Fn(Location, Category, Nanos) -> bool,
    ) -> Result<Vec<ListedSegment>, Error> {
        let mut items = Vec::new();
        let begins = day_start(day).unwrap_or_default();
        for location in Location::ALL {
            let Some(dir) = self.dir(location) else { continue };
            let Some(known) = self.catalogues[location as usize].day(day) else { continue };
            let has_wanted = |category: &Category| {
                known.segments[*category as usize] > 0 && is_wanted(location, *category, begins)
            };
            if Category::ALL.iter().any(has_wanted) {
                let listed = catalogue::list(dir, day, location);
                items.extend(listed.map_err(|error| Error::io(&dir.join(day), "read", error))?);
            }
        }
        items.sort_by(|a, b| (&a.segment, a.location).cmp(&(&b.segment, b.location)));
        Ok(items)
    }

    /// Removes the empty directories of these segments' days; not of the newest day, in which a segment may
    /// begin at any moment.
    pub(crate) fn remove_empty_days<'a>(&self, items: impl Iterator<Item = &'a ListedSegment>) {
        let newest = self.days().pop_last();
        let days: BTreeSet<(Location, &str)> =
            items.filter_map(|item| Some((item.location, item.segment.day()?))).collect();
        for (location, day) in days {
            if let Some(dir) = self.dir(location).filter(|_| newest.as_deref() != Some(day)) {
                // A directory that is not empty stays.
                let _ = fs::remove_dir(dir.join(day));
            }
        }
    }
}
