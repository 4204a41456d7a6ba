//! Free space of the file systems that a spool lies on.

use std::io;
use std::path::Path;

use rustix::fs::statvfs;

use crate::retain::inventory::Inventory;
use crate::retain::policy::{DiskSpace, Limits};
use crate::segment::listed::Location;

/// Asks the operating system about the file system of a directory.
///
/// # Errors
///
/// The directory does not exist, or its file system does not answer.
pub fn space(dir: &Path) -> io::Result<DiskSpace> {
    let stat = statvfs(dir)?;
    Ok(DiskSpace {
        total: stat.f_blocks.saturating_mul(stat.f_frsize),
        free: stat.f_bavail.saturating_mul(stat.f_frsize),
    })
}

pub(crate) type Measure = Box<dyn FnMut(&Path) -> io::Result<DiskSpace> + Send>;

/// Compares free space with the watermarks.
pub(crate) struct SpaceWatch {
    measure: Measure,
    space: [Option<DiskSpace>; Location::ALL.len()],
    /// Free space fell below the low watermark, and has not reached the high one since.
    short: [bool; Location::ALL.len()],
    /// Writes that failed on a full disk, up to the last look.
    full_writes: u64,
    /// Such a write has failed between the last two looks.
    is_refused: bool,
}

impl SpaceWatch {
    pub(crate) fn new(measure: Measure) -> Self {
        Self {
            measure,
            space: Default::default(),
            short: Default::default(),
            full_writes: 0,
            is_refused: false,
        }
    }

    pub(crate) fn set_measure(&mut self, measure: Measure) {
        self.measure = measure;
    }

    /// Measures the spool and the tier. `full_writes` counts the writes that failed on a full disk since the
    /// start.
    pub(crate) fn look(&mut self, limits: &Limits, inventory: &Inventory, full_writes: u64) {
        self.is_refused = std::mem::replace(&mut self.full_writes, full_writes) < full_writes;
        for location in [Location::Spool, Location::Tier] {
            let at = location as usize;
            let Some(dir) = inventory.dir(location) else { continue };
            self.space[at] = (self.measure)(dir).ok();
            let Some(DiskSpace { total, free }) = self.space[at] else { continue };
            let (low, high) = (limits.free.low.of(total), limits.free.high.of(total));
            if free < low {
                self.short[at] = true;
            } else if free >= high {
                self.short[at] = false;
            }
        }
        self.short[Location::Spool as usize] |= self.is_refused;
    }

    pub(crate) fn is_short(&self, location: Location) -> bool {
        self.short[location as usize]
    }

    pub(crate) fn is_any_short(&self) -> bool {
        self.short.contains(&true)
    }

    /// Treats a location as short of space until the high watermark is reached.
    pub(crate) fn set_short(&mut self, location: Location) {
        self.short[location as usize] = true;
    }

    /// The file system of each location.
    pub(crate) fn all(&self) -> [Option<DiskSpace>; Location::ALL.len()] {
        self.space
    }

    /// The file system of a location; zeros if it is not known.
    pub(crate) fn of(&self, location: Location) -> DiskSpace {
        self.space[location as usize].unwrap_or_default()
    }

    /// Bytes to free in a location.
    pub(crate) fn bytes_to_free(&self, location: Location, limits: &Limits) -> u64 {
        if !self.is_short(location) {
            return 0;
        }
        let DiskSpace { total, free } = self.of(location);
        let missing = limits.free.high.of(total).saturating_sub(free);
        // A quota, or another limit that the statistics of the file system do not show.
        if self.is_refused && location == Location::Spool { missing.max(AFTER_REFUSAL) } else { missing }
    }

    /// Whether the spool is so short of space that the oldest segments are deleted rather than uploaded: a
    /// network may be slower than packets arrive.
    pub(crate) fn is_urgent(&self, limits: &Limits) -> bool {
        let DiskSpace { total, free } = self.of(Location::Spool);
        self.is_refused || free < limits.free.low.of(total) / 2
    }

    /// Bytes that the tier can take.
    pub(crate) fn tier_room(&self, limits: &Limits) -> Option<u64> {
        let DiskSpace { total, free } = self.space[Location::Tier as usize]?;
        Some(free.saturating_sub(limits.free.low.of(total)))
    }
}

/// Bytes to free if a disk that seems to have space refuses to write.
const AFTER_REFUSAL: u64 = 64 << 20;
