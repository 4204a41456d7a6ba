//! The table of SIP MESSAGEs.

use std::io::{self, Write};

use ringtap_model::{Endpoint, Message, Nanos};

use crate::style::Style;
use crate::table::{self, Cell, Column};
use crate::time;

const COLUMNS: &[Column] = &[
    Column::word("TIME", 0),
    Column::text("FROM", 20, 8, 0),
    Column::text("TO", 20, 8, 0),
    Column::text("SOURCE", 21, 15, 2),
    Column::text("DESTINATION", 21, 15, 3),
    Column::figure("CODE", 0),
    Column::figure("SIZE", 0),
    Column::text("CONTENT-TYPE", 10, 8, 4),
];

/// One line of the table: what it does not show is not kept.
pub struct Row {
    time: Nanos,
    from: Option<Box<str>>,
    to: Option<Box<str>>,
    src: Endpoint,
    dst: Endpoint,
    code: u16,
    size: u32,
    content_type: Option<Box<str>>,
}

impl Row {
    /// The line of `message`.
    pub fn new(message: &Message) -> Self {
        Self {
            time: message.time,
            from: message.from.as_deref().map(table::kept),
            to: message.to.as_deref().map(table::kept),
            src: message.src,
            dst: message.dst,
            code: message.code,
            size: message.size,
            content_type: message.content_type.as_deref().map(table::kept),
        }
    }

    fn cells(&self, dated: bool) -> Vec<Cell> {
        let style = if self.code >= 300 { Style::Bad } else { Style::Plain };
        let answer = if self.code > 0 { self.code.to_string() } else { "-".to_owned() };
        vec![
            Cell::plain(time::moment(self.time, dated)),
            Cell::known(self.from.as_deref()),
            Cell::known(self.to.as_deref()),
            Cell::plain(self.src.to_string()),
            Cell::plain(self.dst.to_string()),
            Cell::new(answer, style),
            Cell::plain(self.size.to_string()),
            Cell::known(self.content_type.as_deref()),
        ]
    }
}

/// Writes the table in order of time.
pub fn write(out: &mut dyn Write, mut rows: Vec<Row>, width: usize, colour: bool) -> io::Result<()> {
    rows.sort_by_key(|row| row.time);
    let dated = table::day(out, rows.iter().map(|row| row.time), colour)?;
    table::write(out, COLUMNS, rows.iter().map(|row| row.cells(dated)), width, colour)
}

#[cfg(test)]
mod tests {
    use ringtap_testing::samples;

    use super::*;
    use crate::text;

    #[test]
    fn parties_and_code_stay_at_every_width() {
        let message = Message {
            from: Some("alice@example.org".into()),
            to: Some("b\x1b[2Job@example.net".into()),
            code: 404,
            ..samples::message()
        };
        for width in [80, 120, 200] {
            let mut out = Vec::new();
            write(&mut out, vec![Row::new(&message)], width, false).unwrap();
            let table = String::from_utf8(out).unwrap();
            assert!(table.lines().all(|line| text::width(line) <= width), "{table}");
            assert!(table.contains("alice@example.org") && table.contains("404"), "{table}");
            assert!(table.contains("b\\x1b[2Job") && !table.contains('\x1b'), "{table}");
        }
    }
}
