//! The table of calls, each with its worst stream.

use std::io::{self, Write};

use ringtap_model::{Call, CallState, Direction, Nanos, Stream};
use serde_json::Value;

use crate::moment;
use crate::show::style::Style;
use crate::show::table::{Cell, Column, Table};

const COLUMNS: &[Column] = &[
    Column::word("TIME", 0),
    Column::text("FROM", 13, 7, 0),
    Column::text("TO", 13, 7, 0),
    Column::word("STATE", 0),
    Column::figure("CODE", 3),
    Column::figure("PDD", 6),
    Column::figure("LENGTH", 0),
    Column::word("DIR", 7),
    Column::text("CODEC", 5, 5, 5),
    Column::figure("LOSS", 1),
    Column::figure("JITTER", 8),
    Column::figure("MOS", 0),
    Column::figure("10 S", 4),
    Column::text("CALL-ID", 16, 9, 0),
];

/// Where the columns of the worst stream stand.
const STREAM: std::ops::Range<usize> = 7..11;

/// One line of the table. What it does not show of a call is not kept, so that millions of calls fit in memory.
pub(crate) struct Row {
    start: Option<Nanos>,
    cells: Vec<Cell>,
}

/// The fields of a call that a line shows.
struct Fields<'a> {
    start: Option<Nanos>,
    from: Option<&'a str>,
    to: Option<&'a str>,
    state: Option<CallState>,
    code: u64,
    pdd: Option<f64>,
    duration: Option<f64>,
    mos: Option<f64>,
    worst: Option<f64>,
    call_id: &'a str,
}

impl Row {
    /// The line of `call` whose streams are `streams`.
    pub(crate) fn new<'a>(call: &Call, streams: impl Iterator<Item = &'a Stream>) -> Self {
        let fields = Fields {
            start: call.start(),
            from: party(call.from_user.as_deref(), call.from_host.as_deref()),
            to: party(call.to_user.as_deref(), call.to_host.as_deref()),
            state: Some(call.state),
            code: call.final_code.into(),
            pdd: call.pdd_ms,
            duration: call.duration_ms,
            mos: call.mos,
            worst: call.mos_worst_interval,
            call_id: &call.call_id,
        };
        Self::of(&fields, worst(streams))
    }

    /// The line of a call as the database remembers it, without its streams.
    pub(crate) fn stored(call: &Value, start: Nanos) -> Self {
        let text = |name: &str| call[name].as_str();
        let fields = Fields {
            start: Some(start),
            from: party(text("from_user"), text("from_host")),
            to: party(text("to_user"), text("to_host")),
            state: text("state").and_then(CallState::from_name),
            code: call["final_code"].as_u64().unwrap_or(0),
            pdd: call["pdd_ms"].as_f64(),
            duration: call["duration_ms"].as_f64(),
            mos: call["mos"].as_f64(),
            worst: call["mos_worst_interval"].as_f64(),
            call_id: text("call_id").unwrap_or_default(),
        };
        Self::of(&fields, None)
    }

    fn of(fields: &Fields<'_>, worst: Option<&Stream>) -> Self {
        let state = fields.state.map(|state| Cell::new(state.name(), Style::of_state(state)));
        let mut cells = vec![
            Cell::known(fields.from),
            Cell::known(fields.to),
            state.unwrap_or_else(|| Cell::known(None::<&str>)),
            Cell::known((fields.code > 0).then(|| fields.code.to_string())),
            Cell::known(fields.pdd.map(moment::span)),
            Cell::known(fields.duration.map(moment::span)),
        ];
        cells.extend(stream_cells(worst));
        cells.push(Cell::new(figure(fields.mos, 2), Style::of_mos(fields.mos)));
        cells.push(Cell::new(figure(fields.worst, 2), Style::of_mos(fields.worst)));
        cells.push(Cell::plain(fields.call_id));
        Self { start: fields.start, cells }
    }
}

fn stream_cells(stream: Option<&Stream>) -> [Cell; 4] {
    let loss = stream.map(loss_pct);
    [
        Cell::known(stream.and_then(|stream| stream.direction).map(arrow)),
        Cell::known(stream.and_then(|stream| stream.codec.as_deref())),
        Cell::new(percent(loss), loss_style(loss)),
        Cell::known(stream.and_then(|stream| stream.jitter_ms_max).map(|jitter| format!("{jitter:.1} ms"))),
    ]
}

/// The stream that sounds worst: the lowest MOS, and where none is known, the most loss.
pub(crate) fn worst<'a>(streams: impl Iterator<Item = &'a Stream>) -> Option<&'a Stream> {
    let key = |stream: &Stream| (stream.mos.unwrap_or(f64::INFINITY), -loss_pct(stream));
    streams.min_by(|a, b| key(a).partial_cmp(&key(b)).unwrap_or(std::cmp::Ordering::Equal))
}

/// Lost of what should have come, in percent.
pub(crate) fn loss_pct(stream: &Stream) -> f64 {
    match stream.unique.saturating_add(stream.lost) {
        0 => 0.0,
        expected => stream.lost as f64 * 100.0 / expected as f64,
    }
}

/// Loss stands out from 1 % on, where G.711 without concealment begins to be heard (G.113 Appendix I).
pub(crate) fn loss_style(pct: Option<f64>) -> Style {
    match pct {
        None => Style::Dim,
        Some(pct) if pct >= 3.0 => Style::Bad,
        Some(pct) if pct >= 1.0 => Style::Fair,
        Some(_) => Style::Plain,
    }
}

/// `0 %`, `0.02 %`, `12.5 %`: small loss must not look like none.
pub(crate) fn percent(pct: Option<f64>) -> String {
    match pct {
        None => "-".to_string(),
        Some(0.0) => "0 %".to_string(),
        Some(pct) if pct < 0.01 => "<0.01 %".to_string(),
        Some(pct) if pct < 10.0 => format!("{pct:.2} %"),
        Some(pct) => format!("{pct:.1} %"),
    }
}

/// A figure with `places` places, or `-`.
pub(crate) fn figure(value: Option<f64>, places: usize) -> String {
    value.map_or_else(|| "-".to_string(), |value| format!("{value:.places$}"))
}

/// The number, or the host where the URI has no user part.
pub(crate) fn party<'a>(user: Option<&'a str>, host: Option<&'a str>) -> Option<&'a str> {
    user.or(host)
}

/// Seen from the caller.
pub(crate) fn arrow(direction: Direction) -> &'static str {
    match direction {
        Direction::CallerToCallee => "->",
        Direction::CalleeToCaller => "<-",
    }
}

/// Writes the table, calls in order of their beginning; the date stands above where it is the same for all.
pub(crate) fn write(out: &mut dyn Write, rows: Vec<Row>, width: usize, colour: bool) -> io::Result<()> {
    table(out, rows, COLUMNS.to_vec(), width, colour)
}

/// The same without the columns of streams.
pub(crate) fn write_stored(
    out: &mut dyn Write,
    mut rows: Vec<Row>,
    width: usize,
    colour: bool,
) -> io::Result<()> {
    let mut columns = COLUMNS.to_vec();
    columns.drain(STREAM);
    // A row's cells lack the time, which is its first column.
    rows.iter_mut().for_each(|row| _ = row.cells.drain(STREAM.start - 1..STREAM.end - 1));
    table(out, rows, columns, width, colour)
}

fn table(
    out: &mut dyn Write,
    mut rows: Vec<Row>,
    columns: Vec<Column>,
    width: usize,
    colour: bool,
) -> io::Result<()> {
    rows.sort_by_key(|row| row.start);
    let mut days = rows.iter().filter_map(|row| row.start).map(moment::date);
    let day = days.next().filter(|first| days.all(|day| day == *first));
    let mut table = Table::new(&columns);
    for Row { start, cells } in rows {
        let time = |start: Nanos| match day {
            Some(_) => moment::clock(start),
            None => format!("{} {}", moment::date(start), moment::clock(start)),
        };
        table.row(std::iter::once(Cell::known(start.map(time))).chain(cells).collect());
    }
    if let Some(day) = day {
        writeln!(out, "{}", Style::Dim.paint(&format!("{day} (UTC)"), colour))?;
    }
    table.write(out, width, colour)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::samples;
    use crate::text;

    fn table(width: usize) -> String {
        let good = Stream { mos: Some(4.4), lost: 0, ..samples::stream() };
        let streams = [good, samples::stream()];
        let rows = vec![
            Row::new(&samples::hostile_call(), std::iter::empty()),
            Row::new(&samples::call(), streams.iter()),
        ];
        let mut out = Vec::new();
        write(&mut out, rows, width, false).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn golden_widths() {
        samples::golden("calls-80.txt", &table(80));
        samples::golden("calls-120.txt", &table(120));
        samples::golden("calls-200.txt", &table(200));
    }

    #[test]
    fn every_width_holds_and_nothing_hostile_passes() {
        for width in 76..220 {
            for line in table(width).lines() {
                assert!(text::width(line) <= width, "{width}: {line}");
                assert!(!line.chars().any(text::hostile));
            }
        }
    }

    #[test]
    fn what_is_stored_has_the_same_columns_but_the_streams() {
        let stored = serde_json::to_value(samples::call()).unwrap();
        let mut out = Vec::new();
        write_stored(&mut out, vec![Row::stored(&stored, samples::START)], 120, false).unwrap();
        let stored = String::from_utf8(out).unwrap();
        let mut out = Vec::new();
        write(&mut out, vec![Row::new(&samples::call(), std::iter::empty())], 200, false).unwrap();
        let fresh = String::from_utf8(out).unwrap();
        let words = |line: &str| line.split_whitespace().map(str::to_string).collect::<Vec<_>>();
        assert!(!stored.contains("CODEC") && !stored.contains("JITTER"), "{stored}");
        let of_streams = |word: &String| !["-", "DIR", "CODEC", "LOSS", "JITTER"].contains(&word.as_str());
        for (stored, fresh) in stored.lines().zip(fresh.lines()) {
            let fresh: Vec<_> = words(fresh).into_iter().filter(of_streams).collect();
            assert_eq!(words(stored), fresh);
        }
    }

    #[test]
    fn the_worst_stream_is_told() {
        let unknown = Stream { mos: None, lost: 0, ..samples::stream() };
        let lossy = Stream { mos: None, lost: 500, ..samples::stream() };
        assert_eq!(worst([&unknown, &lossy].into_iter()), Some(&lossy));
        let rated = samples::stream();
        assert_eq!(worst([&lossy, &rated].into_iter()), Some(&rated));
        assert_eq!(percent(Some(loss_pct(&rated))), "0.50 %");
        assert_eq!(percent(Some(0.000_1)), "<0.01 %");
    }

    #[test]
    fn two_days_need_dates() {
        let next = Call { invite: Some(samples::START + Nanos::from_secs(86_400)), ..samples::call() };
        let rows = vec![Row::new(&next, std::iter::empty()), Row::new(&samples::call(), std::iter::empty())];
        let mut out = Vec::new();
        write(&mut out, rows, 120, false).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.lines().nth(1).unwrap().starts_with("2026-11-21 02:00:00"), "{text}");
        assert!(text.lines().nth(2).unwrap().starts_with("2026-11-22 02:00:00"), "{text}");
    }
}
