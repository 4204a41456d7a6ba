//! What the running daemon says over the control socket of what it keeps: limits and what becomes of the
//! spool, and which rule decided how many calls.
//!
//! INVARIANT: nothing here tells of interception product. Rules that intercept are left out, and so are its
//! bytes, segments, ages and holds.

use std::fmt::Display;

use ringtap_model::Nanos;
use ringtap_recorder::policy::RecordingPolicy;
use ringtap_report::time;
use ringtap_spool::rules::{Numbers, RecordingScope, Rule};
use ringtap_spool::{CategoryOutlook, Location, Outlook, SpoolStatus};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::shared_status::SharedStatus;

/// What is kept, for how long, and what becomes of it. Times in microseconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RetentionReport {
    /// When this was said.
    pub now_us: u64,
    /// How long records are kept, in milliseconds; null for ever.
    pub records_age_ms: Option<u64>,
    /// Nothing is deleted by age, because the clock is not trusted.
    pub age_suspended: bool,
    /// The spool; null if no packets are recorded.
    pub spool: Option<SpoolRetention>,
}

/// What is kept in the spool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SpoolRetention {
    /// Packets are recorded; false while the disk is full.
    pub recording: bool,
    /// Signalling, and media.
    pub categories: Vec<CategoryRetention>,
    /// Size of the file system of the spool; null if it is not known.
    pub disk_bytes: Option<u64>,
    /// What is free of it.
    pub free_bytes: Option<u64>,
    /// Below so much free space, the oldest segments are moved or deleted,
    pub low_bytes: Option<u64>,
    /// until so much is free.
    pub high_bytes: Option<u64>,
    /// When that begins, if things go on as on average so far; null if limits of age and size come first, or
    /// too little was recorded to tell.
    pub short_at_us: Option<u64>,
    /// Older segments move to a second directory or to a bucket.
    pub has_tier: bool,
    /// They move when they are so old, in milliseconds; null when the disk is short of space.
    pub tier_after_ms: Option<u64>,
    /// The bucket cannot be reached, or refuses.
    pub tier_lost: bool,
}

/// What is kept of a category.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CategoryRetention {
    /// `signalling` or `media`.
    pub category: String,
    /// Bytes, wherever they are.
    pub bytes: u64,
    /// Segments.
    pub segments: u64,
    /// When the oldest begins.
    pub oldest_us: Option<u64>,
    /// How long packets are kept, in milliseconds; null until the disk is short of space.
    pub age_ms: Option<u64>,
    /// How many bytes are kept; null for no limit.
    pub size_bytes: Option<u64>,
    /// Bytes that arrive a day, on average since the oldest; null if that is too short to tell.
    pub bytes_per_day: Option<u64>,
    /// When the oldest is deleted next.
    pub next_us: Option<u64>,
    /// By which limit: `age` or `size`.
    pub next_by: Option<String>,
}

impl RetentionReport {
    pub(crate) fn of(shared_status: &SharedStatus) -> Self {
        let now = time::now();
        let snapshot = shared_status.snapshot();
        Self {
            now_us: now.micros(),
            records_age_ms: shared_status.records_age().map(millis),
            age_suspended: snapshot.clock_step != 0,
            spool: snapshot.spool.as_ref().map(|status| SpoolRetention::of(status, now)),
        }
    }
}

impl SpoolRetention {
    fn of(status: &SpoolStatus, now: Nanos) -> Self {
        let outlook = Outlook::of(status, now);
        let space = status.space[Location::Spool as usize];
        let free = &status.limits.free;
        Self {
            recording: !status.stopped,
            categories: outlook.categories.iter().map(CategoryRetention::of).collect(),
            disk_bytes: space.map(|space| space.total),
            free_bytes: space.map(|space| space.free),
            low_bytes: space.map(|space| free.low.of(space.total)),
            high_bytes: space.map(|space| free.high.of(space.total)),
            short_at_us: outlook.short_at.map(Nanos::micros),
            has_tier: status.has_tier,
            tier_after_ms: status.limits.tier_after.filter(|_| status.has_tier).map(millis),
            tier_lost: status.is_far_lost,
        }
    }
}

impl CategoryRetention {
    fn of(outlook: &CategoryOutlook) -> Self {
        Self {
            category: outlook.category.name().to_owned(),
            bytes: outlook.bytes,
            segments: outlook.segments,
            oldest_us: outlook.oldest.map(Nanos::micros),
            age_ms: outlook.age.map(millis),
            size_bytes: outlook.size,
            bytes_per_day: outlook.bytes_per_day,
            next_us: outlook.next.map(|(at, _)| at.micros()),
            next_by: outlook.next.map(|(_, reason)| reason.name().to_owned()),
        }
    }
}

/// The rules in order; the first that matches a call decides what is recorded of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RuleReport {
    /// When they were read: at the start, by SIGHUP, or when they were changed.
    pub since_us: u64,
    /// Those of the configuration; without any, one that is `[spool] keep`.
    pub rules: Vec<RuleState>,
    /// Calls that no rule matched, so that no packets of them are recorded.
    pub unmatched: u64,
    /// The file that has the rules once they were changed by [`SetRules`](crate::control::Request::SetRules);
    /// null if they may not be.
    pub file: Option<String>,
    /// Which rules these are: another one after a change.
    pub version: String,
}

/// A rule.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RuleState {
    /// Its name.
    pub name: String,
    /// What it records: `nothing`, `signalling`, `headers`, `full` or `everything`.
    pub keep: String,
    /// Conditions, all of which hold: a key of `[[keep]]`, and its value. Of numbers it is how many there
    /// are.
    pub conditions: Vec<(String, String)>,
    /// Digits are not recorded.
    pub mask_dtmf: bool,
    /// The parties may pause the recording.
    pub may_pause: bool,
    /// Calls that it decided since the rules were read.
    pub calls: u64,
    /// The rule with all its numbers: the keys of `[[keep]]` that it sets. Null for `[spool] keep`.
    pub written: Option<Value>,
}

impl RuleReport {
    pub(crate) fn of(policy: &RecordingPolicy) -> Self {
        let state = |(rule, calls): (&Rule, u64)| {
            let keep = if policy.keeps_everything() { "everything" } else { rule.what.name() };
            RuleState {
                name: rule.name.clone(),
                keep: keep.to_owned(),
                conditions: conditions(rule),
                mask_dtmf: rule.mask_digits,
                may_pause: rule.may_pause && rule.what >= RecordingScope::Headers,
                calls,
                written: None,
            }
        };
        Self {
            file: None,
            version: String::new(),
            since_us: policy.since().micros(),
            rules: policy.decided().map(state).collect(),
            unmatched: policy.undecided(),
        }
    }
}

/// The conditions of a rule, by their keys. Numbers are counted: files have millions of them, and they are
/// not for everybody.
fn conditions(rule: &Rule) -> Vec<(String, String)> {
    let numbers = |list: &Option<Numbers>| list.as_ref().map(|list| list.len().to_string());
    let conditions = [
        ("caller", numbers(&rule.caller)),
        ("callee", numbers(&rule.callee)),
        ("number", numbers(&rule.number)),
        ("trunk", list(&rule.trunk)),
        ("address", list(&rule.address)),
        ("codec", list(&rule.codec)),
        ("answered", rule.answered.then(|| "true".to_owned())),
        ("mos_below", rule.mos_below.map(|mos| mos.to_string())),
        ("share", rule.part.map(|part| part.to_string())),
    ];
    conditions.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
}

/// The first of them, and how many more there are; none if there is nothing in it.
fn list<T: Display>(values: &[T]) -> Option<String> {
    let mut words: Vec<String> = values.iter().take(SHOWN).map(ToString::to_string).collect();
    if values.len() > SHOWN {
        words.push(format!("+{}", values.len() - SHOWN));
    }
    (!words.is_empty()).then(|| words.join(", "))
}

fn millis(span: Nanos) -> u64 {
    span.0 / 1_000_000
}

/// Values of a list that are written out.
const SHOWN: usize = 20;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ringtap_spool::{Category, DiskSpace};

    use super::*;
    use crate::config::Config;
    use crate::recording::policy;

    fn rules(keep: &str) -> RuleReport {
        let text = format!("[capture]\ninterfaces = [\"eth0\"]\n[spool]\ndirectory = \"/tmp/spool\"\n{keep}");
        let config = Config::parse(&text).map_err(|wrong| wrong.of(Path::new("x.toml")).to_string()).unwrap();
        RuleReport { since_us: 0, ..RuleReport::of(&policy(&config, "a secret").unwrap()) }
    }

    const OWN: [&str; 2] = [
        "[[keep]]\nnumber = [\"100\", \"+49*\"]\ntrunk = [\"192.0.2.0/24\"]\nkeep = \"signalling\"\n",
        "[[keep]]\nmos_below = 3.1\nshare = \"1%\"\ncodec = [\"G729\"]\nkeep = \"full\"\nmask_dtmf = true\n",
    ];
    const INTERCEPTS: &str = "[[keep]]\nproduct = \"LI-1\"\nnumber = [\"100\"]\nkeep = \"full\"\n";

    #[test]
    fn rules_are_told_without_their_numbers() {
        let report = rules(&OWN.concat());
        let [first, second] = &report.rules[..] else { panic!("{report:?}") };
        let pairs = |rule: &RuleState| {
            rule.conditions.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
        };
        assert_eq!((first.name.as_str(), first.keep.as_str()), ("rule 1", "signalling"));
        assert_eq!(pairs(first), "number=2 trunk=192.0.2.0/24");
        assert_eq!(pairs(second), "codec=G729 mos_below=3.1 share=1%");
        assert_eq!((first.may_pause, second.may_pause, second.mask_dtmf), (false, true, true));
        assert_eq!(rules("").rules[0].name, "[spool] keep");
    }

    #[test]
    fn rules_that_intercept_change_nothing_that_is_told() {
        let [first, second] = OWN;
        let plain = rules(&OWN.concat());
        for order in [[INTERCEPTS, first, second], [first, INTERCEPTS, second], [first, second, INTERCEPTS]] {
            assert_eq!(rules(&order.concat()), plain, "{order:?}");
        }
        assert_eq!(rules(&INTERCEPTS.repeat(1000)), rules(""));
    }

    #[test]
    fn interception_product_changes_nothing_that_is_told_of_the_spool() {
        let now = time::now();
        let mut status = SpoolStatus {
            space: [Some(DiskSpace { total: 1_000_000, free: 600_000 }), None, None],
            ..SpoolStatus::default()
        };
        status.bytes[0][Category::Media as usize] = 5;
        let without = SpoolRetention::of(&status, now);
        assert_eq!(without.categories.iter().map(|kept| kept.bytes).collect::<Vec<_>>(), [0, 5]);
        assert_eq!((without.low_bytes, without.high_bytes), (Some(50_000), Some(70_000)));
        let product = Category::Product as usize;
        status.bytes.iter_mut().chain(&mut status.segments).for_each(|of| of[product] = 1_000);
        (status.held, status.held_bytes) = (7, 7_000);
        status.oldest[product] = Some(now);
        status.limits.age[product] = Some(Nanos::from_secs(1));
        status.limits.size[product] = Some(1);
        assert_eq!(SpoolRetention::of(&status, now), without);
    }

    #[test]
    fn long_lists_are_cut() {
        let many: Vec<usize> = (0..30).collect();
        let told = list(&many).unwrap();
        assert!(told.ends_with("18, 19, +10"), "{told}");
        assert_eq!(list::<u8>(&[]), None);
    }
}
