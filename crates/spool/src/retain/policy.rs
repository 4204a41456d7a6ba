//! Which segments are deleted or moved, and when: those older than their limit, those beyond their size, and
//! the oldest if the disk is short of space. This module reads no clock and no disk: it is given the time,
//! the space and one segment after the other.

use ringtap_model::Nanos;

use crate::segment::listed::{ListedSegment, Location};
use crate::segment::name::{ByCategory, Category};

/// How long and how much is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// How long packets of each category are kept, from their capture; None for ever.
    pub age: [Option<Nanos>; Category::ALL.len()],
    /// Bytes on disk of each category; None for no limit.
    pub size: [Option<u64>; Category::ALL.len()],
    /// When the disk counts as short of space.
    pub free: Watermarks,
    /// Age at which segments move to the tier, if there is one; None: when the disk is short of space.
    pub tier_after: Option<Nanos>,
}

/// Space that is kept free on a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watermarks {
    /// Below this, the oldest segments are deleted until
    pub low: SpaceThreshold,
    /// this much is free.
    pub high: SpaceThreshold,
}

impl Default for Watermarks {
    fn default() -> Self {
        Self { low: SpaceThreshold::Thousandths(50), high: SpaceThreshold::Thousandths(70) }
    }
}

/// An amount of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpaceThreshold {
    /// So many thousandths of it.
    Thousandths(u16),
    /// So many bytes.
    Bytes(u64),
}

impl SpaceThreshold {
    /// The amount in bytes.
    pub fn of(self, total: u64) -> u64 {
        match self {
            Self::Thousandths(part) => {
                u64::try_from(u128::from(total) * u128::from(part) / 1000).unwrap_or(total)
            }
            Self::Bytes(bytes) => bytes,
        }
    }
}

/// A file system, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskSpace {
    /// Its size.
    pub total: u64,
    /// What this user can still write.
    pub free: u64,
}

/// Why a segment is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeletionReason {
    /// It is older than its limit.
    Age,
    /// Its category takes more than its limit.
    Size,
    /// The disk is short of space.
    Space,
}

impl DeletionReason {
    /// All reasons, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Age, Self::Size, Self::Space];

    /// In metrics and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Age => "age",
            Self::Size => "size",
            Self::Space => "space",
        }
    }
}

/// What to do with a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetentionAction {
    /// Delete it.
    Delete(DeletionReason),
    /// Move it to the tier or to far storage.
    Move,
}

/// One pass over all segments, oldest first.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// Segments that end up to here are older than their limit, by category.
    expired: [Option<Nanos>; Category::ALL.len()],
    /// Bytes beyond the limit, by category.
    excess: ByCategory,
    /// Bytes to free, by location.
    short: [u64; Location::ALL.len()],
    /// Segments that end up to here move.
    moves: Option<Nanos>,
    /// Bytes that may move; None if there is nowhere to move to.
    room: Option<u64>,
    /// A segment should have moved and found no room.
    refused: bool,
    /// Interception product is deleted as well if the disk is short of space.
    includes_product: bool,
}

impl Sweep {
    /// A pass at `now` with these bytes on disk, these bytes to free in each location, and room for so many
    /// bytes where segments move to.
    pub fn new(
        limits: &Limits,
        now: Nanos,
        sizes: ByCategory,
        short: [u64; Location::ALL.len()],
        room: Option<u64>,
    ) -> Self {
        // No segment is older than time itself.
        let before = |age: Option<Nanos>| age.and_then(|age| now.0.checked_sub(age.0)).map(Nanos);
        let excess = |category: Category| {
            let at = category as usize;
            limits.size[at].map_or(0, |limit| sizes[at].saturating_sub(limit))
        };
        Self {
            expired: limits.age.map(before),
            excess: Category::ALL.map(excess),
            short,
            moves: before(limits.tier_after).filter(|_| room.is_some()),
            room,
            refused: false,
            includes_product: false,
        }
    }

    /// From now on, deletes interception product as well if the disk is short of space: everything else is
    /// gone. Before that it only moves.
    pub fn include_product(&mut self) {
        self.includes_product = true;
    }

    /// Whether segments of that location and category that begin at `begins` or later may be deleted or
    /// moved.
    pub fn reaches(&self, location: Location, category: Category, begins: Nanos) -> bool {
        let moves = self.moves.filter(|_| location == Location::Spool);
        let last = self.expired[category as usize].max(moves);
        self.excess[category as usize] > 0
            || self.short[location as usize] > 0
            || last.is_some_and(|last| begins <= last)
    }

    /// What to do with the next segment in order of time. None: it stays.
    pub fn judge(&mut self, item: &ListedSegment) -> Option<RetentionAction> {
        let category = item.segment.category() as usize;
        if self.expired[category].is_some_and(|expired| item.ends <= expired) {
            return Some(RetentionAction::Delete(DeletionReason::Age));
        }
        if self.excess[category] > 0 {
            return Some(RetentionAction::Delete(DeletionReason::Size));
        }
        let may_move = item.location == Location::Spool && self.room.is_some_and(|room| room >= item.bytes);
        let is_spared = item.segment.category() == Category::Product && !self.includes_product;
        if self.short[item.location as usize] > 0 && (may_move || !is_spared) {
            return Some(if may_move {
                RetentionAction::Move
            } else {
                RetentionAction::Delete(DeletionReason::Space)
            });
        }
        if item.location == Location::Spool && self.moves.is_some_and(|moves| item.ends <= moves) {
            self.refused |= !may_move;
            return may_move.then_some(RetentionAction::Move);
        }
        None
    }

    /// Records that the action has been carried out, and freed so many bytes.
    pub fn done(&mut self, item: &ListedSegment, verdict: RetentionAction, freed: u64) {
        let take = |from: &mut u64| *from = from.saturating_sub(freed);
        take(&mut self.short[item.location as usize]);
        match verdict {
            RetentionAction::Delete(_) => take(&mut self.excess[item.segment.category() as usize]),
            RetentionAction::Move => {
                self.room.iter_mut().for_each(|room| *room = room.saturating_sub(item.bytes))
            }
        }
    }

    /// Bytes still to free in that location.
    pub fn short(&self, location: Location) -> u64 {
        self.short[location as usize]
    }

    /// Whether a segment should have moved and found no room.
    pub fn refused(&self) -> bool {
        self.refused
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::name::Segment;

    const DAY: Nanos = Nanos::from_secs(86_400);
    const START: Nanos = Nanos::from_secs(1_795_219_200);

    /// A segment a minute for signalling and media, media of 100 bytes and signalling of 10.
    fn listing(minutes: u64) -> Vec<ListedSegment> {
        listing_of(minutes, &[Category::Signalling, Category::Media])
    }

    fn listing_of(minutes: u64, categories: &[Category]) -> Vec<ListedSegment> {
        let minute = |number: u64| {
            let begins = START + Nanos::from_secs(60 * number);
            categories.iter().map(move |category| ListedSegment {
                segment: Segment::new(begins, 0, *category, number),
                location: Location::Spool,
                bytes: if *category == Category::Media { 100 } else { 10 },
                begins,
                ends: begins + Nanos::from_secs(60),
            })
        };
        let mut all: Vec<ListedSegment> = (0..minutes).flat_map(minute).collect();
        all.sort_by(|a, b| a.segment.cmp(&b.segment));
        all
    }

    fn sizes(listing: &[ListedSegment]) -> ByCategory {
        let of = |category| {
            listing.iter().filter(|item| item.segment.category() == category).map(|item| item.bytes).sum()
        };
        Category::ALL.map(of)
    }

    /// Carries everything out, and returns what went.
    fn carry_out(sweep: &mut Sweep, listing: &[ListedSegment]) -> Vec<(usize, RetentionAction)> {
        let mut done = Vec::new();
        for (place, item) in listing.iter().enumerate() {
            let reached = sweep.reaches(item.location, item.segment.category(), item.begins);
            if let Some(verdict) = sweep.judge(item) {
                assert!(reached, "{item:?}");
                sweep.done(item, verdict, item.bytes);
                done.push((place, verdict));
            }
        }
        done
    }

    #[test]
    fn each_category_has_its_clock() {
        let listing = listing(10);
        let limits = Limits { age: [Some(DAY), Some(DAY + DAY), None], ..Limits::default() };
        let at = |now| {
            let mut sweep = Sweep::new(&limits, now, sizes(&listing), [0; 3], None);
            carry_out(&mut sweep, &listing)
        };
        assert_eq!(at(START + DAY + Nanos::from_secs(59)), []);
        // The first minute of signalling ended a day ago; media stays another day.
        let gone = at(START + DAY + Nanos::from_secs(60));
        assert_eq!(gone.len(), 1);
        assert_eq!(listing[gone[0].0].segment.category(), Category::Signalling);
        assert_eq!(gone[0].1, RetentionAction::Delete(DeletionReason::Age));
        assert_eq!(at(START + DAY + DAY).len(), 10);
        assert_eq!(at(START + DAY + DAY + Nanos::from_secs(600)).len(), 20);
        // A limit longer than time itself expires nothing.
        let limits = Limits { age: [Some(Nanos::MAX), None, None], ..Limits::default() };
        let sweep = Sweep::new(&limits, START, [0; 3], [0; 3], None);
        assert!(Category::ALL.iter().all(|category| !sweep.reaches(Location::Spool, *category, Nanos::ZERO)));
    }

    #[test]
    fn each_category_has_its_size() {
        let listing = listing(10);
        let limits = Limits { size: [None, Some(750), None], ..Limits::default() };
        let mut sweep = Sweep::new(&limits, START, sizes(&listing), [0; 3], None);
        let gone = carry_out(&mut sweep, &listing);
        // 1000 bytes of media: the three oldest go, of signalling none.
        let names: Vec<_> = gone.iter().map(|(place, _)| listing[*place].segment.as_str()).collect();
        assert_eq!(names.len(), 3);
        assert!(
            names.iter().zip(0..).all(|(name, at)| name.ends_with(&format!("-m-{at}.pcap"))),
            "{names:?}"
        );
        assert!(gone.iter().all(|(_, verdict)| *verdict == RetentionAction::Delete(DeletionReason::Size)));
    }

    #[test]
    fn a_short_disk_takes_the_oldest_of_all() {
        let listing = listing(10);
        let mut sweep = Sweep::new(&Limits::default(), START, sizes(&listing), [250, 0, 0], None);
        let gone: Vec<usize> = carry_out(&mut sweep, &listing).into_iter().map(|(place, _)| place).collect();
        assert_eq!(gone, [0, 1, 2, 3, 4]);
        assert_eq!(sweep.short(Location::Spool), 0);
        // A segment that cannot be deleted is skipped, and the rest is still to be freed at the end.
        let mut sweep = Sweep::new(&Limits::default(), START, sizes(&listing), [5_000, 0, 0], None);
        for item in &listing {
            let verdict = sweep.judge(item);
            assert_eq!(verdict, Some(RetentionAction::Delete(DeletionReason::Space)));
            sweep.done(
                item,
                RetentionAction::Delete(DeletionReason::Space),
                if item.bytes == 100 { 0 } else { 10 },
            );
        }
        assert_eq!(sweep.short(Location::Spool), 4_900);
    }

    #[test]
    fn interception_product_has_its_clock_and_is_given_up_last() {
        let listing = listing_of(4, &Category::ALL);
        let is_product = |place: &usize| listing[*place].segment.category() == Category::Product;
        let limits = Limits { age: [None, None, Some(DAY)], ..Limits::default() };
        let now = START + DAY + Nanos::from_secs(120);
        let mut sweep = Sweep::new(&limits, now, sizes(&listing), [0; 3], None);
        let gone: Vec<usize> = carry_out(&mut sweep, &listing).into_iter().map(|(place, _)| place).collect();
        assert!(gone.len() == 2 && gone.iter().all(is_product), "{gone:?}");
        // The limit of product counts its own bytes alone.
        let limits = Limits { size: [None, None, Some(30)], ..Limits::default() };
        let mut sweep = Sweep::new(&limits, now, sizes(&listing), [0; 3], None);
        let gone: Vec<usize> = carry_out(&mut sweep, &listing).into_iter().map(|(place, _)| place).collect();
        assert!(gone.len() == 1 && is_product(&gone[0]), "{gone:?}");
        // However short the disk is, product stays while anything else is there.
        let mut sweep = Sweep::new(&Limits::default(), now, sizes(&listing), [10_000, 0, 0], None);
        let gone: Vec<usize> = carry_out(&mut sweep, &listing).into_iter().map(|(place, _)| place).collect();
        assert!(gone.len() == 8 && !gone.iter().any(is_product), "{gone:?}");
        sweep.include_product();
        let left: Vec<ListedSegment> =
            listing.iter().filter(|item| sweep.judge(item).is_some()).cloned().collect();
        assert!(left.iter().any(|item| item.segment.category() == Category::Product));
        // It may move.
        let mut sweep = Sweep::new(&Limits::default(), now, sizes(&listing), [10_000, 0, 0], Some(10_000));
        assert!(carry_out(&mut sweep, &listing).iter().all(|(_, verdict)| *verdict == RetentionAction::Move));
    }

    #[test]
    fn a_tier_takes_what_is_older_while_it_has_room() {
        let listing = listing(10);
        let limits =
            Limits { tier_after: Some(DAY), age: [None, Some(DAY + DAY), None], ..Limits::default() };
        let now = START + DAY + Nanos::from_secs(180);
        let mut sweep = Sweep::new(&limits, now, sizes(&listing), [0; 3], Some(235));
        let moved = carry_out(&mut sweep, &listing);
        // Three minutes are old enough; the third minute of media finds no room.
        assert_eq!(moved.len(), 5);
        assert!(moved.iter().all(|(_, verdict)| *verdict == RetentionAction::Move));
        assert!(sweep.refused());
        // Without a tier nothing moves.
        let mut sweep = Sweep::new(&limits, now, sizes(&listing), [0; 3], None);
        assert_eq!(carry_out(&mut sweep, &listing), []);
        // A spool that is short of space moves its oldest segments while the tier has room, then deletes.
        let mut sweep = Sweep::new(&Limits::default(), now, sizes(&listing), [300, 0, 0], Some(120));
        let gone: Vec<RetentionAction> =
            carry_out(&mut sweep, &listing).into_iter().map(|(_, verdict)| verdict).collect();
        let (deleted, moved) = (RetentionAction::Delete(DeletionReason::Space), RetentionAction::Move);
        assert_eq!(gone, [moved, moved, deleted, moved, deleted]);
        // A tier that is short of space deletes its own segments, and none of the spool's.
        let mut older = listing.clone();
        older.iter_mut().take(6).for_each(|item| item.location = Location::Tier);
        let mut sweep = Sweep::new(&Limits::default(), now, sizes(&older), [0, 150, 0], Some(0));
        let gone = carry_out(&mut sweep, &older);
        assert!(gone.iter().all(|(place, _)| older[*place].location == Location::Tier), "{gone:?}");
        assert_eq!(gone.len(), 3);
    }

    #[test]
    fn room_is_a_share_or_bytes() {
        assert_eq!(SpaceThreshold::Thousandths(50).of(1 << 40), (1 << 40) / 20);
        assert_eq!(SpaceThreshold::Thousandths(1000).of(u64::MAX), u64::MAX);
        assert_eq!(SpaceThreshold::Bytes(7).of(1), 7);
    }
}
