use jiff::tz::TimeZone;

use super::*;

/// Saturday, 21 November 2026, 15:30:00 in Berlin.
fn context() -> Context {
    let zone = TimeZone::get("Europe/Berlin").expect("tzdata is installed");
    Context::new(at("2026-11-21T14:30:00Z"), zone)
}

fn at(text: &str) -> Nanos {
    nanos(text.parse().unwrap()).unwrap()
}

fn shown(text: &str, operator: Operator) -> String {
    let span = match span(text, operator, &context()) {
        None => return "no time".into(),
        Some(Err(error)) => return error,
        Some(Ok(span)) => span,
    };
    let end = |end: Option<Nanos>| end.map_or_else(String::new, |time| timestamp(time).unwrap().to_string());
    format!("{}..{}", end(span.from), end(span.to))
}

#[test]
fn a_time_is_as_long_as_it_is_exact() {
    for (text, expected) in [
        ("14:03", "2026-11-21T13:03:00Z..2026-11-21T13:04:00Z"),
        ("9:03:20", "2026-11-21T08:03:20Z..2026-11-21T08:03:21Z"),
        ("14:03:20.5", "2026-11-21T13:03:20.5Z..2026-11-21T13:03:20.6Z"),
        ("15:31", "2026-11-20T14:31:00Z..2026-11-20T14:32:00Z"),
        ("today", "2026-11-20T23:00:00Z..2026-11-21T23:00:00Z"),
        ("Yesterday", "2026-11-19T23:00:00Z..2026-11-20T23:00:00Z"),
        ("yesterday 15:00", "2026-11-20T14:00:00Z..2026-11-20T14:01:00Z"),
        ("friday 15:00", "2026-11-20T14:00:00Z..2026-11-20T14:01:00Z"),
        ("Saturday", "2026-11-20T23:00:00Z..2026-11-21T23:00:00Z"),
        ("sun", "2026-11-14T23:00:00Z..2026-11-15T23:00:00Z"),
        ("2026-11-03", "2026-11-02T23:00:00Z..2026-11-03T23:00:00Z"),
        ("2026-11-03 02:00", "2026-11-03T01:00:00Z..2026-11-03T01:01:00Z"),
        ("2026-11-03T02:00:07", "2026-11-03T01:00:07Z..2026-11-03T01:00:08Z"),
        ("2026-11-03T02:00:07Z", "2026-11-03T02:00:07Z..2026-11-03T02:00:08Z"),
        ("2026-11-03T02:00:07.123456789-02:00", "2026-11-03T04:00:07.123456Z..2026-11-03T04:00:07.123457Z"),
        ("2026-11-03 02:00 +0100", "2026-11-03T01:00:00Z..2026-11-03T01:01:00Z"),
        ("2026/11/03 02:00:07,250", "2026-11-03T01:00:07.25Z..2026-11-03T01:00:07.251Z"),
        ("Nov 3 02:00:07", "2026-11-03T01:00:07Z..2026-11-03T01:00:08Z"),
        ("Dec  3 02:00:07", "2025-12-03T01:00:07Z..2025-12-03T01:00:08Z"),
        ("1795226400", "2026-11-21T02:00:00Z..2026-11-21T02:00:01Z"),
        ("1795226400123456", "2026-11-21T02:00:00.123456Z..2026-11-21T02:00:00.123457Z"),
        ("-2h", "2026-11-21T12:30:00Z..2026-11-21T14:30:00Z"),
        ("-1h30m", "2026-11-21T13:00:00Z..2026-11-21T14:30:00Z"),
        ("now", "2026-11-21T14:30:00Z..2026-11-21T14:30:00.000001Z"),
    ] {
        assert_eq!(shown(text, Operator::Is), expected, "{text}");
    }
}

#[test]
fn from_one_time_to_another() {
    for (text, expected) in [
        ("14:00..15:00", "2026-11-21T13:00:00Z..2026-11-21T14:00:00Z"),
        ("14:00..16:00", "2026-11-21T13:00:00Z..2026-11-21T15:00:00Z"),
        ("23:00..01:00", "2026-11-20T22:00:00Z..2026-11-21T00:00:00Z"),
        ("yesterday 23:00..01:00", "2026-11-20T22:00:00Z..2026-11-21T00:00:00Z"),
        ("2026-11-20..2026-11-21", "2026-11-19T23:00:00Z..2026-11-21T23:00:00Z"),
        ("-2h..-1h", "2026-11-21T12:30:00Z..2026-11-21T13:30:00Z"),
        ("14:00..", "2026-11-21T13:00:00Z.."),
        ("..14:00", "..2026-11-21T13:00:00Z"),
        ("today..yesterday", "the time ends before it begins"),
        ("..", "no time"),
        ("14:00..x", "no time"),
    ] {
        assert_eq!(shown(text, Operator::Is), expected, "{text}");
    }
}

#[test]
fn comparisons() {
    for (text, operator, expected) in [
        ("14:03", Operator::AtLeast, "2026-11-21T13:03:00Z.."),
        ("14:03", Operator::Above, "2026-11-21T13:03:00.000001Z.."),
        ("14:03", Operator::Below, "..2026-11-21T13:03:00Z"),
        ("14:03", Operator::AtMost, "..2026-11-21T13:03:00.000001Z"),
        ("yesterday", Operator::Above, "2026-11-20T23:00:00Z.."),
        ("yesterday", Operator::AtMost, "..2026-11-20T23:00:00Z"),
        ("-2h", Operator::Above, "2026-11-21T12:30:00.000001Z.."),
    ] {
        assert_eq!(shown(text, operator), expected, "{text} {operator:?}");
    }
}

/// Clocks in Berlin go forward on 29 March 2026 at 02:00 and back on 25 October at 03:00.
#[test]
fn days_are_as_long_as_the_zone_says() {
    assert_eq!(shown("2026-03-29", Operator::Is), "2026-03-28T23:00:00Z..2026-03-29T22:00:00Z");
    assert_eq!(shown("2026-10-25", Operator::Is), "2026-10-24T22:00:00Z..2026-10-25T23:00:00Z");
    assert_eq!(shown("2026-10-25 02:30", Operator::Is), "2026-10-25T00:30:00Z..2026-10-25T00:31:00Z");
}

#[test]
fn what_is_no_time() {
    for text in [
        "",
        "x",
        "24:00",
        "14:60",
        "1:2",
        "14:03:20.",
        "2026-13-01",
        "2026-02-30",
        "-2",
        "-h",
        "-0s",
        "may",
        "nov",
        "nov 31 10:00",
        "2026-11-21 14",
        "12345",
        "-999999999999h",
        "14:03 x",
        "sunday x",
    ] {
        assert_eq!(shown(text, Operator::Is), "no time", "{text}");
    }
    assert!(shown("1969-12-31", Operator::Is).contains("before 1970"));
    assert!(shown("9999-12-31", Operator::Is).contains("1970"));
    assert!(!is_time("1795226400", &context()) && is_time("2026-11-21", &context()));
    assert!(is_time("14:00..", &context()) && !is_time("..", &context()) && !is_time("a..b", &context()));
}
