//! The message ladder of a call (a sequence diagram): hosts as lifelines, messages as arrows, time downwards.

use std::io::{self, Write};
use std::net::IpAddr;

use ringtap_model::{Endpoint, Nanos};

use crate::style::Style;
use crate::text::{self, Align};

/// Least distance between two lifelines: `─ INVITE ─▶` is still readable.
const NARROWEST: usize = 14;
/// Distance between two lifelines beyond the longest label: more would only stretch the arrows.
const AIR: usize = 8;

/// One message between two endpoints.
#[derive(Clone, Debug)]
pub struct Step {
    /// When it passed the tap.
    pub time: Nanos,
    /// Sender.
    pub src: Endpoint,
    /// Receiver.
    pub dst: Endpoint,
    /// `INVITE (SDP)`, `180 Ringing`; may have any bytes from the wire.
    pub label: String,
    /// Colour of its line.
    pub style: Style,
    /// The same bytes were seen before.
    pub retransmission: bool,
    /// Message, stream or event.
    pub kind: StepKind,
}

/// The kind of a line of the ladder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StepKind {
    /// A message.
    #[default]
    Message,
    /// The beginning or end of a stream.
    Media,
    /// An event such as a digit, without its sender.
    Note,
}

/// A media stream beside the messages.
#[derive(Clone, Debug)]
pub struct Band {
    /// Sender.
    pub src: Endpoint,
    /// Receiver.
    pub dst: Endpoint,
    /// Time of its first packet.
    pub first: Nanos,
    /// Time of its last packet.
    pub last: Nanos,
    /// `RTP PCMU, MOS 4.21`.
    pub label: String,
    /// Packets received.
    pub packets: u64,
    /// Colour of its lines.
    pub style: Style,
    /// Times of its RTCP reports.
    pub reports: Vec<Nanos>,
}

/// The lines for messages, media and digits, in order of time.
pub fn rows(steps: &[Step], bands: &[Band], notes: &[(Nanos, String)]) -> Vec<Step> {
    let mut rows = steps.to_vec();
    for band in bands {
        let Band { src, dst, style, .. } = *band;
        let row =
            |time, label| Step { time, src, dst, label, style, retransmission: false, kind: StepKind::Media };
        let reports = match band.reports.len() {
            0 => String::new(),
            count => format!(", {count} RTCP"),
        };
        rows.push(row(band.first, band.label.clone()));
        rows.push(row(band.last, format!("ends: {} packets{reports}", band.packets)));
    }
    // The sender of a digit is unknown: it is drawn beside the lifelines.
    let end = steps.first().map(|step| step.src).or_else(|| bands.first().map(|band| band.src));
    for ((time, label), end) in notes.iter().zip(end.into_iter().cycle()) {
        let (style, retransmission) = (Style::Plain, false);
        rows.push(Step {
            time: *time,
            src: end,
            dst: end,
            label: label.clone(),
            style,
            retransmission,
            kind: StepKind::Note,
        });
    }
    rows.sort_by_key(|row| row.time);
    rows
}

/// Characters to draw with.
#[derive(Clone, Copy)]
struct Pens {
    lifeline: char,
    line: char,
    dashed: char,
    double: char,
    right: char,
    left: char,
    turn: char,
    arrow: &'static str,
}

const BOX: Pens =
    Pens {
        lifeline: '│', line: '─', dashed: '┄', double: '═', right: '▶', left: '◀', turn: '↺', arrow: "→"
    };
const ASCII: Pens = Pens {
    lifeline: '|',
    line: '-',
    dashed: '.',
    double: '=',
    right: '>',
    left: '<',
    turn: '@',
    arrow: "->",
};

/// Draws `steps` in their order within the width of the page; as a list if the lifelines do not fit.
pub fn draw(out: &mut dyn Write, steps: &[Step], page: Page) -> io::Result<()> {
    let Some(first) = steps.first() else {
        return writeln!(out, "No message of the call was seen.");
    };
    let participants = participants(steps);
    let offsets: Vec<String> = steps.iter().map(|step| offset(step.time, first.time)).collect();
    let margin = offsets.iter().map(String::len).max().unwrap_or(0) + " R ".len();
    let longest = steps
        .iter()
        .filter(|step| step.kind != StepKind::Note)
        .map(|step| text::width(&text::shown(&step.label)))
        .max()
        .unwrap_or(0);
    match Lifelines::lay_out(&participants, page.width.saturating_sub(margin), longest) {
        Some(lifelines) => Ladder { lifelines, participants, margin, page }.write(out, steps, &offsets)?,
        None => list(out, steps, &offsets, page)?,
    }
    if steps.iter().any(|step| step.retransmission) {
        writeln!(out, "R: retransmission")?;
    }
    Ok(())
}

/// The page to draw on.
#[derive(Clone, Copy)]
pub struct Page {
    /// Columns per line.
    pub width: usize,
    /// Lines may carry colour (SGR).
    pub colour: bool,
    /// Draws with ASCII characters instead of box drawing characters.
    pub ascii: bool,
}

impl Page {
    fn pens(self) -> Pens {
        if self.ascii { ASCII } else { BOX }
    }
}

/// A host, or one of its ports if the host sends to itself.
#[derive(Debug)]
pub struct Participant {
    ip: IpAddr,
    ports: Vec<u16>,
    /// Its media ports, which are not part of its name.
    media: Vec<u16>,
}

impl Participant {
    /// Whether `endpoint` belongs to it.
    pub fn is(&self, endpoint: Endpoint) -> bool {
        self.ip == endpoint.ip && (self.ports.contains(&endpoint.port) || self.media.contains(&endpoint.port))
    }

    /// Its address, with the port if it has only one: over TCP and with many phones, the source port is not
    /// the port that it can be reached at.
    pub fn name(&self) -> String {
        match self.ports[..] {
            [port] => Endpoint::new(self.ip, port).to_string(),
            _ => self.ip.to_string(),
        }
    }
}

/// All participants in order of their first message.
pub fn participants(steps: &[Step]) -> Vec<Participant> {
    let apart =
        |ip: IpAddr| steps.iter().any(|step| step.src.ip == ip && step.dst.ip == ip && step.src != step.dst);
    let mut found: Vec<Participant> = Vec::new();
    // Senders of messages come before those that only send media.
    for kind in [StepKind::Message, StepKind::Media, StepKind::Note] {
        let steps = steps.iter().filter(|step| step.kind == kind);
        for endpoint in steps.flat_map(|step| [step.src, step.dst]) {
            if found.iter().any(|participant| participant.is(endpoint)) {
                continue;
            }
            let Endpoint { ip, port } = endpoint;
            match found.iter_mut().find(|participant| participant.ip == ip) {
                Some(host) if !apart(ip) && kind == StepKind::Message => host.ports.push(port),
                Some(host) if !apart(ip) => host.media.push(port),
                _ => found.push(Participant { ip, ports: vec![port], media: Vec::new() }),
            }
        }
    }
    found
}

/// Index of the participant that an endpoint belongs to.
pub fn participant_of(participants: &[Participant], endpoint: Endpoint) -> usize {
    participants.iter().position(|participant| participant.is(endpoint)).unwrap_or(0)
}

/// Time of a line relative to the first: `+1.250`.
pub(crate) fn offset(time: Nanos, first: Nanos) -> String {
    // In a capture merged from two clocks, a line may be earlier than the first.
    match time >= first {
        true => format!("+{:.3}", time.since(first).secs_f64()),
        false => format!("-{:.3}", first.since(time).secs_f64()),
    }
}

/// The positions of the lifelines.
struct Lifelines {
    /// Column of each lifeline, counted from the end of the time column.
    columns: Vec<usize>,
    /// The name above each lifeline.
    names: Vec<String>,
    /// The names are letters, explained in a legend.
    lettered: bool,
}

impl Lifelines {
    /// Lifelines with full names if there is room, otherwise with letters, otherwise none.
    fn lay_out(participants: &[Participant], room: usize, longest: usize) -> Option<Self> {
        let full: Vec<String> = participants.iter().map(Participant::name).collect();
        let widest = full.iter().map(String::len).max().unwrap_or(0);
        let gaps = participants.len().saturating_sub(1).max(1);
        let wanted = (longest + AIR).max(NARROWEST);
        let inner = room.checked_sub(widest + 1)?;
        if inner / gaps > widest.max(NARROWEST - 1) {
            let gap = (inner / gaps).min(wanted.max(widest + 2));
            return Some(Self::at(full, gap, widest / 2, false));
        }
        let gap = room.checked_sub(4)? / gaps;
        let letters = (0..participants.len()).map(letter).collect();
        (gap >= NARROWEST).then(|| Self::at(letters, gap.min(wanted), 1, true))
    }

    fn at(names: Vec<String>, gap: usize, first: usize, lettered: bool) -> Self {
        Self { columns: (0..names.len()).map(|index| first + index * gap).collect(), names, lettered }
    }
}

/// `A` to `Z`, then `A1`.
fn letter(index: usize) -> String {
    let letter = char::from(b'A' + (index % 26) as u8);
    match index / 26 {
        0 => letter.to_string(),
        round => format!("{letter}{round}"),
    }
}

struct Ladder {
    lifelines: Lifelines,
    participants: Vec<Participant>,
    margin: usize,
    page: Page,
}

impl Ladder {
    fn write(&self, out: &mut dyn Write, steps: &[Step], offsets: &[String]) -> io::Result<()> {
        if self.lifelines.lettered {
            for (name, participant) in self.lifelines.names.iter().zip(&self.participants) {
                writeln!(out, "{name}  {}", participant.name())?;
            }
        }
        writeln!(out, "{}", Style::Bold.paint(&self.heading(), self.page.colour))?;
        for (step, offset) in steps.iter().zip(offsets) {
            let mark = if step.retransmission { "R" } else { " " };
            let time = format!("{offset:>width$} {mark} ", width = self.margin - 3);
            writeln!(out, "{}{}", Style::Dim.paint(&time, self.page.colour), self.arrow(step).trim_end())?;
        }
        Ok(())
    }

    fn heading(&self) -> String {
        let mut line = " ".repeat(self.margin);
        for (name, column) in self.lifelines.names.iter().zip(&self.lifelines.columns) {
            let begin = self.margin + column.saturating_sub(name.len() / 2);
            line.extend(std::iter::repeat_n(' ', begin.saturating_sub(line.len()).max(1)));
            line.push_str(name);
        }
        line
    }

    fn arrow(&self, step: &Step) -> String {
        if step.kind == StepKind::Note {
            return self.note(step);
        }
        let [from, to] = [step.src, step.dst].map(|end| participant_of(&self.participants, end));
        let (low, high) = (from.min(to), from.max(to));
        let pens = self.page.pens();
        let mut line = String::new();
        let mut at = 0;
        for (index, column) in self.lifelines.columns.iter().enumerate() {
            if index > low && index < high {
                continue;
            }
            if index > low && index == high {
                let shaft = shaft(step, column - at, from < to, pens);
                line.push_str(&step.style.paint(&shaft, self.page.colour));
            } else {
                line.extend(std::iter::repeat_n(' ', column - at));
            }
            line.push(pens.lifeline);
            at = column + 1;
            if from == to && index == from {
                let room = self.page.width.saturating_sub(self.margin + at);
                let turn = format!(" {} {}", pens.turn, text::shown(&step.label));
                line.push_str(&step.style.paint(&text::cut(&turn, room), self.page.colour));
                return line;
            }
        }
        line
    }
}

impl Ladder {
    /// All lifelines, and the note after them.
    fn note(&self, step: &Step) -> String {
        let mut line = String::new();
        let mut at = 0;
        for column in &self.lifelines.columns {
            line.extend(std::iter::repeat_n(' ', column - at));
            line.push(self.page.pens().lifeline);
            at = column + 1;
        }
        let room = self.page.width.saturating_sub(self.margin + at);
        let note = format!("  * {}", text::shown(&step.label));
        line.push_str(&step.style.paint(&text::cut(&note, room), self.page.colour));
        line
    }
}

/// An arrow of `width` columns with a centred label.
fn shaft(step: &Step, width: usize, rightwards: bool, pens: Pens) -> String {
    let fill = match step.kind {
        StepKind::Media => pens.double,
        _ if step.retransmission => pens.dashed,
        _ => pens.line,
    };
    let label = text::shown(&step.label);
    let label = format!(" {} ", text::cut(&label, width.saturating_sub(4)));
    let body = text::fit_with(&label, width.saturating_sub(1), Align::Centre, fill);
    if rightwards { format!("{body}{}", pens.right) } else { format!("{}{body}", pens.left) }
}

/// Draws one line per message, for more participants than there is room for.
fn list(out: &mut dyn Write, steps: &[Step], offsets: &[String], page: Page) -> io::Result<()> {
    let widest = offsets.iter().map(String::len).max().unwrap_or(0);
    for (step, offset) in steps.iter().zip(offsets) {
        let mark = if step.retransmission { "R" } else { " " };
        let hop = format!("{} {} {}", step.src, page.pens().arrow, step.dst);
        let line = format!("{offset:>widest$} {mark} {hop}  ");
        let room = page.width.saturating_sub(text::width(&line)).max(NARROWEST);
        let label = text::shown(&step.label);
        writeln!(out, "{line}{}", step.style.paint(&text::cut(&label, room), page.colour))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ringtap_testing::samples::{START, endpoint, golden};

    use super::*;

    fn step(millis: u64, src: u8, dst: u8, label: &str) -> Step {
        Step {
            time: START + Nanos::from_millis(millis),
            src: endpoint(src, 5060),
            dst: endpoint(dst, 5060),
            label: label.into(),
            style: Style::Plain,
            retransmission: false,
            kind: StepKind::Message,
        }
    }

    fn dialog() -> Vec<Step> {
        let again = Step { retransmission: true, ..step(500, 1, 2, "INVITE (SDP)") };
        vec![
            step(0, 1, 2, "INVITE (SDP)"),
            again,
            step(520, 2, 1, "100 Trying"),
            step(530, 2, 3, "INVITE (SDP)"),
            step(1850, 3, 2, "180 Ringing"),
            step(61_850, 1, 3, "BYE"),
        ]
    }

    fn drawn(steps: &[Step], width: usize, ascii: bool) -> String {
        let mut out = Vec::new();
        draw(&mut out, steps, Page { width, colour: false, ascii }).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn golden_widths() {
        golden("ladder-80.txt", &drawn(&dialog(), 80, false));
        golden("ladder-120.txt", &drawn(&dialog(), 120, false));
    }

    #[test]
    fn golden_in_ascii() {
        golden("ladder-60-ascii.txt", &drawn(&dialog(), 60, true));
    }

    #[test]
    fn too_many_participants_make_a_list() {
        let steps: Vec<Step> = (1..12).map(|host| step(0, host, host + 1, "INVITE")).collect();
        let drawn = drawn(&steps, 80, false);
        assert!(drawn.starts_with("+0.000   192.0.2.1:5060 → 192.0.2.2:5060  INVITE\n"), "{drawn}");
    }

    #[test]
    fn a_host_is_one_column_unless_it_talks_to_itself() {
        let from = |port| Step { src: endpoint(1, port), ..step(0, 1, 2, "INVITE") };
        let merged = drawn(&[from(49_194), from(5060)], 80, false);
        assert!(merged.contains(" 192.0.2.1 ") && !merged.contains("49194"), "{merged}");
        let local = Step { dst: endpoint(1, 5061), ..from(5060) };
        let apart = drawn(&[from(5060), local], 100, false);
        assert!(apart.contains("192.0.2.1:5060") && apart.contains("192.0.2.1:5061"), "{apart}");
    }

    #[test]
    fn a_message_to_itself_turns() {
        let drawn = drawn(&[step(0, 1, 1, "OPTIONS")], 80, false);
        assert!(drawn.contains("│ ↺ OPTIONS"), "{drawn}");
    }

    #[test]
    fn nothing_seen_is_said() {
        assert_eq!(drawn(&[], 80, false), "No message of the call was seen.\n");
    }

    proptest! {
        #[test]
        fn any_dialog_fits(
            hops in proptest::collection::vec((0_u8..9, 0_u8..9, any::<String>(), any::<bool>()), 1..20),
            width in 60_usize..220,
        ) {
            let steps: Vec<Step> = hops
                .iter()
                .map(|(src, dst, label, again)| Step { retransmission: *again, ..step(0, *src, *dst, label) })
                .collect();
            for line in drawn(&steps, width, false).lines() {
                prop_assert!(text::width(line) <= width, "{line:?} is wider than {width}");
                prop_assert!(!line.chars().any(text::hostile));
            }
        }
    }
}
