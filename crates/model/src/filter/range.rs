//! Ranges of status codes and of durations.

use std::str::FromStr;

/// Status codes: `486`, `4xx`, or `400-499`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeRange {
    /// The lowest.
    pub first: u16,
    /// The highest.
    pub last: u16,
}

impl CodeRange {
    /// Whether `code` is among them; 0, which stands for none, never is.
    pub fn contains(self, code: u16) -> bool {
        (self.first..=self.last).contains(&code)
    }
}

impl FromStr for CodeRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "write a status code such as 486, 4xx or 400-499".to_owned();
        let code = |text: &str| {
            let code = text.trim().parse().ok().filter(|code| (100..=699).contains(code));
            code.ok_or_else(wrong)
        };
        let text = text.trim();
        let lower = text.to_ascii_lowercase();
        if let Some(class) = lower.strip_suffix("xx") {
            let first = code(&format!("{class}00"))?;
            return Ok(Self { first, last: first + 99 });
        }
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let (first, last) = (code(first)?, code(last)?);
        if first <= last { Ok(Self { first, last }) } else { Err(wrong()) }
    }
}

/// Durations: `>30s`, `>=30s`, `<2m`, `<=2m`, or `10s-60s` with both ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DurationRange {
    /// Milliseconds, and whether this very duration is in the range.
    pub from: Option<(f64, bool)>,
    /// Milliseconds, and whether this very duration is in the range.
    pub to: Option<(f64, bool)>,
}

impl DurationRange {
    /// Whether a duration in milliseconds is in the range.
    pub fn contains(self, millis: f64) -> bool {
        let above = |(from, with)| millis > from || (with && millis == from);
        let below = |(to, with)| millis < to || (with && millis == to);
        self.from.is_none_or(above) && self.to.is_none_or(below)
    }
}

impl FromStr for DurationRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let end = |rest: &str, with| millis(rest).map(|millis| Some((millis, with)));
        if let Some(rest) = text.strip_prefix('>') {
            let (rest, with) = rest.strip_prefix('=').map_or((rest, false), |rest| (rest, true));
            return Ok(Self { from: end(rest, with)?, to: None });
        }
        if let Some(rest) = text.strip_prefix('<') {
            let (rest, with) = rest.strip_prefix('=').map_or((rest, false), |rest| (rest, true));
            return Ok(Self { from: None, to: end(rest, with)? });
        }
        let (from, to) = text.split_once('-').ok_or_else(wrong_range)?;
        let range = Self { from: end(from, true)?, to: end(to, true)? };
        if millis(from)? <= millis(to)? { Ok(range) } else { Err(wrong_range()) }
    }
}

fn wrong_range() -> String {
    "write '>30s', '<2m' or '10s-60s', with quotes (ms, s, m, h; 4:05 is 4 minutes 5 seconds)".to_owned()
}

/// A duration in milliseconds: `30s`, `500ms`, `2m`, `1.5h`, `30` (seconds), `4:05`, `1:02:03`.
fn millis(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let figure = |text: &str| -> Result<f64, String> {
        let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        text.parse().ok().filter(|_| plain).ok_or_else(wrong_range)
    };
    if text.contains(':') {
        let seconds =
            text.split(':').try_fold(0.0, |sum, part| Ok::<_, String>(sum * 60.0 + figure(part)?))?;
        return Ok(seconds * 1e3);
    }
    // The longer suffix first.
    let units = [("ms", 1.0), ("s", 1e3), ("m", 60e3), ("h", 3_600e3), ("", 1e3)];
    let unit = units.iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)));
    let (number, factor) = unit.ok_or_else(wrong_range)?;
    Ok(figure(number.trim_end())? * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes() {
        let range = |text: &str| text.parse::<CodeRange>().map(|range| (range.first, range.last));
        assert_eq!(range("486"), Ok((486, 486)));
        assert_eq!(range("4xx"), Ok((400, 499)));
        assert_eq!(range("5XX"), Ok((500, 599)));
        assert_eq!(range("400-404"), Ok((400, 404)));
        for wrong in ["", "xx", "7xx", "48x", "99", "404-400", "4", "busy", "400-"] {
            assert!(range(wrong).unwrap_err().contains("4xx"), "{wrong}");
        }
        assert!(!"100-699".parse::<CodeRange>().unwrap().contains(0));
    }

    #[test]
    fn durations() {
        let contains = |range: &str, millis| range.parse::<DurationRange>().unwrap().contains(millis);
        assert!(contains(">30s", 30_001.0) && !contains(">30s", 30_000.0) && contains(">=30s", 30_000.0));
        assert!(contains("<2m", 119_999.0) && !contains("<2m", 120_000.0) && contains("<=2m", 120_000.0));
        assert!(
            contains("10s-60s", 10_000.0) && contains("10s-60s", 60_000.0) && !contains("10-60", 9_999.0)
        );
        assert!(
            contains(">4:05", 245_001.0) && !contains(">4:05", 245_000.0) && contains("<1:02:03", 3_722e3)
        );
        assert!(contains("<500ms", 499.0) && contains(">1.5h", 5_400_001.0) && contains("> 30 s", 30_001.0));
        for wrong in ["", "30s", ">", ">x", "60s-10s", ">-5s", ">inf", ">1d", "1s-", ">1e9"] {
            assert!(wrong.parse::<DurationRange>().unwrap_err().contains(">30s"), "{wrong}");
        }
    }
}
