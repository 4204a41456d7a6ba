//! Numbers with their units.

use crate::field::Measure;
use crate::lexer::Operator;
use crate::value::Range;

/// A number as it was written, in the unit that records have.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Figure {
    value: f64,
    /// Half of its last digit, in the same unit, and how many digits behind the point that needs.
    half: f64,
    digits: usize,
}

/// The numbers that compare so with a text: `3s`, or `1m..5m`. None if it is no such number; an error says
/// what is wrong with the order of two.
pub(crate) fn range(text: &str, operator: Operator, measure: Measure) -> Option<Result<Range, String>> {
    let text = text.trim();
    if operator == Operator::Is {
        let Some((from, to)) = text.split_once("..") else { return figure(text, measure).map(near) };
        let end = |text: &str| if text.is_empty() { Some(None) } else { figure(text, measure).map(Some) };
        let (from, to) = (end(from.trim())?, end(to.trim())?);
        let ordered = match (&from, &to) {
            (None, None) => return None,
            (Some(from), Some(to)) => from.value <= to.value,
            _ => true,
        };
        let range = Range { from: from.map(|end| (end.value, true)), to: to.map(|end| (end.value, true)) };
        return Some(if ordered { Ok(range) } else { Err("the range ends below its beginning".to_owned()) });
    }
    let value = figure(text, measure)?.value;
    Some(Ok(compared(value, operator)))
}

/// The numbers that compare so with one.
pub(crate) fn compared(value: f64, operator: Operator) -> Range {
    match operator {
        Operator::Is => Range { from: Some((value, true)), to: Some((value, true)) },
        Operator::Above => Range { from: Some((value, false)), to: None },
        Operator::AtLeast => Range { from: Some((value, true)), to: None },
        Operator::Below => Range { from: None, to: Some((value, false)) },
        Operator::AtMost => Range { from: None, to: Some((value, true)) },
    }
}

/// The numbers that are that one when they are written with as many digits.
fn near(figure: Figure) -> Result<Range, String> {
    let Figure { value, half, digits } = figure;
    // Written and read again, so that 4.2 - 0.05 is 4.15.
    let exact = |number: f64| format!("{number:.digits$}").parse().unwrap_or(number);
    let (from, to) = (exact(value - half), exact(value + half));
    Ok(Range { from: Some((from, true)), to: Some((to, true)) })
}

fn figure(text: &str, measure: Measure) -> Option<Figure> {
    match measure {
        Measure::Count => {
            let is_whole = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            let value = text.parse().ok().filter(|_| is_whole && text.len() <= MOST_DIGITS)?;
            Some(Figure { value, half: 0.0, digits: 0 })
        }
        Measure::Score => decimal(text).map(|(value, digits)| with(value, digits)),
        Measure::Percent => {
            let number = text.strip_suffix('%').unwrap_or(text).trim_end();
            decimal(number).map(|(value, digits)| with(value, digits))
        }
        Measure::Seconds => span(text, 1e3),
        Measure::Millis => span(text, 1.0),
    }
}

fn with(value: f64, digits: usize) -> Figure {
    Figure { value, half: 0.5 * 10_f64.powi(-(digits as i32)), digits: digits + 1 }
}

/// A span of time in milliseconds: `500ms`, `30s`, `2m`, `1.5h`, `4:05`, `1:02:03`; a number alone is in
/// units of `default` milliseconds.
fn span(text: &str, default: f64) -> Option<Figure> {
    if text.contains(':') {
        let (mut seconds, mut parts) = (0.0, 0);
        for part in text.split(':') {
            let (value, digits) = decimal(part)?;
            if digits > 0 || (parts > 0 && part.len() != 2) {
                return None;
            }
            (seconds, parts) = (seconds * 60.0 + value, parts + 1);
        }
        return (parts <= 3).then_some(Figure { value: seconds * 1e3, half: 500.0, digits: 0 });
    }
    // The longer suffix first.
    let units =
        [("ms", 1.0), ("min", 60e3), ("s", 1e3), ("m", 60e3), ("h", 3_600e3), ("d", 86_400e3), ("", default)];
    let (number, unit) = units.iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?, *unit)))?;
    let (value, digits) = decimal(number.trim_end())?;
    // As exact as it was written, but not less than to the second.
    let step = (unit * 10_f64.powi(-(digits as i32))).min(1e3);
    let half = if unit > 1e3 { 500.0 } else { step / 2.0 };
    Some(Figure { value: rounded(value * unit), half, digits: digits + 1 })
}

/// Without what binary fractions add: a span has no more than nanoseconds.
fn rounded(millis: f64) -> f64 {
    format!("{millis:.6}").parse().unwrap_or(millis)
}

/// A number of digits and at most one point, and how many digits stand behind that.
fn decimal(text: &str) -> Option<(f64, usize)> {
    let digits = text.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let is_number = is_plain && text.len() <= MOST_DIGITS && text.bytes().any(|byte| byte.is_ascii_digit());
    Some((text.parse().ok().filter(|_| is_number)?, digits))
}

/// No number of a record has more digits.
const MOST_DIGITS: usize = 15;

#[cfg(test)]
mod tests {
    use super::*;

    fn is(text: &str, measure: Measure) -> Option<(f64, f64)> {
        let range = range(text, Operator::Is, measure)?.ok()?;
        Some((range.from?.0, range.to?.0))
    }

    #[test]
    fn a_number_is_as_exact_as_it_is_written() {
        assert_eq!(is("4.2", Measure::Score), Some((4.15, 4.25)));
        assert_eq!(is("3", Measure::Score), Some((2.5, 3.5)));
        assert_eq!(is("2%", Measure::Percent), Some((1.5, 2.5)));
        assert_eq!(is("12", Measure::Count), Some((12.0, 12.0)));
        assert_eq!(is("30s", Measure::Seconds), Some((29_500.0, 30_500.0)));
        assert_eq!(is("30", Measure::Seconds), Some((29_500.0, 30_500.0)));
        assert_eq!(is("2m", Measure::Seconds), Some((119_500.0, 120_500.0)));
        assert_eq!(is("4:05", Measure::Seconds), Some((244_500.0, 245_500.0)));
        assert_eq!(is("1.5s", Measure::Seconds), Some((1_450.0, 1_550.0)));
        assert_eq!(is("20", Measure::Millis), Some((19.5, 20.5)));
    }

    #[test]
    fn ranges() {
        assert_eq!(is("1m..5m", Measure::Seconds), Some((60_000.0, 300_000.0)));
        assert_eq!(is("1.1s..1:00:00", Measure::Seconds), Some((1_100.0, 3_600_000.0)));
        assert_eq!(is("1..1", Measure::Count), Some((1.0, 1.0)));
        let open = range("3..", Operator::Is, Measure::Count).unwrap().unwrap();
        assert!(open.contains(3.0) && open.contains(1e9) && !open.contains(2.0));
        let below = range("..3", Operator::Is, Measure::Count).unwrap().unwrap();
        assert!(below.contains(0.0) && !below.contains(4.0));
        assert!(range("5..3", Operator::Is, Measure::Count).unwrap().is_err());
        let above = range("2", Operator::Above, Measure::Percent).unwrap().unwrap();
        assert!(above.contains(2.001) && !above.contains(2.0));
    }

    #[test]
    fn what_is_no_number() {
        for text in ["", ".", "..", "x", "1e3", "-1", "1.2.3", "NaN", "inf", "9999999999999999", "3s"] {
            assert_eq!(is(text, Measure::Score), None, "{text}");
        }
        for text in ["1:2", "1:02:03:04", "1.5:00", "3x", ":", "s"] {
            assert_eq!(is(text, Measure::Seconds), None, "{text}");
        }
        assert_eq!(is("1.5", Measure::Count), None);
        assert_eq!(range("1..2", Operator::Above, Measure::Count), None);
    }
}
