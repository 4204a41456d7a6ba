//! A day in UTC, and the file that it names.

use std::fmt;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use ringtap_model::Nanos;

/// A day in UTC. Written `2026-11-21`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(Date);

impl Day {
    /// The day that a moment falls on.
    pub fn of(time: Nanos) -> Self {
        // u64 nanoseconds end in 2554: always a timestamp that jiff knows.
        let timestamp = Timestamp::from_nanosecond(i128::from(time.0)).unwrap_or(Timestamp::UNIX_EPOCH);
        Self(timestamp.to_zoned(TimeZone::UTC).date())
    }

    /// The name of its file.
    pub fn file_name(self) -> String {
        format!("{self}.sqlite")
    }

    /// The day of a file of that name; `None` for any other name.
    pub fn from_file_name(name: &str) -> Option<Self> {
        let day = Self(name.strip_suffix(".sqlite")?.parse().ok()?);
        // jiff takes more spellings than this program writes.
        (day.file_name() == name).then_some(day)
    }

    /// Its first moment; the epoch for days before it.
    pub fn start(self) -> Nanos {
        let zoned = self.0.to_zoned(TimeZone::UTC);
        let nanos = zoned.map_or(0, |zoned| zoned.timestamp().as_nanosecond());
        Nanos(u64::try_from(nanos.max(0)).unwrap_or(u64::MAX))
    }

    /// The first moment after it.
    pub fn end(self) -> Nanos {
        self.start() + Nanos::from_secs(86_400)
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.0.year(), self.0.month(), self.0.day())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names() {
        // 2026-11-21 00:00:00 UTC.
        let midnight = Nanos::from_secs(1_795_219_200);
        assert_eq!(Day::of(midnight).file_name(), "2026-11-21.sqlite");
        assert_eq!(Day::of(Nanos(midnight.0 - 1)).to_string(), "2026-11-20");
        assert_eq!(Day::of(midnight).start(), midnight);
        assert_eq!(Day::of(Nanos::ZERO).to_string(), "1970-01-01");
        for name in
            ["2026-11-21", "2026-11-21.sqlite-wal", "20261121.sqlite", "2026-13-01.sqlite", "x.sqlite", ""]
        {
            assert_eq!(Day::from_file_name(name), None, "{name}");
        }
    }

    proptest! {
        #[test]
        fn every_moment_is_within_its_day(nanos in any::<u64>()) {
            let day = Day::of(Nanos(nanos));
            prop_assert!(day.start().0 <= nanos && (nanos < day.end().0 || day.end() == Nanos::MAX));
            prop_assert_eq!(Day::from_file_name(&day.file_name()), Some(day));
        }
    }
}
