//! Times as people and logs write them.

use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::{SignedDuration, Timestamp, ToSpan};
use ringtap_model::Nanos;

use crate::context::Context;
use crate::lexer::Operator;
use crate::value::TimeSpan;

/// A time as it was written.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Written {
    /// All of a day.
    Day(Date),
    /// A time of day without the day, and how much of time it names.
    Clock(Time, SignedDuration),
    /// A moment of the zone's calendar, and how much of time it names.
    Civil(DateTime, SignedDuration),
    /// The same with an offset.
    Instant(Timestamp, SignedDuration),
    /// So long ago.
    Ago(Timestamp),
}

/// The span of time that compares so with a text. None if it is no time; an error says why it cannot
/// be.
pub(crate) fn span(text: &str, operator: Operator, context: &Context) -> Option<Result<TimeSpan, String>> {
    let text = text.trim();
    if operator == Operator::Is {
        return match text.split_once("..") {
            Some((from, to)) => between(from.trim(), to.trim(), context),
            None => written(text, context).map(|written| whole(written, context)),
        };
    }
    Some(compared(written(text, context)?, operator, context))
}

/// Whether a text that stands without a field is a time. A date is one; a number is not.
pub(crate) fn is_time(text: &str, context: &Context) -> bool {
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    // `sun` is more often a name than a day.
    let is_short = |text: &str| {
        text.len() == 3 && !text.contains(|c: char| !c.is_alphabetic()) && !text.eq_ignore_ascii_case("now")
    };
    let is_one = |text: &str| !is_digits(text) && !is_short(text) && written(text.trim(), context).is_some();
    match text.split_once("..") {
        Some((from, to)) if from.is_empty() || to.is_empty() => is_one(from) || is_one(to),
        Some((from, to)) => is_one(from) && is_one(to),
        None => is_one(text),
    }
}

/// What a time names by itself: a day, a minute, a second, or all since so long ago.
fn whole(written: Written, context: &Context) -> Result<TimeSpan, String> {
    let from = begin(written, None, context)?;
    let to = match written {
        Written::Day(day) => begin(Written::Day(next(day)?), None, context)?,
        Written::Clock(_, width) | Written::Civil(_, width) | Written::Instant(_, width) => {
            after(from, width)?
        }
        Written::Ago(_) => nanos(now(context))?,
    };
    if from.micros() >= to.micros() {
        // `now` is a moment.
        return Ok(TimeSpan { from: Some(from), to: Some(Nanos::from_micros(from.micros() + 1)) });
    }
    Ok(TimeSpan { from: Some(from), to: Some(to) })
}

fn compared(written: Written, operator: Operator, context: &Context) -> Result<TimeSpan, String> {
    let from = begin(written, None, context)?;
    let behind = match written {
        Written::Day(day) => begin(Written::Day(next(day)?), None, context)?,
        _ => Nanos::from_micros(from.micros() + 1),
    };
    Ok(match operator {
        Operator::Above => TimeSpan { from: Some(behind), to: None },
        Operator::Below => TimeSpan { from: None, to: Some(from) },
        Operator::AtMost => TimeSpan { from: None, to: Some(behind) },
        Operator::AtLeast | Operator::Is => TimeSpan { from: Some(from), to: None },
    })
}

/// From one time to another: a day at the end is in it, a clock time at the end is not.
fn between(from: &str, to: &str, context: &Context) -> Option<Result<TimeSpan, String>> {
    let end = |text: &str| if text.is_empty() { Some(None) } else { written(text, context).map(Some) };
    let (from, to) = (end(from)?, end(to)?);
    if from.is_none() && to.is_none() {
        return None;
    }
    let span = || {
        let from = from.map(|written| begin(written, None, context)).transpose()?;
        let to = match to {
            None => None,
            Some(Written::Day(day)) => Some(begin(Written::Day(next(day)?), None, context)?),
            Some(written) => Some(begin(written, from, context)?),
        };
        let span = TimeSpan { from, to };
        if span.is_empty() { Err("the time ends before it begins".to_owned()) } else { Ok(span) }
    };
    Some(span())
}

/// The moment at which a time begins. One without a day is the latest that is not in the future, or the first
/// after `since`.
fn begin(written: Written, since: Option<Nanos>, context: &Context) -> Result<Nanos, String> {
    let instant = match written {
        Written::Day(day) => zoned(day.at(0, 0, 0, 0), context)?,
        Written::Civil(civil, _) => zoned(civil, context)?,
        Written::Instant(instant, _) | Written::Ago(instant) => instant,
        Written::Clock(clock, _) => {
            let near = since.map_or_else(|| Ok(now(context)), timestamp)?;
            let today = context.zone.to_datetime(near).date();
            let there = zoned(today.to_datetime(clock), context)?;
            let other = match since {
                Some(_) if there <= near => next(today)?,
                None if there > near => today.yesterday().map_err(|_| BEFORE)?,
                _ => today,
            };
            zoned(other.to_datetime(clock), context)?
        }
    };
    nanos(instant)
}

/// Where clocks are put back, the earlier of two moments; where they are put forward, as long after.
fn zoned(civil: DateTime, context: &Context) -> Result<Timestamp, String> {
    context.zone.to_timestamp(civil).map_err(|_| BEFORE.to_owned())
}

fn next(day: Date) -> Result<Date, String> {
    day.tomorrow().map_err(|_| BEFORE.to_owned())
}

fn now(context: &Context) -> Timestamp {
    timestamp(context.now).unwrap_or(Timestamp::UNIX_EPOCH)
}

fn timestamp(time: Nanos) -> Result<Timestamp, String> {
    Timestamp::from_nanosecond(i128::from(time.0)).map_err(|_| BEFORE.to_owned())
}

fn nanos(instant: Timestamp) -> Result<Nanos, String> {
    // Whole microseconds, as records have them.
    let micros = u64::try_from(instant.as_microsecond()).map_err(|_| BEFORE)?;
    micros.checked_mul(1_000).map(Nanos).ok_or_else(|| BEFORE.to_owned())
}

fn after(from: Nanos, width: SignedDuration) -> Result<Nanos, String> {
    let width = u64::try_from(width.as_nanos()).map_err(|_| BEFORE)?;
    Ok(from + Nanos(width))
}

const BEFORE: &str = "the time lies before 1970 or too far in the future";

fn written(text: &str, context: &Context) -> Option<Written> {
    let lower = text.to_ascii_lowercase();
    if lower == "now" {
        return Some(Written::Ago(now(context)));
    }
    if let Some(span) = lower.strip_prefix('-') {
        return Some(Written::Ago(now(context).checked_sub(ago(span)?).ok()?));
    }
    if let Some(clock) = clock(&lower) {
        return Some(Written::Clock(clock.0, clock.1));
    }
    if let Some(written) = epoch(text).or_else(|| instant(text)) {
        return Some(written);
    }
    let (day, rest) = day(&lower, context)?;
    let rest = rest.trim_start_matches(['t', ' ', ',']);
    if rest.is_empty() {
        return Some(Written::Day(day));
    }
    let (time, width) = clock(rest)?;
    Some(Written::Civil(day.to_datetime(time), width))
}

/// `2h`, `90m`, `1h30m`.
fn ago(mut text: &str) -> Option<SignedDuration> {
    let mut span = SignedDuration::ZERO;
    while !text.is_empty() {
        let (number, rest) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
        let (unit, rest) = rest.split_at(rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len()));
        let number: i64 = number.parse().ok().filter(|number| *number < 1_000_000_000)?;
        span = span.checked_add(match unit {
            "ms" => SignedDuration::from_millis(number),
            "s" => SignedDuration::from_secs(number),
            "m" | "min" => SignedDuration::from_secs(number * 60),
            "h" => SignedDuration::from_secs(number * 3_600),
            "d" => SignedDuration::from_secs(number * 86_400),
            "w" => SignedDuration::from_secs(number * 604_800),
            _ => return None,
        })?;
        text = rest;
    }
    (!span.is_zero()).then_some(span)
}

/// `14:03`, `14:03:20`, `14:03:20.123` (or with a comma), and how much of time it names.
fn clock(text: &str) -> Option<(Time, SignedDuration)> {
    let (whole, fraction) = text.split_once(['.', ',']).map_or((text, None), |(a, b)| (a, Some(b)));
    let mut parts = whole.split(':');
    let figure = |text: &str, lengths: &[usize]| {
        let is_plain = lengths.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<i8>().ok().filter(|_| is_plain)
    };
    let (hour, minute) = (figure(parts.next()?, &[1, 2])?, figure(parts.next()?, &[2])?);
    let second = parts.next().map(|second| figure(second, &[2]));
    if parts.next().is_some() || (fraction.is_some() && second.is_none()) {
        return None;
    }
    let (nanos, width) = match (second, fraction) {
        (None, _) => (0, SignedDuration::from_secs(60)),
        (Some(_), None) => (0, SignedDuration::from_secs(1)),
        (Some(_), Some(fraction)) => self::fraction(fraction)?,
    };
    let second = second.map_or(Some(0), |second| second)?;
    Some((Time::new(hour, minute, second, nanos).ok()?, width))
}

/// The nanoseconds of the digits behind the point, and how much of time the last of them is; not less than a
/// microsecond.
fn fraction(digits: &str) -> Option<(i32, SignedDuration)> {
    let is_plain = (1..=9).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    let nanos: i32 = format!("{digits:0<9}").parse().ok().filter(|_| is_plain)?;
    let width = 10_i64.pow(9 - digits.len() as u32).max(1_000);
    Some((nanos / 1_000 * 1_000, SignedDuration::from_nanos(width)))
}

/// Seconds, milliseconds or microseconds since 1970.
fn epoch(text: &str) -> Option<Written> {
    let number: i64 = text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))?;
    let (instant, width) = match text.len() {
        10 => (Timestamp::from_second(number), SignedDuration::from_secs(1)),
        13 => (Timestamp::from_millisecond(number), SignedDuration::from_millis(1)),
        16 => (Timestamp::from_microsecond(number), SignedDuration::from_micros(1)),
        _ => return None,
    };
    Some(Written::Instant(instant.ok()?, width))
}

/// `2026-11-21T14:03:20.5Z`, `2026-11-21 14:03+01:00`.
fn instant(text: &str) -> Option<Written> {
    let place = text.find(':')?;
    let behind = text[place..].find(['Z', 'z', '+', '-']).map(|offset| place + offset)?;
    let (civil, offset) = text.split_at(behind);
    let (day, time) = civil.trim_end().split_once(['T', 't', ' '])?;
    let (time, width) = clock(time.trim())?;
    let offset = offset.trim();
    let offset = match offset.len() {
        // `+0100`, as RFC 2822 has it.
        5 if !offset.contains(':') => format!("{}:{}", offset.get(..3)?, offset.get(3..)?),
        _ => offset.to_owned(),
    };
    let instant = format!("{}T{time}{offset}", iso(day)?).parse().ok()?;
    Some(Written::Instant(instant, width))
}

/// `2026-11-21`, also with `/`.
fn iso(text: &str) -> Option<Date> {
    let mut parts = text.split(['-', '/']);
    let mut part = |length: usize| {
        parts.next().filter(|part| part.len() == length && part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let (year, month, day) = (part(4)?.parse().ok()?, part(2)?.parse().ok()?, part(2)?.parse().ok()?);
    if parts.next().is_some() { None } else { Date::new(year, month, day).ok() }
}

/// The day at the beginning of a text in lower case, and what follows it.
fn day<'t>(text: &'t str, context: &Context) -> Option<(Date, &'t str)> {
    let today = context.zone.to_datetime(now(context)).date();
    let first = text.split([' ', 't']).next().unwrap_or_default();
    if let Some(day) = iso(first) {
        return Some((day, &text[first.len()..]));
    }
    let first = text.split(' ').next().unwrap_or_default();
    let rest = &text[first.len()..];
    match first {
        "today" => return Some((today, rest)),
        "yesterday" => return Some((today.yesterday().ok()?, rest)),
        _ => {}
    }
    if let Some(weekday) = named(first, &WEEKDAYS) {
        let weekday = Weekday::from_monday_zero_offset(i8::try_from(weekday).ok()?).ok()?;
        // The latest of that name that is over, or today.
        let back = today.weekday().since(weekday);
        return Some((today.checked_sub(i64::from(back).days()).ok()?, rest));
    }
    // `Nov 21 14:03:20`, as syslog has it: the latest that is not in the future.
    let month = i8::try_from(named(first, &MONTHS)? + 1).ok()?;
    let rest = rest.trim_start();
    let number = rest.split(' ').next().unwrap_or_default();
    let day: i8 = number.parse().ok()?;
    let this = Date::new(today.year(), month, day).ok().filter(|day| *day <= today);
    let date = this.or_else(|| Date::new(today.year() - 1, month, day).ok())?;
    Some((date, &rest[number.len()..]))
}

/// The number of the name that a word is, whole or its first three letters.
fn named(word: &str, names: &[&str]) -> Option<usize> {
    names.iter().position(|name| word == *name || (word.len() == 3 && name.starts_with(word)))
}

const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

#[cfg(test)]
mod tests;
