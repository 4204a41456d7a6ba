//! Messages as they were sent.

use ringtap_live::calls::SipMessage;
use ringtap_report::message;
use ringtap_report::text::{shown, width as columns, wrap};
use ringtap_report::time;

use super::pen::{self, Ink, Pen, plain};
use crate::app::{App, Row};

pub(super) fn draw(app: &App, one: Option<usize>, pen: &mut Pen<'_>) {
    let title = match &app.open[..] {
        [call] => format!(" Messages of {}", call.call_id),
        several => format!(" Messages of {} calls", several.len()),
    };
    pen.heading(0, &title);
    let room = usize::from(pen.height()).saturating_sub(2);
    let lines = lines(app, one, usize::from(pen.width()));
    let top = app.scroll.min(lines.len().saturating_sub(room));
    for (row, line) in lines.iter().skip(top).take(room).enumerate() {
        pen.line(row as u16 + 1, line);
    }
}

/// All of it, wrapped to `width`.
pub(super) fn lines(app: &App, one: Option<usize>, width: usize) -> Vec<Vec<Ink>> {
    let chosen = app.flow.iter().enumerate().filter(|(index, _)| one.is_none_or(|one| one == *index));
    let mut lines = Vec::new();
    for (_, row) in chosen {
        if let Row::Sip(sip, _) = row {
            lines.extend(message(sip, width));
            lines.push(Vec::new());
        }
    }
    if lines.is_empty() {
        lines.push(vec![pen::dim("No message of the call was kept.")]);
    }
    lines
}

/// Where a message went, then its lines.
pub(super) fn message(sip: &SipMessage, width: usize) -> Vec<Vec<Ink>> {
    let transport = format!("{:?}", sip.transport).to_uppercase();
    let head = format!("{} {} -> {} {transport}", time::full(sip.time), sip.src, sip.dst);
    let mut lines: Vec<Vec<Ink>> = wrap(&head, width).into_iter().map(|line| vec![pen::dim(line)]).collect();
    let text = String::from_utf8_lossy(sip.text());
    let mut in_head = true;
    for (index, line) in text.trim_end().split('\n').enumerate() {
        let line = line.strip_suffix('\r').unwrap_or(line);
        in_head &= !line.is_empty();
        let safe = shown(line);
        for (part, piece) in wrapped(&safe, width).into_iter().enumerate() {
            lines.push(match piece.split_once(':') {
                _ if index == 0 => vec![Ink { text: piece, style: pen::of(message::style(sip.code)) }],
                // The name of a header stands out where it begins a line.
                Some((name, value)) if in_head && part == 0 && !name.contains([' ', '\t']) => {
                    vec![pen::bold(format!("{name}:")), plain(value)]
                }
                _ => vec![plain(piece)],
            });
        }
    }
    lines
}

/// Cut into pieces of at most `width` columns; nothing is left out.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let width = width.max(2);
    let mut pieces = vec![String::new()];
    let mut used = 0;
    for c in text.chars() {
        let wide = columns(c.encode_utf8(&mut [0; 4]));
        if used + wide > width {
            pieces.push(String::new());
            used = 0;
        }
        if let Some(piece) = pieces.last_mut() {
            piece.push(c);
        }
        used += wide;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_out() {
        assert_eq!(wrapped("abcdef", 4), ["abcd", "ef"]);
        assert_eq!(wrapped("日本語", 5), ["日本", "語"]);
        assert_eq!(wrapped("", 5), [""]);
    }
}
