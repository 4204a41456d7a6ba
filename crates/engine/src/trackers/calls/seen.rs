//! Messages that a call has seen, recognised by their hash.

use ringtap_model::Nanos;

/// Hash and last time of each message, up to [`CEILING`]; the first few are stored inline.
#[derive(Clone)]
pub(crate) struct SeenMessages {
    count: u8,
    hashes: [u64; FEW],
    times: [Nanos; FEW],
    rest: Vec<(u64, Nanos)>,
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

    /// Adds a message; returns when it was last seen, if it was.
    pub(crate) fn insert(&mut self, hash: u64, time: Nanos) -> Option<Nanos> {
        let few = usize::from(self.count);
        if let Some(at) = self.hashes[..few].iter().position(|other| *other == hash) {
            return Some(std::mem::replace(&mut self.times[at], time));
        }
        if let Some((_, last)) = self.rest.iter_mut().find(|(other, _)| *other == hash) {
            return Some(std::mem::replace(last, time));
        }
        if few < FEW {
            (self.hashes[few], self.times[few]) = (hash, time);
            self.count += 1;
        } else if self.rest.len() < CEILING - FEW {
            self.rest.push((hash, time));
        }
        None
    }
}

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
            assert_eq!(seen.insert(hash, Nanos(hash)), None);
        }
        for hash in 0..CEILING as u64 + 5 {
            let before = (hash < CEILING as u64).then_some(Nanos(hash));
            assert_eq!(seen.insert(hash, Nanos(7)), before);
            assert_eq!(seen.insert(hash, Nanos(8)), before.map(|_| Nanos(7)));
        }
    }
}
