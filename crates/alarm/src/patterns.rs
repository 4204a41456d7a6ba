//! Ready-made rules against fraud and attacks.

use ringtap_model::Severity::{Critical, Warning};
use ringtap_model::{Nanos, Severity};

use crate::rule::Watched::{
    Abroad, Countries, LongestCall, MissedCallees, NewCountry, Premium, RefusedUsers, Registrations,
    RegistrationsFailed, Sequential,
};
use crate::rule::{Hours, Limit, Per, Rule, Watched};

/// Ready-made rules for one kind of fraud or attack.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// Its name, which its rules have too.
    pub name: &'static str,
    /// What it finds.
    pub about: &'static str,
    /// Its rules.
    pub rules: Vec<Rule>,
}

/// All patterns. Their limits are above what a normal month of a company or a carrier has.
pub fn patterns() -> Vec<Pattern> {
    let pattern = |&(name, about, rules): &(&'static str, &'static str, &[Sketched])| Pattern {
        name,
        about,
        rules: rules.iter().map(|sketched| rule(name, sketched)).collect(),
    };
    PATTERNS.iter().map(pattern).collect()
}

/// Severity, what is watched, per what, over how many minutes, the limit.
type Sketched = (Severity, Watched, Per, u64, f64);

const PATTERNS: &[(&str, &str, &[Sketched])] = &[
    (
        "premium_burst",
        "A caller who calls premium numbers again and again, as somebody does who earns by it.",
        &[(Critical, Premium, Per::Caller, 60, 10.0)],
    ),
    (
        "new_destination",
        "Many calls from one address to countries that it did not call before, in the time of learning.",
        &[(Critical, NewCountry, Per::Source, 60, 10.0)],
    ),
    (
        "many_countries",
        "A caller who calls many countries within an hour.",
        &[(Critical, Countries, Per::Caller, 60, 8.0)],
    ),
    (
        "sequential_numbers",
        "A caller who calls one number after the other: somebody tries which of them exist.",
        &[(Warning, Sequential, Per::Caller, 30, 12.0)],
    ),
    (
        "extension_scan",
        "An address, no configured trunk, that tries which users or extensions exist.",
        &[(Warning, RefusedUsers, Per::Source, 10, 30.0)],
    ),
    (
        "registration_storm",
        "Attempts to register in a number that no usual traffic has: a device that loops, an address behind \
         which all devices register at once, or both.",
        &[
            (Warning, Registrations, Per::User, 1, 60.0),
            (Warning, Registrations, Per::Source, 1, 1_200.0),
            (Warning, Registrations, Per::Total, 1, 12_000.0),
        ],
    ),
    (
        "password_guessing",
        "Passwords of one user, or from one address, that are wrong again and again: more often than by a \
         phone with a wrong password.",
        &[
            (Critical, RegistrationsFailed, Per::User, 10, 50.0),
            (Critical, RegistrationsFailed, Per::Source, 10, 100.0),
        ],
    ),
    (
        NIGHT_CALLS,
        "A caller who calls abroad again and again between 22:00 and 06:00.",
        &[(Warning, Abroad, Per::Caller, 60, 10.0)],
    ),
    (
        "very_long_call",
        "A call that was answered more than four hours ago: forgotten, or kept open for its price.",
        &[(Warning, LongestCall, Per::Caller, 1, 4.0 * 3_600.0)],
    ),
    (
        "wangiri",
        "A caller who lets many numbers ring shortly, so that they call back.",
        &[(Critical, MissedCallees, Per::Caller, 10, 30.0)],
    ),
];

/// The pattern that has hours.
const NIGHT_CALLS: &str = "night_calls";

fn rule(name: &str, &(severity, watched, per, minutes, raise): &Sketched) -> Rule {
    let night = || Hours { days: [true; 7], from: 22 * 60, to: 6 * 60 };
    Rule {
        name: name.to_owned(),
        severity,
        watched,
        per,
        only: Vec::new(),
        over: Nanos::from_secs(60 * minutes),
        minimum: 0,
        // Half of it clears, so that what goes on is one alarm.
        limit: Limit { is_above: true, raise, clear: (raise / 2.0).floor(), of_week_ago: false },
        lasting: Nanos::ZERO,
        hours: (name == NIGHT_CALLS).then(night),
        notify: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_patterns_are_rules_that_can_be_evaluated() {
        let all = patterns();
        assert_eq!(all.len(), 10);
        for pattern in all {
            assert!(!pattern.rules.is_empty() && pattern.about.ends_with('.'), "{}", pattern.name);
            for rule in pattern.rules {
                assert_eq!((rule.check(), rule.name.as_str()), (Ok(()), pattern.name));
            }
        }
    }
}
