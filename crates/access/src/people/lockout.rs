//! Waiting times after failed attempts to log in, by name and by address.
//!
//! An attempt counts from its start, and is taken back if it does not fail, so that a hundred guesses at once
//! are a hundred guesses. An address from which the person has logged in before has a count of its own: who
//! guesses from elsewhere does not keep that person out.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, MutexGuard};

use ringtap_model::Nanos;

use crate::people::settings::Settings;

/// Counts failed attempts.
pub(crate) struct Lockout {
    tables: Mutex<Tables>,
    settings: Settings,
}

#[derive(Default)]
struct Tables {
    /// Of people that there are: as many as there are people, and some addresses of each.
    people: HashMap<Subject, Counter>,
    /// Of names that nobody has.
    others: HashMap<Subject, Counter>,
    addresses: HashMap<IpAddr, Counter>,
}

/// Under which name is tried, and whether from a place that the person has logged in from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Subject {
    pub(crate) name: String,
    /// That address.
    pub(crate) familiar: Option<IpAddr>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Counter {
    failures: u32,
    last: Nanos,
    /// No attempt before this.
    until: Nanos,
}

/// An attempt that has begun.
pub(crate) struct Begun {
    subject: Subject,
    exists: bool,
    network: IpAddr,
    /// The counters of the name and the address, before and after.
    name: [Counter; 2],
    address: [Counter; 2],
}

impl Lockout {
    pub(crate) fn new(settings: Settings) -> Self {
        Self { tables: Mutex::default(), settings }
    }

    /// Begins an attempt; `exists` if somebody has that name. An error is how long to wait.
    pub(crate) fn begin(
        &self,
        subject: Subject,
        exists: bool,
        from: IpAddr,
        now: Nanos,
    ) -> Result<Begun, Nanos> {
        let network = network(from);
        let mut tables = self.tables();
        let most = self.settings.counted;
        let names = tables.names(exists);
        let wait = names.get(&subject).map_or(Nanos::ZERO, |counter| self.wait(counter, now));
        let wait = wait.max(tables.addresses.get(&network).map_or(Nanos::ZERO, |it| self.wait(it, now)));
        if wait > Nanos::ZERO {
            return Err(wait);
        }
        let most_names = if exists { usize::MAX } else { most };
        let name = entry(tables.names(exists), subject.clone(), most_names);
        let name = self.count(name, self.settings.free_of_name, now);
        let address = entry(&mut tables.addresses, network, most);
        let address = self.count(address, self.settings.free_of_address, now);
        Ok(Begun { subject, exists, network, name, address })
    }

    /// It neither failed nor let anybody in.
    pub(crate) fn take_back(&self, begun: &Begun) {
        let mut tables = self.tables();
        let name = tables.names(begun.exists).get_mut(&begun.subject).map(|counter| (counter, begun.name));
        name.into_iter().for_each(|(counter, counted)| take_back(counter, counted));
        // No more than this attempt: whoever can log in may share the address with whoever guesses.
        let address = tables.addresses.get_mut(&begun.network);
        address.into_iter().for_each(|counter| take_back(counter, begun.address));
    }

    /// Somebody was let in: earlier failures under the name were slips.
    pub(crate) fn succeed(&self, begun: &Begun) {
        self.take_back(begun);
        self.tables().names(begun.exists).remove(&begun.subject);
    }

    /// Nobody waits for attempts under that name any more.
    pub(crate) fn clear(&self, name: &str) {
        self.tables().people.retain(|subject, _| subject.name != name);
    }

    fn wait(&self, counter: &Counter, now: Nanos) -> Nanos {
        // A clock that was put back makes nobody wait longer.
        (counter.until - now).min(self.settings.longest_wait)
    }

    /// Counts a failure; returns the counter before and after.
    fn count(&self, counter: &mut Counter, free: u32, now: Nanos) -> [Counter; 2] {
        let Settings { first_wait, longest_wait, forget_failures, .. } = &self.settings;
        if now - counter.last > *forget_failures {
            *counter = Counter::default();
        }
        let before = *counter;
        counter.failures = counter.failures.saturating_add(1);
        counter.last = now;
        if let Some(doublings) = counter.failures.checked_sub(free) {
            let factor = 1_u64.checked_shl(doublings).unwrap_or(u64::MAX);
            let wait = Nanos(first_wait.0.saturating_mul(factor)).min(*longest_wait);
            counter.until = now + wait;
        }
        [before, *counter]
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Tables {
    fn names(&mut self, exist: bool) -> &mut HashMap<Subject, Counter> {
        if exist { &mut self.people } else { &mut self.others }
    }
}

fn take_back(counter: &mut Counter, [before, after]: [Counter; 2]) {
    if *counter == after {
        *counter = before;
    } else {
        // Others have failed meanwhile: their wait stays.
        counter.failures = counter.failures.saturating_sub(1);
    }
}

/// The counter of a key. In a full table, that which failed longest ago gives way.
fn entry<K: Hash + Eq + Clone>(table: &mut HashMap<K, Counter>, key: K, most: usize) -> &mut Counter {
    if table.len() >= most && !table.contains_key(&key) {
        let oldest = table.iter().min_by_key(|(_, counter)| counter.last).map(|(key, _)| key.clone());
        oldest.map(|key| table.remove(&key));
    }
    table.entry(key).or_default()
}

/// What one subscriber has: of IPv6, the first 64 bits.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Nanos = Nanos::from_secs(1_000_000);

    fn lockout() -> Lockout {
        Lockout::new(Settings { counted: 8, ..Settings::default() })
    }

    fn subject(name: &str) -> Subject {
        Subject { name: name.to_owned(), familiar: None }
    }

    fn address(last: u16) -> IpAddr {
        IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, last, 1, 2, 3, last))
    }

    /// Fails whenever it may, for a time; returns how often.
    fn guesses(lockout: &Lockout, name: &str, exists: bool, of: u16, seconds: u64) -> u64 {
        let mut tried = 0;
        for second in 0..seconds {
            let now = START + Nanos::from_secs(second);
            tried += u64::from(lockout.begin(subject(name), exists, address(of), now).is_ok());
        }
        tried
    }

    #[test]
    fn waits_double_up_to_a_quarter_of_an_hour() {
        let lockout = lockout();
        let mut now = START;
        let mut waits = Vec::new();
        for _ in 0..18 {
            assert!(lockout.begin(subject("ana"), true, address(1), now).is_ok());
            let wait = match lockout.begin(subject("ana"), true, address(1), now) {
                Ok(begun) => {
                    lockout.take_back(&begun);
                    Nanos::ZERO
                }
                Err(wait) => wait,
            };
            waits.push(wait.0 / 1_000_000_000);
            now += wait;
        }
        assert_eq!(waits, [0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900, 900]);
    }

    #[test]
    fn a_day_of_guesses_is_some_hundred_whether_the_name_exists_or_not() {
        for exists in [true, false] {
            let tried = guesses(&lockout(), "ana", exists, 1, 86_400);
            assert!((90..130).contains(&tried), "{tried}");
        }
    }

    #[test]
    fn many_names_from_one_network_wait_too() {
        let lockout = lockout();
        let tried = (0..1_000_u16)
            .filter(|at| {
                // Other addresses of the same /64.
                let from = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 1, *at, 0, 0, 1));
                lockout.begin(subject(&format!("name{at}")), false, from, START).is_ok()
            })
            .count();
        assert_eq!(tried, 20);
        assert!(lockout.begin(subject("ana"), true, address(2), START).is_ok(), "from elsewhere");
    }

    #[test]
    fn tables_are_bounded_and_a_flood_of_names_clears_no_count_of_a_person() {
        let lockout = lockout();
        for _ in 0..6 {
            let _ = lockout.begin(subject("ana"), true, address(1), START);
        }
        for at in 0..500 {
            let _ = lockout.begin(subject(&format!("name{at}")), false, address(at + 2), START);
        }
        let tables = lockout.tables();
        assert_eq!((tables.people.len(), tables.others.len(), tables.addresses.len()), (1, 8, 8));
        drop(tables);
        assert!(lockout.begin(subject("ana"), true, address(600), START).is_err());
    }

    #[test]
    fn who_can_log_in_clears_no_count_of_the_address_for_guesses_at_others() {
        let lockout = lockout();
        let mut tried = 0;
        for round in 0..100 {
            let now = START + Nanos(round);
            // A good login is under way while somebody guesses.
            let Ok(good) = lockout.begin(subject("mallory"), true, address(1), now) else { continue };
            tried += u64::from(lockout.begin(subject("ana"), true, address(1), now).is_ok());
            lockout.succeed(&good);
        }
        assert!(tried <= 5, "{tried} guesses at once");
    }

    #[test]
    fn a_clock_that_is_put_back_locks_nobody_out() {
        let lockout = lockout();
        guesses(&lockout, "ana", true, 1, 20);
        let wait = lockout.begin(subject("ana"), true, address(1), Nanos::ZERO).err().unwrap();
        assert!(wait <= Settings::default().longest_wait);
    }

    #[test]
    fn failures_are_forgotten_after_a_day() {
        let lockout = lockout();
        guesses(&lockout, "ana", true, 1, 3_600);
        let later = START + Nanos::from_secs(3_600 + 86_400 + 901);
        for _ in 0..5 {
            assert!(lockout.begin(subject("ana"), true, address(1), later).is_ok());
        }
        assert!(lockout.begin(subject("ana"), true, address(1), later).is_err());
    }
}
