//! Gaps in media: times without packets, though packets were sent.

use ringtap_engine::{LostTime, StreamEnd};
use ringtap_model::{Nanos, Stream};

use super::facts::Gap;
use super::trouble::NOTICED;

/// Streams with fewer packets say nothing of what followed what.
const FEW: u64 = 10;

/// Times in which packets of streams were lost.
#[derive(Debug)]
pub(crate) struct LostTimes {
    found: Vec<LostTime>,
    ceiling: usize,
    refused: u64,
}

impl LostTimes {
    pub(crate) fn new(ceiling: usize) -> Self {
        Self { found: Vec::new(), ceiling, refused: 0 }
    }

    pub(crate) fn add(&mut self, lost: &LostTime) {
        if self.found.len() < self.ceiling {
            self.found.push(*lost);
        } else {
            self.refused += 1;
        }
    }

    /// Sorts them by stream, for [`LostTimes::of`].
    pub(crate) fn sort(&mut self) {
        self.found.sort_by_key(|lost| (lost.serial, lost.from));
    }

    /// Those of a stream that lost so many numbers in all. More would be numbers that its source spent
    /// elsewhere.
    pub(crate) fn of(&self, serial: u64, lost: u64) -> impl Iterator<Item = (Nanos, Nanos)> {
        let first = self.found.partition_point(|known| known.serial < serial);
        let own = self.found[first..].iter().take_while(move |known| known.serial == serial);
        own.filter(move |known| u64::from(known.missing) <= lost).map(|known| (known.from, known.until))
    }

    /// Those of which it is known to which call they belong.
    pub(crate) fn of_calls(&self) -> impl Iterator<Item = (u64, Gap)> {
        self.found.iter().filter_map(|lost| {
            let gap = Gap { direction: lost.direction, from: lost.from, until: lost.until };
            Some((lost.call?.to_bits(), gap))
        })
    }

    /// Forgets those that ended before.
    pub(crate) fn forget(&mut self, before: Nanos) {
        self.found.retain(|lost| lost.until >= before);
    }

    /// How many the ceiling turned away.
    pub(crate) fn refused(&self) -> u64 {
        self.refused
    }
}

/// Times between the end of a stream and the first packet of another that took its place: the same direction
/// of the call, from the same sender or to the same receiver.
pub(crate) fn successions(streams: &[StreamEnd]) -> Vec<Gap> {
    let real = |stream: &&Stream| stream.packets >= FEW && stream.direction.is_some();
    let streams: Vec<&Stream> = streams.iter().map(|stream| &stream.record).filter(real).collect();
    let gap = |next: &&Stream| {
        let is_related = |other: &&&Stream| {
            let other = **other;
            other.direction == next.direction
                && (other.src == next.src || other.dst == next.dst)
                && (other.src, other.dst, other.ssrc) != (next.src, next.dst, next.ssrc)
                && other.first < next.first
        };
        // One that goes on leaves no gap: it is the latest.
        let before = streams.iter().filter(is_related).max_by_key(|other| other.last)?;
        let is_gap = next.first.since(before.last) >= NOTICED;
        is_gap.then_some(Gap { direction: next.direction, from: before.last, until: next.first })
    };
    streams.iter().filter_map(gap).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(serial: u64, from: u64) -> LostTime {
        let [from, until] = [from, from + 1].map(Nanos::from_secs);
        LostTime { serial, from, until, missing: 50, call: None, direction: None }
    }

    #[test]
    fn more_than_the_stream_lost_was_spent_elsewhere() {
        let mut all = LostTimes::new(10);
        [lost(8, 3), lost(7, 1)].iter().for_each(|lost| all.add(lost));
        all.sort();
        assert_eq!((all.of(7, 50).count(), all.of(7, 49).count(), all.of(6, 50).count()), (1, 0, 0));
    }

    #[test]
    fn the_ceiling_holds_until_something_is_forgotten() {
        let mut all = LostTimes::new(2);
        (1..=4).for_each(|second| all.add(&lost(7, second)));
        assert_eq!((all.found.len(), all.refused()), (2, 2));
        all.forget(Nanos::from_secs(3));
        all.add(&lost(7, 9));
        assert_eq!((all.found.len(), all.refused()), (2, 2));
    }
}
