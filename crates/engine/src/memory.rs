//! How the tables whose entries grow with what is sent to them divide the memory that they may hold.

/// The share of each table, in bytes. A table that is full evicts entries of its own, so that no flood of one
/// kind takes the place of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemoryShares {
    pub(crate) calls: usize,
    pub(crate) connections: usize,
    pub(crate) registrations: usize,
    pub(crate) fragments: usize,
    pub(crate) messages: usize,
    pub(crate) associations: usize,
}

impl MemoryShares {
    /// Of that many bytes in all.
    pub(crate) fn of(memory: usize) -> Self {
        let percent = |share: usize| memory / 100 * share;
        Self {
            calls: percent(45),
            connections: percent(25),
            registrations: percent(10),
            fragments: percent(10),
            messages: percent(5),
            associations: percent(5),
        }
    }
}

/// Bytes that an allocator takes beside what it was asked for, and loses between freed pieces.
pub(crate) const ALLOCATION_BYTES: usize = 24;
/// Bytes of an entry's places in index, queues, timers and lists of free places.
pub(crate) const PLACE_BYTES: usize = 96;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_are_no_more_than_the_whole() {
        for memory in [0, 99, 100, 1 << 30, usize::MAX] {
            let MemoryShares { calls, connections, registrations, fragments, messages, associations } =
                MemoryShares::of(memory);
            let shares = [calls, connections, registrations, fragments, messages, associations];
            let sum: u128 = shares.iter().map(|share| *share as u128).sum();
            assert!(sum <= memory as u128 && sum + 100 >= memory as u128, "{memory}: {sum}");
        }
    }
}
