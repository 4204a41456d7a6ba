//! What a spool gives up, and when: what is older than its clock, what is beyond its size, and the oldest where the disk is
//! short. No clock and no disk in here: it is told the time, the room and one segment after the other.

use ringtap_model::Nanos;

use crate::segment::listed::{Listed, Place};
use crate::segment::name::{Category, Sizes};

/// How long and how much is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// How long packets of each category are kept, from their capture; None for ever.
    pub age: [Option<Nanos>; Category::ALL.len()],
    /// Bytes on disk of each category; None for no limit.
    pub size: [Option<u64>; Category::ALL.len()],
    /// Where the disk is short of room.
    pub free: Marks,
    /// Segments move to the tier, where there is one, when they are older than this; None: when the disk is short.
    pub tier_after: Option<Nanos>,
}

/// Room that is to stay free on a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marks {
    /// Below this the oldest segments go, until
    pub low: Room,
    /// this is free.
    pub high: Room,
}

impl Default for Marks {
    fn default() -> Self {
        Self { low: Room::Thousandths(50), high: Room::Thousandths(70) }
    }
}

/// A part of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// So many thousandths of it.
    Thousandths(u16),
    /// So many bytes.
    Bytes(u64),
}

impl Room {
    /// In bytes.
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
pub struct Space {
    /// All of it.
    pub total: u64,
    /// What this user can still write.
    pub free: u64,
}

/// Why a segment goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Its clock has run out.
    Age,
    /// There is more of its category than there may be.
    Size,
    /// The disk is short of room.
    Space,
}

impl Reason {
    /// All of them: each at the place that it has as a number.
    pub const ALL: [Self; 3] = [Self::Age, Self::Size, Self::Space];

    /// On pages and in logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Age => "age",
            Self::Size => "size",
            Self::Space => "space",
        }
    }
}

/// What is to be done with a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is deleted.
    Delete(Reason),
    /// It moves to the tier.
    Move,
}

/// One walk over all segments, oldest first.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// Packets up to here have outlived their clock, by category.
    expired: [Option<Nanos>; Category::ALL.len()],
    /// Bytes too many, by category.
    excess: Sizes,
    /// Bytes to be freed, by place.
    short: [u64; Place::ALL.len()],
    /// Packets up to here belong to the tier.
    moves: Option<Nanos>,
    /// Bytes that the tier may take; None where there is none.
    room: Option<u64>,
    /// Something should have moved and found no room.
    refused: bool,
    /// Nothing else is left to be given up where the disk is short.
    last_resort: bool,
}

impl Sweep {
    /// A walk at `now`, with so much on disk, and so many bytes to be freed at each place. `room` is what the tier may take,
    /// where there is one.
    pub fn new(
        limits: &Limits,
        now: Nanos,
        sizes: Sizes,
        short: [u64; Place::ALL.len()],
        room: Option<u64>,
    ) -> Self {
        // Nothing expires before time began.
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
            last_resort: false,
        }
    }

    /// Interception product goes as well where the disk is short: everything else has gone. Until this is said it stays, or moves.
    pub fn last_resort(&mut self) {
        self.last_resort = true;
    }

    /// Whether segments of that place and category that begin then or later may have to go.
    pub fn reaches(&self, place: Place, category: Category, begins: Nanos) -> bool {
        let moves = self.moves.filter(|_| place == Place::Spool);
        let last = self.expired[category as usize].max(moves);
        self.excess[category as usize] > 0
            || self.short[place as usize] > 0
            || last.is_some_and(|last| begins <= last)
    }

    /// What is to be done with the next segment in order of time. None: it stays.
    pub fn judge(&mut self, item: &Listed) -> Option<Verdict> {
        let category = item.segment.category() as usize;
        if self.expired[category].is_some_and(|expired| item.ends <= expired) {
            return Some(Verdict::Delete(Reason::Age));
        }
        if self.excess[category] > 0 {
            return Some(Verdict::Delete(Reason::Size));
        }
        let may_move = item.place == Place::Spool && self.room.is_some_and(|room| room >= item.bytes);
        let is_spared = item.segment.category() == Category::Product && !self.last_resort;
        if self.short[item.place as usize] > 0 && (may_move || !is_spared) {
            return Some(if may_move { Verdict::Move } else { Verdict::Delete(Reason::Space) });
        }
        if item.place == Place::Spool && self.moves.is_some_and(|moves| item.ends <= moves) {
            self.refused |= !may_move;
            return may_move.then_some(Verdict::Move);
        }
        None
    }

    /// It has been done, and freed so many bytes where the segment lay.
    pub fn done(&mut self, item: &Listed, verdict: Verdict, freed: u64) {
        let take = |from: &mut u64| *from = from.saturating_sub(freed);
        take(&mut self.short[item.place as usize]);
        match verdict {
            Verdict::Delete(_) => take(&mut self.excess[item.segment.category() as usize]),
            Verdict::Move => self.room.iter_mut().for_each(|room| *room = room.saturating_sub(item.bytes)),
        }
    }

    /// Bytes still to be freed at that place, what has been done so far taken off.
    pub fn short(&self, place: Place) -> u64 {
        self.short[place as usize]
    }

    /// Whether something should have moved and the tier had no room.
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
    fn listing(minutes: u64) -> Vec<Listed> {
        listing_of(minutes, &[Category::Signalling, Category::Media])
    }

    fn listing_of(minutes: u64, categories: &[Category]) -> Vec<Listed> {
        let minute = |number: u64| {
            let begins = START + Nanos::from_secs(60 * number);
            categories.iter().map(move |category| Listed {
                segment: Segment::new(begins, 0, *category, number),
                place: Place::Spool,
                bytes: if *category == Category::Media { 100 } else { 10 },
                begins,
                ends: begins + Nanos::from_secs(60),
            })
        };
        let mut all: Vec<Listed> = (0..minutes).flat_map(minute).collect();
        all.sort_by(|a, b| a.segment.cmp(&b.segment));
        all
    }

    fn sizes(listing: &[Listed]) -> Sizes {
        let of = |category| {
            listing.iter().filter(|item| item.segment.category() == category).map(|item| item.bytes).sum()
        };
        Category::ALL.map(of)
    }

    /// Carries everything out, and tells what went.
    fn carry_out(sweep: &mut Sweep, listing: &[Listed]) -> Vec<(usize, Verdict)> {
        let mut done = Vec::new();
        for (place, item) in listing.iter().enumerate() {
            let reached = sweep.reaches(item.place, item.segment.category(), item.begins);
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
        // The first minute of signalling has ended a day ago; media stays another day.
        let gone = at(START + DAY + Nanos::from_secs(60));
        assert_eq!(gone.len(), 1);
        assert_eq!(listing[gone[0].0].segment.category(), Category::Signalling);
        assert_eq!(gone[0].1, Verdict::Delete(Reason::Age));
        assert_eq!(at(START + DAY + DAY).len(), 10);
        assert_eq!(at(START + DAY + DAY + Nanos::from_secs(600)).len(), 20);
        // A clock longer than time itself expires nothing.
        let limits = Limits { age: [Some(Nanos::MAX), None, None], ..Limits::default() };
        let sweep = Sweep::new(&limits, START, [0; 3], [0; 3], None);
        assert!(Category::ALL.iter().all(|category| !sweep.reaches(Place::Spool, *category, Nanos::ZERO)));
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
        assert!(gone.iter().all(|(_, verdict)| *verdict == Verdict::Delete(Reason::Size)));
    }

    #[test]
    fn a_short_disk_takes_the_oldest_of_all() {
        let listing = listing(10);
        let mut sweep = Sweep::new(&Limits::default(), START, sizes(&listing), [250, 0, 0], None);
        let gone: Vec<usize> = carry_out(&mut sweep, &listing).into_iter().map(|(place, _)| place).collect();
        assert_eq!(gone, [0, 1, 2, 3, 4]);
        assert_eq!(sweep.short(Place::Spool), 0);
        // What cannot be deleted is passed over, and what is missing at the end is told.
        let mut sweep = Sweep::new(&Limits::default(), START, sizes(&listing), [5_000, 0, 0], None);
        for item in &listing {
            let verdict = sweep.judge(item);
            assert_eq!(verdict, Some(Verdict::Delete(Reason::Space)));
            sweep.done(item, Verdict::Delete(Reason::Space), if item.bytes == 100 { 0 } else { 10 });
        }
        assert_eq!(sweep.short(Place::Spool), 4_900);
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
        // Size counts its own bytes alone.
        let limits = Limits { size: [None, None, Some(30)], ..Limits::default() };
        let mut sweep = Sweep::new(&limits, now, sizes(&listing), [0; 3], None);
        let gone: Vec<usize> = carry_out(&mut sweep, &listing).into_iter().map(|(place, _)| place).collect();
        assert!(gone.len() == 1 && is_product(&gone[0]), "{gone:?}");
        // However short the disk is, it stays while anything else is there.
        let mut sweep = Sweep::new(&Limits::default(), now, sizes(&listing), [10_000, 0, 0], None);
        let gone: Vec<usize> = carry_out(&mut sweep, &listing).into_iter().map(|(place, _)| place).collect();
        assert!(gone.len() == 8 && !gone.iter().any(is_product), "{gone:?}");
        sweep.last_resort();
        let left: Vec<Listed> = listing.iter().filter(|item| sweep.judge(item).is_some()).cloned().collect();
        assert!(left.iter().any(|item| item.segment.category() == Category::Product));
        // It may move.
        let mut sweep = Sweep::new(&Limits::default(), now, sizes(&listing), [10_000, 0, 0], Some(10_000));
        assert!(carry_out(&mut sweep, &listing).iter().all(|(_, verdict)| *verdict == Verdict::Move));
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
        assert!(moved.iter().all(|(_, verdict)| *verdict == Verdict::Move));
        assert!(sweep.refused());
        // Without a tier nothing moves.
        let mut sweep = Sweep::new(&limits, now, sizes(&listing), [0; 3], None);
        assert_eq!(carry_out(&mut sweep, &listing), []);
        // A disk that is short moves its oldest as long as the tier takes them, then deletes.
        let mut sweep = Sweep::new(&Limits::default(), now, sizes(&listing), [300, 0, 0], Some(120));
        let gone: Vec<Verdict> =
            carry_out(&mut sweep, &listing).into_iter().map(|(_, verdict)| verdict).collect();
        let (deleted, moved) = (Verdict::Delete(Reason::Space), Verdict::Move);
        assert_eq!(gone, [moved, moved, deleted, moved, deleted]);
        // A tier that is short deletes its own, and nothing of the spool's.
        let mut older = listing.clone();
        older.iter_mut().take(6).for_each(|item| item.place = Place::Tier);
        let mut sweep = Sweep::new(&Limits::default(), now, sizes(&older), [0, 150, 0], Some(0));
        let gone = carry_out(&mut sweep, &older);
        assert!(gone.iter().all(|(place, _)| older[*place].place == Place::Tier), "{gone:?}");
        assert_eq!(gone.len(), 3);
    }

    #[test]
    fn room_is_a_share_or_bytes() {
        assert_eq!(Room::Thousandths(50).of(1 << 40), (1 << 40) / 20);
        assert_eq!(Room::Thousandths(1000).of(u64::MAX), u64::MAX);
        assert_eq!(Room::Bytes(7).of(1), 7);
    }
}
