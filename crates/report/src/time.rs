//! Parses and formats times. In the code a time is [`Nanos`]; all texts are in UTC.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use ringtap_model::Nanos;

/// A time from the command line: RFC 3339 (`2026-11-21T02:00:00+01:00`), or without an offset and then UTC:
/// `2026-11-21 02:00[:00[.5]]`, `2026-11-21`.
pub fn parse(text: &str) -> Result<Nanos, String> {
    let text = text.trim();
    let instant = if let Ok(instant) = text.parse::<Timestamp>() {
        instant
    } else {
        let civil = text
            .parse::<DateTime>()
            .or_else(|_| text.parse::<Date>().map(|date| date.at(0, 0, 0, 0)))
            .map_err(|_| {
                "write it as 2026-11-21T02:00:00Z, 2026-11-21 02:00 (UTC) or 2026-11-21".to_string()
            })?;
        TimeZone::UTC.to_timestamp(civil).map_err(|error| error.to_string())?
    };
    u64::try_from(instant.as_nanosecond()).map(Nanos).map_err(|_| "it lies before 1970".to_string())
}

/// The current time.
pub fn now() -> Nanos {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

/// `2026-11-21`.
pub fn date(time: Nanos) -> String {
    utc(time).date().to_string()
}

/// `02:00:00`.
pub fn clock(time: Nanos) -> String {
    let time = utc(time);
    format!("{:02}:{:02}:{:02}", time.hour(), time.minute(), time.second())
}

/// `2026-11-21 02:00:00.123`.
pub fn full(time: Nanos) -> String {
    format!("{} {}.{:03}", date(time), clock(time), time.0 / 1_000_000 % 1_000)
}

/// `2026-11-21T02:00:00Z`, without the part of the second.
pub fn rfc3339(time: Nanos) -> String {
    format!("{}T{}Z", date(time), clock(time))
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

fn utc(time: Nanos) -> DateTime {
    // A u64 of nanoseconds ends in 2554, well inside jiff's range, so the epoch is never the answer.
    let instant = Timestamp::from_nanosecond(i128::from(time.0)).unwrap_or(Timestamp::UNIX_EPOCH);
    TimeZone::UTC.to_datetime(instant)
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
        assert_eq!(full(Nanos::ZERO), "1970-01-01 00:00:00.000");
        assert_eq!(date(Nanos::MAX), "2554-07-21");
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
