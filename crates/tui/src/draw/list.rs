//! The list of calls.

use std::sync::Arc;

use ringtap_live::calls::{DialogEntry, is_under_way};
use ringtap_model::CallState;
use ringtap_report::calls::{figure, loss_pct, loss_style, percent, worst};
use ringtap_report::style::Style;
use ringtap_report::text::grouped;
use ringtap_report::text::{Align, fit, shown, width as columns};
use ringtap_report::time;

use super::pen::{self, Ink, Pen, plain};
use crate::app::{App, Sort, mos};

struct Column {
    sort: Sort,
    title: &'static str,
    /// Narrowest, and widest where there is room.
    width: (usize, usize),
    align: Align,
    /// Those with the highest number go first.
    leave: u8,
}

const fn column(sort: Sort, title: &'static str, width: (usize, usize), align: Align, leave: u8) -> Column {
    Column { sort, title, width, align, leave }
}

const COLUMNS: [Column; 11] = [
    column(Sort::Time, "Time", (8, 8), Align::Left, 0),
    column(Sort::From, "From", (13, 34), Align::Left, 0),
    column(Sort::To, "To", (13, 34), Align::Left, 0),
    column(Sort::State, "State", (12, 14), Align::Left, 0),
    column(Sort::Duration, "Duration", (8, 8), Align::Right, 2),
    column(Sort::Messages, "Msgs", (4, 6), Align::Right, 3),
    column(Sort::Source, "Source", (19, 26), Align::Left, 5),
    column(Sort::Destination, "Destination", (19, 26), Align::Left, 6),
    column(Sort::Codec, "Codec", (6, 6), Align::Left, 7),
    column(Sort::Loss, "Loss", (7, 7), Align::Right, 1),
    column(Sort::Mos, "MOS", (4, 4), Align::Right, 0),
];
/// Before the columns: whether it is selected.
const MARK: usize = 2;

pub(super) fn draw(app: &App, pen: &mut Pen<'_>) {
    head(app, pen);
    let widths = widths(usize::from(pen.width()));
    titles(app, &widths, pen);
    let room = app.list_room();
    let shown = app.rows.iter().enumerate().skip(app.top).take(room);
    for (row, (place, entry)) in
        shown.filter_map(|(place, at)| Some((place, app.view.entries.get(*at)?))).enumerate()
    {
        let row = row as u16 + 4;
        line(app, entry, &widths, row, pen);
        if place == app.cursor {
            pen.mark(row);
        }
    }
    if app.rows.is_empty() {
        let why = match (app.view.entries.is_empty(), &app.view.over) {
            (false, _) => "No call passes the filter: F7 changes it, / and Esc show all.",
            (true, Some(_)) => "No call was seen.",
            (true, None) => "No call yet.",
        };
        pen.put(5, 2, &pen::dim(why));
    }
}

fn head(app: &App, pen: &mut Pen<'_>) {
    let view = &app.view;
    let mut first = vec![pen::bold(" ringtap live "), plain(format!(" {}", view.source))];
    if app.paused {
        first.push(pen::styled("  [paused]", Style::Fair));
    }
    if app.follow {
        first.push(pen::styled("  [autoscroll]", Style::Good));
    }
    if let Some(over) = &view.over {
        first.push(pen::styled(format!("  [{over}]"), Style::Fair));
    }
    pen.line(0, &first);

    let under_way = view.entries.iter().filter(|entry| is_under_way(entry)).count();
    let calls = view.entries.iter().filter(|entry| entry.call.is_some()).count();
    let mut second = vec![plain(format!(
        " Calls {} of {} under way, others {}",
        grouped(under_way as u64),
        grouped(calls as u64),
        grouped((view.entries.len() - calls) as u64)
    ))];
    if view.totals.left > 0 {
        second.push(pen::styled(format!(", {} left", grouped(view.totals.left)), Style::Fair));
    }
    let (packets, bits) = view.rate;
    if view.over.is_none() {
        second.push(plain(format!("   {} packets/s, {:.1} Mbit/s", grouped(packets as u64), bits / 1e6)));
    }
    let lost: u64 = view.lost.iter().map(|(_, count)| count).sum();
    let lost = lost + view.counters.turned_away();
    let style = if lost > 0 { Style::Bad } else { Style::Plain };
    second.push(pen::styled(format!("   lost {}", grouped(lost)), style));
    pen.line(1, &second);

    let filter = if app.filter.is_set() { app.filter.told() } else { "none".to_string() };
    let mut third = vec![
        plain(format!(" Shown {} of {}", grouped(app.rows.len() as u64), grouped(view.entries.len() as u64))),
        plain("   filter: "),
        if app.filter.is_set() { pen::styled(filter, Style::Fair) } else { pen::dim(filter) },
    ];
    if !app.selected.is_empty() {
        third.push(pen::bold(format!("   selected {}", app.selected.len())));
    }
    pen.line(2, &third);
}

/// The width of each column, 0 for those that had to go.
fn widths(room: usize) -> [usize; COLUMNS.len()] {
    let mut widths = COLUMNS.each_ref().map(|column| column.width.0);
    let total = |widths: &[usize]| {
        MARK + widths.iter().filter(|width| **width > 0).map(|width| width + 1).sum::<usize>()
    };
    while total(&widths) > room + 1 {
        let goes =
            (0..COLUMNS.len()).filter(|index| widths[*index] > 0).max_by_key(|index| COLUMNS[*index].leave);
        match goes {
            Some(index) if COLUMNS[index].leave > 0 => widths[index] = 0,
            _ => break,
        }
    }
    // What is left goes round to those that can use it.
    let mut spare = (room + 1).saturating_sub(total(&widths));
    loop {
        let before = spare;
        for (width, column) in widths.iter_mut().zip(&COLUMNS) {
            if spare > 0 && *width > 0 && *width < column.width.1 {
                *width += 1;
                spare -= 1;
            }
        }
        if spare == before {
            return widths;
        }
    }
}

/// The column whose heading stands there.
pub(crate) fn column_at(width: u16, x: u16) -> Option<Sort> {
    let mut begin = MARK;
    for (of, width) in COLUMNS.iter().zip(widths(usize::from(width))).filter(|(_, width)| *width > 0) {
        if (begin..=begin + width).contains(&usize::from(x)) {
            return Some(of.sort);
        }
        begin += width + 1;
    }
    None
}

fn titles(app: &App, widths: &[usize], pen: &mut Pen<'_>) {
    pen.heading(3, "");
    let mut column = MARK;
    for (of, width) in COLUMNS.iter().zip(widths).filter(|(_, width)| **width > 0) {
        let sorted = match (of.sort == app.sort, app.descending) {
            (true, false) => "^",
            (true, true) => "v",
            (false, _) => "",
        };
        // The mark of the order must not be cut off.
        let title = fit(of.title, (*width).saturating_sub(sorted.len()).min(of.title.len()), Align::Left);
        let title = fit(&format!("{title}{sorted}"), *width, of.align);
        column = pen.put(3, column, &pen::bar(title)) + 1;
    }
}

fn line(app: &App, entry: &Arc<DialogEntry>, widths: &[usize], row: u16, pen: &mut Pen<'_>) {
    let mark = if app.selected.contains(&entry.serial) { "*" } else { " " };
    pen.put(row, 0, &pen::bold(mark));
    let mut column = MARK;
    for (of, width) in COLUMNS.iter().zip(widths).filter(|(_, width)| **width > 0) {
        let Ink { text, style } = cell(app, entry, of.sort);
        let text = shown(&text);
        let text = match (of.sort, text.split_once('@')) {
            // A whole number says more than a part of its host.
            (Sort::From | Sort::To, Some((user, _)))
                if columns(&text) > *width && columns(user) <= *width =>
            {
                fit(user, *width, of.align)
            }
            _ => fit(&text, *width, of.align),
        };
        column = pen.put(row, column, &Ink { text, style }) + 1;
    }
}

fn cell(app: &App, entry: &DialogEntry, column: Sort) -> Ink {
    let stream = worst(entry.streams.iter());
    match column {
        Sort::Time => plain(time::clock(entry.first)),
        Sort::From => plain(&*entry.from),
        Sort::To => plain(&*entry.to),
        Sort::State => pen::styled(entry.state(), style(entry)),
        Sort::Duration => plain(entry.duration_ms(app.view.now).map(time::span).unwrap_or_default()),
        Sort::Messages => plain(entry.count.to_string()),
        Sort::Source => plain(entry.src.to_string()),
        Sort::Destination => plain(entry.dst.to_string()),
        Sort::Codec => plain(stream.and_then(|stream| stream.codec.clone()).unwrap_or_default()),
        Sort::Loss => {
            let loss = stream.map(loss_pct);
            pen::styled(loss.map(|loss| percent(Some(loss))).unwrap_or_default(), loss_style(loss))
        }
        Sort::Mos => {
            let mos = mos(entry);
            pen::styled(mos.map(|mos| figure(Some(mos), 2)).unwrap_or_default(), Style::of_mos(mos))
        }
    }
}

/// By state: what is being set up stands out from what is talked in.
fn style(entry: &DialogEntry) -> Style {
    match (&entry.call, entry.code) {
        (Some(call), _) => match call.state {
            CallState::Trying | CallState::Ringing => Style::Fair,
            CallState::Active if !entry.ended => Style::Good,
            CallState::Completed => Style::Plain,
            state => Style::of_state(state),
        },
        (None, Some(400..)) => Style::Fair,
        (None, _) => Style::Dim,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_fill_any_width() {
        for room in 60..300 {
            let widths = widths(room);
            let total =
                MARK + widths.iter().filter(|width| **width > 0).map(|width| width + 1).sum::<usize>() - 1;
            assert!(total <= room, "{room}: {widths:?}");
        }
        assert!(widths(200).iter().all(|width| *width > 0));
        assert_eq!(widths(80)[10], 4, "the MOS stays");
    }
}
