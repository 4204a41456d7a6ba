//! The ladder: hosts as lifelines, messages as arrows, the message under the cursor beside or below.

use ratatui::style::Modifier;
use ringtap_report::calls::{figure, loss_pct, percent};
use ringtap_report::ladder::{Participant, Step, StepKind, participant_of, participants};
use ringtap_report::message;
use ringtap_report::streams::codec;
use ringtap_report::style::Style;
use ringtap_report::text::{self, Align};
use ringtap_report::time;

use super::pen::{self, Ink, Pen, plain};
use super::raw;
use crate::app::{App, LadderColours, Row, mos};

/// Least distance between two lifelines.
const NARROWEST: usize = 18;
/// Largest distance between two lifelines: longer arrows are harder to follow.
const WIDEST: usize = 44;
/// Width from which there is room for the text beside the ladder.
const WIDE: u16 = 110;

pub(super) fn draw(app: &App, pen: &mut Pen<'_>) {
    let title = match &app.open[..] {
        [one] => {
            let duration = one.duration_ms(app.view.now).map(|millis| format!(", {}", time::span(millis)));
            let mos = mos(one).map(|mos| format!(", MOS {mos:.2}"));
            let outcome =
                format!("{}{}{}", one.state(), duration.unwrap_or_default(), mos.unwrap_or_default());
            format!(" {} -> {}: {outcome}   {}", one.from, one.to, one.call_id)
        }
        several => format!(" {} calls", several.len()),
    };
    let colours = match app.ladder_colours {
        LadderColours::ByMethod => String::new(),
        LadderColours::ByCallId => " [colours by call]".to_string(),
    };
    pen.heading(0, &format!("{colours}{title}"));
    let (width, height) = (pen.width(), pen.height());
    let body = height.saturating_sub(2);
    if !app.preview {
        return ladder(app, &mut pen.part(0, 1, width, body));
    }
    if width >= WIDE {
        let left = (width * 3 / 5).min(width - 45);
        ladder(app, &mut pen.part(0, 1, left, body));
        let mut side = pen.part(left, 1, width - left, body);
        for row in 0..body {
            side.put(row, 0, &pen::dim("│"));
        }
        preview(app, &mut side.part(2, 0, width - left - 2, body));
    } else {
        let upper = (body * 3 / 5).max(5);
        ladder(app, &mut pen.part(0, 1, width, upper));
        let line = "─".repeat(usize::from(width));
        pen.put(1 + upper, 0, &pen::dim(line));
        preview(app, &mut pen.part(0, 2 + upper, width, body.saturating_sub(upper + 1)));
    }
}

/// The first row that is shown of so many, of which so many fit.
fn top(step: usize, rows: usize, height: usize) -> usize {
    step.saturating_sub(height.saturating_sub(1))
        .max(step.saturating_sub(height / 2))
        .min(rows.saturating_sub(height))
}

/// Rows of the ladder that fit.
fn height(app: &App) -> u16 {
    let body = app.size.1.saturating_sub(2);
    let all = if app.preview && app.size.0 < WIDE { (body * 3 / 5).max(5) } else { body };
    all.saturating_sub(1)
}

/// The row of the ladder at a row of the screen.
pub(crate) fn row_at(app: &App, row: u16) -> Option<usize> {
    let height = height(app);
    let place = row.checked_sub(2).filter(|place| *place < height)?;
    let index = top(app.step, app.flow.len(), usize::from(height)) + usize::from(place);
    (index < app.flow.len()).then_some(index)
}

/// The message or stream under the cursor.
fn preview(app: &App, pen: &mut Pen<'_>) {
    let Some(row) = app.flow.get(app.step) else { return };
    let lines = match row {
        Row::Sip(message, _) => raw::message(message, usize::from(pen.width())),
        Row::Rtp(stream, _) => {
            let mut lines = vec![vec![pen::bold(format!("RTP {} -> {}", stream.src, stream.dst))]];
            let loss = format!("{} ({})", stream.lost, percent(Some(loss_pct(stream))));
            for (name, value) in [
                ("SSRC", format!("0x{:08x}", stream.ssrc)),
                ("Codec", codec(stream)),
                ("First", time::full(stream.first)),
                ("Last", time::full(stream.last)),
                ("Packets", stream.packets.to_string()),
                ("Lost", loss),
                (
                    "Jitter",
                    format!(
                        "{} ms mean, {} ms max",
                        figure(stream.jitter_ms_mean, 1),
                        figure(stream.jitter_ms_max, 1)
                    ),
                ),
                ("MOS", figure(stream.mos, 2)),
            ] {
                lines.push(vec![pen::dim(format!("{name:<9}")), plain(value)]);
            }
            lines
        }
    };
    for (row, line) in lines.iter().take(usize::from(pen.height())).enumerate() {
        pen.line(row as u16, line);
    }
}

/// A row as the ladder's own kind of step, by which hosts are told apart.
fn step(row: &Row) -> Step {
    match row {
        Row::Sip(message, _) => Step {
            time: message.time,
            src: message.src,
            dst: message.dst,
            label: message.label.to_string(),
            style: message::style(message.code),
            retransmission: message.retransmission,
            kind: StepKind::Message,
        },
        Row::Rtp(stream, _) => Step {
            time: stream.first,
            src: stream.src,
            dst: stream.dst,
            label: format!("RTP {} {}", codec(stream), stream.packets),
            style: Style::Plain,
            retransmission: false,
            // A column is named by all that its host does here.
            kind: StepKind::Message,
        },
    }
}

fn ladder(app: &App, pen: &mut Pen<'_>) {
    let steps: Vec<Step> = app.flow.iter().map(step).collect();
    let Some(first) = steps.first() else {
        pen.put(1, 2, &pen::dim("No message of the call was kept."));
        return;
    };
    let hosts = participants(&steps);
    let margin = if pen.width() >= 100 { 24 } else { 11 };
    let room = usize::from(pen.width()).saturating_sub(margin);
    // Names are centred above their lifeline.
    let half = hosts.iter().map(|host| host.name().len()).max().unwrap_or(0) / 2;
    let inner = room.saturating_sub(half * 2 + 1);
    let fits = (inner / NARROWEST + 1).min(hosts.len()).max(2);
    let gap = (inner / (fits - 1)).clamp(NARROWEST.min(inner.max(4)), WIDEST);
    // The message under the cursor is always visible.
    let current = &steps[app.step.min(steps.len() - 1)];
    let [from, to] = [current.src, current.dst].map(|end| participant_of(&hosts, end));
    let shown = app.first_lifeline.max((from.max(to) + 1).saturating_sub(fits)).min(from.min(to));
    let shown = shown.min(hosts.len().saturating_sub(fits));
    let lifelines: Vec<(usize, usize)> = (shown..hosts.len().min(shown + fits))
        .map(|host| (host, margin + half + (host - shown) * gap))
        .collect();

    for (host, column) in &lifelines {
        let name = text::cut(&hosts[*host].name(), gap.saturating_sub(1).max(half * 2 + 1)).into_owned();
        pen.put(0, column.saturating_sub(text::width(&name) / 2), &pen::bold(name));
    }
    let more = hosts.len() - lifelines.len();
    if more > 0 {
        pen.put(0, 0, &pen::styled(format!("<> {more} more"), Style::Fair));
    }
    let height = usize::from(pen.height()).saturating_sub(1);
    let top = top(app.step, steps.len(), height);
    for (index, one) in steps.iter().enumerate().skip(top).take(height) {
        let row = (index - top) as u16 + 1;
        let since = |earlier: &Step| one.time.since(earlier.time).secs_f64();
        let time = match margin {
            24 => {
                let before = index.checked_sub(1).map_or(0.0, |before| since(&steps[before]));
                let clock = time::full(one.time);
                format!("{} {before:>+9.3}", clock.get(11..).unwrap_or_default())
            }
            _ => format!("{:>+9.3}", since(first)),
        };
        pen.put(row, 0, &pen::dim(text::fit(&time, margin - 2, Align::Left)));
        if app.is_marked(&app.flow[index]) {
            pen.put(row, margin - 2, &pen::bold("*"));
        }
        for (_, column) in &lifelines {
            pen.put(row, *column, &pen::dim("│"));
        }
        let belongs = match &app.flow[index] {
            Row::Sip(_, call) | Row::Rtp(_, call) => *call,
        };
        let is_rtp = matches!(app.flow[index], Row::Rtp(..));
        let mut style = match app.ladder_colours {
            LadderColours::ByCallId => pen::coloured("", pen::of_call(belongs)).style,
            LadderColours::ByMethod if is_rtp => pen::coloured("", ratatui::style::Color::Cyan).style,
            LadderColours::ByMethod => match &app.flow[index] {
                Row::Sip(message, _) => pen::of_method(message),
                Row::Rtp(..) => pen::of(one.style),
            },
        };
        if index == app.step {
            style = style.add_modifier(Modifier::REVERSED | Modifier::BOLD);
        }
        arrow(one, is_rtp, &hosts, &lifelines, row, style, pen);
    }
}

fn arrow(
    step: &Step,
    is_rtp: bool,
    hosts: &[Participant],
    lifelines: &[(usize, usize)],
    row: u16,
    style: ratatui::style::Style,
    pen: &mut Pen<'_>,
) {
    let [from, to] = [step.src, step.dst].map(|end| participant_of(hosts, end));
    let (Some((first, left)), Some((last, _))) = (lifelines.first(), lifelines.last()) else { return };
    let (low, high) = (from.min(to), from.max(to));
    if high < *first || low > *last {
        return;
    }
    // An arrow to a lifeline that is not visible ends at the edge.
    let column = |host: usize| match lifelines.iter().find(|(index, _)| *index == host) {
        Some((_, column)) => *column,
        None if host < *first => left.saturating_sub(2),
        None => usize::from(pen.width()) - 1,
    };
    let label = match step.retransmission {
        true => format!("{} (again)", step.label),
        false => step.label.clone(),
    };
    let label = text::shown(&label).into_owned();
    if from == to {
        pen.put(row, column(from) + 1, &Ink { text: format!(" ↺ {label}"), style });
        return;
    }
    let (begin, end) = (column(low) + 1, column(high));
    let width = end.saturating_sub(begin);
    let fill = match (is_rtp, step.retransmission) {
        (true, _) => '═',
        (false, true) => '┄',
        (false, false) => '─',
    };
    let label = format!(" {} ", text::cut(&label, width.saturating_sub(4)));
    let body = text::fit_with(&label, width.saturating_sub(1), Align::Centre, fill);
    let text = if from < to { format!("{body}▶") } else { format!("◀{body}") };
    pen.put(row, begin, &Ink { text, style });
}
