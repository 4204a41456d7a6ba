//! The table of calls, each with its worst stream.

use std::collections::HashSet;
use std::io::{self, Write};

use ringtap_model::{Call, CallState, Direction, Id, Nanos, Note, NoteCode, Stream};

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
    Column::word("WORST", 7),
    Column::text("CODEC", 5, 5, 5),
    Column::figure("LOSS", 2),
    Column::figure("JITTER", 8),
    Column::figure("MOS", 0),
    Column::figure("10 S", 4),
    Column::text("NOTE", 12, 7, 0),
    Column::word("CONV", 2),
    Column::text("CALL-ID", 14, 8, 0),
];

/// Index of the column of notes, and of that of conversations.
const NOTE: usize = 13;
const CONVERSATION: usize = 14;
/// Hex digits of an id that tell conversations of one table apart.
const DIGITS: usize = 6;

/// What a table is sorted by: the beginning, or what is worst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// Beginning.
    #[default]
    Time,
    /// Lowest MOS first.
    Mos,
    /// Highest loss of the worst stream first.
    Loss,
    /// Highest jitter of the worst stream first.
    Jitter,
    /// Longest post-dial delay first.
    Pdd,
    /// Longest call first.
    Length,
}

impl Sort {
    /// Each of them.
    pub const ALL: [Self; 6] = [Self::Time, Self::Mos, Self::Loss, Self::Jitter, Self::Pdd, Self::Length];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Mos => "mos",
            Self::Loss => "loss",
            Self::Jitter => "jitter",
            Self::Pdd => "pdd",
            Self::Length => "length",
        }
    }

    /// What comes first.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Time => "Beginning",
            Self::Mos => "MOS, lowest first",
            Self::Loss => "Lost packets, most first",
            Self::Jitter => "Jitter, highest first",
            Self::Pdd => "Post-dial delay, longest first",
            Self::Length => "Time from answer to release, longest first",
        }
    }
}

/// The order of a table and how much of it is shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Order {
    /// By what.
    pub sort: Sort,
    /// The first of them alone.
    pub top: Option<usize>,
}

impl Order {
    fn apply(self, rows: &mut Vec<Row>) {
        // Stable: calls that are equal stay in order of time. What is not known comes last.
        rows.sort_by_key(|row| row.start);
        let key = |row: &Row| {
            let stream = row.stream.as_ref();
            match self.sort {
                Sort::Time => None,
                Sort::Mos => row.mos,
                Sort::Loss => stream.map(|stream| -stream.loss),
                Sort::Jitter => stream.and_then(|stream| stream.jitter).map(|jitter| -jitter),
                Sort::Pdd => row.pdd.map(|pdd| -pdd),
                Sort::Length => row.duration.map(|length| -length),
            }
            .unwrap_or(f64::INFINITY)
        };
        rows.sort_by(|one, other| key(one).total_cmp(&key(other)));
        rows.truncate(self.top.unwrap_or(usize::MAX));
    }
}

/// One line of the table. It stores only what it shows of a call: a million calls have to fit in memory.
pub struct Row {
    /// The call's id.
    pub id: Id,
    /// Its conversation, which a later record may change.
    pub conversation: Option<Id>,
    start: Option<Nanos>,
    from: Option<Box<str>>,
    to: Option<Box<str>>,
    state: CallState,
    code: u64,
    pdd: Option<f64>,
    duration: Option<f64>,
    mos: Option<f64>,
    mos_worst: Option<f64>,
    /// Codes, each once.
    notes: Box<[NoteCode]>,
    call_id: Box<str>,
    stream: Option<Worst>,
    /// What happened, in words, where it is shown.
    said: Option<Box<str>>,
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
            id: call.id,
            conversation: call.conversation,
            start: call.start(),
            from: party(call.from_user.as_deref(), call.from_host.as_deref()).map(table::kept),
            to: party(call.to_user.as_deref(), call.to_host.as_deref()).map(table::kept),
            state: call.state,
            code: call.final_code.into(),
            pdd: call.pdd_ms,
            duration: call.duration_ms,
            mos: call.mos,
            mos_worst: call.mos_worst_interval,
            notes: codes(&call.notes),
            call_id: table::kept(&call.call_id),
            stream: worst(streams).map(|stream| Worst {
                direction: stream.direction,
                codec: stream.codec.as_deref().map(table::kept),
                loss: loss_pct(stream),
                jitter: stream.jitter_ms_max,
            }),
            said: None,
        }
    }

    /// The same with what happened below it, in words.
    pub fn with_words(self, words: String) -> Self {
        Self { said: Some(words.into()), ..self }
    }

    /// The same of a call in progress, which has lasted from its answer until now.
    pub fn in_progress(self, answer: Option<Nanos>, now: Nanos) -> Self {
        let since = |answer: Nanos| now.since(answer).millis_f64();
        Self { duration: self.duration.or(answer.map(since)), ..self }
    }

    /// One cell for each column. The date is omitted if the heading shows it.
    fn cells(&self, dated: bool, shared: &HashSet<Id>) -> Vec<Cell> {
        let time = |start| time::moment(start, dated);
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
            note_cell(&self.notes),
            Cell::plain(self.conversation_shown(shared)),
            Cell::plain(&self.call_id),
        ]
    }
}

impl Row {
    /// The beginning of the id of its conversation, if that has other legs.
    fn conversation_shown(&self, shared: &HashSet<Id>) -> String {
        let other = self.conversation.filter(|id| *id != self.id || shared.contains(id));
        other.map_or_else(String::new, |id| id.to_string()[..DIGITS].to_owned())
    }
}

fn codes(notes: &[Note]) -> Box<[NoteCode]> {
    let mut codes: Vec<NoteCode> = notes.iter().map(|note| note.code).collect();
    codes.dedup();
    codes.into()
}

/// The codes of notes, each once.
pub fn note_cell(codes: &[NoteCode]) -> Cell {
    let names: Vec<_> = codes.iter().map(|code| code.name()).collect();
    if names.is_empty() { Cell::plain("") } else { Cell::new(names.join(","), Style::Fair) }
}

/// The stream with the lowest MOS or, if no MOS is known, the highest loss.
pub fn worst<'a>(streams: impl Iterator<Item = &'a Stream>) -> Option<&'a Stream> {
    let key = |stream: &Stream| (stream.mos.unwrap_or(f64::INFINITY), -loss_pct(stream));
    streams.min_by(|a, b| key(a).partial_cmp(&key(b)).unwrap_or(std::cmp::Ordering::Equal))
}

/// Lost packets in percent of the expected packets.
pub fn loss_pct(stream: &Stream) -> f64 {
    stream.loss_pct()
}

/// Loss stands out from 1 % on: there G.711 without concealment falls to an R of 75, "some users
/// dissatisfied" (G.107 with G.113's Bpl of 4.3); with concealment at 5 %.
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

/// Writes the table; the date stands above where it is the same for all.
pub fn write(
    out: &mut dyn Write,
    mut rows: Vec<Row>,
    order: Order,
    width: usize,
    colour: bool,
) -> io::Result<()> {
    order.apply(&mut rows);
    let dated = table::day(out, rows.iter().filter_map(|row| row.start), colour)?;
    let legs = rows.iter().filter(|row| row.conversation != Some(row.id));
    let shared: HashSet<Id> = legs.filter_map(|row| row.conversation).collect();
    // Without a note, the column has nothing to say and leaves its room to others; so does the next.
    let is_empty = [(CONVERSATION, shared.is_empty()), (NOTE, rows.iter().all(|row| row.notes.is_empty()))];
    let without = |place: usize| is_empty.contains(&(place, true));
    let columns: Vec<Column> =
        (0..COLUMNS.len()).filter(|place| !without(*place)).map(|place| COLUMNS[place]).collect();
    let cells = rows.iter().map(|row| {
        let mut cells = row.cells(dated, &shared);
        is_empty.iter().filter(|(_, is_empty)| *is_empty).for_each(|(place, _)| drop(cells.remove(*place)));
        cells
    });
    let below = |number: usize| rows.get(number).and_then(|row| row.said.as_deref());
    table::write_told(out, &columns, cells, below, width, colour)
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
        write(&mut out, rows, Order::default(), width, false).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_call_in_progress_has_lasted_until_now() {
        let answered = samples::START + Nanos::from_secs(5);
        let active = Call { answer: Some(answered), duration_ms: None, ..samples::call() };
        let now = answered + Nanos::from_secs(7);
        let row = |call: &Call| Row::new(call, std::iter::empty()).in_progress(call.answer, now);
        assert_eq!(row(&active).duration, Some(7_000.0));
        assert_eq!(row(&Call { answer: None, ..active }).duration, None);
        assert_eq!(row(&Call { duration_ms: Some(3.0), ..samples::call() }).duration, Some(3.0));
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
    fn the_worst_come_first_and_what_is_not_known_last() {
        let call = |id: &str, mos, pdd_ms| Call { call_id: id.into(), mos, pdd_ms, ..samples::call() };
        let calls =
            [call("a", Some(4.0), Some(900.0)), call("b", None, None), call("c", Some(2.0), Some(50.0))];
        let order = |sort, top| {
            let mut rows = calls.iter().map(|call| Row::new(call, std::iter::empty())).collect();
            Order { sort, top }.apply(&mut rows);
            rows.iter().map(|row| row.call_id.to_string()).collect::<String>()
        };
        assert_eq!(order(Sort::Time, None), "abc");
        assert_eq!(order(Sort::Mos, None), "cab");
        assert_eq!(order(Sort::Pdd, Some(1)), "a");
        assert_eq!(order(Sort::Loss, Some(9)), "abc");
    }

    #[test]
    fn what_happened_is_told_below_a_row() {
        let call = samples::hostile_call();
        let row = |call: &Call, words: &str| Row::new(call, std::iter::empty()).with_words(words.to_owned());
        let busy = "Failed after 1.5 s with 486 Busy\u{1b}[31m.";
        let long = "Answered after 4.0 s, 1:02 long, the callee hung up. ".repeat(3);
        let rows = vec![row(&call, busy), row(&samples::call(), long.trim_end())];
        let mut out = Vec::new();
        write(&mut out, rows, Order::default(), 80, false).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("\n    Failed after 1.5 s with 486 Busy\\x1b[31m."), "{text}");
        assert!(text.contains("\n    Answered after 4.0 s, 1:02 long, the callee hung up."), "{text}");
        assert!(text.lines().all(|line| text::width(line) <= 80), "{text}");
    }

    #[test]
    fn notes_have_a_column() {
        let note = |code| Note::new(code, "x".into());
        let notes = vec![note(NoteCode::Fax), note(NoteCode::OneWay), note(NoteCode::OneWay)];
        let noted = Call { notes, ..samples::call() };
        let mut out = Vec::new();
        let row = Row::new(&noted, std::iter::empty());
        write(&mut out, vec![row], Order::default(), 200, false).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("NOTE") && text.contains("fax,one_way "), "{text}");
        assert_eq!(COLUMNS[NOTE].title, "NOTE");
    }

    /// On a narrow terminal, what is wrong with a call matters more than its codec.
    #[test]
    fn notes_stay_on_a_narrow_terminal() {
        let noted = Call { notes: vec![Note::new(NoteCode::OneWay, "x".into())], ..samples::call() };
        let mut out = Vec::new();
        let row = Row::new(&noted, [samples::stream()].iter());
        write(&mut out, vec![row], Order::default(), 80, false).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("one_way") && text.contains("4.20") && !text.contains("10 S"), "{text}");
        assert!(!table(200).contains("NOTE"), "nothing is remarked");
    }

    #[test]
    fn two_days_need_dates() {
        let next = Call { invite: Some(samples::START + Nanos::from_secs(86_400)), ..samples::call() };
        let rows = vec![Row::new(&next, std::iter::empty()), Row::new(&samples::call(), std::iter::empty())];
        let mut out = Vec::new();
        write(&mut out, rows, Order::default(), 120, false).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.lines().next(), Some("Times: UTC"));
        assert!(text.lines().nth(2).unwrap().starts_with("2026-11-21 02:00:00"), "{text}");
        assert!(text.lines().nth(3).unwrap().starts_with("2026-11-22 02:00:00"), "{text}");
    }
}
