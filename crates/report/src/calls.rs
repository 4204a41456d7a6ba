//! The table of calls, each with its worst stream.

use std::io::{self, Write};

use ringtap_model::{Call, CallState, Direction, Nanos, Stream};

use crate::style::Style;
use crate::table::{self, Cell, Column};
use crate::time;

const COLUMNS: &[Column] = &[
    Column::word("TIME", 0),
    Column::text("FROM", 13, 5, 0),
    Column::text("TO", 13, 5, 0),
    Column::word("STATE", 0),
    Column::figure("CODE", 3),
    Column::figure("PDD", 6),
    Column::figure("LENGTH", 1),
    Column::word("DIR", 7),
    Column::text("CODEC", 5, 5, 5),
    Column::figure("LOSS", 2),
    Column::figure("JITTER", 8),
    Column::figure("MOS", 0),
    Column::figure("10 S", 4),
    Column::text("CALL-ID", 14, 8, 0),
];

/// Indices of the columns of the worst stream.
const STREAM: std::ops::Range<usize> = 7..11;

/// One line of the table. It stores only what it shows of a call: a million calls have to fit in memory.
pub struct Row {
    start: Option<Nanos>,
    from: Option<Box<str>>,
    to: Option<Box<str>>,
    state: CallState,
    code: u64,
    pdd: Option<f64>,
    duration: Option<f64>,
    mos: Option<f64>,
    mos_worst: Option<f64>,
    call_id: Box<str>,
    stream: Option<Worst>,
}

/// What a line shows of the worst stream.
struct Worst {
    direction: Option<Direction>,
    codec: Option<Box<str>>,
    loss: f64,
    jitter: Option<f64>,
}

impl Row {
    /// The line of `call` whose streams are `streams`.
    pub fn new<'a>(call: &Call, streams: impl Iterator<Item = &'a Stream>) -> Self {
        Self {
            start: call.start(),
            from: party(call.from_user.as_deref(), call.from_host.as_deref()).map(kept),
            to: party(call.to_user.as_deref(), call.to_host.as_deref()).map(kept),
            state: call.state,
            code: call.final_code.into(),
            pdd: call.pdd_ms,
            duration: call.duration_ms,
            mos: call.mos,
            mos_worst: call.mos_worst_interval,
            call_id: kept(&call.call_id),
            stream: worst(streams).map(|stream| Worst {
                direction: stream.direction,
                codec: stream.codec.as_deref().map(kept),
                loss: loss_pct(stream),
                jitter: stream.jitter_ms_max,
            }),
        }
    }

    /// One cell for each column. The date is omitted if the heading shows it.
    fn cells(&self, dated: bool) -> Vec<Cell> {
        let time = |start: Nanos| match dated {
            true => format!("{} {}", time::date(start), time::clock(start)),
            false => time::clock(start),
        };
        let stream = self.stream.as_ref();
        let loss = stream.map(|stream| stream.loss);
        let jitter = stream.and_then(|stream| stream.jitter);
        vec![
            Cell::known(self.start.map(time)),
            Cell::known(self.from.as_deref()),
            Cell::known(self.to.as_deref()),
            Cell::new(self.state.name(), Style::of_state(self.state)),
            Cell::known((self.code > 0).then(|| self.code.to_string())),
            Cell::known(self.pdd.map(time::span)),
            Cell::known(self.duration.map(time::span)),
            Cell::known(stream.and_then(|stream| stream.direction).map(arrow)),
            Cell::known(stream.and_then(|stream| stream.codec.as_deref())),
            Cell::new(percent(loss), loss_style(loss)),
            Cell::known(jitter.map(|jitter| format!("{jitter:.1} ms"))),
            Cell::new(figure(self.mos, 2), Style::of_mos(self.mos)),
            Cell::new(figure(self.mos_worst, 2), Style::of_mos(self.mos_worst)),
            Cell::plain(&self.call_id),
        ]
    }
}

/// Truncates a text to the width of the widest table: text from the network can be as long as a datagram.
fn kept(text: &str) -> Box<str> {
    const MOST: usize = 256;
    text.char_indices().nth(MOST).map_or(text, |(end, _)| &text[..end]).into()
}

/// The stream with the lowest MOS or, if no MOS is known, the highest loss.
pub fn worst<'a>(streams: impl Iterator<Item = &'a Stream>) -> Option<&'a Stream> {
    let key = |stream: &Stream| (stream.mos.unwrap_or(f64::INFINITY), -loss_pct(stream));
    streams.min_by(|a, b| key(a).partial_cmp(&key(b)).unwrap_or(std::cmp::Ordering::Equal))
}

/// Lost packets in percent of the expected packets.
pub fn loss_pct(stream: &Stream) -> f64 {
    match stream.unique.saturating_add(stream.lost) {
        0 => 0.0,
        expected => stream.lost as f64 * 100.0 / expected as f64,
    }
}

/// Loss stands out from 1 % on: there G.711 without concealment falls to an R of 75, "some users
/// dissatisfied" (G.107 with G.113's Bpl of 4.3); at 3 % to 54.
pub fn loss_style(pct: Option<f64>) -> Style {
    match pct {
        None => Style::Dim,
        Some(pct) if pct >= 3.0 => Style::Bad,
        Some(pct) if pct >= 1.0 => Style::Fair,
        Some(_) => Style::Plain,
    }
}

/// `0 %`, `0.02 %`, `12.5 %`: low loss is not rounded to 0.
pub fn percent(pct: Option<f64>) -> String {
    match pct {
        None => "-".to_string(),
        Some(0.0) => "0 %".to_string(),
        Some(pct) if pct < 0.01 => "<0.01 %".to_string(),
        Some(pct) if pct < 10.0 => format!("{pct:.2} %"),
        Some(pct) => format!("{pct:.1} %"),
    }
}

/// A figure with `places` places, or `-`.
pub fn figure(value: Option<f64>, places: usize) -> String {
    value.map_or_else(|| "-".to_string(), |value| format!("{value:.places$}"))
}

/// The number, or the host where the URI has no user part.
pub fn party<'a>(user: Option<&'a str>, host: Option<&'a str>) -> Option<&'a str> {
    user.or(host)
}

/// Direction as seen from the caller.
pub fn arrow(direction: Direction) -> &'static str {
    match direction {
        Direction::CallerToCallee => "->",
        Direction::CalleeToCaller => "<-",
    }
}

/// Writes the table, calls in order of their beginning; the date stands above where it is the same for all.
pub fn write(out: &mut dyn Write, rows: Vec<Row>, width: usize, colour: bool) -> io::Result<()> {
    written(out, rows, true, width, colour)
}

/// The same without the columns of streams.
pub fn write_stored(out: &mut dyn Write, rows: Vec<Row>, width: usize, colour: bool) -> io::Result<()> {
    written(out, rows, false, width, colour)
}

fn written(
    out: &mut dyn Write,
    mut rows: Vec<Row>,
    streams: bool,
    width: usize,
    colour: bool,
) -> io::Result<()> {
    rows.sort_by_key(|row| row.start);
    let mut days = rows.iter().filter_map(|row| row.start).map(time::date);
    let day = days.next().filter(|first| days.all(|day| day == *first));
    if let Some(day) = &day {
        writeln!(out, "{}", Style::Dim.paint(&format!("{day} (UTC)"), colour))?;
    }
    let dated = day.is_none();
    if streams {
        return table::write(out, COLUMNS, rows.iter().map(|row| row.cells(dated)), width, colour);
    }
    let mut columns = COLUMNS.to_vec();
    columns.drain(STREAM);
    let cells = rows.iter().map(|row| {
        let mut cells = row.cells(dated);
        cells.drain(STREAM);
        cells
    });
    table::write(out, &columns, cells, width, colour)
}

#[cfg(test)]
mod tests {
    use ringtap_testing::samples;

    use super::*;
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
        for width in 60..220 {
            for line in table(width).lines() {
                assert!(text::width(line) <= width, "{width}: {line}");
                assert!(!line.chars().any(text::hostile));
            }
        }
    }

    #[test]
    fn what_is_stored_has_the_same_columns_but_the_streams() {
        let mut out = Vec::new();
        let stored = Row::new(&samples::call(), std::iter::empty());
        write_stored(&mut out, vec![stored], 120, false).unwrap();
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
