//! Until when a certificate is valid (RFC 5280 section 4.1.2.5), read from its DER.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use ringtap_model::Nanos;

/// When a certificate ends; none where its bytes are no certificate.
pub(crate) fn not_after(certificate: &[u8]) -> Option<Nanos> {
    validity(certificate).map(|(_, end)| end)
}

/// From when until when a certificate is valid; none where its bytes are no certificate.
pub(crate) fn validity(certificate: &[u8]) -> Option<(Nanos, Nanos)> {
    let (certificate, _) = element(certificate, SEQUENCE)?;
    let (fields, _) = element(certificate, SEQUENCE)?;
    // The version stands there from the second on.
    let rest = element(fields, VERSION).map_or(fields, |(_, rest)| rest);
    let (_serial, rest) = element(rest, INTEGER)?;
    let (_algorithm, rest) = element(rest, SEQUENCE)?;
    let (_issuer, rest) = element(rest, SEQUENCE)?;
    let (validity, _) = element(rest, SEQUENCE)?;
    let (begin, rest) = time(validity)?;
    time(rest).map(|(end, _)| (begin, end))
}

/// The content of an element with that tag, and what follows it (X.690 section 8.1).
fn element(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&[found, length], rest) = bytes.split_first_chunk()?;
    if found != tag {
        return None;
    }
    let (length, rest) = match length {
        0..=0x7f => (usize::from(length), rest),
        // The length itself has up to four bytes: more than any certificate needs.
        0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(length - 0x80))?;
            (digits.iter().fold(0, |sum, digit| sum << 8 | usize::from(*digit)), rest)
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}

/// `260101150405Z` or, from 2050 on, `20500101150405Z`; and what follows.
fn time(bytes: &[u8]) -> Option<(Nanos, &[u8])> {
    let (text, is_short, rest) = match bytes.first()? {
        &UTC_TIME => element(bytes, UTC_TIME).map(|(text, rest)| (text, true, rest))?,
        _ => element(bytes, GENERALIZED_TIME).map(|(text, rest)| (text, false, rest))?,
    };
    let digits = text.strip_suffix(b"Z")?;
    let (year, rest_of_it) = digits.split_at_checked(if is_short { 2 } else { 4 })?;
    let number = |digits: &[u8]| -> Option<i16> {
        digits.iter().all(u8::is_ascii_digit).then_some(())?;
        std::str::from_utf8(digits).ok()?.parse().ok()
    };
    let year = number(year)?;
    // RFC 5280: two digits from 50 on are of the last century.
    let year = year
        + if is_short && year < 50 {
            2000
        } else if is_short {
            1900
        } else {
            0
        };
    let pairs: Vec<i8> = rest_of_it
        .chunks(2)
        .map(|pair| (pair.len() == 2).then(|| number(pair)).flatten()?.try_into().ok())
        .collect::<Option<_>>()?;
    let [month, day, hour, minute, second] = pairs[..] else { return None };
    let at = DateTime::new(year, month, day, hour, minute, second, 0).ok()?;
    let at = at.to_zoned(TimeZone::UTC).ok()?.timestamp();
    Some((Nanos(u64::try_from(at.as_nanosecond()).ok()?), rest))
}

const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const INTEGER: u8 = 0x02;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate(year: i32) -> Vec<u8> {
        let mut params = rcgen::CertificateParams::new(vec!["tap.example.org".into()]).unwrap();
        params.not_after = rcgen::date_time_ymd(year, 3, 9);
        let key = rcgen::KeyPair::generate().unwrap();
        params.self_signed(&key).unwrap().der().to_vec()
    }

    #[test]
    fn the_end_of_a_certificate_is_read() {
        for year in [1999, 2026, 2049, 2050, 2500] {
            let end: jiff::Timestamp = format!("{year}-03-09T00:00:00Z").parse().unwrap();
            let end = Nanos(end.as_nanosecond() as u64);
            assert_eq!(not_after(&certificate(year)), Some(end), "{year}");
        }
    }

    #[test]
    fn bytes_that_are_no_certificate_have_no_end_and_do_no_harm() {
        let whole = certificate(2049);
        let end = not_after(&whole);
        for cut in 0..whole.len() {
            assert_eq!(not_after(&whole[..cut]), None, "cut at {cut}");
        }
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut changed = whole.clone();
                changed[at] ^= 1 << bit;
                // Most of it does not matter here; nothing of it panics.
                let _ = not_after(&changed);
            }
        }
        for wrong in
            [&b""[..], &[0x30], &[0x30, 0x80, 0, 0], &[0x30, 0x84, 0xff, 0xff, 0xff, 0xff], &[0x30, 0x85]]
        {
            assert_eq!(not_after(wrong), None, "{wrong:?}");
        }
        assert!(end.is_some());
        for text in
            ["20260101150405", "2026010115040Z", "20261301150405Z", "2026010115+405Z", "20260101150405.1Z"]
        {
            let element = [&[GENERALIZED_TIME, text.len() as u8], text.as_bytes()].concat();
            assert_eq!(time(&element), None, "{text}");
        }
    }
}
