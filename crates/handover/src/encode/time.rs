//! Times as ASN.1 writes them.

use ringtap_model::Nanos;

/// GeneralizedTime with microseconds in UTC (X.680 clause 46): `20261124183000.123456Z`.
pub(crate) fn generalized(at: Nanos) -> [u8; 22] {
    let mut text = *b"00000000000000.000000Z";
    let seconds = at.0 / 1_000_000_000;
    let (year, month, day) = date(seconds / 86_400);
    let second = seconds % 86_400;
    put_decimal(&mut text[0..4], year);
    put_decimal(&mut text[4..6], month);
    put_decimal(&mut text[6..8], day);
    put_decimal(&mut text[8..10], second / 3600);
    put_decimal(&mut text[10..12], second / 60 % 60);
    put_decimal(&mut text[12..14], second % 60);
    put_decimal(&mut text[15..21], at.0 / 1_000 % 1_000_000);
    text
}

/// UTCTime in whole seconds (X.680 clause 47): `261124183000Z`.
pub(crate) fn utc(at: Nanos) -> [u8; 13] {
    let mut text = *b"000000000000Z";
    text[..12].copy_from_slice(&generalized(at)[2..14]);
    text
}

/// Reads what [`generalized`] writes, with any number of digits in the fraction.
pub(crate) fn read_generalized(text: &[u8]) -> Option<Nanos> {
    let text = text.strip_suffix(b"Z")?;
    let (whole, fraction) = match text.iter().position(|&octet| octet == b'.') {
        Some(dot) => (&text[..dot], &text[dot + 1..]),
        None => (text, &[][..]),
    };
    if whole.len() != 14 || fraction.len() > 9 {
        return None;
    }
    let [month, day, hour, minute, second] =
        [4, 6, 8, 10, 12].map(|at| read_decimal(&whole[at..at + 2]).unwrap_or(u64::MAX));
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let days = days_since_epoch(read_decimal(&whole[..4])?, month, day)?;
    let seconds = days * 86_400 + hour * 3600 + minute * 60 + second;
    let nanos =
        if fraction.is_empty() { 0 } else { read_decimal(fraction)? * 10_u64.pow(9 - fraction.len() as u32) };
    Some(Nanos(seconds.checked_mul(1_000_000_000)?.checked_add(nanos)?))
}

/// Year, month and day of a day since 1970-01-01, in the proleptic Gregorian calendar: years of 365.2425
/// days that begin in March, so that the day added in leap years is the last of the year.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + u64::from(month <= 2), month, day)
}

fn days_since_epoch(year: u64, month: u64, day: u64) -> Option<u64> {
    let year = year.checked_sub(u64::from(month <= 2))?;
    let month = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * month + 2) / 5 + day - 1;
    let of_era = year % 400 * 365 + year % 400 / 4 - year % 400 / 100 + of_year;
    (year / 400 * 146_097 + of_era).checked_sub(719_468)
}

fn put_decimal(digits: &mut [u8], mut value: u64) {
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (value % 10) as u8;
        value /= 10;
    }
}

fn read_decimal(digits: &[u8]) -> Option<u64> {
    digits
        .iter()
        .try_fold(0, |value, digit| digit.is_ascii_digit().then(|| value * 10 + u64::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        // date -u -d @SECONDS +%Y%m%d%H%M%S
        for (seconds, text) in [
            (0, "19700101000000.000000Z"),
            (951_782_399, "20000228235959.000000Z"),
            (951_782_400, "20000229000000.000000Z"),
            (1_709_251_199, "20240229235959.000000Z"),
            (1_795_545_000, "20261124183000.000000Z"),
            (4_107_542_400, "21000301000000.000000Z"),
        ] {
            assert_eq!(generalized(Nanos::from_secs(seconds)).escape_ascii().to_string(), text);
        }
        assert_eq!(&generalized(Nanos(1_795_545_000_123_456_789)), b"20261124183000.123456Z");
        assert_eq!(&utc(Nanos(1_795_545_000_123_456_789)), b"261124183000Z");
        for refused in
            ["", "Z", "20261124183000", "20261324183000Z", "2026112418300Z", "20261124183000.1234567890Z"]
        {
            assert_eq!(read_generalized(refused.as_bytes()), None, "{refused}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(micros in 0..4_102_444_800_000_000_u64) {
            let at = Nanos::from_micros(micros);
            prop_assert_eq!(read_generalized(&generalized(at)), Some(at));
        }

        #[test]
        fn any_octets_are_read_or_refused(text in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = read_generalized(&text);
        }
    }
}
