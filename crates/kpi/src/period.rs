//! Minutes, hours and days of a time zone.

use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, Zoned};
use ringtap_model::Nanos;

use crate::rollup::MINUTE;

/// A time zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone(TimeZone);

impl Zone {
    /// Coordinated Universal Time.
    pub const UTC: Self = Self(TimeZone::UTC);

    /// `local`, `UTC`, or a name of the IANA database such as `Europe/Berlin`.
    ///
    /// # Errors
    ///
    /// The name is not known: says what would be right.
    pub fn named(name: &str) -> Result<Self, String> {
        match name {
            "local" => Ok(Self(TimeZone::try_system().unwrap_or(TimeZone::UTC))),
            _ if name.eq_ignore_ascii_case("utc") => Ok(Self::UTC),
            _ => TimeZone::get(name).map(Self).map_err(|_| {
                "write local, UTC or a name such as Europe/Berlin; names come from the package tzdata".into()
            }),
        }
    }

    /// Its name in the IANA database.
    pub fn name(&self) -> String {
        self.0.iana_name().map_or_else(|| "local time".to_owned(), str::to_owned)
    }

    /// `2026-11-21 02:00`, with the seconds where they are not 0.
    pub fn shown(&self, time: Nanos) -> String {
        let time = self.at(time);
        let seconds = if time.second() == 0 { String::new() } else { format!(":{:02}", time.second()) };
        format!("{} {:02}:{:02}{seconds}", time.date(), time.hour(), time.minute())
    }

    /// What a clock of the zone shows: the day of the week, 0 for Monday, and minutes since midnight.
    pub fn clock(&self, time: Nanos) -> (usize, u16) {
        let time = self.at(time);
        let day = usize::from(time.weekday().to_monday_zero_offset().unsigned_abs());
        (day, u16::from(time.hour().unsigned_abs()) * 60 + u16::from(time.minute().unsigned_abs()))
    }

    /// The same time of the clock seven days before.
    pub fn week_before(&self, time: Nanos) -> Nanos {
        let before = self.at(time).checked_sub(7.days());
        before.map_or(time - Nanos(7 * 1440 * MINUTE), |before| nanos(&before))
    }

    fn at(&self, time: Nanos) -> Zoned {
        let timestamp = Timestamp::from_nanosecond(i128::from(time.0)).unwrap_or(Timestamp::UNIX_EPOCH);
        timestamp.to_zoned(self.0.clone())
    }
}

/// How long the periods are for which figures are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Per {
    /// Each minute.
    Minute,
    /// Each hour, as the clock of the zone shows it.
    Hour,
    /// Each day of the zone: 23, 24 or 25 hours.
    Day,
}

impl Per {
    /// The beginning of the period that has a moment.
    pub fn start(self, time: Nanos, zone: &Zone) -> Nanos {
        match self {
            Self::Minute => Nanos(time.0 - time.0 % MINUTE),
            Self::Hour => {
                // Offsets of whole minutes: an hour has the same ones wherever clocks are changed within it.
                let zoned = zone.at(time);
                let minute = u64::from(zoned.minute().unsigned_abs());
                let start = time.0 - time.0 % MINUTE;
                Nanos(start.saturating_sub(minute * MINUTE))
            }
            Self::Day => zone.at(time).start_of_day().map_or(Nanos::ZERO, |start| nanos(&start)),
        }
    }

    /// The beginning of the period after the one that begins then.
    pub fn next(self, start: Nanos, zone: &Zone) -> Nanos {
        match self {
            Self::Minute => start + Nanos(MINUTE),
            Self::Hour => start + Nanos(60 * MINUTE),
            Self::Day => {
                let tomorrow = zone.at(start).checked_add(1.day()).and_then(|day| day.start_of_day());
                tomorrow.map_or(start + Nanos(1440 * MINUTE), |day| nanos(&day))
            }
        }
    }
}

fn nanos(zoned: &Zoned) -> Nanos {
    Nanos(u64::try_from(zoned.timestamp().as_nanosecond()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Nanos {
        let time: Timestamp = text.parse().unwrap();
        Nanos(u64::try_from(time.as_nanosecond()).unwrap())
    }

    /// Berlin puts clocks forward on 29 March 2026 and back on 25 October.
    #[test]
    fn days_of_23_and_25_hours() {
        let berlin = Zone::named("Europe/Berlin").unwrap();
        for (noon, start, hours) in [
            ("2026-03-29T12:00:00Z", "2026-03-28T23:00:00Z", 23),
            ("2026-10-25T12:00:00Z", "2026-10-24T22:00:00Z", 25),
            ("2026-11-21T12:00:00Z", "2026-11-20T23:00:00Z", 24),
        ] {
            let found = Per::Day.start(at(noon), &berlin);
            assert_eq!(found, at(start), "{noon}");
            let next = Per::Day.next(found, &berlin);
            assert_eq!(next - found, Nanos(hours * 60 * MINUTE), "{noon}");
            assert_eq!(Per::Day.start(next, &berlin), next);
            assert_eq!(Per::Day.start(Nanos(next.0 - 1), &berlin), found);
        }
    }

    #[test]
    fn hours_of_a_zone_with_half_an_hour() {
        let kolkata = Zone::named("Asia/Kolkata").unwrap();
        let start = Per::Hour.start(at("2026-11-21T12:10:05Z"), &kolkata);
        assert_eq!(start, at("2026-11-21T11:30:00Z"));
        assert_eq!(Per::Hour.start(at("2026-11-21T12:10:05Z"), &Zone::UTC), at("2026-11-21T12:00:00Z"));
        // The hour that Berlin has twice.
        let berlin = Zone::named("Europe/Berlin").unwrap();
        for time in ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"] {
            let hour = Per::Hour.start(at(time), &berlin);
            assert_eq!(Nanos(at(time).0 - hour.0), Nanos(30 * MINUTE));
        }
        assert_eq!(Per::Minute.start(at("2026-11-21T12:10:05Z"), &kolkata), at("2026-11-21T12:10:00Z"));
    }

    /// Berlin is at UTC+2 in summer and UTC+1 in winter; 1 November 2026 is a Sunday.
    #[test]
    fn the_clock_and_a_week_before() {
        let berlin = Zone::named("Europe/Berlin").unwrap();
        assert_eq!(berlin.clock(at("2026-11-01T22:59:59Z")), (6, 1439));
        assert_eq!(berlin.clock(at("2026-11-01T23:00:00Z")), (0, 0));
        assert_eq!(berlin.week_before(at("2026-10-28T09:00:00Z")), at("2026-10-21T08:00:00Z"));
        assert_eq!(Zone::UTC.week_before(at("2026-10-28T09:00:00Z")), at("2026-10-21T09:00:00Z"));
    }

    #[test]
    fn a_zone_that_is_not_known() {
        assert!(Zone::named("Europe/Berlni").unwrap_err().contains("Europe/Berlin"));
        assert_eq!(Zone::named("utc").unwrap(), Zone::UTC);
        let berlin = Zone::named("Europe/Berlin").unwrap();
        assert_eq!(berlin.shown(at("2026-11-21T12:00:00Z")), "2026-11-21 13:00");
        assert_eq!(berlin.shown(at("2026-07-21T12:00:05Z")), "2026-07-21 14:00:05");
    }
}
