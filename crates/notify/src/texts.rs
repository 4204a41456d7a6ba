//! Notices as people and programs read them.

use jiff::Timestamp;
use ringtap_model::{Alarm, Nanos};
use serde_json::Value;

use crate::notice::{Notice, NoticeKind};

impl Notice {
    /// The alarm's record with `kind` and `host`, as webhooks get it.
    pub(crate) fn to_json(&self) -> Value {
        // Texts and numbers alone: writing them cannot fail.
        let mut json = serde_json::to_value(&self.alarm).unwrap_or_default();
        json["kind"] = self.kind.name().into();
        json["host"] = self.host.as_str().into();
        json
    }

    /// One line for people: `critical: <sentence>`.
    pub(crate) fn headline(&self) -> String {
        let Alarm { severity, text, .. } = &self.alarm;
        match self.kind {
            NoticeKind::Raised => format!("{}: {text}", severity.name()),
            NoticeKind::Repeated | NoticeKind::Standing => format!("still {}: {text}", severity.name()),
            NoticeKind::Cleared => format!("cleared: {text}"),
            NoticeKind::Acknowledged => format!("acknowledged: {text}"),
        }
    }

    /// The figures and calls behind it, a line each.
    pub(crate) fn details(&self) -> String {
        let alarm = &self.alarm;
        let value = |value: Option<f64>| value.map_or_else(|| "none".to_owned(), number);
        let mut lines = vec![
            format!("rule: {} ({})", alarm.rule, alarm.severity.name()),
            format!(
                "{}: {}",
                alarm.per,
                if alarm.subject.is_empty() { "all traffic" } else { &alarm.subject }
            ),
            format!(
                "{}: {} when it was raised, {} at worst; the rule allows {}",
                alarm.figure,
                value(alarm.value),
                value(alarm.worst),
                number(alarm.threshold)
            ),
            format!("calls, streams or registrations behind it: {}", alarm.behind),
            format!("raised: {}", time(alarm.raised)),
        ];
        lines.extend(alarm.cleared.map(|at| format!("cleared: {}", time(at))));
        lines.extend(alarm.acknowledged.map(|at| {
            let by = alarm.acknowledged_by.as_deref().unwrap_or("somebody");
            let comment = alarm.comment.as_deref().map(|comment| format!(": {comment}")).unwrap_or_default();
            format!("acknowledged: {} by {by}{comment}", time(at))
        }));
        lines.push(format!("noticed by: {}", self.host));
        lines.extend(alarm.calls.iter().map(|call| format!("Call-ID: {call}")));
        // What came from the network must not look like a line of its own.
        let lines: Vec<String> = lines.iter().map(|line| printable(line)).collect();
        lines.join("\n")
    }
}

/// RFC 3339, in UTC.
pub(crate) fn time(at: Nanos) -> String {
    Timestamp::from_microsecond((at.0 / 1000) as i64).unwrap_or_default().to_string()
}

/// Without digits that say nothing.
pub(crate) fn number(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Control characters and line separators as spaces: no text from the network begins a line or header field.
pub(crate) fn printable(text: &str) -> String {
    let is_plain = |letter: char| !letter.is_control() && !matches!(letter, '\u{2028}' | '\u{2029}');
    text.chars().map(|letter| if is_plain(letter) { letter } else { ' ' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notice::tests::notice;

    #[test]
    fn what_people_and_programs_read() {
        let cleared = notice(NoticeKind::Cleared);
        assert_eq!(cleared.headline(), "cleared: 3.25 % of the packets of trunk carrier-a are lost");
        let details = cleared.details();
        assert!(
            details.contains("loss: 3.25 when it was raised, 4 at worst; the rule allows 1"),
            "{details}"
        );
        assert!(details.contains("\ncleared: 2026-11-23T08:00:20Z\n"), "{details}");
        let json = cleared.to_json();
        assert_eq!(
            (&json["type"], &json["kind"], &json["host"]),
            (&"alarm".into(), &"cleared".into(), &"sensor-1".into())
        );
        assert_eq!(json["raised_us"], 1_795_420_800_000_000_u64);
    }

    #[test]
    fn a_call_id_cannot_add_a_line() {
        let mut hostile = notice(NoticeKind::Raised);
        hostile.alarm.calls = vec!["x\r\nraised: never".into()];
        assert!(hostile.details().ends_with("Call-ID: x  raised: never"));
    }
}
