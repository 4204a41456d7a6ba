//! Keeps a spool within its clocks and its disk: deletes, moves, holds, and has recording stop where nothing is left to delete.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ringtap_model::Nanos;
use rustix::fs::{FallocateFlags, fallocate, statvfs};

use crate::error::Error;
use crate::far::storage::{self as far, Far, STAGED};
use crate::far::transfer::{self as errand, Done, Errand, Running, Sending};
use crate::files::remove_if_present;
use crate::layout::{FAR, HELD, TIER};
use crate::read::catalogue::{self, Catalogue};
use crate::retain::deletion_lock::DeletionLock;
use crate::retain::hold::{self, Holds};
use crate::retain::policy::{Limits, Reason, Space, Sweep, Verdict};
use crate::retain::product::Products;
use crate::retain::tier::{self, Moving};
use crate::segment::index::Row;
use crate::segment::listed::{Listed, Place};
use crate::segment::name::{Category, Segment, Sizes, day_start};
use crate::trust::deletion_entry::Deletion;
use crate::trust::deletion_log::Deletions;
use crate::trust::deletion_summary as earlier;
use crate::write::disk::Written;

/// What an operator ought to know.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Notice {
    /// Segments of one category were deleted.
    Deleted {
        /// Why.
        reason: Reason,
        /// How many.
        segments: u64,
        /// What that freed.
        bytes: u64,
        /// The first and the last of them.
        names: (Segment, Segment),
        /// Chunks of calls that are held, copied out of them before.
        held: u64,
    },
    /// A segment has moved to the tier, or to the far place.
    Moved(Segment),
    /// The far place cannot be reached or refuses; told once until it works again. What should move stays.
    Away(Error),
    /// It works again.
    Back,
    /// Something cannot be deleted, moved or held; told once until it works again.
    Fails(Error),
    /// It works again.
    Works,
    /// Nothing that may be deleted is left and the disk has no room: recording has stopped.
    Stopped(Space),
    /// There is room again: recording goes on.
    GoesOn(Space),
}

/// What there is and what was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tended {
    /// Bytes on disk by place and category.
    pub bytes: [Sizes; Place::ALL.len()],
    /// Segments by place and category.
    pub segments: [Sizes; Place::ALL.len()],
    /// When the oldest segment of each category begins, wherever it lies.
    pub oldest: [Option<Nanos>; Category::ALL.len()],
    /// The file system of each place; None where it is not known, or there is no such place.
    pub space: [Option<Space>; Place::ALL.len()],
    /// Segments deleted, by reason, since the start.
    pub deleted: [u64; Reason::ALL.len()],
    /// Bytes that this freed.
    pub freed: [u64; Reason::ALL.len()],
    /// Segments moved to the tier, and bytes that this freed.
    pub moved: (u64, u64),
    /// Deletions and moves that failed.
    pub failures: u64,
    /// The far place cannot be reached, or refuses.
    pub away: bool,
    /// What failed there, since the start.
    pub refused: u64,
    /// Segments of which objects are there that are on their way, or still to be deleted.
    pub loose: u64,
    /// Calls that are held.
    pub held: u64,
    /// Bytes of what was copied for them.
    pub held_bytes: u64,
    /// Recording has stopped for want of room.
    pub stopped: bool,
}

/// Asks the operating system about the file system of a directory.
pub fn space(dir: &Path) -> io::Result<Space> {
    let told = statvfs(dir)?;
    Ok(Space {
        total: told.f_blocks.saturating_mul(told.f_frsize),
        free: told.f_bavail.saturating_mul(told.f_frsize),
    })
}

/// Looks after one spool. It has no thread and no clock: [`look`](Self::look) is to be called every second or so.
pub struct Janitor {
    dir: PathBuf,
    tier: Option<PathBuf>,
    limits: Limits,
    deletions: Deletions,
    keepers: Vec<Arc<Written>>,
    measure: Measure,
    catalogues: [Catalogue; Place::ALL.len()],
    holds: Holds,
    /// Below the low mark since, until the high one is reached.
    short: [bool; Place::ALL.len()],
    /// Of all keepers, at the last look.
    full: u64,
    moving: Option<Moving>,
    distant: Option<Distant>,
    /// When it was walked last, and whether there is more to do.
    walked: Option<Nanos>,
    more: bool,
    failed: bool,
    stopped: Option<Nanos>,
    /// Length of the log of deletions, when it was shortened last.
    shortened: u64,
    /// Length of the log of product, when it was looked through last.
    tidied: u64,
    tended: Tended,
}

/// The far place, and what is being done there.
struct Distant {
    far: Arc<dyn Far>,
    dir: PathBuf,
    /// Older segments move there; None where they do not any more, otherwise with the bytes a second that may go.
    moves: Option<Option<u64>>,
    errand: Option<Running>,
    /// Chunks of a segment that are here for a moment, by their offsets.
    staged: Option<(Segment, BTreeSet<u64>)>,
    /// Failures since the last success.
    failures: u32,
    /// It is left alone until then.
    rests: Option<Nanos>,
}

type Measure = Box<dyn FnMut(&Path) -> io::Result<Space> + Send>;
type Tell<'a> = &'a mut dyn FnMut(Notice);

impl Janitor {
    /// Of that spool, into which these keepers write. What it deletes goes into the log first.
    pub fn new(dir: PathBuf, limits: Limits, deletions: Deletions, keepers: Vec<Arc<Written>>) -> Self {
        Self {
            // Segments that moved in earlier runs have their clocks as well.
            tier: dir.join(TIER).canonicalize().ok(),
            dir,
            limits,
            deletions,
            keepers,
            measure: Box::new(space),
            catalogues: Default::default(),
            holds: Holds::default(),
            short: [false; Place::ALL.len()],
            full: 0,
            moving: None,
            distant: None,
            walked: None,
            more: false,
            failed: false,
            stopped: None,
            shortened: 0,
            tidied: 0,
            tended: Tended::default(),
        }
    }

    /// Asks something else about file systems.
    pub fn measured(mut self, measure: impl FnMut(&Path) -> io::Result<Space> + Send + 'static) -> Self {
        self.measure = Box::new(measure);
        self
    }

    /// From now on these limits hold.
    pub fn limit(&mut self, limits: Limits) {
        self.limits = limits;
        self.walked = None;
    }

    /// Older segments move there; it is created where it does not exist.
    ///
    /// # Errors
    ///
    /// It cannot be created, or the spool takes no link to it.
    pub fn to_tier(&mut self, tier: &Path) -> Result<(), Error> {
        tier::link(&self.dir, tier).map_err(|error| Error::io(tier, "made the tier of the spool", error))?;
        self.tier = Some(tier.to_owned());
        self.walked = None;
        Ok(())
    }

    /// What lies far lies there. With `moves`, older segments move there, so many bytes a second at most.
    pub fn to_far(&mut self, far: Arc<dyn Far>, moves: Option<Option<u64>>) {
        let dir = self.dir.join(FAR);
        // What it was doing at another place ends first.
        self.distant = None;
        // What a run before needed for a moment. It is written over otherwise.
        let _ = fs::remove_dir_all(dir.join(STAGED));
        let (errand, staged) = (None, None);
        self.distant = Some(Distant { far, dir, moves, errand, staged, failures: 0, rests: None });
        self.tended.away = false;
        self.walked = None;
    }

    /// From now on segments move there so, or not at all: what lies there has its clocks.
    pub fn pace(&mut self, moves: Option<Option<u64>>) {
        self.distant.iter_mut().for_each(|distant| distant.moves = moves);
        self.walked = None;
    }

    /// What there is and what was done.
    pub fn tended(&self) -> &Tended {
        &self.tended
    }

    /// Whether something is being done at the far place: it had better be called again soon.
    pub fn is_waiting(&self) -> bool {
        self.is_far_busy()
    }

    /// Does a piece of what is to be done at `now`. True: there is more, and it had better be called again at once.
    pub fn look(&mut self, now: Nanos, mut tell: impl FnMut(Notice)) -> bool {
        let tell: Tell<'_> = &mut tell;
        let refused = self.measure_all();
        let mut hopeless = false;
        self.go_on_far(now, tell);
        let due = self.walked.is_none_or(|walked| now.since(walked) >= EVERY || now < walked);
        if self.moving.is_some() {
            let result = self.go_on_moving(tell);
            self.more = true;
            self.works(result, tell);
        } else if due || self.more || self.short.contains(&true) {
            self.walked = Some(now);
            let result = self.walk(now, refused, tell);
            let short = self.short[Place::Spool as usize];
            hopeless = short && result.as_ref().map_or(true, |walked| walked.is_stuck());
            self.more = result.as_ref().is_ok_and(|walked| walked.more);
            self.works(result.map(|_| ()), tell);
        }
        match self.stopped {
            None if hopeless => self.stop(Some(now), tell),
            // Not at once: what it stopped for may be something else than room.
            Some(since)
                if !self.short[Place::Spool as usize] && (now.since(since) >= REST || now < since) =>
            {
                self.stop(None, tell);
            }
            _ => {}
        }
        if !self.short[Place::Spool as usize] {
            self.reserve();
        }
        self.more
    }

    /// Takes the room of both places; true when the disk refused a keeper for want of room since the last look.
    fn measure_all(&mut self) -> bool {
        let full: u64 = self.keepers.iter().map(|keeper| keeper.full()).sum();
        let refused = std::mem::replace(&mut self.full, full) < full;
        for place in [Place::Spool, Place::Tier] {
            let at = place as usize;
            let Some(dir) = self.directory(place).map(Path::to_owned) else { continue };
            self.tended.space[at] = (self.measure)(&dir).ok();
            let Some(Space { total, free }) = self.tended.space[at] else { continue };
            let (low, high) = (self.limits.free.low.of(total), self.limits.free.high.of(total));
            if free < low {
                self.short[at] = true;
            } else if free >= high {
                self.short[at] = false;
            }
        }
        self.short[Place::Spool as usize] |= refused;
        refused
    }

    fn directory(&self, place: Place) -> Option<&Path> {
        match place {
            Place::Spool => Some(&self.dir),
            Place::Tier => self.tier.as_deref(),
            Place::Far => self.distant.as_ref().map(|distant| distant.dir.as_path()),
        }
    }

    /// Bytes to be freed at a place.
    fn wanted(&self, place: Place, refused: bool) -> u64 {
        if !self.short[place as usize] {
            return 0;
        }
        let Space { total, free } = self.tended.space[place as usize].unwrap_or_default();
        let missing = self.limits.free.high.of(total).saturating_sub(free);
        // A quota, or something else that statistics of a file system do not know.
        if refused && place == Place::Spool { missing.max(PRESSED) } else { missing }
    }

    /// Bytes that may move, to the far place or to the tier.
    fn room(&self, now: Nanos, refused: bool) -> Option<u64> {
        if let Some(distant) = self.distant.as_ref().filter(|distant| distant.moves.is_some()) {
            let Space { total, free } = self.tended.space[Place::Spool as usize].unwrap_or_default();
            // A network may be slower than packets come: near the end the oldest goes for good.
            let hurried = refused || free < self.limits.free.low.of(total) / 2;
            return (!hurried && !distant.is_resting(now)).then_some(u64::MAX);
        }
        self.tier.as_ref()?;
        let Space { total, free } = self.tended.space[Place::Tier as usize]?;
        Some(free.saturating_sub(self.limits.free.low.of(total)))
    }

    /// One walk over everything that may have to go, in the turn of whoever deletes.
    fn walk(&mut self, now: Nanos, refused: bool, tell: Tell<'_>) -> Result<Walked, Error> {
        let _lock = DeletionLock::wait(&self.dir)?;
        self.read_holds()?;
        self.refresh()?;
        let sizes = self.catalogues.each_ref().map(Catalogue::bytes);
        let sizes = Category::ALL.map(|category| sizes.iter().map(|sizes| sizes[category as usize]).sum());
        let short = Place::ALL.map(|place| self.wanted(place, refused));
        let mut sweep = Sweep::new(&self.limits, now, sizes, short, self.room(now, refused));
        let chosen = self.choose(now, &mut sweep, tell)?;
        let (moves, cut) = (chosen.moves.is_some(), chosen.cut);
        let deleted = chosen.deletes.len();
        self.delete(now, chosen.deletes, tell)?;
        if let Some(item) = chosen.moves {
            self.begin_moving(item)?;
        }
        if let Some((item, rows)) = chosen.fetch
            && let Some(distant) = &mut self.distant
        {
            distant.begin(&self.dir, Errand::Fetch(item.segment, rows))?;
        }
        if deleted > 0 {
            self.refresh()?;
        }
        // The tier makes room for what should come.
        self.short[Place::Tier as usize] |= sweep.refused() && self.tier.is_some();
        let waits = self.distant.as_ref().is_some_and(Distant::is_busy);
        Ok(Walked { more: cut || moves && !waits, deleted, short: sweep.short(Place::Spool), waits })
    }

    /// Decides about a slice: a number of segments to delete, or one to move. Interception product is looked at last.
    fn choose(&mut self, now: Nanos, sweep: &mut Sweep, tell: Tell<'_>) -> Result<Chosen, Error> {
        let chosen = self.choose_among(now, sweep, tell)?;
        let nothing =
            chosen.deletes.is_empty() && chosen.moves.is_none() && chosen.fetch.is_none() && !chosen.cut;
        if !nothing || self.is_far_busy() || Place::ALL.iter().all(|place| sweep.short(*place) == 0) {
            return Ok(chosen);
        }
        sweep.last_resort();
        self.choose_among(now, sweep, tell)
    }

    fn choose_among(&mut self, now: Nanos, sweep: &mut Sweep, tell: Tell<'_>) -> Result<Chosen, Error> {
        let writing: BTreeSet<Segment> = self.keepers.iter().flat_map(|keeper| keeper.open()).collect();
        let mut chosen = Chosen::default();
        for day in self.days() {
            for item in self.list(&day, sweep)? {
                // What was opened since it was listed is among those that are being written.
                if writing.contains(&item.segment) {
                    continue;
                }
                let Some(verdict) = sweep.judge(&item) else { continue };
                if let Some(sending) = self.distant.as_ref().and_then(|distant| distant.sending(&item)) {
                    // It goes on, or ends soon and is deleted then.
                    if verdict != Verdict::Move {
                        sending.stop();
                    }
                    continue;
                }
                match verdict {
                    Verdict::Move if self.is_far_busy() => {}
                    Verdict::Move if chosen.deletes.is_empty() && chosen.fetch.is_none() => {
                        chosen.moves = Some(item);
                        return Ok(chosen);
                    }
                    Verdict::Delete(reason) if chosen.deletes.len() < SLICE => match self.rescue(&item) {
                        Ok(Rescue::Far(rows)) => {
                            // The chunks come first, when nothing else is done there.
                            if !self.is_far_resting(now) && !self.is_far_busy() && chosen.fetch.is_none() {
                                chosen.fetch = Some((item, rows));
                            }
                        }
                        Ok(Rescue::Done(held)) => {
                            sweep.done(&item, verdict, item.bytes);
                            chosen.deletes.push((item, reason, held));
                        }
                        // It stays; others may go.
                        Err(error) => self.fails(error, tell),
                    },
                    _ => {
                        chosen.cut = true;
                        return Ok(chosen);
                    }
                }
            }
        }
        Ok(chosen)
    }

    /// Days of all places, in order.
    fn days(&self) -> BTreeSet<String> {
        self.catalogues.iter().flat_map(|catalogue| catalogue.days().map(|(day, _)| day.clone())).collect()
    }

    /// What the sweep may take of a day, in order.
    fn list(&self, day: &str, sweep: &Sweep) -> Result<Vec<Listed>, Error> {
        let mut items = Vec::new();
        let begins = day_start(day).unwrap_or_default();
        for place in Place::ALL {
            let Some(dir) = self.directory(place) else { continue };
            let Some(known) = self.catalogues[place as usize].day(day) else { continue };
            let reached = |category: &Category| {
                known.segments[*category as usize] > 0 && sweep.reaches(place, *category, begins)
            };
            if Category::ALL.iter().any(reached) {
                let listed = catalogue::list(dir, day, place);
                items.extend(listed.map_err(|error| Error::io(&dir.join(day), "read", error))?);
            }
        }
        items.sort_by(|a, b| (&a.segment, a.place).cmp(&(&b.segment, b.place)));
        Ok(items)
    }

    fn read_holds(&mut self) -> Result<(), Error> {
        let holds = Holds::read(&self.dir)?;
        if holds != self.holds {
            hold::prune(&self.dir, &holds, self.deletions.signer())?;
            self.holds = holds;
        }
        Ok(())
    }

    /// Copies what is held out of a segment that is to be deleted.
    fn rescue(&mut self, item: &Listed) -> Result<Rescue, Error> {
        let Some(mut from) = self.directory(item.place).map(Path::to_owned) else {
            return Ok(Rescue::Done(0));
        };
        if item.place == Place::Far {
            let Some(distant) = &self.distant else { return Ok(Rescue::Done(0)) };
            let rows = hold::held_far(&*distant.far, &from, item, &self.holds)?;
            if rows.is_empty() {
                return Ok(Rescue::Done(0));
            }
            let staged = distant.staged.as_ref().filter(|(segment, _)| *segment == item.segment);
            if !staged.is_some_and(|(_, offsets)| rows.iter().all(|row| offsets.contains(&row.offset))) {
                return Ok(Rescue::Far(rows));
            }
            from.push(STAGED);
        }
        let rescued = match hold::rescue(&self.dir, &from, item, &self.holds, self.deletions.signer()) {
            Err(error) if error.is_full() && self.give_reserve() => {
                hold::rescue(&self.dir, &from, item, &self.holds, self.deletions.signer())
            }
            other => other,
        }?;
        if let Some(distant) = self.distant.as_mut().filter(|_| item.place == Place::Far) {
            distant.staged = None;
            let done = errand::unstage(&distant.dir, &item.segment);
            done.map_err(|error| Error::io(&from, "deleted", error))?;
        }
        Ok(Rescue::Done(rescued))
    }

    /// Deletes segments of which the held chunks are safe. First the log says so.
    fn delete(&mut self, now: Nanos, items: Vec<(Listed, Reason, u64)>, tell: Tell<'_>) -> Result<(), Error> {
        let mut entries = Vec::with_capacity(items.len());
        let mut products = Vec::new();
        for (item, reason, _) in &items {
            let Some(dir) = self.directory(item.place) else { continue };
            if item.segment.category() == Category::Product {
                products.push((entries.len(), (dir, &item.segment)));
            }
            entries.push(Deletion::segment(dir, &item.segment, now, &self.why(item, *reason))?);
        }
        self.name_cases(&mut entries, &products)?;
        match self.deletions.append(&entries) {
            Err(error) if error.is_full() && self.give_reserve() => self.deletions.append(&entries)?,
            other => other?,
        }
        let kinds =
            Reason::ALL.into_iter().flat_map(|reason| Category::ALL.map(|category| (reason, category)));
        for (reason, category) in kinds {
            let alike: Vec<_> = items
                .iter()
                .filter(|(item, why, _)| (*why, item.segment.category()) == (reason, category))
                .collect();
            let (Some((first, ..)), Some((last, ..))) = (alike.first(), alike.last()) else { continue };
            let (mut segments, mut bytes, mut held) = (0, 0, 0);
            for (item, _, rescued) in &alike {
                let Some(dir) = self.directory(item.place) else { continue };
                let result = match item.place {
                    Place::Far => {
                        far::remove(dir, &item.segment).map_err(|error| Error::io(dir, "written", error))
                    }
                    Place::Spool | Place::Tier => remove(dir, &item.segment),
                };
                match result {
                    Ok(freed) => {
                        self.tended.deleted[reason as usize] += 1;
                        self.tended.freed[reason as usize] += freed;
                        (segments, bytes, held) = (segments + 1, bytes + freed, held + rescued);
                    }
                    Err(error) => self.fails(error, tell),
                }
            }
            let names = (first.segment.clone(), last.segment.clone());
            if segments > 0 {
                tell(Notice::Deleted { reason, segments, bytes, names, held });
            }
        }
        self.remove_days(items.iter().map(|(item, ..)| item));
        self.shorten(tell);
        if items.iter().any(|(item, ..)| item.segment.category() == Category::Product) {
            let dirs = [self.dir.clone(), self.dir.join(TIER), self.dir.join(FAR), self.dir.join(HELD)];
            if let Some(length) = Products::of(&self.dir).tidy(&dirs, now, self.tidied)? {
                self.tidied = length;
            }
        }
        Ok(())
    }

    /// Takes the beginning of the log together, once it has grown to twice its length. What fails is tried when it has again.
    fn shorten(&mut self, tell: Tell<'_>) {
        let length = fs::metadata(self.deletions.path()).map_or(0, |told| told.len());
        if length < earlier::SHORT.max(2 * self.shortened) {
            return;
        }
        self.shortened = length;
        let far = self.dir.join(FAR);
        let dirs = [&self.dir, &self.dir.join(TIER), &self.dir.join(HELD), &far];
        // Something that cannot be told is there.
        let exists = |path: &PathBuf| path.try_exists().unwrap_or(true);
        let is_there = |segment: &Segment| {
            exists(&far::Stub::path(&far, segment))
                || dirs.iter().any(|dir| segment.files(dir).iter().any(exists))
        };
        match self.deletions.shorten(&is_there) {
            Ok(length) => self.shortened = length,
            Err(error) if error.is_full() => {}
            Err(error) => self.fails(error, tell),
        }
    }

    /// For the log of deletions: whose product it was that goes.
    fn name_cases(
        &self,
        entries: &mut [Deletion],
        products: &[(usize, (&Path, &Segment))],
    ) -> Result<(), Error> {
        if products.is_empty() {
            return Ok(());
        }
        let segments: Vec<_> = products.iter().map(|(_, of)| *of).collect();
        for ((at, _), cases) in products.iter().zip(Products::of(&self.dir).cases(&segments)?) {
            if let Some(entry) = entries.get_mut(*at) {
                entry.cases = cases;
            }
        }
        Ok(())
    }

    /// For the log of deletions.
    fn why(&self, item: &Listed, reason: Reason) -> String {
        let category = item.segment.category();
        match reason {
            Reason::Age => {
                let age = self.limits.age[category as usize].unwrap_or_default();
                format!("older than {category} is kept: {} s", age.0 / 1_000_000_000)
            }
            Reason::Size => {
                let size = self.limits.size[category as usize].unwrap_or_default();
                format!("beyond what {category} may take: {size} bytes")
            }
            Reason::Space => format!("the disk of the {} is short of room", item.place.name()),
        }
    }

    /// Directories of days that are empty; not the newest, in which a segment may begin right now.
    fn remove_days<'a>(&self, items: impl Iterator<Item = &'a Listed>) {
        let newest = self.days().pop_last();
        let days: BTreeSet<(Place, &str)> =
            items.filter_map(|item| Some((item.place, item.segment.day()?))).collect();
        for (place, day) in days {
            if let Some(dir) = self.directory(place).filter(|_| newest.as_deref() != Some(day)) {
                // One that is not empty stays.
                let _ = fs::remove_dir(dir.join(day));
            }
        }
    }

    fn begin_moving(&mut self, item: Listed) -> Result<(), Error> {
        if let Some(distant) = self.distant.as_mut().filter(|distant| distant.moves.is_some()) {
            let path = item.segment.path(&self.dir);
            let sending = Sending::open(&self.dir, item).map_err(|error| Error::io(&path, "read", error))?;
            return match sending {
                Some(sending) => distant.begin(&self.dir, Errand::Send(sending)),
                None => Ok(()),
            };
        }
        let Some(tier) = &self.tier else { return Ok(()) };
        let path = item.segment.path(tier);
        self.moving =
            Moving::begin(&self.dir, tier, item).map_err(|error| Error::io(&path, "written", error))?;
        Ok(())
    }

    fn go_on_moving(&mut self, tell: Tell<'_>) -> Result<(), Error> {
        let (Some(moving), Some(tier)) = (&mut self.moving, &self.tier) else { return Ok(()) };
        let path = moving.item.segment.path(tier);
        let wrong = |error| Error::io(&path, "written", error);
        match moving.step(PACE) {
            Ok(false) => return Ok(()),
            Ok(true) => {}
            Err(error) => {
                moving.give_up();
                self.moving = None;
                self.short[Place::Tier as usize] |= error.kind() == io::ErrorKind::StorageFull;
                return Err(wrong(error));
            }
        }
        let _lock = DeletionLock::wait(&self.dir)?;
        let Some(moving) = self.moving.take() else { return Ok(()) };
        let item = moving.item.clone();
        if moving.finish().map_err(wrong)? {
            self.tended.moved.0 += 1;
            self.tended.moved.1 += item.bytes;
            self.remove_days(std::iter::once(&item));
            tell(Notice::Moved(item.segment));
            self.refresh()?;
        }
        Ok(())
    }

    fn is_far_busy(&self) -> bool {
        self.distant.as_ref().is_some_and(Distant::is_busy)
    }

    fn is_far_resting(&self, now: Nanos) -> bool {
        self.distant.as_ref().is_some_and(|distant| distant.is_resting(now))
    }

    /// Takes what an errand brought, and has objects deleted that nothing tells of.
    fn go_on_far(&mut self, now: Nanos, tell: Tell<'_>) {
        let Some(distant) = &mut self.distant else { return };
        if let Some(outcome) = distant.errand.as_ref().and_then(Running::outcome) {
            // Where it was told to end, that is no failure of the place.
            let stopped = distant.errand.take().is_some_and(|running| running.is_stopped());
            let result = outcome.and_then(|done| self.take_far(done, tell));
            let Some(distant) = &mut self.distant else { return };
            match result {
                Ok(()) => {
                    (distant.failures, distant.rests) = (0, None);
                    if std::mem::take(&mut self.tended.away) {
                        tell(Notice::Back);
                    }
                }
                Err(_) if stopped => {}
                Err(error) => {
                    distant.rests = Some(now + PAUSE.times(distant.failures));
                    distant.failures = distant.failures.saturating_add(1);
                    self.tended.refused += 1;
                    if !std::mem::replace(&mut self.tended.away, true) {
                        tell(Notice::Away(error));
                    }
                }
            }
            // The next one need not wait for the clock.
            self.walked = None;
        }
        if let Err(error) = self.clear_far(now) {
            self.fails(error, tell);
        }
    }

    fn take_far(&mut self, done: Done, tell: Tell<'_>) -> Result<(), Error> {
        match done {
            Done::Cleared => {}
            Done::Fetched(segment, offsets) => {
                self.distant
                    .iter_mut()
                    .for_each(|distant| distant.staged = Some((segment.clone(), offsets.clone())));
            }
            Done::Sent(sending, stub) => {
                let item = sending.item.clone();
                let path = item.segment.path(&self.dir);
                let _lock = DeletionLock::wait(&self.dir)?;
                let moved = sending.finish(&self.dir, &stub);
                if moved.map_err(|error| Error::io(&path, "replaced by what lies far", error))? {
                    self.tended.moved.0 += 1;
                    self.tended.moved.1 += item.bytes;
                    self.remove_days(std::iter::once(&item));
                    tell(Notice::Moved(item.segment));
                }
                self.refresh()?;
            }
        }
        Ok(())
    }

    /// Objects that are there and should not be.
    fn clear_far(&mut self, now: Nanos) -> Result<(), Error> {
        let Some(distant) = &mut self.distant else { return Ok(()) };
        let wrong = |error| Error::io(&distant.dir, "read", error);
        let loose = far::loose(&distant.dir).map_err(wrong)?;
        self.tended.loose = loose.len() as u64;
        if distant.is_busy() || distant.is_resting(now) {
            return Ok(());
        }
        let mut orphans = Vec::new();
        for segment in loose {
            // Where a power cut came between the stub and the end of its way.
            match far::Stub::read(&distant.dir, &segment).map_err(wrong)? {
                Some(_) => far::fasten(&distant.dir, &segment).map_err(wrong)?,
                // It is sent again, in place of what is there.
                None if segment.path(&self.dir).exists() => {}
                None => orphans.push(segment),
            }
        }
        orphans.truncate(SLICE);
        match orphans.is_empty() {
            true => Ok(()),
            false => distant.begin(&self.dir, Errand::Clear(orphans)),
        }
    }

    fn stop(&mut self, at: Option<Nanos>, tell: Tell<'_>) {
        self.stopped = at;
        self.tended.stopped = at.is_some();
        self.keepers.iter().for_each(|keeper| keeper.stop(at.is_some()));
        let space = self.tended.space[Place::Spool as usize].unwrap_or_default();
        tell(if at.is_some() { Notice::Stopped(space) } else { Notice::GoesOn(space) });
    }

    fn works(&mut self, result: Result<(), Error>, tell: Tell<'_>) {
        match result {
            Err(error) => self.fails(error, tell),
            Ok(()) if !self.more && std::mem::take(&mut self.failed) => tell(Notice::Works),
            Ok(()) => {}
        }
    }

    fn fails(&mut self, error: Error, tell: Tell<'_>) {
        self.tended.failures += 1;
        if !std::mem::replace(&mut self.failed, true) {
            tell(Notice::Fails(error));
        }
    }

    /// Looks at what there is.
    fn refresh(&mut self) -> Result<(), Error> {
        for place in Place::ALL {
            let Some(dir) = self.directory(place).map(Path::to_owned) else { continue };
            let known = &mut self.catalogues[place as usize];
            known.refresh(&dir, place).map_err(|error| Error::io(&dir, "read", error))?;
        }
        self.tended.bytes = self.catalogues.each_ref().map(Catalogue::bytes);
        self.tended.segments = self.catalogues.each_ref().map(Catalogue::segments);
        self.tended.oldest = Category::ALL
            .map(|category| self.catalogues.iter().filter_map(|known| known.oldest(category)).min());
        self.tended.held = self.holds.calls() as u64;
        let mut held = Catalogue::default();
        // What cannot be read counts as nothing here; whoever reads it will say so.
        let _ = held.refresh(&self.dir.join(HELD), Place::Spool);
        self.tended.held_bytes = held.bytes().iter().sum();
        Ok(())
    }

    /// Takes some room for when there is none: for the log, and for what is held.
    fn reserve(&self) {
        // A file system that cannot do it may have some left when it is needed.
        let _ = self.deletions.reserve();
        let path = self.dir.join(RESERVE);
        if path.exists() {
            return;
        }
        let take = || -> io::Result<()> {
            Ok(fallocate(File::create(&path)?, FallocateFlags::empty(), 0, RESERVED)?)
        };
        if take().is_err() {
            let _ = remove_if_present(&path);
        }
    }

    /// Gives that room away; false where it is given already.
    fn give_reserve(&self) -> bool {
        fs::remove_file(self.dir.join(RESERVE)).is_ok()
    }
}

impl Distant {
    fn begin(&mut self, dir: &Path, errand: Errand) -> Result<(), Error> {
        let rate = self.moves.flatten();
        self.errand = Some(Running::begin(Arc::clone(&self.far), dir.to_owned(), errand, rate)?);
        Ok(())
    }

    fn is_busy(&self) -> bool {
        self.errand.is_some()
    }

    fn is_resting(&self, now: Nanos) -> bool {
        // A clock that was put back does not prolong it for ever.
        self.rests.is_some_and(|until| now < until && until.since(now) <= PAUSE.times(u32::MAX))
    }

    /// The errand that sends this segment.
    fn sending(&self, item: &Listed) -> Option<&Running> {
        let running = self.errand.as_ref()?;
        (item.place == Place::Spool && running.sending.as_ref() == Some(&item.segment)).then_some(running)
    }
}

/// How long a place that refuses is left alone: longer each time, up to ten minutes.
struct Pause(Nanos);

impl Pause {
    fn times(&self, failures: u32) -> Nanos {
        Nanos((self.0.0 << failures.min(10)).min(LONGEST.0))
    }
}

const PAUSE: Pause = Pause(Nanos::from_secs(5));
const LONGEST: Nanos = Nanos::from_secs(600);

/// What was done for calls on hold before a segment may be deleted.
enum Rescue {
    /// So many chunks are safe.
    Done(u64),
    /// These have to be fetched first.
    Far(Vec<Row>),
}

/// What a walk did.
struct Walked {
    more: bool,
    deleted: usize,
    /// Bytes that the spool still has too little.
    short: u64,
    /// Something is on its way to the far place.
    waits: bool,
}

impl Walked {
    /// There is too little room and nothing that may be deleted.
    fn is_stuck(&self) -> bool {
        !self.more && !self.waits && self.deleted == 0 && self.short > 0
    }
}

/// What a walk is to do.
#[derive(Default)]
struct Chosen {
    /// With chunks that were copied out of each.
    deletes: Vec<(Listed, Reason, u64)>,
    moves: Option<Listed>,
    /// Of a segment that lies far: chunks that are needed here before it may be deleted.
    fetch: Option<(Listed, Vec<Row>)>,
    /// There is more.
    cut: bool,
}

/// Deletes a segment with all that is beside it; tells the bytes that this freed.
fn remove(dir: &Path, segment: &Segment) -> Result<u64, Error> {
    let freed = catalogue::size(dir, segment);
    for path in segment.files(dir) {
        remove_if_present(&path).map_err(|error| Error::io(&path, "deleted", error))?;
    }
    Ok(freed)
}

/// How often everything is looked at where there is room.
const EVERY: Nanos = Nanos::from_secs(10);
/// How long recording stays stopped at least.
const REST: Nanos = Nanos::from_secs(10);
/// Segments deleted at once.
const SLICE: usize = 64;
/// Bytes copied to the tier at once.
const PACE: u64 = 64 << 20;
/// What is freed where a disk that seems to have room refuses to write.
const PRESSED: u64 = 64 << 20;
/// Its name in the spool's directory, and its bytes.
const RESERVE: &str = "reserve";
const RESERVED: u64 = 1 << 20;
