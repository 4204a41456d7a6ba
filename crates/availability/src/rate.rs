//! How many REGISTER a service usually gets, and when these are many more.

use ringtap_model::Nanos;

const SECOND: u64 = 1_000_000_000;
/// From so many in a second on, and so many times the usual, they are a burst.
const LEAST: u64 = 20;
const TIMES: f64 = 5.0;
/// Weight of the last second in what is usual.
const WEIGHT: f64 = 0.1;
/// Seconds after which a service's usual rate is known.
const KNOWN_AFTER: u64 = 10;

/// REGISTER of one service, by the second.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RegisterRate {
    first: u64,
    second: u64,
    count: u64,
    usual: f64,
}

impl RegisterRate {
    /// One more; how many in this second at the moment at which they become a burst, then one each.
    pub(crate) fn add(&mut self, now: Nanos) -> Option<u64> {
        let second = now.0 / SECOND;
        if self.count == 0 {
            (self.first, self.second) = (second, second);
        }
        if second > self.second {
            let idle = (second - self.second - 1).min(1_000) as i32;
            self.usual =
                (self.usual * (1.0 - WEIGHT) + self.count as f64 * WEIGHT) * (1.0 - WEIGHT).powi(idle);
            self.second = second;
            self.count = 0;
        }
        self.count += 1;
        let least = LEAST.max((self.usual * TIMES) as u64);
        let is_known = second.saturating_sub(self.first) >= KNOWN_AFTER;
        match self.count {
            _ if !is_known => None,
            count if count == least => Some(count),
            count if count > least => Some(1),
            _ => None,
        }
    }
}
