//! Adds up records by the minute in which they began.

use std::collections::{BTreeMap, HashMap};

use ringtap_model::{Call, Nanos, Registration, Stream};

use crate::Settings;
use crate::key::{self, Key};
use crate::rollup::{self, Rollup, minute_of};

/// Adds up call and registration records, in any order, into a [`Rollup`] for each minute.
///
/// A call is repeated if another from the same number to the same number began within [`REPEATED`] before it.
/// The calls just before the first minute are added by [`before`](Self::before).
#[derive(Debug)]
pub struct Fold {
    settings: Settings,
    minutes: BTreeMap<Nanos, Rollup>,
    attempts: Vec<Attempt>,
    /// The keys of attempts, each once.
    keys: Vec<Key>,
    numbers: HashMap<Key, u32>,
    /// Attempts of which it is not known whether they are repeated, since there were too many.
    pub unknown: u64,
}

/// Who called whom when: a number for the pair, and the time in microseconds since 1970.
pub type PairTime = (u64, u64);

/// An attempt that may be repeated or repeat another, with its groups.
#[derive(Clone, Debug)]
struct Attempt {
    pair: u64,
    time: u64,
    minute: Nanos,
    keys: [u32; KEYS],
    length: u8,
}

impl Fold {
    /// A fold of nothing.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            minutes: BTreeMap::new(),
            attempts: Vec::new(),
            keys: Vec::new(),
            numbers: HashMap::new(),
            unknown: 0,
        }
    }

    /// Adds a call with its streams.
    pub fn call(&mut self, call: &Call, streams: &[Stream]) {
        let minute = minute_of(call.start().unwrap_or_default());
        // Only first legs are repeated: a further one has the numbers of the first.
        let pair = key::pair(call).zip(call.invite).filter(|_| !rollup::is_further_leg(call));
        let (mut keys, mut length) = ([0; KEYS], 0_u8);
        let (all, numbers) = (&mut self.keys, &mut self.numbers);
        let rollup = self.minutes.entry(minute).or_default();
        rollup.call(call, streams, &self.settings, |key, _| {
            let number = match numbers.get(key) {
                Some(number) => *number,
                None => {
                    let number = all.len() as u32;
                    numbers.insert(key.clone(), number);
                    all.push(key.clone());
                    number
                }
            };
            if let Some(place) = keys.get_mut(usize::from(length)) {
                *place = number;
                length += 1;
            }
        });
        let Some((pair, invite)) = pair else { return };
        if self.attempts.len() >= ATTEMPTS {
            self.unknown += 1;
            return;
        }
        self.attempts.push(Attempt { pair, time: invite.micros(), minute, keys, length });
    }

    /// Adds a registration.
    pub fn registration(&mut self, registration: &Registration) {
        self.minutes.entry(minute_of(registration.first)).or_default().registration(registration);
    }

    /// Adds calls that are not counted, but may make a later one a repeated one.
    pub fn before(&mut self, calls: &[PairTime]) {
        let attempt = |&(pair, time)| Attempt { pair, time, minute: Nanos::ZERO, keys: [0; KEYS], length: 0 };
        self.attempts.extend(calls.iter().map(attempt));
    }

    /// The calls of a minute that may be repeated later, for [`before`](Self::before).
    pub fn pairs(&self, minute: Nanos) -> Vec<PairTime> {
        let mut pairs: Vec<PairTime> = self
            .attempts
            .iter()
            .filter(|attempt| attempt.length > 0 && attempt.minute == minute)
            .map(|attempt| (attempt.pair, attempt.time))
            .collect();
        pairs.sort_unstable();
        pairs
    }

    /// Numbers the keys again, in their order.
    fn number_by_name(&mut self) {
        let mut order: Vec<u32> = (0..self.keys.len() as u32).collect();
        order.sort_unstable_by_key(|number| &self.keys[*number as usize]);
        let mut ranks = vec![0; order.len()];
        for (rank, number) in order.iter().enumerate() {
            ranks[*number as usize] = rank as u32;
        }
        for attempt in &mut self.attempts {
            attempt.keys[..usize::from(attempt.length)]
                .iter_mut()
                .for_each(|number| *number = ranks[*number as usize]);
        }
        self.keys.sort_unstable();
    }

    /// The rollup of each minute that has a record, by the beginning of the minute.
    pub fn finish(mut self) -> BTreeMap<Nanos, Rollup> {
        // Of two at the same moment the first counts as the earlier one, whichever that is: they are alike
        // but for their groups, and these decide. By name: their numbers depend on the order of the records.
        self.number_by_name();
        self.attempts
            .sort_unstable_by_key(|attempt| (attempt.pair, attempt.time, attempt.keys, attempt.length));
        for pair in self.attempts.windows(2) {
            let (before, attempt) = (&pair[0], &pair[1]);
            if before.pair != attempt.pair || attempt.time - before.time > REPEATED.micros() {
                continue;
            }
            let Some(rollup) = self.minutes.get_mut(&attempt.minute) else { continue };
            for number in &attempt.keys[..usize::from(attempt.length)] {
                if let Some(key) = self.keys.get(*number as usize) {
                    rollup.repeated(key, true);
                }
            }
        }
        self.minutes.values_mut().for_each(|rollup| rollup.limit(GROUPS));
        self.minutes
    }
}

/// Calls as bytes, for [`pairs_from_bytes`].
pub fn pairs_to_bytes(pairs: &[PairTime]) -> Vec<u8> {
    pairs.iter().flat_map(|(pair, time)| [pair.to_le_bytes(), time.to_le_bytes()]).flatten().collect()
}

/// Reads what [`pairs_to_bytes`] wrote; `None` where it was not that.
pub fn pairs_from_bytes(bytes: &[u8]) -> Option<Vec<PairTime>> {
    let number = |bytes: &[u8]| bytes.try_into().ok().map(u64::from_le_bytes);
    let chunks = bytes.chunks_exact(16);
    if !chunks.remainder().is_empty() {
        return None;
    }
    chunks.map(|pair| Some((number(&pair[..8])?, number(&pair[8..])?))).collect()
}

/// A call that begins within this time after another of the same pair is repeated.
pub const REPEATED: Nanos = Nanos::from_secs(300);
/// Groups of each dimension in a minute: those with the most attempts. The rest are counted together.
pub const GROUPS: usize = 256;
/// Groups that one call is in.
const KEYS: usize = 11;
/// Attempts that are compared with each other: some hundred bytes each.
const ATTEMPTS: usize = 1 << 22;
