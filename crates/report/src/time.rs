//! Parses and formats times. In the code a time is [`Nanos`]. Texts are in UTC, unless [`show_in`] chose
//! another zone for people.

use std::sync::OnceLock;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use ringtap_model::Nanos;

/// The zone of texts for people; UTC if none was chosen.
static ZONE: OnceLock<TimeZone> = OnceLock::new();

/// A time zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone(TimeZone);

impl Zone {
    /// Coordinated Universal Time.
    pub const UTC: Self = Self(TimeZone::UTC);

    /// The zone of this machine, or of the variable TZ; UTC if neither says one that is known.
    pub fn local() -> Self {
        Self(TimeZone::try_system().unwrap_or(TimeZone::UTC))
    }

    /// `local`, `UTC`, or a name of the IANA database such as `Europe/Berlin`.
    ///
    /// # Errors
    ///
    /// The name is not known: says what would be right.
    pub fn named(name: &str) -> Result<Self, String> {
        match name {
            "local" => Ok(Self::local()),
            _ if name.eq_ignore_ascii_case("utc") => Ok(Self::UTC),
            _ => TimeZone::get(name).map(Self).map_err(|_| {
                "write local, UTC or a name such as Europe/Berlin; names come from the package tzdata".into()
            }),
        }
    }
}

/// Chooses the zone of [`date`], [`clock`], [`full`] and [`Moment::instant`] for the rest of the process,
/// once: for commands that show times on a terminal. What is written to files stays in UTC.
pub fn show_in(zone: Zone) {
    // A second choice would make two times of one output differ.
    let _ = ZONE.set(zone.0);
}

fn zone_shown() -> &'static TimeZone {
    ZONE.get().unwrap_or(const { &TimeZone::UTC })
}

/// The zone in which times are shown.
pub fn zone() -> TimeZone {
    zone_shown().clone()
}

/// The name of the zone in which times are shown.
pub fn zone_name() -> String {
    zone_shown().iana_name().map_or_else(|| "local time".to_owned(), str::to_owned)
}

/// A time from the command line. Without an offset it is understood in the zone in which times are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment(When);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Instant(Timestamp),
    Civil(DateTime),
}

impl std::str::FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Ok(instant) = text.parse::<Timestamp>() {
            return Ok(Self(When::Instant(instant)));
        }
        let civil =
            text.parse::<DateTime>().or_else(|_| text.parse::<Date>().map(|date| date.at(0, 0, 0, 0)));
        let moment = civil
            .map(|civil| Self(When::Civil(civil)))
            .map_err(|_| "write it as 2026-11-21T02:00:00Z, 2026-11-21 02:00 or 2026-11-21".to_string())?;
        // Now, so that a time that cannot be is refused with its option.
        moment.within(&TimeZone::UTC).map(|_| moment)
    }
}

impl Moment {
    /// The moment that is meant. Where clocks are put back, the earlier of two; where they are put forward,
    /// as many minutes after the change.
    pub fn instant(self) -> Nanos {
        self.within(zone_shown()).unwrap_or_default()
    }

    fn within(self, zone: &TimeZone) -> Result<Nanos, String> {
        let instant = match self.0 {
            When::Instant(instant) => instant,
            When::Civil(civil) => zone.to_timestamp(civil).map_err(|error| error.to_string())?,
        };
        u64::try_from(instant.as_nanosecond()).map(Nanos).map_err(|_| "it lies before 1970".to_string())
    }
}

/// A time from the command line: RFC 3339 (`2026-11-21T02:00:00+01:00`), or without an offset and then UTC:
/// `2026-11-21 02:00[:00[.5]]`, `2026-11-21`.
pub fn parse(text: &str) -> Result<Nanos, String> {
    text.parse::<Moment>()?.within(&TimeZone::UTC)
}

/// The current time.
pub fn now() -> Nanos {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

/// `2026-11-21`.
pub fn date(time: Nanos) -> String {
    shown(time).date().to_string()
}

/// `02:00:00`.
pub fn clock(time: Nanos) -> String {
    clock_of(shown(time))
}

fn clock_of(time: DateTime) -> String {
    format!("{:02}:{:02}:{:02}", time.hour(), time.minute(), time.second())
}

/// [`clock`], with the date before it where that is needed.
pub fn moment(time: Nanos, dated: bool) -> String {
    if dated { format!("{} {}", date(time), clock(time)) } else { clock(time) }
}

/// `2026-11-21 02:00:00.123`.
pub fn full(time: Nanos) -> String {
    format!("{} {}.{:03}", date(time), clock(time), time.0 / 1_000_000 % 1_000)
}

/// `2026-11-21T02:00:00Z`, without the part of the second, always in UTC.
pub fn rfc3339(time: Nanos) -> String {
    let time = within(time, &TimeZone::UTC);
    format!("{}T{}Z", time.date(), clock_of(time))
}

/// `2026-11-21T02:00:00.123456+01:00`, in the zone of the others, with its offset: RFC 3339.
pub fn stamped(time: Nanos) -> String {
    stamped_in(time, zone_shown())
}

fn stamped_in(time: Nanos, zone: &TimeZone) -> String {
    // A time of this type is before the year 2555.
    let instant = Timestamp::from_nanosecond(i128::from(time.0)).unwrap_or_default().to_zoned(zone.clone());
    instant.strftime("%Y-%m-%dT%H:%M:%S.%6f%:z").to_string()
}

/// A duration: `850 ms`, `12.3 s`, `4:05`, `1:02:03`, `12 days`.
pub fn span(millis: f64) -> String {
    let seconds = (millis / 1e3).round() as u64;
    match seconds {
        _ if millis < 1e3 => format!("{millis:.0} ms"),
        0..60 => format!("{:.1} s", millis / 1e3),
        60..3600 => format!("{}:{:02}", seconds / 60, seconds % 60),
        172_800.. => format!("{} days", seconds / 86_400),
        _ => format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60),
    }
}

fn shown(time: Nanos) -> DateTime {
    within(time, zone_shown())
}

fn within(time: Nanos, zone: &TimeZone) -> DateTime {
    // A u64 of nanoseconds ends in 2554, well inside jiff's range, so the epoch is never the answer.
    let instant = Timestamp::from_nanosecond(i128::from(time.0)).unwrap_or(Timestamp::UNIX_EPOCH);
    zone.to_datetime(instant)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_way_to_write_a_time() {
        let two = Nanos::from_secs(1_795_226_400);
        assert_eq!(parse("2026-11-21T02:00:00Z"), Ok(two));
        assert_eq!(parse("2026-11-21T03:00:00+01:00"), Ok(two));
        assert_eq!(parse("2026-11-21 02:00"), Ok(two));
        assert_eq!(parse(" 2026-11-21 02:00:00 "), Ok(two));
        assert_eq!(parse("2026-11-21T02:00:00.5"), Ok(two + Nanos::from_millis(500)));
        assert_eq!(parse("2026-11-21"), Ok(Nanos::from_secs(1_795_219_200)));
        for wrong in ["", "yesterday", "02:00", "2026-13-01", "2026-02-30 10:00", "1969-12-31"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn shown_as_utc() {
        let time = Nanos::from_micros(1_795_226_400_123_456);
        assert_eq!(full(time), "2026-11-21 02:00:00.123");
        assert_eq!(rfc3339(time), "2026-11-21T02:00:00Z");
        assert_eq!(stamped(time), "2026-11-21T02:00:00.123456+00:00");
        assert_eq!(stamped(Nanos::from_secs(1_795_226_400)), "2026-11-21T02:00:00.000000+00:00");
        assert_eq!(full(Nanos::ZERO), "1970-01-01 00:00:00.000");
        assert_eq!(date(Nanos::MAX), "2554-07-21");
    }

    /// In March, clocks in Berlin go from 02:00 to 03:00; in October, 02:30 comes twice.
    #[test]
    fn another_zone_and_its_changes() {
        let Zone(berlin) = Zone::named("Europe/Berlin").expect("tzdata is installed");
        let shown = |text: &str| within(parse(text).unwrap(), &berlin).to_string();
        assert_eq!(shown("2026-11-21T02:00:00Z"), "2026-11-21T03:00:00");
        assert_eq!(shown("2026-06-21T23:30:00Z"), "2026-06-22T01:30:00");
        // The hour that comes twice.
        let stamped = |text: &str| stamped_in(parse(text).unwrap(), &berlin);
        assert_eq!(stamped("2026-10-25T00:30:00Z"), "2026-10-25T02:30:00.000000+02:00");
        assert_eq!(stamped("2026-10-25T01:30:00Z"), "2026-10-25T02:30:00.000000+01:00");
        let meant = |text: &str| text.parse::<Moment>().unwrap().within(&berlin);
        assert_eq!(meant("2026-11-21 03:00"), parse("2026-11-21T02:00:00Z"));
        assert_eq!(meant("2026-11-21T03:00:00Z"), parse("2026-11-21T03:00:00Z"), "an offset is obeyed");
        assert_eq!(meant("2026-03-29 02:30"), parse("2026-03-29T01:30:00Z"));
        assert_eq!(meant("2026-10-25 02:30"), parse("2026-10-25T00:30:00Z"));
        assert_eq!(Zone::named("utc"), Ok(Zone::UTC));
        assert!(Zone::named("Mars/Olympus").unwrap_err().contains("Europe/Berlin"));
        assert_eq!(zone_name(), "UTC", "unless another was chosen");
    }

    #[test]
    fn spans() {
        let cases = [
            (0.0, "0 ms"),
            (999.4, "999 ms"),
            (12_340.0, "12.3 s"),
            (59_960.0, "1:00"),
            (3_723_000.0, "1:02:03"),
        ];
        for (millis, text) in cases {
            assert_eq!(span(millis), text);
        }
    }

    proptest! {
        #[test]
        fn text_and_back(millis in 0_u64..4_000_000_000_000) {
            let time = Nanos::from_millis(millis);
            prop_assert_eq!(parse(&full(time)), Ok(time));
        }
    }
}
