//! The table of alarms.

use std::io::{self, Write};

use ringtap_model::{Alarm, Nanos, Severity};

use crate::style::Style;
use crate::table::{self, Cell, Column};
use crate::time;

const COLUMNS: &[Column] = &[
    Column::word("RAISED", 0),
    Column::word("STOOD", 0),
    Column::word("SEVERITY", 0),
    Column::text("RULE", 20, 10, 1),
    Column::text("SUBJECT", 16, 10, 3),
    Column::text("ALARM", 60, 30, 0),
    Column::word("ID", 2),
];

/// One line of the table: what it does not show is not kept.
pub struct Row {
    raised: Nanos,
    stood: String,
    severity: Severity,
    rule: Box<str>,
    subject: Box<str>,
    text: Box<str>,
    id: String,
    stands: bool,
}

impl Row {
    /// The line of `alarm`.
    pub fn new(alarm: &Alarm) -> Self {
        let known = if alarm.acknowledged.is_some() { "stands, known" } else { "stands" };
        let cleared = |cleared: Nanos| time::span(cleared.since(alarm.raised).millis_f64());
        Self {
            raised: alarm.raised,
            stood: alarm.cleared.map_or_else(|| known.to_owned(), cleared),
            severity: alarm.severity,
            rule: table::kept(&alarm.rule),
            subject: table::kept(&alarm.subject),
            text: alarm.text.as_str().into(),
            id: alarm.id.to_string()[..ID_SHOWN].to_owned(),
            stands: alarm.cleared.is_none(),
        }
    }

    fn cells(&self, dated: bool) -> Vec<Cell> {
        let style = match (self.stands, self.severity) {
            (true, Severity::Critical | Severity::Warning) => Style::Bad,
            _ => Style::Plain,
        };
        vec![
            Cell::plain(time::moment(self.raised, dated)),
            Cell::new(&self.stood, style),
            Cell::new(self.severity.name(), style),
            Cell::plain(&self.rule),
            Cell::plain(&self.subject),
            Cell::plain(&self.text),
            Cell::plain(&self.id),
        ]
    }
}

/// Writes the table in order of time.
pub fn write(out: &mut dyn Write, mut rows: Vec<Row>, width: usize, colour: bool) -> io::Result<()> {
    rows.sort_by_key(|row| row.raised);
    let dated = table::day(out, rows.iter().map(|row| row.raised), colour)?;
    table::write(out, COLUMNS, rows.iter().map(|row| row.cells(dated)), width, colour)
}

/// Digits of an id: enough to name a standing alarm.
const ID_SHOWN: usize = 8;

#[cfg(test)]
mod tests {
    use ringtap_testing::samples;

    use super::*;

    #[test]
    fn a_standing_alarm_and_one_that_cleared() {
        let standing = Alarm { cleared: None, acknowledged: None, ..samples::alarm() };
        let cleared = Alarm { cleared: Some(standing.raised + Nanos::from_secs(75)), ..standing.clone() };
        let mut out = Vec::new();
        write(&mut out, vec![Row::new(&standing), Row::new(&cleared)], 200, false).unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.iter().any(|line| line.contains("stands") && line.contains(&standing.text)), "{text}");
        assert!(lines.iter().any(|line| line.contains("1:15") && !line.contains("stands")), "{text}");
    }
}
