//! The ladder of a call as one self-contained SVG file.
//!
//! Colours are literal values in attributes on a background of their own, without a style sheet, variables,
//! markers or identifiers: every viewer shows them, on any page, and several drawings fit into one document.
//! The classes are for such a document, whose style sheet may give them the colours of its theme.

use std::fmt::Write as _;
use std::io::{self, Write};

use ringtap_model::{Endpoint, Nanos};

use crate::ladder::{Band, Step, StepKind, offset, participant_of, participants, rows};
use crate::style::Style;
use crate::text;

/// The content of a drawing.
pub struct Picture<'a> {
    /// Lines above the ladder; the first is the title.
    pub heading: &'a [String],
    /// Messages, in order of time.
    pub steps: &'a [Step],
    /// Streams, drawn beside the messages.
    pub bands: &'a [Band],
    /// Digits, in order of time.
    pub notes: &'a [(Nanos, String)],
    /// Lines below the ladder.
    pub remarks: &'a [String],
}

/// Width of a character in pixels: text of 12 pixels is at most this wide in common monospaced fonts.
const COLUMN: f64 = 7.3;
const ROW: f64 = 26.0;
const MARGIN: f64 = 96.0;
const GAP: f64 = 210.0;
const WIDEST_GAP: f64 = 340.0;
/// Between the bars of streams that one host sends.
const BAR: f64 = 7.0;
/// Room beside the last lifeline, for notes and for messages of a host to itself.
const ASIDE: f64 = 190.0;
/// Most rows of a drawing.
const MOST: usize = 2_000;

/// Writes the drawing.
pub fn draw(out: &mut dyn Write, picture: &Picture<'_>) -> io::Result<()> {
    out.write_all(Drawing::new(picture).drawn().as_bytes())
}

struct Drawing<'a> {
    picture: &'a Picture<'a>,
    rows: Vec<Step>,
    left_out: usize,
    names: Vec<String>,
    /// The lifelines of the sender and the receiver of each row.
    ends: Vec<(usize, usize)>,
    gap: f64,
    top: f64,
    svg: String,
}

impl<'a> Drawing<'a> {
    fn new(picture: &'a Picture<'a>) -> Self {
        let mut rows = rows(picture.steps, picture.bands, picture.notes);
        let left_out = rows.len().saturating_sub(MOST);
        rows.truncate(MOST);
        let participants = participants(&rows);
        let lifeline = |end: Endpoint| participant_of(&participants, end);
        let ends: Vec<_> = rows.iter().map(|row| (lifeline(row.src), lifeline(row.dst))).collect();
        let names: Vec<String> = participants.iter().map(|participant| participant.name()).collect();
        // The distance of two lifelines fits the longest label between neighbours.
        let near = rows
            .iter()
            .zip(&ends)
            .filter(|(row, (from, to))| row.kind != StepKind::Note && from.abs_diff(*to) == 1);
        let longest = near.map(|(row, _)| columns(&row.label)).fold(0.0, f64::max);
        let widest = names.iter().map(|name| columns(name)).fold(0.0, f64::max);
        let gap = (longest * COLUMN + 48.0).max(widest * COLUMN + 24.0).clamp(GAP, WIDEST_GAP);
        let top = 20.0 + 18.0 * picture.heading.len() as f64 + 44.0;
        Self { picture, rows, left_out, names, ends, gap, top, svg: String::new() }
    }

    fn drawn(mut self) -> String {
        let lifelines = self.names.len().max(1);
        let heading = self.picture.heading.iter().map(|line| columns(line)).fold(0.0, f64::max);
        let is_aside = |(row, (from, to)): (&Step, &(usize, usize))| row.kind == StepKind::Note || from == to;
        let aside = if self.rows.iter().zip(&self.ends).any(is_aside) { ASIDE } else { self.gap / 2.0 };
        let width = (self.x(lifelines - 1) + aside).max(heading * COLUMN + 32.0).min(16_000.0).ceil();
        let remarks = self.remarks();
        let below = self.y(self.rows.len() as f64);
        let height = below + 24.0 + 18.0 * remarks.len() as f64;
        self.open(width, height);
        for (index, line) in self.picture.heading.iter().enumerate() {
            let look = if index == 0 { TITLE } else { DIM };
            self.text(16.0, 26.0 + 18.0 * index as f64, "start", look, line, width - 32.0);
        }
        if self.rows.is_empty() {
            self.text(16.0, self.top - 20.0, "start", INK, "No message of the call was seen.", width);
        }
        self.columns(below);
        self.bars();
        for index in 0..self.rows.len() {
            self.row(index);
        }
        for (index, line) in remarks.iter().enumerate() {
            self.text(16.0, below + 24.0 + 18.0 * index as f64, "start", DIM, line, width - 32.0);
        }
        self.svg.push_str("</g>\n</svg>\n");
        self.svg
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = self.picture.remarks.to_vec();
        if self.rows.iter().any(|row| row.retransmission) {
            remarks.push("dashed: retransmission".to_owned());
        }
        if self.left_out > 0 {
            remarks.push(format!("Not drawn: {} lines after the first {MOST}", self.left_out));
        }
        remarks
    }

    fn open(&mut self, width: f64, height: f64) {
        let title = self.picture.heading.first().map_or("Ladder".to_owned(), |line| escaped(line));
        // Writing to a String cannot fail.
        let _ = write!(
            self.svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\">\n<title>{title}</title>\n\
             <rect class=\"paper\" x=\"0.5\" y=\"0.5\" width=\"{:.0}\" height=\"{:.0}\" fill=\"{PAPER}\" \
             stroke=\"{RULE}\"/>\n<g font-family=\"{FONT}\" font-size=\"12\">\n",
            width - 1.0,
            height - 1.0
        );
    }

    /// Names and lifelines.
    fn columns(&mut self, below: f64) {
        for index in 0..self.names.len() {
            let (x, top) = (self.x(index), self.top);
            let name = self.names[index].clone();
            let _ = writeln!(
                self.svg,
                "<path class=\"lifeline\" d=\"M{x:.1} {:.1}V{below:.1}\" fill=\"none\" stroke=\"{RULE}\"/>",
                top - 22.0
            );
            self.text(x, top - 30.0, "middle", HOST, &name, self.gap - 8.0);
        }
    }

    /// Each stream as a bar beside its sender's lifeline, from its first packet to its last, with a tick for
    /// each RTCP report.
    fn bars(&mut self) {
        let mut beside: Vec<usize> = vec![0; self.names.len()];
        let bands = self.picture.bands.iter().take(MOST);
        for band in bands {
            let begins =
                |row: &Step| row.kind == StepKind::Media && row.time == band.first && row.src == band.src;
            let Some(at) = self.rows.iter().position(|row| begins(row) && row.dst == band.dst) else {
                continue;
            };
            let (from, to) = self.ends[at];
            let side = if to >= from { 1.0 } else { -1.0 };
            let bars = beside.get_mut(from).map_or(0, |count| {
                *count += 1;
                *count - 1
            });
            let x = self.x(from) + side * (4.0 + BAR * (bars / 2) as f64);
            let (start, end) = (self.at(band.first), self.at(band.last));
            let Look { class, colour, .. } = look(band.style);
            let label = format!("{}, {} packets", band.label, band.packets);
            let _ = writeln!(
                self.svg,
                "<rect class=\"fill {class}\" x=\"{:.1}\" y=\"{start:.1}\" width=\"4\" height=\"{:.1}\" \
                 rx=\"2\" fill=\"{colour}\" fill-opacity=\"0.75\"><title>{}</title></rect>",
                x - 2.0,
                (end - start).max(3.0),
                escaped(&label),
            );
            for time in band.reports.iter().take(MOST) {
                let y = self.at(*time);
                let _ = writeln!(
                    self.svg,
                    "<path class=\"line {class}\" d=\"M{:.1} {y:.1}h8\" fill=\"none\" stroke=\"{colour}\" \
                     stroke-width=\"1.2\"><title>RTCP</title></path>",
                    x - 4.0
                );
            }
        }
    }

    fn row(&mut self, index: usize) {
        let row = self.rows[index].clone();
        let (from, to) = self.ends[index];
        let y = self.y(index as f64);
        let offset = offset(row.time, self.rows[0].time);
        self.text(MARGIN - 24.0, y + 4.0, "end", TIME, &offset, MARGIN);
        let last = self.x(self.names.len().saturating_sub(1));
        if row.kind == StepKind::Note {
            let label = format!("\u{25cf} {}", row.label);
            return self.text(last + 16.0, y + 4.0, "start", INK, &label, ASIDE - 24.0);
        }
        let (x1, x2) = (self.x(from), self.x(to));
        let look = look(row.style);
        if from == to {
            self.arrow(&row, &format!("M{x1:.1} {:.1}h18v8h-10", y - 4.0), (x1 + 1.0, y + 4.0), -1.0);
            return self.text(x1 + 26.0, y + 4.0, "start", look, &row.label, ASIDE.max(self.gap) - 40.0);
        }
        let right = if x2 > x1 { 1.0 } else { -1.0 };
        let tip = x2 - right;
        self.arrow(&row, &format!("M{x1:.1} {y:.1}H{:.1}", tip - right * HEAD), (tip, y), right);
        let room = (x2 - x1).abs() - 24.0;
        if from.abs_diff(to) > 1 {
            self.clearing((x1 + x2) / 2.0, y - 5.0, &row.label, room);
        }
        self.text((x1 + x2) / 2.0, y - 5.0, "middle", look, &row.label, room);
    }

    /// The line of an arrow, and its head, which points `right` (1) or left (-1).
    fn arrow(&mut self, row: &Step, line: &str, (x, y): (f64, f64), right: f64) {
        let Look { class, colour, .. } = look(row.style);
        let width = if row.kind == StepKind::Media { "3.2" } else { "1.4" };
        let dashes = if row.retransmission { " stroke-dasharray=\"5 4\"" } else { "" };
        let _ = writeln!(
            self.svg,
            "<path class=\"line {class}\" d=\"{line}\" fill=\"none\" stroke=\"{colour}\" \
             stroke-width=\"{width}\"{dashes}/>\n\
             <path class=\"fill {class}\" d=\"M{x:.1} {y:.1}l{:.1} -4v8z\" fill=\"{colour}\"/>",
            -right * HEAD
        );
    }

    /// Paper behind a label that stands across a lifeline.
    fn clearing(&mut self, x: f64, y: f64, label: &str, room: f64) {
        let width = (columns(label) * COLUMN).min(room) + 6.0;
        let _ = writeln!(
            self.svg,
            "<rect class=\"paper\" x=\"{:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"13\" \
             fill=\"{PAPER}\"/>",
            x - width / 2.0,
            y - 10.0
        );
    }

    /// A line of text, cut to a width; its whole text is shown when the reader points at it.
    fn text(&mut self, x: f64, y: f64, anchor: &str, look: Look, text: &str, room: f64) {
        let safe = text::shown(text);
        let cut = text::cut(&safe, (room / COLUMN).max(1.0) as usize);
        let whole = if cut == safe { String::new() } else { format!("<title>{}</title>", escaped(text)) };
        let Look { class, colour, font } = look;
        let _ = writeln!(
            self.svg,
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" \
             fill=\"{colour}\"{font}>{}{whole}</text>",
            escaped(&cut)
        );
    }

    /// Horizontal position of a lifeline.
    fn x(&self, index: usize) -> f64 {
        MARGIN + 40.0 + self.gap * index as f64
    }

    /// Vertical position of a row.
    fn y(&self, row: f64) -> f64 {
        self.top + 10.0 + ROW * row
    }

    /// Vertical position of a time between the rows.
    fn at(&self, time: Nanos) -> f64 {
        let behind = self.rows.partition_point(|row| row.time < time);
        let Some(next) = self.rows.get(behind) else {
            return self.y(self.rows.len().saturating_sub(1) as f64);
        };
        let Some(before) = behind.checked_sub(1).and_then(|at| self.rows.get(at)) else { return self.y(0.0) };
        let span = next.time.since(before.time).secs_f64();
        let share = if span > 0.0 { time.since(before.time).secs_f64() / span } else { 1.0 };
        self.y(behind as f64 - 1.0 + share)
    }
}

fn columns(label: &str) -> f64 {
    text::width(&text::shown(label)) as f64
}

/// How a text, line or area is drawn: a class, and the same in attributes.
#[derive(Clone, Copy)]
struct Look {
    class: &'static str,
    colour: &'static str,
    /// Attributes of its font where it differs from the drawing's.
    font: &'static str,
}

const fn drawn_as(class: &'static str, colour: &'static str, font: &'static str) -> Look {
    Look { class, colour, font }
}

fn look(style: Style) -> Look {
    match style {
        Style::Good => drawn_as("good", "#157a3c", ""),
        Style::Fair => drawn_as("fair", "#9a6100", ""),
        Style::Bad => drawn_as("bad", "#c0262d", ""),
        Style::Bold => HOST,
        Style::Plain | Style::Dim => INK,
    }
}

/// Text for XML 1.0. Invalid characters, and those that a terminal or browser would act on, are shown as
/// escapes first.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text::shown(text).chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

/// Length of an arrow's head.
const HEAD: f64 = 8.0;
/// Names that viewers on any system resolve, and the class of fonts at last.
const FONT: &str = "'DejaVu Sans Mono', Menlo, Consolas, 'Liberation Mono', monospace";
const PAPER: &str = "#ffffff";
const RULE: &str = "#c8ced5";
const INK: Look = drawn_as("ink", "#1b1f24", "");
const HOST: Look = drawn_as("ink", "#1b1f24", " font-weight=\"700\"");
const TITLE: Look = drawn_as("ink", "#1b1f24", " font-weight=\"700\" font-size=\"14\"");
const DIM: Look = drawn_as("dim", "#5c646d", "");
const TIME: Look = drawn_as("dim", "#5c646d", " font-size=\"11\"");

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ringtap_testing::samples::{START, endpoint};

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

    fn drawn(heading: &[String], steps: &[Step], bands: &[Band]) -> String {
        let notes = [(START + Nanos::from_millis(700), "DTMF 5".to_owned())];
        let mut out = Vec::new();
        draw(&mut out, &Picture { heading, steps, bands, notes: &notes, remarks: &[] }).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn band() -> Band {
        Band {
            src: endpoint(1, 4000),
            dst: endpoint(2, 4002),
            first: START + Nanos::from_millis(100),
            last: START + Nanos::from_millis(900),
            label: "RTP PCMU".into(),
            packets: 40,
            style: Style::Good,
            reports: vec![START + Nanos::from_millis(500)],
        }
    }

    #[test]
    fn messages_media_and_digits_are_drawn() {
        let svg = drawn(&["Call".into()], &[step(0, 1, 2, "INVITE"), step(1000, 2, 1, "BYE")], &[band()]);
        for part in
            ["192.0.2.1:5060", "INVITE", "RTP PCMU", "DTMF 5", "class=\"fill good\"", "RTCP", "+0.700"]
        {
            assert!(svg.contains(part), "{part} is not in {svg}");
        }
        // Media share the lifeline of their host.
        assert_eq!(svg.matches("class=\"lifeline\"").count(), 2);
    }

    #[test]
    fn colours_are_literal_in_every_element() {
        let svg = drawn(
            &["Call".into(), "2026".into()],
            &[
                step(0, 1, 2, "INVITE"),
                Step { retransmission: true, ..step(10, 1, 3, "INVITE") },
                Step { style: Style::Bad, ..step(900, 2, 2, "486") },
            ],
            &[band()],
        );
        // Only browsers understand these.
        for word in ["var(", "<style", "style=", "currentColor", "marker", "url(", " id=", "paint-order"] {
            assert!(!svg.contains(word), "{word} in {svg}");
        }
        let mut elements = 0;
        for element in svg
            .split('<')
            .filter(|part| ["path ", "rect ", "text "].iter().any(|name| part.starts_with(name)))
        {
            elements += 1;
            let paint = |name: &str| {
                let value = element.split_once(&format!(" {name}=\"")).map(|(_, rest)| rest);
                value.and_then(|value| value.split('"').next()).filter(|value| value.starts_with('#'))
            };
            let found = paint("fill").or(paint("stroke"));
            assert!(found.is_some_and(|colour| colour.len() == 7), "no colour: {element}");
        }
        assert!(elements > 15, "{elements}");
        let paper = svg.find("<rect class=\"paper\"").unwrap();
        assert!(svg[..paper].matches('<').count() <= 3, "the background lies below everything else");
    }

    #[test]
    fn markup_from_the_wire_is_text() {
        let hostile =
            "</text><script>alert(1)</script><a href=\"javascript:x\" onload='y'>&lt;\u{1b}[2J\u{ffff}";
        let svg = drawn(
            &[hostile.to_owned()],
            &[step(0, 1, 2, hostile)],
            &[Band { label: hostile.into(), ..band() }],
        );
        assert!(!svg.contains("<script") && !svg.contains("<a "), "{svg}");
        assert!(svg.contains("&lt;/text&gt;&lt;script&gt;") && svg.contains("\\x1b[2J"));
        assert_eq!(svg.matches("<svg").count(), 1);
    }

    proptest! {
        #[test]
        fn any_text_leaves_the_markup_as_it_is(label in any::<String>(), other in any::<String>()) {
            let tags = |svg: &str| svg.matches('<').count();
            let plain = drawn(&["x".into()], &[step(0, 1, 2, "x")], &[]);
            let svg = drawn(std::slice::from_ref(&label), &[step(0, 1, 2, &other)], &[]);
            // At most the whole text where it was cut, a title and its end, for each of the two.
            prop_assert!((tags(&plain)..=tags(&plain) + 4).contains(&tags(&svg)));
            prop_assert!(!svg.chars().any(|c| text::hostile(c) && c != '\n'));
        }
    }
}
