//! Two messages side by side, with what differs marked.

use ringtap_report::text::{shown, width as columns};
use ringtap_report::time;

use super::pen::{self, Ink, Pen, plain};
use crate::app::App;

/// Lines of a message that are compared; the rest is left out, and said so.
const MOST: usize = 400;
/// Between the columns: the mark.
const BETWEEN: usize = 3;

pub(super) fn draw(app: &App, pen: &mut Pen<'_>) {
    pen.heading(0, " Two messages: ~ differs, < only left, > only right");
    let room = usize::from(pen.height()).saturating_sub(2);
    let lines = lines(app, usize::from(pen.width()));
    let top = app.scroll.min(lines.len().saturating_sub(room));
    for (row, line) in lines.iter().skip(top).take(room).enumerate() {
        pen.line(row as u16 + 1, line);
    }
}

/// All of it, in two columns of half of `width` each.
pub(super) fn lines(app: &App, width: usize) -> Vec<Vec<Ink>> {
    let [one, other] = &app.compared[..] else {
        return vec![vec![pen::dim("Choose two messages of the ladder with Space.")]];
    };
    let half = (width.saturating_sub(BETWEEN) / 2).max(4);
    let head = |message: &ringtap_live::calls::SipMessage| {
        format!("{} {}", time::clock(message.time), message.label)
    };
    let mut all = vec![vec![
        pen::bold(padded(&shown(&head(one)), half)),
        plain(" ".repeat(BETWEEN)),
        pen::bold(shown(&head(other)).into_owned()),
    ]];
    let (left, right) = (texts(one.text()), texts(other.text()));
    for pair in pairs(&left, &right) {
        all.extend(rows(&left, &right, pair, half));
    }
    if left.len() == MOST || right.len() == MOST {
        all.push(vec![pen::dim(format!("Only the first {MOST} lines are compared."))]);
    }
    all
}

fn texts(message: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(message);
    text.trim_end()
        .split('\n')
        .take(MOST)
        .map(|line| shown(line.trim_end_matches('\r')).into_owned())
        .collect()
}

/// Lines that stand beside each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pair {
    Same(usize, usize),
    Differ(usize, usize),
    Left(usize),
    Right(usize),
}

/// The longest common lines stay beside each other; between them, headers of one name do.
fn pairs(left: &[String], right: &[String]) -> Vec<Pair> {
    let (rows, wide) = (left.len(), right.len() + 1);
    // Length of the longest common lines from each pair of lines on.
    let mut common = vec![0_u16; (rows + 1) * wide];
    for a in (0..rows).rev() {
        for b in (0..right.len()).rev() {
            common[a * wide + b] = match left[a] == right[b] {
                true => common[(a + 1) * wide + b + 1] + 1,
                false => common[(a + 1) * wide + b].max(common[a * wide + b + 1]),
            };
        }
    }
    let (mut pairs, mut a, mut b) = (Vec::new(), 0, 0);
    let (mut only_left, mut only_right) = (Vec::new(), Vec::new());
    while a < rows && b < right.len() {
        if left[a] == right[b] {
            between(left, right, (&mut only_left, &mut only_right), &mut pairs);
            pairs.push(Pair::Same(a, b));
            (a, b) = (a + 1, b + 1);
        } else if common[(a + 1) * wide + b] >= common[a * wide + b + 1] {
            only_left.push(a);
            a += 1;
        } else {
            only_right.push(b);
            b += 1;
        }
    }
    only_left.extend(a..rows);
    only_right.extend(b..right.len());
    between(left, right, (&mut only_left, &mut only_right), &mut pairs);
    pairs
}

/// Pairs of the lines between two that are the same.
fn between(
    left: &[String],
    right: &[String],
    (only_left, only_right): (&mut Vec<usize>, &mut Vec<usize>),
    pairs: &mut Vec<Pair>,
) {
    for a in only_left.drain(..) {
        let found = only_right.iter().position(|b| name(&left[a]) == name(&right[*b]));
        match found {
            Some(found) => {
                // Those before it have no partner: each stands alone, in order.
                pairs.extend(only_right.drain(..found).map(Pair::Right));
                pairs.push(Pair::Differ(a, only_right.remove(0)));
            }
            None => pairs.push(Pair::Left(a)),
        }
    }
    pairs.extend(only_right.drain(..).map(Pair::Right));
}

/// The name of a header, the letter of an SDP line, or that it is a first line.
fn name(line: &str) -> &str {
    let end = line.find([':', '=']).unwrap_or(line.len());
    let name = &line[..end];
    if name.contains(' ') { "" } else { name }
}

/// A pair as rows of the screen, each side wrapped to its half.
fn rows(left: &[String], right: &[String], pair: Pair, half: usize) -> Vec<Vec<Ink>> {
    let (a, b, mark) = match pair {
        Pair::Same(a, b) => (Some(&left[a]), Some(&right[b]), " "),
        Pair::Differ(a, b) => (Some(&left[a]), Some(&right[b]), "~"),
        Pair::Left(a) => (Some(&left[a]), None, "<"),
        Pair::Right(b) => (None, Some(&right[b]), ">"),
    };
    let all = |line: &String| (0, line.chars().count());
    let (mut marked_a, mut marked_b) = (a.map(all), b.map(all));
    if let (Some(a), Some(b)) = (a, b) {
        let begin = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
        let (long_a, long_b) = (a.chars().count(), b.chars().count());
        let most = long_a.min(long_b) - begin;
        let end = a.chars().rev().zip(b.chars().rev()).take(most).take_while(|(a, b)| a == b).count();
        (marked_a, marked_b) = (Some((begin, long_a - end)), Some((begin, long_b - end)));
    }
    let side = |line: Option<&String>, marked: Option<(usize, usize)>| match (line, marked) {
        (Some(line), Some(marked)) => wrapped(line, marked, half),
        _ => Vec::new(),
    };
    let (one, other) = (side(a, marked_a), side(b, marked_b));
    let count = one.len().max(other.len());
    (0..count)
        .map(|row| {
            let mut line = one.get(row).cloned().unwrap_or_default();
            let used: usize = line.iter().map(|ink| columns(&ink.text)).sum();
            line.push(plain(" ".repeat(half.saturating_sub(used))));
            line.push(pen::bold(format!(" {mark} ")));
            line.extend(other.get(row).cloned().unwrap_or_default());
            line
        })
        .collect()
}

/// A line cut into rows of `width` columns, the characters from `marked.0` to `marked.1` standing out.
fn wrapped(line: &str, marked: (usize, usize), width: usize) -> Vec<Vec<Ink>> {
    let mut rows = vec![Vec::new()];
    let (mut used, mut run, mut run_is_marked) = (0, String::new(), false);
    let ink = |run: String, is_marked| if is_marked { marked_ink(run) } else { plain(run) };
    for (index, c) in line.chars().enumerate() {
        let is_marked = (marked.0..marked.1).contains(&index);
        let wide = columns(c.encode_utf8(&mut [0; 4]));
        let full = used + wide > width;
        if (full || is_marked != run_is_marked) && !run.is_empty() {
            let piece = ink(std::mem::take(&mut run), run_is_marked);
            if let Some(row) = rows.last_mut() {
                row.push(piece);
            }
        }
        if full {
            rows.push(Vec::new());
            used = 0;
        }
        run.push(c);
        run_is_marked = is_marked;
        used += wide;
    }
    if let Some(row) = rows.last_mut() {
        row.push(ink(run, run_is_marked));
    }
    rows
}

fn marked_ink(text: String) -> Ink {
    let mut ink = pen::styled(text, ringtap_report::style::Style::Fair);
    ink.style = ink.style.add_modifier(ratatui::style::Modifier::BOLD);
    ink
}

fn padded(text: &str, width: usize) -> String {
    ringtap_report::text::fit(text, width, ringtap_report::text::Align::Left)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[&str]) -> Vec<String> {
        text.iter().map(|line| (*line).to_owned()).collect()
    }

    #[test]
    fn headers_of_one_name_stand_beside_each_other() {
        let left = lines(&["INVITE sip:a SIP/2.0", "Via: x", "CSeq: 1 INVITE", "", "v=0", "a=sendrecv"]);
        let right = lines(&["INVITE sip:a SIP/2.0", "CSeq: 2 INVITE", "Contact: y", "", "v=0", "a=sendonly"]);
        use Pair::*;
        assert_eq!(
            pairs(&left, &right),
            [Same(0, 0), Left(1), Differ(2, 1), Right(2), Same(3, 3), Same(4, 4), Differ(5, 5)]
        );
        assert_eq!(pairs(&left, &left).len(), left.len());
        assert_eq!(pairs(&[], &right).len(), right.len());
    }

    #[test]
    fn only_what_differs_is_marked_and_nothing_is_lost() {
        let (a, b) = (lines(&["CSeq: 1 INVITE"]), lines(&["CSeq: 22 INVITE"]));
        let rows = rows(&a, &b, Pair::Differ(0, 0), 10);
        assert_eq!(rows.len(), 2, "each side takes two rows of ten columns");
        let text: String = rows.iter().flatten().map(|ink| ink.text.as_str()).collect();
        assert!(text.contains(" ~ "), "{text}");
        let marked: Vec<_> =
            rows.iter().flatten().filter(|ink| ink.style.fg.is_some()).map(|ink| ink.text.as_str()).collect();
        assert_eq!(marked, ["1", "22"]);
    }
}
