//! The table of registrations.

use std::io::{self, Write};

use ringtap_model::{Endpoint, Nanos, Registration, RegistrationState};

use crate::style::Style;
use crate::table::{self, Cell, Column};
use crate::time;

const COLUMNS: &[Column] = &[
    Column::word("TIME", 0),
    Column::text("AOR", 24, 12, 0),
    Column::text("SOURCE", 21, 15, 0),
    Column::text("REGISTRAR", 21, 15, 3),
    Column::word("STATE", 0),
    Column::figure("CODE", 0),
    Column::figure("REQUESTS", 2),
    Column::text("USER-AGENT", 12, 8, 4),
];

/// One line of the table: what it does not show is not kept.
pub struct Row {
    first: Nanos,
    aor: Box<str>,
    src: Endpoint,
    dst: Endpoint,
    state: RegistrationState,
    code: u16,
    requests: u32,
    agent: Option<Box<str>>,
}

impl Row {
    /// The line of `registration`.
    pub fn new(registration: &Registration) -> Self {
        Self {
            first: registration.first,
            aor: table::kept(&registration.aor),
            src: registration.src,
            dst: registration.dst,
            state: registration.state,
            code: registration.code,
            requests: registration.requests,
            agent: registration.user_agent.as_deref().map(table::kept),
        }
    }

    fn cells(&self, dated: bool) -> Vec<Cell> {
        let (style, code) = match self.state {
            RegistrationState::Active => (Style::Good, Style::Plain),
            RegistrationState::Refused => (Style::Bad, Style::Bad),
            RegistrationState::Expired | RegistrationState::Removed => (Style::Plain, Style::Plain),
        };
        let answer = if self.code > 0 { self.code.to_string() } else { "-".to_owned() };
        vec![
            Cell::plain(time::moment(self.first, dated)),
            Cell::plain(&self.aor),
            Cell::plain(self.src.to_string()),
            Cell::plain(self.dst.to_string()),
            Cell::new(self.state.name(), style),
            Cell::new(answer, code),
            Cell::plain(self.requests.to_string()),
            Cell::known(self.agent.as_deref()),
        ]
    }
}

/// Writes the table in order of time.
pub fn write(out: &mut dyn Write, mut rows: Vec<Row>, width: usize, colour: bool) -> io::Result<()> {
    rows.sort_by_key(|row| row.first);
    let dated = table::day(out, rows.iter().map(|row| row.first), colour)?;
    table::write(out, COLUMNS, rows.iter().map(|row| row.cells(dated)), width, colour)
}

#[cfg(test)]
mod tests {
    use ringtap_testing::samples;

    use super::*;
    use crate::text;

    #[test]
    fn address_source_and_code_stay_at_every_width() {
        let refused = Registration {
            aor: "2001@example.org".into(),
            state: RegistrationState::Refused,
            code: 403,
            user_agent: Some("evil\x1b[2J".into()),
            ..samples::registration()
        };
        for width in [80, 120, 200] {
            let mut out = Vec::new();
            write(&mut out, vec![Row::new(&refused)], width, false).unwrap();
            let table = String::from_utf8(out).unwrap();
            assert!(table.lines().all(|line| text::width(line) <= width), "{table}");
            let source = refused.src.to_string();
            for shown in ["2026-11-21 (UTC)", "2001@example.org", source.as_str(), "refused", "403"] {
                assert!(table.contains(shown), "{shown} at {width}: {table}");
            }
            assert!(!table.contains('\x1b'));
        }
    }
}
