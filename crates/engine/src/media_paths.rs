//! Between which places this tap was seen to see both directions of media: only there, silence says
//! something of a call.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use ringtap_model::{Nanos, Stream};
use ringtap_quality::notes::TapSees;

use crate::sink::StreamEnd;
use crate::table::timers::TICK;

/// Pairs of addresses that are remembered of a day, each at a place of its own: the first of a day keeps it.
/// What is forgotten, after a day or two, costs notes and makes none.
const PAIRS: usize = 4096;
/// Packets of a stream from which on it counts.
const MIN_PACKETS: u64 = 25;
/// Streams of a call that are looked at.
const MOST: usize = 16;
/// Ticks of the timer wheel in a day.
const DAY: u32 = (86_400_000_000_000 / TICK.0) as u32;

/// Shared by the workers of a team, of which each ends calls of its own.
///
/// What a call shows is seen from the next tick of the timer wheel on: calls of several workers that end in
/// one tick have no order, and records must not depend on it.
pub(crate) struct MediaPaths {
    /// The tick of the first media.
    any: AtomicU32,
    /// A tick, and a part of a pair's hash: the lowest at this place of this day or, in the other table, of
    /// the day before. Hashes are not keyed, since records must not depend on the seed: who makes two pairs
    /// collide by force gets a note about his own call.
    pairs: [Box<[AtomicU64]>; 2],
}

impl Default for MediaPaths {
    fn default() -> Self {
        let pairs = || (0..PAIRS).map(|_| AtomicU64::new(0)).collect();
        Self { any: AtomicU32::new(u32::MAX), pairs: [pairs(), pairs()] }
    }
}

impl MediaPaths {
    /// What this tap was seen to see between two places before the tick of that time.
    pub(crate) fn sees(&self, one: IpAddr, two: IpAddr, now: Nanos) -> TapSees {
        let (hash, tick) = (hash(one, two), tick(now));
        let is_known = [tick / DAY, (tick / DAY).wrapping_sub(1)].into_iter().any(|day| {
            let (learned, pair) = parts(self.place(day, hash).load(Ordering::Relaxed));
            pair == hash as u32 && learned / DAY == day && learned < tick
        });
        if is_known {
            TapSees::BothDirections
        } else if self.any.load(Ordering::Relaxed) < tick {
            TapSees::OtherMedia
        } else {
            TapSees::Nothing
        }
    }

    /// Remembers the paths of a call's streams.
    pub(crate) fn add(&self, streams: &[StreamEnd], now: Nanos) {
        let streams = &streams[..streams.len().min(MOST)];
        let counts = |stream: &&StreamEnd| stream.record.packets >= MIN_PACKETS;
        for (at, one) in streams.iter().enumerate().filter(|(_, stream)| counts(stream)) {
            self.add_any(now);
            let is_back =
                |two: &&StreamEnd| is_opposite(&one.record, &two.record) && two.record.packets >= MIN_PACKETS;
            if streams[at + 1..].iter().any(|two| is_back(&two)) {
                self.add_pair(hash(one.record.src.ip, one.record.dst.ip), tick(now));
            }
        }
    }

    /// Media was seen.
    pub(crate) fn add_any(&self, now: Nanos) {
        self.any.fetch_min(tick(now), Ordering::Relaxed);
    }

    fn add_pair(&self, hash: u64, tick: u32) {
        let new = u64::from(tick) << 32 | hash & u64::from(u32::MAX);
        // The lowest of the day, in whichever order they come.
        let _ = self.place(tick / DAY, hash).fetch_update(Ordering::Relaxed, Ordering::Relaxed, |old| {
            let day = parts(old).0 / DAY;
            (day < tick / DAY || day == tick / DAY && (old == 0 || new < old)).then_some(new)
        });
    }

    fn place(&self, day: u32, hash: u64) -> &AtomicU64 {
        &self.pairs[day as usize % 2][(hash >> 32) as usize % PAIRS]
    }
}

/// The tick of the timer wheel in which a time lies.
fn tick(time: Nanos) -> u32 {
    u32::try_from(time.0 / TICK.0).unwrap_or(u32::MAX)
}

fn parts(entry: u64) -> (u32, u32) {
    ((entry >> 32) as u32, entry as u32)
}

fn is_opposite(one: &Stream, two: &Stream) -> bool {
    (one.src.ip, one.dst.ip) == (two.dst.ip, two.src.ip)
}

/// Of a pair, whichever is first; never 0.
fn hash(one: IpAddr, two: IpAddr) -> u64 {
    let mut hasher = DefaultHasher::new();
    (one.min(two), one.max(two)).hash(&mut hasher);
    hasher.finish() | 1 << 63
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(last: u32) -> IpAddr {
        std::net::Ipv4Addr::from_bits(0xc000_0200 + last).into()
    }

    fn at(half_seconds: u64) -> Nanos {
        Nanos::from_secs(1_795_262_400) + Nanos::from_millis(500 * half_seconds)
    }

    #[test]
    fn a_pair_is_seen_in_either_order_and_other_pairs_are_not() {
        let paths = MediaPaths::default();
        assert_eq!(paths.sees(ip(1), ip(2), at(9)), TapSees::Nothing);
        paths.add_any(at(0));
        assert_eq!(paths.sees(ip(1), ip(2), at(1)), TapSees::OtherMedia);
        paths.add_pair(hash(ip(1), ip(2)), tick(at(1)));
        assert_eq!(paths.sees(ip(2), ip(1), at(2)), TapSees::BothDirections);
        assert_eq!(paths.sees(ip(1), ip(3), at(2)), TapSees::OtherMedia);
    }

    /// Whichever of two workers is first in a tick.
    #[test]
    fn what_a_tick_shows_is_seen_from_the_next_on() {
        let (one, two) = (hash(ip(1), ip(2)), hash(ip(1), ip(2)) ^ 5);
        let learned = |order: [u64; 2]| {
            let paths = MediaPaths::default();
            paths.add_any(at(1));
            order.into_iter().for_each(|hash| paths.add_pair(hash, tick(at(1))));
            assert_eq!(paths.sees(ip(1), ip(2), at(1)), TapSees::Nothing);
            paths.sees(ip(1), ip(2), at(2))
        };
        assert_eq!(learned([one, two]), learned([two, one]), "at the same place");
    }

    #[test]
    fn a_pair_is_forgotten_after_two_days() {
        let paths = MediaPaths::default();
        paths.add_pair(hash(ip(1), ip(2)), tick(at(0)));
        let days = |days: u64| paths.sees(ip(1), ip(2), at(days * u64::from(DAY))) == TapSees::BothDirections;
        assert_eq!([days(1), days(2), days(3)], [true, false, false]);
        paths.add_pair(hash(ip(1), ip(2)), tick(at(2 * u64::from(DAY))));
        assert!(days(3));
    }

    /// A flood of pairs takes no more memory, and none of the places that others have.
    #[test]
    fn pairs_have_a_ceiling() {
        let paths = MediaPaths::default();
        for last in 0..20_000 {
            paths.add_pair(hash(ip(0), ip(last)), tick(at(u64::from(last) / 100)));
        }
        let sees = |last| paths.sees(ip(0), ip(last), at(1_000)) == TapSees::BothDirections;
        let known = (0..20_000).filter(|last| sees(*last)).count();
        assert!((PAIRS / 2..=PAIRS + 10).contains(&known), "{known}");
        assert!(sees(0));
    }
}
