//! Days in UTC.

use std::fmt;
use std::str::FromStr;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use ringtap_model::Nanos;

/// A day in UTC. As text: `2026-11-21`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(Date);

impl Day {
    /// That of a moment.
    pub fn of(time: Nanos) -> Self {
        // Nanoseconds in 64 bits end in 2554, which is within what can be told.
        let moment = Timestamp::from_nanosecond(i128::from(time.0)).unwrap_or(Timestamp::MAX);
        Self(moment.to_zoned(TimeZone::UTC).date())
    }

    /// Its first moment; 1970 if it lies before that.
    pub fn start(self) -> Nanos {
        let moment = self.0.to_zoned(TimeZone::UTC).map(|zoned| zoned.timestamp().as_nanosecond());
        Nanos(moment.ok().and_then(|nanos| u64::try_from(nanos).ok()).unwrap_or(0))
    }

    /// The first moment after it.
    pub fn end(self) -> Nanos {
        Self(self.0.saturating_add(Span::new().days(1))).start()
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Day {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let day = text.parse().map(Self).map_err(|_| "write a day as 2026-11-21".to_owned())?;
        // One way to write each: file names are made of it.
        if day.to_string() == text { Ok(day) } else { Err("write a day as 2026-11-21".to_owned()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_that_of_utc() {
        let day: Day = "2026-11-21".parse().unwrap();
        assert_eq!(day.start(), Nanos::from_secs(1_795_219_200));
        assert_eq!(day.end(), Nanos::from_secs(1_795_219_200 + 86_400));
        assert_eq!(Day::of(day.start()), day);
        assert_eq!(Day::of(Nanos(day.end().0 - 1)), day);
        assert_eq!(Day::of(day.end()).to_string(), "2026-11-22");
        assert_eq!(Day::of(Nanos::MAX).to_string(), "2554-07-21");
        for wrong in ["", "20261121", "2026-11-21T00:00", "../x", "2026-02-30"] {
            assert!(wrong.parse::<Day>().is_err(), "{wrong}");
        }
    }
}
