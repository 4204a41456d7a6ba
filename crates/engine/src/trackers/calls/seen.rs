//! Messages that a call has seen, recognised by their hash.

use ringtap_model::Nanos;

/// Hash and last packet of each message, up to [`CEILING`]; the first few are stored inline.
#[derive(Clone)]
pub(crate) struct SeenMessages {
    count: u8,
    /// The upper bits are the hash, [`ID_BITS`] the packet's identification.
    hashes: [u64; FEW],
    times: [Nanos; FEW],
    rest: Vec<(u64, Nanos)>,
}

/// The last packet that a message came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LastSeen {
    pub(crate) time: Nanos,
    ip_id: u16,
}

impl LastSeen {
    /// Whether a packet is the mirror's copy of this one: two that were sent have two identifications.
    pub(crate) fn is_copied_by(self, ip_id: u16, time: Nanos) -> bool {
        let may_be = self.ip_id == ip_id || self.ip_id == 0 || ip_id == 0;
        may_be && time.since(self.time) < MIRROR
    }
}

impl SeenMessages {
    pub(crate) const fn new() -> Self {
        Self { count: 0, hashes: [0; FEW], times: [Nanos::ZERO; FEW], rest: Vec::new() }
    }

    /// Whether another message may need memory.
    #[inline]
    pub(crate) fn will_grow(&self) -> bool {
        usize::from(self.count) == FEW && self.rest.len() == self.rest.capacity()
    }

    /// What it holds on the heap, in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.rest.capacity() * size_of::<(u64, Nanos)>()
    }

    /// Adds a message and the identification of its packet; returns where it was last seen, if it was.
    pub(crate) fn insert(&mut self, hash: u64, ip_id: u16, time: Nanos) -> Option<LastSeen> {
        let few = usize::from(self.count);
        let entry = hash & !ID_BITS | u64::from(ip_id);
        let is_same = |other: u64| (other ^ entry) & !ID_BITS == 0;
        let replace = |known: &mut u64, last: &mut Nanos| LastSeen {
            ip_id: (std::mem::replace(known, entry) & ID_BITS) as u16,
            time: std::mem::replace(last, time),
        };
        if let Some(at) = self.hashes[..few].iter().position(|other| is_same(*other)) {
            return Some(replace(&mut self.hashes[at], &mut self.times[at]));
        }
        if let Some((known, last)) = self.rest.iter_mut().find(|(other, _)| is_same(*other)) {
            return Some(replace(known, last));
        }
        if few < FEW {
            (self.hashes[few], self.times[few]) = (entry, time);
            self.count += 1;
        } else if self.rest.len() < CEILING - FEW {
            self.rest.push((entry, time));
        }
        None
    }
}

/// Bits of an entry that hold the identification. With the 48 others, two of 512 messages of a call have the
/// same hash once in two thousand million calls.
const ID_BITS: u64 = 0xffff;
/// A second copy of a packet within this time comes from the mirror, not from the sender.
const MIRROR: Nanos = Nanos::from_millis(10);
/// Messages remembered per call.
const CEILING: usize = 512;
/// INVITE, 100, 180, 200, ACK, BYE, 200 and one more.
const FEW: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_many_and_no_more_than_the_ceiling() {
        let mut seen = SeenMessages::new();
        for hash in 0..CEILING as u64 + 5 {
            assert_eq!(seen.insert(hash << 16, 3, Nanos(hash)), None);
        }
        for hash in 0..CEILING as u64 + 5 {
            let before = (hash < CEILING as u64).then_some(LastSeen { time: Nanos(hash), ip_id: 3 });
            assert_eq!(seen.insert(hash << 16, 4, Nanos(7)), before);
            let again = before.map(|_| LastSeen { time: Nanos(7), ip_id: 4 });
            assert_eq!(seen.insert(hash << 16, 3, Nanos(8)), again);
        }
    }

    #[test]
    fn two_identifications_are_two_packets_and_none_says_nothing() {
        let last = |ip_id| LastSeen { time: Nanos(1), ip_id };
        assert!(last(7).is_copied_by(7, MIRROR));
        assert!(!last(7).is_copied_by(7, Nanos(1) + MIRROR));
        assert!(!last(7).is_copied_by(8, MIRROR));
        assert!(last(7).is_copied_by(0, MIRROR));
        assert!(last(0).is_copied_by(7, MIRROR));
    }
}
