//! `QualifiedMicrosecondDateTime` of TS 103 280: `2026-12-01T00:00:00.000000Z`, or with an offset.

use jiff::Timestamp;
use ringtap_model::Nanos;

/// Reads it; none where it is anything else.
pub(crate) fn parse(text: &str) -> Option<Nanos> {
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let is_right = PATTERN.bytes().enumerate().all(|(at, expected)| match expected {
        b'0' => is_digit(at),
        expected => bytes.get(at) == Some(&expected),
    });
    let zone = bytes.get(PATTERN.len()..)?;
    let is_zone = match zone {
        b"Z" => true,
        [b'+' | b'-', offset @ ..] => {
            offset.len() == 5
                && offset[2] == b':'
                && [0, 1, 3, 4].iter().all(|at| offset[*at].is_ascii_digit())
        }
        _ => false,
    };
    if !is_right || !is_zone {
        return None;
    }
    let micros = text.parse::<Timestamp>().ok()?.as_microsecond();
    u64::try_from(micros).ok().map(Nanos::from_micros)
}

/// Writes it, in UTC.
pub(crate) fn print(time: Nanos) -> String {
    let micros = i64::try_from(time.micros()).unwrap_or(i64::MAX);
    let time = Timestamp::from_microsecond(micros).unwrap_or(Timestamp::MAX);
    time.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

const PATTERN: &str = "0000-00-00T00:00:00.000000";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_six_digits_and_a_zone() {
        let time = Nanos::from_micros(1_795_219_261_000_001);
        assert_eq!(print(time), "2026-11-21T00:01:01.000001Z");
        assert_eq!(parse("2026-11-21T00:01:01.000001Z"), Some(time));
        assert_eq!(parse("2026-11-21T01:31:01.000001+01:30"), Some(time));
        assert_eq!(print(Nanos::from_micros(0)), "1970-01-01T00:00:00.000000Z");
        for wrong in [
            "",
            "2026-11-21T00:01:01Z",
            "2026-11-21T00:01:01.000001",
            "2026-11-21 00:01:01.000001Z",
            "2026-13-21T00:01:01.000001Z",
            "2026-11-21T00:01:01.000001z",
            "2026-11-21T00:01:01.000001+0130",
            "2026-11-21T00:01:01.000001+01:3é",
            "1969-12-31T23:59:59.000001Z",
            "2026-11-21T00:01:01.000001Z[Europe/Madrid]",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
