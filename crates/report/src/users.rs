//! The table of users.

use std::io::{self, Write};

use ringtap_model::User;

use crate::style::Style;
use crate::table::{self, Cell, Column};
use crate::time;

const COLUMNS: &[Column] = &[
    Column::word("LAST", 0),
    Column::text("AOR", 28, 12, 0),
    Column::text("ADDRESS", 21, 15, 4),
    Column::figure("REG", 0),
    Column::figure("FAILED", 0),
    Column::figure("MADE", 0),
    Column::figure("ANSW", 0),
    Column::figure("RECV", 0),
    Column::figure("ANSW", 3),
    Column::text("OTHERS", 16, 10, 5),
    Column::word("CODES", 1),
    Column::text("DEVICE", 14, 8, 6),
];

fn cells(user: &User, dated: bool) -> Vec<Cell> {
    let plain = |count: u32| Cell::plain(count.to_string());
    // The calls and registrations have columns of their own.
    let others = user.methods.iter().filter(|count| !matches!(count.method.as_str(), "REGISTER" | "INVITE"));
    let others: Vec<String> = others.map(|count| format!("{} {}", count.count, count.method)).collect();
    let codes = user.failures.iter().take(CODES).map(|failure| format!("{}x{}", failure.count, failure.code));
    let codes = codes.collect::<Vec<_>>().join(" ");
    let failed = if user.registrations_failed > 0 { Style::Bad } else { Style::Plain };
    let known = |text: &str| Cell::known((!text.is_empty()).then_some(text));
    vec![
        Cell::plain(time::moment(user.last, dated)),
        Cell::plain(&user.aor),
        Cell::known(user.address.map(|address| address.to_string()).as_deref()),
        plain(user.registrations),
        Cell::new(user.registrations_failed.to_string(), failed),
        plain(user.calls_made),
        plain(user.calls_made_answered),
        plain(user.calls_received),
        plain(user.calls_received_answered),
        known(&others.join(", ")),
        known(&codes),
        Cell::known(user.user_agent.as_deref()),
    ]
}

/// Writes the table, the user seen last at its end.
pub fn write(out: &mut dyn Write, users: &[User], width: usize, colour: bool) -> io::Result<()> {
    let mut users: Vec<&User> = users.iter().collect();
    users.sort_by_key(|user| user.last);
    let dated = table::day(out, users.iter().map(|user| user.last), colour)?;
    table::write(out, COLUMNS, users.iter().map(|user| cells(user, dated)), width, colour)
}

/// Codes in the table; the record has all.
const CODES: usize = 3;

#[cfg(test)]
mod tests {
    use ringtap_testing::samples;

    use super::*;
    use crate::text;

    #[test]
    fn address_failures_and_codes_stay_at_every_width() {
        let user = User { user_agent: Some("evil\x1b[2J".into()), ..samples::user() };
        for width in [80, 120, 200] {
            let mut out = Vec::new();
            write(&mut out, std::slice::from_ref(&user), width, false).unwrap();
            let table = String::from_utf8(out).unwrap();
            assert!(table.lines().all(|line| text::width(line) <= width), "{table}");
            for shown in ["2026-11-21 (UTC)", "221111111", "REG", "RECV", "5x403 2x486"] {
                assert!(table.contains(shown), "{shown} at {width}: {table}");
            }
            assert!(!table.contains('\x1b'));
        }
    }
}
