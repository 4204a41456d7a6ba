//! Compares the records of any monitor with the truth, field by field.
//!
//! Both are lines of JSON with ringtap's field names. A truth without a record is missing; a record without a
//! truth is invented; fields in both must be equal. Fields that the truth leaves out (such as MOS) are not
//! compared.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::{Map, Value};

/// Which differences are accepted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Times may differ by this many milliseconds, and values measured from them (jitter, longest gap) by as
    /// much or by 1 %, whichever is more. 0 for captures, whose times are exactly those of the truth.
    pub within_ms: f64,
    /// Times, and values measured from them, are not compared.
    pub ignore_times: bool,
    /// Records of calls, streams and registrations of which the truth knows nothing are no difference.
    pub allow_others: bool,
}

impl Default for Tolerance {
    fn default() -> Self {
        Self { within_ms: 0.0, ignore_times: false, allow_others: false }
    }
}

/// A comparison: first add the truth, then the records.
#[derive(Debug)]
pub struct Comparison {
    tolerance: Tolerance,
    /// Truth without a record so far, as text: parsed, it would be ten times as large.
    waiting: BTreeMap<Key, Vec<String>>,
    /// The keys of the truth that found a record, so that one that comes twice is told from others.
    found: BTreeSet<Key>,
    report: ComparisonReport,
    summary: Option<Map<String, Value>>,
}

/// Identifies a record.
type Key = (RecordKind, String);

/// The kinds of records that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RecordKind {
    /// Call attempts, identified by Call-ID.
    Call,
    /// Streams, identified by Call-ID, source, destination and SSRC.
    Stream,
    /// Registrations, identified by address of record and source.
    Registration,
}

impl RecordKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Call, Self::Stream, Self::Registration];

    /// The value of `type`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Stream => "stream",
            Self::Registration => "registration",
        }
    }

    fn of(record: &Map<String, Value>) -> Option<Self> {
        let kind = record.get("type")?.as_str()?;
        Self::ALL.into_iter().find(|known| known.name() == kind)
    }

    fn key(self, record: &Map<String, Value>) -> Key {
        let names: &[&str] = match self {
            Self::Call => &["call_id"],
            Self::Stream => &["call_id", "src", "dst", "ssrc"],
            Self::Registration => &["aor", "src"],
        };
        let parts: Vec<String> = names
            .iter()
            .map(|name| match record.get(*name) {
                Some(Value::String(text)) => text.clone(),
                Some(Value::Number(number)) => {
                    number.as_u64().map_or(number.to_string(), |n| format!("{n:08x}"))
                }
                _ => "null".to_owned(),
            })
            .collect();
        (self, parts.join(" "))
    }
}

/// Counts of one kind of record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordCounts {
    /// Records in the truth.
    pub truth: u64,
    /// Records in both.
    pub found: u64,
    /// Records in the truth only.
    pub missing: u64,
    /// Records that are not in the truth, duplicates included.
    pub invented: u64,
    /// Records of which the truth knows nothing, where they are allowed.
    pub other: u64,
}

/// Result of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ComparisonReport {
    counts: BTreeMap<RecordKind, RecordCounts>,
    /// Fields compared.
    pub fields: u64,
    /// Number of differences by kind and field.
    pub differing: BTreeMap<(RecordKind, String), u64>,
    /// The first differences, each a sentence.
    pub first: Vec<String>,
}

impl ComparisonReport {
    /// Counts of one kind.
    pub fn counts(&self, kind: RecordKind) -> RecordCounts {
        self.counts.get(&kind).copied().unwrap_or_default()
    }

    /// Whether nothing is missing or invented and every field is equal.
    pub fn agrees(&self) -> bool {
        self.differing.is_empty() && self.counts.values().all(|counts| counts.missing + counts.invented == 0)
    }

    fn at(&mut self, kind: RecordKind) -> &mut RecordCounts {
        self.counts.entry(kind).or_default()
    }

    fn add_difference(&mut self, sentence: impl FnOnce() -> String) {
        if self.first.len() < MAX_DIFFERENCES {
            self.first.push(sentence());
        }
    }
}

/// A line that cannot be compared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompareError {
    /// Not a JSON object with a type.
    #[error("not a JSON object with a `type`: {0}")]
    Line(String),
    /// The truth ends before its last line.
    #[error(
        "the truth lacks its last line, the summary: the program that wrote it was interrupted; generate it \
            again"
    )]
    Unfinished,
    /// The truth has fewer or more records than its summary says.
    #[error(
        "the truth has {found} {kind} records and its summary says {told}: lines are gone, or two files are \
            one"
    )]
    Summary {
        /// The kind of records.
        kind: &'static str,
        /// Number of lines.
        found: u64,
        /// Number by its summary.
        told: u64,
    },
}

impl Comparison {
    /// Compares with this tolerance.
    pub fn new(tolerance: Tolerance) -> Self {
        Self {
            tolerance,
            waiting: BTreeMap::new(),
            found: BTreeSet::new(),
            report: ComparisonReport::default(),
            summary: None,
        }
    }

    /// Adds a line of the truth. Add all of them before the first record.
    ///
    /// # Errors
    ///
    /// The line is not a record of the truth.
    pub fn truth(&mut self, line: &str) -> Result<(), CompareError> {
        let record = parse(line)?;
        let Some(kind) = RecordKind::of(&record) else {
            self.summary = Some(record);
            return Ok(());
        };
        self.report.at(kind).truth += 1;
        self.waiting.entry(kind.key(&record)).or_default().push(line.to_owned());
        Ok(())
    }

    /// Checks that the truth is complete.
    ///
    /// # Errors
    ///
    /// It is not complete.
    pub fn check(&self) -> Result<(), CompareError> {
        let summary = self.summary.as_ref().ok_or(CompareError::Unfinished)?;
        for (kind, name) in RecordKind::ALL.into_iter().zip(["calls", "streams", "registrations"]) {
            let told = summary.get(name).and_then(Value::as_u64).ok_or(CompareError::Unfinished)?;
            let found = self.report.counts(kind).truth;
            if found != told {
                return Err(CompareError::Summary { kind: kind.name(), found, told });
            }
        }
        Ok(())
    }

    /// Adds a line of the records. Records of other kinds are ignored.
    ///
    /// # Errors
    ///
    /// The line is not a record.
    pub fn record(&mut self, line: &str) -> Result<(), CompareError> {
        let record = parse(line)?;
        let Some(kind) = RecordKind::of(&record) else { return Ok(()) };
        let key = kind.key(&record);
        let Some(truth) = self.find_truth(&key, &record) else {
            if self.tolerance.allow_others && !self.found.contains(&key) {
                self.report.at(kind).other += 1;
                return Ok(());
            }
            self.report.at(kind).invented += 1;
            self.report
                .add_difference(|| format!("{} {} is invented, or recorded twice", kind.name(), key.1));
            return Ok(());
        };
        self.report.at(kind).found += 1;
        self.compare(&key, &truth, &record);
        self.found.insert(key);
        Ok(())
    }

    /// The result, after all records were added.
    pub fn finish(mut self) -> ComparisonReport {
        for ((kind, key), missing) in &self.waiting {
            self.report.at(*kind).missing += missing.len() as u64;
            for _ in missing {
                self.report.add_difference(|| format!("{} {key} is missing", kind.name()));
            }
        }
        self.report
    }

    /// Removes the truth with that key; of several, the one that begins when the record does.
    fn find_truth(&mut self, key: &Key, record: &Map<String, Value>) -> Option<Map<String, Value>> {
        let lines = self.waiting.get_mut(key)?;
        let began = |record: &Map<String, Value>| record.get("first_us").and_then(Value::as_i64).unwrap_or(0);
        let (mut nearest, mut least) = (None, i64::MAX);
        for (index, line) in lines.iter().enumerate() {
            // INVARIANT: it was parsed when it was added.
            let truth = parse(line).ok()?;
            let off = (began(&truth) - began(record)).abs();
            if off < least {
                (nearest, least) = (Some((index, truth)), off);
            }
        }
        let (index, truth) = nearest?;
        lines.swap_remove(index);
        if lines.is_empty() {
            self.waiting.remove(key);
        }
        Some(truth)
    }

    fn compare(&mut self, (kind, key): &Key, truth: &Map<String, Value>, record: &Map<String, Value>) {
        for (name, value) in truth {
            let found = record.get(name).unwrap_or(&Value::Null);
            // What only both ends of a stream know is no field of a record.
            if name == "path" || may_be_unknown(name, truth) && found.is_null() {
                continue;
            }
            self.report.fields += 1;
            if !self.tolerance.equal(name, value, found) {
                *self.report.differing.entry((*kind, name.clone())).or_default() += 1;
                self.report
                    .add_difference(|| format!("{} {key}: {name} is {value}, found {found}", kind.name()));
            }
        }
    }
}

impl Tolerance {
    fn equal(&self, name: &str, truth: &Value, found: &Value) -> bool {
        let numbers = truth.as_f64().zip(found.as_f64());
        match (name, numbers, truth, found) {
            _ if self.ignore_times && is_timing(name) => true,
            (_, Some((truth, found)), ..) if name.ends_with("_us") => {
                (truth - found).abs() <= self.within_ms * 1e3
            }
            // Floating point, and some programs print three digits: a microsecond does not matter.
            (_, Some((truth, found)), ..) if is_timing(name) => {
                (truth - found).abs() <= (0.01 * truth.abs()).max(self.within_ms).max(MIN_TOLERANCE_MS)
            }
            (_, Some((truth, found)), ..) => truth == found,
            ("dtmf", _, Value::Array(truth), Value::Array(found)) => {
                let fields = |one: &Value, other: &Value| match (one.as_object(), other.as_object()) {
                    (Some(one), Some(other)) => one.iter().all(|(name, value)| {
                        self.equal(name, value, other.get(name).unwrap_or(&Value::Null))
                    }),
                    _ => one == other,
                };
                truth.len() == found.len() && truth.iter().zip(found).all(|(one, other)| fields(one, other))
            }
            _ => truth == found,
        }
    }
}

/// With few packets and many losses the packet time may be unknown.
fn may_be_unknown(name: &str, truth: &Map<String, Value>) -> bool {
    name == "ptime_ms" && truth.get("unique").and_then(Value::as_u64).is_some_and(|unique| unique < ENOUGH)
}

fn is_timing(name: &str) -> bool {
    name.ends_with("_us") || name.starts_with("jitter_ms") || name == "delta_ms_max"
}

fn parse(line: &str) -> Result<Map<String, Value>, CompareError> {
    let wrong = || CompareError::Line(line.chars().take(80).collect());
    match serde_json::from_str(line) {
        Ok(Value::Object(record)) if record.contains_key("type") => Ok(record),
        _ => Err(wrong()),
    }
}

impl fmt::Display for RecordKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

const MIN_TOLERANCE_MS: f64 = 0.001;
/// A second of the usual packets.
const ENOUGH: u64 = 50;
/// Differences that are listed one by one.
const MAX_DIFFERENCES: usize = 50;

#[cfg(test)]
mod tests {
    use ringtap_model::{Call, Record, Registration, Stream};

    use super::*;
    use crate::{HoldingTime, Scenario, Traffic};

    fn truth() -> Vec<String> {
        let scenario =
            Scenario { calls: 30, rate: 10.0, hold: HoldingTime::Constant(2.0), ..Scenario::everything(5) };
        let mut traffic = Traffic::new(scenario).unwrap();
        while traffic.next().is_some() {}
        traffic.truth().map(|truth| serde_json::to_string(&truth).unwrap()).collect()
    }

    /// The truth against itself after a change.
    fn after(tolerance: Tolerance, change: impl FnOnce(&mut Vec<String>)) -> ComparisonReport {
        let truth = truth();
        let mut comparison = Comparison::new(tolerance);
        truth.iter().for_each(|line| comparison.truth(line).unwrap());
        comparison.check().unwrap();
        let mut records = truth;
        change(&mut records);
        records.iter().for_each(|line| comparison.record(line).unwrap());
        comparison.finish()
    }

    /// Each field of the truth is one of the record, under its name.
    #[test]
    fn the_truth_has_the_fields_of_records() {
        fn names<R: Record>() -> Vec<&'static str> {
            R::FIELDS.iter().map(|field| field.name).collect()
        }
        for line in truth() {
            let record = parse(&line).unwrap();
            let known = match RecordKind::of(&record) {
                Some(RecordKind::Call) => names::<Call>(),
                Some(RecordKind::Stream) => names::<Stream>(),
                Some(RecordKind::Registration) => names::<Registration>(),
                None => continue,
            };
            // Where the packets of a stream were lost is no figure of a record, which has a verdict.
            let mut fields = record.keys().filter(|name| !matches!(name.as_str(), "type" | "path"));
            assert!(fields.all(|name| known.contains(&name.as_str())), "{line}");
        }
    }

    #[test]
    fn the_truth_agrees_with_itself() {
        let report = after(Tolerance::default(), |_| {});
        assert!(report.agrees() && report.fields > 1_000, "{report:?}");
        assert_eq!(
            report.counts(RecordKind::Call),
            RecordCounts { truth: 30, found: 30, missing: 0, invented: 0, other: 0 }
        );
    }

    #[test]
    fn what_is_missing_or_twice_or_changed_is_told() {
        let report = after(Tolerance::default(), |records| {
            let call = records.iter().position(|line| line.contains(r#""type":"call""#)).unwrap();
            records.remove(call);
        });
        assert!(!report.agrees());
        assert_eq!(
            (report.counts(RecordKind::Call).missing, report.counts(RecordKind::Call).invented),
            (1, 0)
        );

        let report = after(Tolerance::default(), |records| {
            let stream = records.iter().find(|line| line.contains(r#""type":"stream""#)).unwrap().clone();
            records.push(stream);
        });
        assert_eq!(
            (report.counts(RecordKind::Stream).missing, report.counts(RecordKind::Stream).invented),
            (0, 1)
        );
        assert!(report.first[0].ends_with("is invented, or recorded twice"), "{:?}", report.first);

        let report = after(Tolerance::default(), |records| {
            let index = records.iter().position(|line| line.contains(r#""type":"stream""#)).unwrap();
            records[index] = records[index].replace(r#""lost":"#, r#""lost":1"#);
        });
        assert_eq!(report.differing, BTreeMap::from([((RecordKind::Stream, "lost".to_owned()), 1)]));
    }

    #[test]
    fn other_records_are_allowed_on_request_but_none_twice() {
        let tolerance = Tolerance { allow_others: true, ..Tolerance::default() };
        let other = |records: &mut Vec<String>| {
            records.push(r#"{"type":"call","call_id":"flood"}"#.to_owned());
        };
        assert!(!after(Tolerance::default(), other).agrees());
        let report = after(tolerance, other);
        assert!(report.agrees(), "{report:?}");
        assert_eq!(report.counts(RecordKind::Call).other, 1);
        let report = after(tolerance, |records| records.push(records[0].clone()));
        assert!(!report.agrees(), "{report:?}");
    }

    #[test]
    fn times_are_as_near_as_the_rules_ask() {
        let later = |records: &mut Vec<String>| {
            for line in records {
                let mut record = parse(line).unwrap();
                for name in ["invite_us", "first_us"] {
                    if let Some(time) = record.get(name).and_then(Value::as_u64) {
                        record.insert(name.to_owned(), (time + 900).into());
                    }
                }
                *line = Value::Object(record).to_string();
            }
        };
        assert!(!after(Tolerance::default(), later).agrees());
        assert!(!after(Tolerance { within_ms: 0.8, ..Tolerance::default() }, later).agrees());
        assert!(after(Tolerance { within_ms: 1.0, ..Tolerance::default() }, later).agrees());
        assert!(after(Tolerance { ignore_times: true, ..Tolerance::default() }, later).agrees());
    }

    #[test]
    fn jitter_is_equal_within_a_hundredth() {
        let tolerance = Tolerance::default();
        let near = |truth: f64, found: f64| tolerance.equal("jitter_ms_mean", &truth.into(), &found.into());
        assert!(near(2.0, 2.0199) && !near(2.0, 2.0201) && near(0.0, 0.001) && !near(0.0, 0.0011));
        assert!(!tolerance.equal("jitter_ms_mean", &1.0.into(), &Value::Null));
    }

    #[test]
    fn a_truth_that_was_cut_is_refused() {
        let mut lines = truth();
        let mut comparison = Comparison::new(Tolerance::default());
        lines[1..].iter().for_each(|line| comparison.truth(line).unwrap());
        assert!(matches!(comparison.check(), Err(CompareError::Summary { .. })));
        lines.pop();
        let mut comparison = Comparison::new(Tolerance::default());
        lines.iter().for_each(|line| comparison.truth(line).unwrap());
        assert!(matches!(comparison.check(), Err(CompareError::Unfinished)));
        assert!(comparison.record("[]").is_err() && comparison.record("{}").is_err());
    }
}
