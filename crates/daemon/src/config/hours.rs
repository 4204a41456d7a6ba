//! Hours of days: `"Mon-Fri 08:00-20:00"`.

use ringtap_alarm::Hours;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::key::{key_values, quoted};

/// When something holds; always where it is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WeekHours {
    text: String,
    hours: Option<Hours>,
}

impl WeekHours {
    /// None for always.
    pub(crate) fn hours(&self) -> Option<Hours> {
        self.hours.clone()
    }
}

impl<'de> Deserialize<'de> for WeekHours {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let hours = parse(&text).ok_or_else(|| D::Error::custom("no hours"))?;
        Ok(Self { text, hours: Some(hours) })
    }
}

key_values! {
    WeekHours: "days and hours, such as \"Mon-Fri 08:00-20:00\", \"Sat,Sun 00:00-24:00\" or \"20:00-06:00\"",
        |hours| quoted(&hours.text);
}

/// Days, which may be left out, and a time from and to. A time that is not later than the first is one of the
/// next day.
fn parse(text: &str) -> Option<Hours> {
    let (days, times) = text.trim().rsplit_once(' ').unwrap_or(("Mon-Sun", text.trim()));
    let (from, to) = times.split_once('-')?;
    let (from, to) = (minutes(from)?, minutes(to)?);
    (from < MIDNIGHT).then_some(Hours { days: parse_days(days)?, from, to })
}

fn parse_days(text: &str) -> Option<[bool; 7]> {
    let mut days = [false; 7];
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (mut at, last) = (day(first)?, day(last)?);
        days[last] = true;
        // Sat-Mon goes over the end of the week.
        while at != last {
            days[at] = true;
            at = (at + 1) % 7;
        }
    }
    Some(days)
}

fn day(text: &str) -> Option<usize> {
    DAYS.iter().position(|day| day.eq_ignore_ascii_case(text.trim()))
}

/// `08:00` to `24:00`.
fn minutes(text: &str) -> Option<u16> {
    let (hours, minutes) = text.split_once(':')?;
    let number = |text: &str| {
        let is_right = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        is_right.then(|| text.parse::<u16>().ok()).flatten()
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    let at = hours * 60 + minutes;
    (minutes < 60 && at <= MIDNIGHT).then_some(at)
}

const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
/// The end of a day.
const MIDNIGHT: u16 = 24 * 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_hours() {
        let days = |text: &str| text.bytes().map(|day| day == b'x').collect::<Vec<_>>();
        for (text, on, from, to) in [
            ("Mon-Fri 08:00-20:00", "xxxxx--", 480, 1200),
            ("20:00-06:00", "xxxxxxx", 1200, 360),
            ("Sat,Sun 00:00-24:00", "-----xx", 0, 1440),
            ("sat-mon,wed 07:30-07:31", "x-x--xx", 450, 451),
        ] {
            let hours = parse(text).expect(text);
            assert_eq!((hours.days.to_vec(), hours.from, hours.to), (days(on), from, to), "{text}");
        }
        for wrong in [
            "Mon",
            "Mon 8:00-9:00",
            "Mon 08:00",
            "Day 08:00-09:00",
            "24:00-08:00",
            "08:60-09:00",
            "08:00-24:01",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
