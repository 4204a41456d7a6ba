//! How fast an administration function may fill the register: each message that changes or looks is an act of
//! some kilobytes that stays.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use ringtap_model::Nanos;

/// How many messages each may send now.
#[derive(Default)]
pub(crate) struct Pace(Mutex<BTreeMap<String, Allowance>>);

struct Allowance {
    /// In nanoseconds, of which a message takes [`MESSAGE`].
    left: Nanos,
    at: Nanos,
}

impl Pace {
    /// Whether a message may be done now; then it is counted. It is asked for registered ones alone, so that
    /// there are no more than the register has.
    pub(crate) fn allows(&self, admf: &str, now: Nanos) -> bool {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of = all.entry(admf.to_owned()).or_insert(Allowance { left: MOST, at: now });
        // A clock that is set back gives nothing.
        of.left = Nanos((of.left.0 + now.since(of.at).0).min(MOST.0));
        of.at = of.at.max(now);
        let is_allowed = of.left >= MESSAGE;
        if is_allowed {
            of.left = Nanos(of.left.0 - MESSAGE.0);
        }
        is_allowed
    }
}

/// Five a second.
const MESSAGE: Nanos = Nanos(200_000_000);
/// And so many at once after a time without.
const MOST: Nanos = Nanos(MESSAGE.0 * 1_000);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_messages_at_once_and_five_a_second_are_done() {
        let (pace, start) = (Pace::default(), Nanos::from_secs(1_800_000_000));
        let done = |admf: &str, at: Nanos| (0..2_000).filter(|_| pace.allows(admf, at)).count();
        assert_eq!(done("admf-1", start), 1_000);
        assert_eq!(done("admf-2", start), 1_000, "each has its own");
        assert_eq!(done("admf-1", start + Nanos::from_secs(3)), 15);
        assert_eq!(done("admf-1", start + Nanos::from_secs(1)), 0, "a clock that is set back");
        assert_eq!(done("admf-1", start + Nanos::from_secs(4)), 5);
        assert_eq!(done("admf-1", start + Nanos::from_secs(86_400)), 1_000);
    }
}
