//! The table of calls, each with its worst stream.

use std::io::{self, Write};

use ringtap_model::{Call, Direction, Nanos, Stream};

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

/// One line of the table. What it does not show of a call is not kept, so that millions of calls fit in memory.
pub(crate) struct Row {
    start: Option<Nanos>,
    cells: Vec<Cell>,
}

impl Row {
    /// The line of `call` whose streams are `streams`.
    pub(crate) fn new<'a>(call: &Call, streams: impl Iterator<Item = &'a Stream>) -> Self {
        let worst = worst(streams);
        let code = (call.final_code > 0).then(|| call.final_code.to_string());
        let mut cells = vec![
            Cell::known(party(call.from_user.as_deref(), call.from_host.as_deref())),
            Cell::known(party(call.to_user.as_deref(), call.to_host.as_deref())),
            Cell::new(call.state.name(), Style::of_state(call.state)),
            Cell::known(code),
            Cell::known(call.pdd_ms.map(moment::span)),
            Cell::known(call.duration_ms.map(moment::span)),
        ];
        cells.extend(stream_cells(worst));
        cells.push(Cell::new(figure(call.mos, 2), Style::of_mos(call.mos)));
        cells.push(Cell::new(figure(call.mos_worst_interval, 2), Style::of_mos(call.mos_worst_interval)));
        cells.push(Cell::plain(&call.call_id));
        Self { start: call.start(), cells }
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
pub(crate) fn write(out: &mut dyn Write, mut rows: Vec<Row>, width: usize, colour: bool) -> io::Result<()> {
    rows.sort_by_key(|row| row.start);
    let mut days = rows.iter().filter_map(|row| row.start).map(moment::date);
    let day = days.next().filter(|first| days.all(|day| day == *first));
    let mut table = Table::new(COLUMNS);
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
