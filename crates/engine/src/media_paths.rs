//! Between which places this tap was seen to see both directions of media: only there, silence says
//! something of a call.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use ringtap_model::Stream;
use ringtap_quality::notes::TapSees;

use crate::sink::StreamEnd;

/// Pairs of addresses that are remembered; a new one replaces the one at its place. What is forgotten costs
/// notes and makes none.
const PAIRS: usize = 4096;
/// Packets of a stream from which on it counts.
const MIN_PACKETS: u64 = 25;
/// Streams of a call that are looked at.
const MOST: usize = 16;

/// Shared by the workers of a team, of which each ends calls of its own.
pub(crate) struct MediaPaths {
    any: AtomicBool,
    /// Hashes of pairs, not keyed: records must not depend on the seed. Who makes two pairs collide by force
    /// gets a note about his own call.
    pairs: Box<[AtomicU64]>,
}

impl Default for MediaPaths {
    fn default() -> Self {
        Self { any: AtomicBool::new(false), pairs: (0..PAIRS).map(|_| AtomicU64::new(0)).collect() }
    }
}

impl MediaPaths {
    /// What this tap was seen to see between two places.
    pub(crate) fn sees(&self, one: IpAddr, two: IpAddr) -> TapSees {
        let hash = hash(one, two);
        if self.place(hash).load(Ordering::Relaxed) == hash {
            TapSees::BothDirections
        } else if self.any.load(Ordering::Relaxed) {
            TapSees::OtherMedia
        } else {
            TapSees::Nothing
        }
    }

    /// Remembers the paths of a call's streams.
    pub(crate) fn add(&self, streams: &[StreamEnd]) {
        let streams = &streams[..streams.len().min(MOST)];
        let counts = |stream: &&StreamEnd| stream.record.packets >= MIN_PACKETS;
        for (at, one) in streams.iter().enumerate().filter(|(_, stream)| counts(stream)) {
            self.add_any();
            let is_back =
                |two: &&StreamEnd| is_opposite(&one.record, &two.record) && two.record.packets >= MIN_PACKETS;
            if streams[at + 1..].iter().any(|two| is_back(&two)) {
                let hash = hash(one.record.src.ip, one.record.dst.ip);
                self.place(hash).store(hash, Ordering::Relaxed);
            }
        }
    }

    /// Media was seen.
    pub(crate) fn add_any(&self) {
        self.any.store(true, Ordering::Relaxed);
    }

    fn place(&self, hash: u64) -> &AtomicU64 {
        &self.pairs[hash as usize % PAIRS]
    }
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

    #[test]
    fn a_pair_is_seen_in_either_order_and_other_pairs_are_not() {
        let paths = MediaPaths::default();
        assert_eq!(paths.sees(ip(1), ip(2)), TapSees::Nothing);
        paths.add_any();
        assert_eq!(paths.sees(ip(1), ip(2)), TapSees::OtherMedia);
        let hash = hash(ip(1), ip(2));
        paths.place(hash).store(hash, Ordering::Relaxed);
        assert_eq!(paths.sees(ip(2), ip(1)), TapSees::BothDirections);
        assert_eq!(paths.sees(ip(1), ip(3)), TapSees::OtherMedia);
    }

    /// A flood of pairs replaces what was remembered and takes no more memory.
    #[test]
    fn pairs_have_a_ceiling() {
        let paths = MediaPaths::default();
        for last in 0..20_000 {
            let hash = hash(ip(0), ip(last));
            paths.place(hash).store(hash, Ordering::Relaxed);
        }
        let known = (0..20_000).filter(|last| paths.sees(ip(0), ip(*last)) == TapSees::BothDirections);
        assert!((1..=PAIRS).contains(&known.count()));
        assert_eq!(paths.pairs.len(), PAIRS);
    }
}
