//! Waiting times of addresses from which passphrases were wrong. The register has waiting times of its own,
//! by name: these keep one address from trying many names, and from filling the register with its attempts.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

/// Counts failed attempts by address; of IPv6, by the first 64 bits.
#[derive(Default)]
pub(crate) struct AddressWaits {
    all: HashMap<IpAddr, Counter>,
}

struct Counter {
    failures: u32,
    last: Instant,
    /// No attempt before this.
    until: Instant,
}

impl AddressWaits {
    /// An attempt begins: it counts as failed until it succeeds, so that many at once are many.
    ///
    /// # Errors
    ///
    /// How long to wait.
    pub(crate) fn begin(&mut self, from: IpAddr, now: Instant) -> Result<(), Duration> {
        let from = network(from);
        self.all.retain(|_, counter| now.duration_since(counter.last) < FORGOTTEN);
        if let Some(counter) = self.all.get(&from).filter(|counter| counter.until > now) {
            return Err(counter.until - now);
        }
        if self.all.len() >= MOST && !self.all.contains_key(&from) {
            // The one that failed longest ago gives way.
            let oldest = self.all.iter().min_by_key(|(_, counter)| counter.last).map(|(from, _)| *from);
            oldest.map(|oldest| self.all.remove(&oldest));
        }
        let counter = self.all.entry(from).or_insert(Counter { failures: 0, last: now, until: now });
        counter.failures += 1;
        counter.last = now;
        if let Some(doublings) = counter.failures.checked_sub(FREE) {
            let wait = Duration::from_secs(1_u64.checked_shl(doublings).unwrap_or(u64::MAX));
            counter.until = now + wait.min(LONGEST);
        }
        Ok(())
    }

    /// It let somebody in. Those before it still count: who guesses may share the address.
    pub(crate) fn succeed(&mut self, from: IpAddr) {
        if let Some(counter) = self.all.get_mut(&network(from)) {
            counter.failures -= 1;
            counter.until = counter.last;
        }
    }
}

/// What one subscriber has.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
        v4 => v4,
    }
}

/// Attempts that fail before the next one waits.
const FREE: u32 = 10;
const LONGEST: Duration = Duration::from_secs(15 * 60);
/// Failures are forgotten after so long without one.
const FORGOTTEN: Duration = Duration::from_secs(86_400);
/// Addresses that are remembered.
const MOST: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u16) -> IpAddr {
        IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, last, 1, 2, 3, last))
    }

    #[test]
    fn an_address_waits_longer_with_each_failure_and_others_do_not() {
        let (mut waits, start) = (AddressWaits::default(), Instant::now());
        let seconds = Duration::from_secs;
        for _ in 0..FREE {
            assert_eq!(waits.begin(address(1), start), Ok(()));
        }
        assert_eq!(waits.begin(address(1), start), Err(seconds(1)));
        assert_eq!(waits.begin(address(1), start + seconds(1)), Ok(()));
        assert_eq!(waits.begin(address(1), start + seconds(1)), Err(seconds(2)));
        assert_eq!(waits.begin(address(2), start), Ok(()), "another network");
        let mut now = start + seconds(3);
        let mut longest = Duration::ZERO;
        for _ in 0..20 {
            match waits.begin(address(1), now) {
                Ok(()) => {}
                Err(wait) => (longest, now) = (longest.max(wait), now + wait),
            }
        }
        assert_eq!(longest, LONGEST);
        // What succeeds is no failure, and takes back no other.
        assert_eq!(waits.begin(address(1), now + LONGEST), Ok(()));
        waits.succeed(address(1));
        assert_eq!(waits.begin(address(1), now + LONGEST), Ok(()));
        assert!(waits.begin(address(1), now + LONGEST).is_err());
        assert_eq!(waits.begin(address(1), now + LONGEST + FORGOTTEN), Ok(()));
        assert_eq!(waits.begin(address(1), now + LONGEST + FORGOTTEN), Ok(()), "it is forgotten");
    }

    #[test]
    fn the_table_has_a_ceiling() {
        let (mut waits, start) = (AddressWaits::default(), Instant::now());
        for number in 0..MOST as u32 + 100 {
            let from = IpAddr::from(number.to_be_bytes());
            assert_eq!(waits.begin(from, start + Duration::from_micros(number.into())), Ok(()));
        }
        assert_eq!(waits.all.len(), MOST);
    }
}
