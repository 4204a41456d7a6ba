//! What becomes of a spool if it goes on as it went so far: what is deleted next, and when the disk is short
//! of space.
//!
//! Interception product is left out, so that who reads this learns nothing of it.

use ringtap_model::Nanos;

use crate::retain::policy::DeletionReason;
use crate::retain::status::SpoolStatus;
use crate::segment::listed::Location;
use crate::segment::name::Category;

/// What becomes of a spool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outlook {
    /// The categories of ordinary recordings.
    pub categories: [CategoryOutlook; Category::ORDINARY.len()],
    /// When the disk of the spool is short of space, and the oldest segments are moved or deleted before
    /// their age. None: limits of age and size come first, or too little was recorded to tell.
    pub short_at: Option<Nanos>,
}

/// What is kept of a category, in all locations, and what becomes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CategoryOutlook {
    /// Which one.
    pub category: Category,
    /// Bytes on disk.
    pub bytes: u64,
    /// Segments.
    pub segments: u64,
    /// When the oldest segment begins.
    pub oldest: Option<Nanos>,
    /// How long packets are kept; None for ever.
    pub age: Option<Nanos>,
    /// Bytes that are kept; None for no limit.
    pub size: Option<u64>,
    /// Bytes a day, on average since the oldest segment; None if that is less than ten minutes ago.
    pub bytes_per_day: Option<u64>,
    /// When the oldest segment is deleted by age or size, and by which. A segment goes when its last packet
    /// is old enough, so up to an hour later.
    pub next: Option<(Nanos, DeletionReason)>,
}

impl Outlook {
    /// Of a spool at `now`.
    pub fn of(status: &SpoolStatus, now: Nanos) -> Self {
        let categories = Category::ORDINARY.map(|category| CategoryOutlook::of(status, category, now));
        let short_at = short_at(status, &categories, now);
        Self { categories, short_at }
    }
}

impl CategoryOutlook {
    fn of(status: &SpoolStatus, category: Category, now: Nanos) -> Self {
        let at = category as usize;
        let sum = |of: &[[u64; Category::ALL.len()]]| of.iter().map(|of| of[at]).sum();
        let bytes: u64 = sum(&status.bytes);
        let oldest = status.oldest[at];
        let since = oldest.and_then(|oldest| now.0.checked_sub(oldest.0)).filter(|since| *since >= ENOUGH);
        let bytes_per_day = since.map(|since| scaled(bytes, DAY, since));
        let (age, size) = (status.limits.age[at], status.limits.size[at]);
        let by_age = oldest.zip(age.filter(|_| !status.is_age_suspended)).map(|(oldest, age)| oldest + age);
        let by_size = size.zip(bytes_per_day).and_then(|(size, per_day)| {
            let left = size.saturating_sub(bytes);
            (per_day > 0 || left == 0).then(|| now + Nanos(scaled(left, DAY, per_day)))
        });
        let next = [(by_age, DeletionReason::Age), (by_size, DeletionReason::Size)]
            .into_iter()
            .filter_map(|(at, reason)| Some((at?.max(now), reason)))
            .min_by_key(|(at, _)| *at);
        let segments = sum(&status.segments);
        Self { category, bytes, segments, oldest, age, size, bytes_per_day, next }
    }

    /// Until when it grows on the disk of the spool, if anything ends that.
    fn grows_until(&self, status: &SpoolStatus) -> Option<Nanos> {
        let moves = self.oldest.zip(status.limits.tier_after.filter(|_| status.has_tier));
        let moves = moves.filter(|_| !status.is_age_suspended).map(|(oldest, after)| oldest + after);
        self.next.map(|(at, _)| at).into_iter().chain(moves).min()
    }
}

/// When the disk of the spool has as much free space as it must keep, if each category grows at its rate
/// until its oldest segments go.
fn short_at(status: &SpoolStatus, categories: &[CategoryOutlook], now: Nanos) -> Option<Nanos> {
    let space = status.space[Location::Spool as usize]?;
    let mut room = space.free.saturating_sub(status.limits.free.low.of(space.total));
    let mut growing: Vec<(Nanos, u64)> = categories
        .iter()
        .filter_map(|category| {
            let until = category.grows_until(status).unwrap_or(Nanos(u64::MAX));
            Some((until, category.bytes_per_day.filter(|rate| *rate > 0)?))
        })
        .collect();
    growing.sort_unstable();
    let mut at = now;
    while !growing.is_empty() {
        let rate = growing.iter().fold(0_u64, |sum, (_, rate)| sum.saturating_add(*rate));
        let (until, _) = growing.remove(0);
        let full = at.0.saturating_add(scaled(room, DAY, rate));
        if full <= until.0 {
            return (full < u64::MAX).then_some(Nanos(full));
        }
        room -= scaled(rate, until.0.saturating_sub(at.0), DAY).min(room);
        at = at.max(until);
    }
    None
}

/// `value * factor / divisor`, at most what 64 bits hold.
fn scaled(value: u64, factor: u64, divisor: u64) -> u64 {
    let product = u128::from(value) * u128::from(factor);
    u64::try_from(product / u128::from(divisor.max(1))).unwrap_or(u64::MAX)
}

/// Shortest time that says how much comes a day: ten minutes, in nanoseconds.
const ENOUGH: u64 = 600_000_000_000;
/// Nanoseconds of a day.
const DAY: u64 = 86_400_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retain::policy::{DiskSpace, Limits, SpaceThreshold, Watermarks};

    const NOW: Nanos = Nanos(1_000 * DAY);
    const GB: u64 = 1_000_000_000;

    fn days(days: u64) -> Nanos {
        Nanos(days * DAY)
    }

    /// 10 GB of signalling and 100 GB of media of the last ten days, on a disk of 1,000 GB, of which 50 stay
    /// free.
    fn status(free: u64) -> SpoolStatus {
        let low = SpaceThreshold::Bytes(50 * GB);
        SpoolStatus {
            bytes: [[10 * GB, 100 * GB, 7 * GB], [0; 3], [0; 3]],
            segments: [[10, 100, 7], [0; 3], [0; 3]],
            oldest: [Some(NOW - days(10)), Some(NOW - days(10)), Some(NOW - days(500))],
            space: [Some(DiskSpace { total: 1_000 * GB, free: free * GB }), None, None],
            limits: Limits {
                age: [Some(days(90)), Some(days(30)), Some(days(500))],
                free: Watermarks { low, high: low },
                ..Limits::default()
            },
            ..SpoolStatus::default()
        }
    }

    #[test]
    fn what_is_deleted_next_is_told_and_why() {
        let outlook = Outlook::of(&status(500), NOW);
        let [signalling, media] = &outlook.categories;
        assert_eq!((signalling.bytes, media.segments), (10 * GB, 100));
        assert_eq!((signalling.bytes_per_day, media.bytes_per_day), (Some(GB), Some(10 * GB)));
        assert_eq!(media.next, Some((NOW + days(20), DeletionReason::Age)));
        let mut sized = status(500);
        sized.limits.size[Category::Media as usize] = Some(150 * GB);
        let [_, media] = Outlook::of(&sized, NOW).categories;
        assert_eq!(media.next, Some((NOW + days(5), DeletionReason::Size)));
        sized.is_age_suspended = true;
        let [signalling, _] = Outlook::of(&sized, NOW).categories;
        assert_eq!(signalling.next, None, "nothing is deleted by age while the clock is not trusted");
    }

    /// Media grow for 20 days by 10 GB, signalling for 80 by 1 GB: 280 GB in all.
    #[test]
    fn the_disk_is_short_when_what_arrives_has_filled_it() {
        assert_eq!(Outlook::of(&status(500), NOW).short_at, None, "450 GB are more than will ever come");
        assert_eq!(Outlook::of(&status(330), NOW).short_at, Some(NOW + days(80)), "to the last byte");
        assert_eq!(Outlook::of(&status(331), NOW).short_at, None);
        assert_eq!(Outlook::of(&status(160), NOW).short_at, Some(NOW + days(10)));
        assert_eq!(Outlook::of(&status(40), NOW).short_at, Some(NOW), "it is short already");
        let mut moving = status(160);
        (moving.has_tier, moving.limits.tier_after) = (true, Some(days(12)));
        assert_eq!(
            Outlook::of(&moving, NOW).short_at,
            None,
            "from the second day on, as much leaves as comes"
        );
        let mut endless = status(500);
        endless.limits.age = [None; 3];
        let short_at = Outlook::of(&endless, NOW).short_at.unwrap();
        assert_eq!((short_at - NOW).0 / DAY, 40, "450 GB at 11 GB a day");
    }

    #[test]
    fn product_changes_nothing_and_too_little_says_nothing() {
        let mut without = status(160);
        let with = Outlook::of(&without, NOW);
        without.bytes[0][Category::Product as usize] = 0;
        without.segments[0][Category::Product as usize] = 0;
        without.oldest[Category::Product as usize] = None;
        without.limits.age[Category::Product as usize] = None;
        assert_eq!(with, Outlook::of(&without, NOW));
        let young = Nanos(NOW.0 - 10 * DAY + ENOUGH - 1);
        let outlook = Outlook::of(&without, young);
        assert_eq!((outlook.categories[0].bytes_per_day, outlook.short_at), (None, None));
        assert_eq!(Outlook::of(&SpoolStatus::default(), NOW).short_at, None);
    }
}
