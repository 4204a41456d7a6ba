//! The table of sessions of subscribers, and that of those who had an address.

use std::io::{self, Write};

use ringtap_model::{HeldAddress, Identity, Nanos, SessionSource};

use crate::style::Style;
use crate::table::{self, Cell, Column};
use crate::text::grouped;
use crate::time;

const SESSIONS: &[Column] = &[
    Column::word("START", 0),
    Column::word("END", 0),
    Column::text("USER", 20, 10, 0),
    Column::text("STATION", 17, 12, 3),
    Column::text("ADDRESSES", 32, 15, 0),
    Column::text("NAS", 15, 10, 4),
    Column::figure("BYTES IN", 5),
    Column::figure("BYTES OUT", 5),
    Column::word("ENDED BY", 2),
    Column::word("SOURCE", 4),
];

const HOLDERS: &[Column] = &[
    Column::word("FROM", 0),
    Column::word("UNTIL", 0),
    Column::text("USER", 20, 10, 0),
    Column::text("STATION", 17, 12, 2),
    Column::text("ADDRESS", 30, 15, 0),
    Column::text("ATTRIBUTE", 21, 10, 4),
    Column::text("NAS", 15, 10, 3),
    Column::text("SESSION", 16, 8, 5),
    Column::word("FRAMES", 0),
];

/// Writes the table of sessions, the latest to begin at its end.
pub fn write(out: &mut dyn Write, sessions: &[Identity], width: usize, colour: bool) -> io::Result<()> {
    let mut sessions: Vec<&Identity> = sessions.iter().collect();
    sessions.sort_by_key(|session| session.start);
    let times = sessions.iter().flat_map(|session| [since(session, session.start), session.end]).flatten();
    let dated = table::day(out, times, colour)?;
    table::write(out, SESSIONS, sessions.iter().map(|session| cells(session, dated)), width, colour)
}

fn cells(session: &Identity, dated: bool) -> Vec<Cell> {
    let addresses = [&session.ipv4[..], &session.ipv6_prefixes].concat().join(" ");
    let bytes = |count: Option<u64>| Cell::known(count.map(grouped));
    vec![
        Cell::known(since(session, session.start).map(|start| time::moment(start, dated))),
        end(session.end, dated),
        Cell::known(session.user.as_deref()),
        Cell::known(session.station.as_deref()),
        Cell::known((!addresses.is_empty()).then_some(addresses)),
        Cell::plain(&session.nas),
        bytes(session.octets_in),
        bytes(session.octets_out),
        Cell::known(session.end_cause.map(|cause| cause.name())),
        Cell::plain(source(session).name()),
    ]
}

/// Writes the table of those who had an address, each with the frames that say from when and until when.
pub fn write_holders<'a>(
    out: &mut dyn Write,
    holders: impl Iterator<Item = (&'a Identity, &'a HeldAddress)> + Clone,
    width: usize,
    colour: bool,
) -> io::Result<()> {
    let times = holders.clone().flat_map(|(session, held)| [since(session, held.from), held.until]).flatten();
    let dated = table::day(out, times, colour)?;
    let rows = holders.map(|(session, held)| holder(session, held, dated));
    table::write(out, HOLDERS, rows, width, colour)
}

fn holder(session: &Identity, held: &HeldAddress, dated: bool) -> Vec<Cell> {
    let ports = held.first_port.zip(held.last_port);
    let address = match ports {
        Some((first, last)) => format!("{} {first}-{last}", held.network),
        None => held.network.clone(),
    };
    let frames = match held.until_frame {
        _ if source(session) == SessionSource::Static => None,
        Some(until) => Some(format!("{}, {until}", held.from_frame)),
        None => Some(held.from_frame.to_string()),
    };
    vec![
        Cell::known(since(session, held.from).map(|from| time::moment(from, dated))),
        end(held.until, dated),
        Cell::known(session.user.as_deref()),
        Cell::known(session.station.as_deref()),
        Cell::plain(address),
        Cell::plain(&held.attribute),
        Cell::plain(&session.nas),
        Cell::known(session.session.as_deref()),
        Cell::known(frames),
    ]
}

fn source(session: &Identity) -> SessionSource {
    session.source.unwrap_or(SessionSource::Radius)
}

/// `None` for what a file says to have been so for ever.
fn since(session: &Identity, from: Nanos) -> Option<Nanos> {
    let is_ever = source(session) == SessionSource::Static && from == Nanos::ZERO;
    (!is_ever).then_some(from)
}

fn end(end: Option<Nanos>, dated: bool) -> Cell {
    match end {
        Some(end) => Cell::plain(time::moment(end, dated)),
        None => Cell::new("open", Style::Good),
    }
}

#[cfg(test)]
mod tests {
    use ringtap_testing::samples;

    use super::*;
    use crate::text;

    #[test]
    fn a_range_of_a_file_has_no_beginning_and_no_frames() {
        let mut session = Identity { source: Some(SessionSource::Static), ..samples::identity() };
        (session.start, session.addresses[0].from) = (Nanos::ZERO, Nanos::ZERO);
        let mut out = Vec::new();
        write(&mut out, std::slice::from_ref(&session), 200, false).unwrap();
        let held = session.addresses.iter().map(|held| (&session, held));
        write_holders(&mut out, held, 200, false).unwrap();
        let table = String::from_utf8(out).unwrap();
        assert!(table.contains("static") && !table.contains("1970") && !table.contains("12"), "{table}");
    }

    #[test]
    fn user_addresses_and_frames_stay_at_every_width() {
        let session = Identity { station: Some("evil\x1b[2J".into()), ..samples::identity() };
        for width in [80, 120, 200] {
            let mut out = Vec::new();
            write(&mut out, std::slice::from_ref(&session), width, false).unwrap();
            let held = session.addresses.iter().map(|held| (&session, held));
            write_holders(&mut out, held, width, false).unwrap();
            let table = String::from_utf8(out).unwrap();
            assert!(table.lines().all(|line| text::width(line) <= width), "{table}");
            for shown in ["2026-11-21 (UTC)", "bob", "203.0.113.7", "open", "12", "FRAMES"] {
                assert!(table.contains(shown), "{shown} at {width}: {table}");
            }
            assert!(!table.contains('\x1b'));
        }
    }
}
