//! A state as a screen. Nothing here changes anything.

mod compare;
pub(crate) mod flow;
pub(crate) mod list;
mod pen;
mod popup;
mod raw;
mod statistics;
pub(crate) mod streams;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::app::{App, Page, Popup};
use pen::Pen;

/// Narrower or lower than this, nothing can be shown.
const LEAST: (u16, u16) = (60, 12);

/// Draws `app` into `area`.
pub(crate) fn draw(app: &App, area: Rect, buffer: &mut Buffer, colour: bool) {
    let mut pen = Pen::new(buffer, area, colour);
    if area.width < LEAST.0 || area.height < LEAST.1 {
        pen.line(0, &[pen::plain("ringtap live needs 60 columns and 12 rows")]);
        return;
    }
    match app.page() {
        Page::List => list::draw(app, &mut pen),
        Page::Flow => flow::draw(app, &mut pen),
        Page::Raw { one } => raw::draw(app, one, &mut pen),
        Page::Compare => compare::draw(app, &mut pen),
        Page::Streams => streams::draw(app, &mut pen),
        Page::Statistics => statistics::draw(app, &mut pen),
    }
    keys(app, &mut pen);
    if let Some(popup) = &app.popup {
        popup::draw(app, popup, &mut pen);
    }
}

/// How far down the text of the page in front can be scrolled.
pub(crate) fn most_scroll(app: &App) -> usize {
    let (width, height) = (usize::from(app.size.0), usize::from(app.size.1));
    let lines = match app.page() {
        Page::Raw { one } => raw::lines(app, one, width).len(),
        Page::Compare => compare::lines(app, width).len(),
        Page::Statistics => statistics::lines(app).len(),
        _ => 0,
    };
    lines.saturating_sub(height.saturating_sub(2))
}

/// The bar at the bottom: what keys do here, or what happened last.
fn keys(app: &App, pen: &mut Pen<'_>) {
    let row = pen.height() - 1;
    if let Some(note) = &app.note {
        return pen.line(row, &[pen::bold(format!(" {note}"))]);
    }
    let keys: &[(&str, &str)] = match (&app.popup, app.page()) {
        (Some(Popup::Search(_)), _) => &[("Enter", "Keep"), ("Esc", "Show all")],
        (Some(Popup::Filter { .. }), _) => &[
            ("Enter", "Apply"),
            ("Esc", "Leave"),
            ("Tab", "Next"),
            ("Space", "Switch"),
            ("Del", "Empty all"),
        ],
        (Some(Popup::Save { .. }), _) => &[
            ("Enter", "Save"),
            ("Esc", "Leave"),
            ("Tab", "Selected or all"),
            ("Up/Down", "SIP or SIP and RTP"),
        ],
        (Some(_), _) => &[],
        (None, Page::List) => &[
            ("Esc", "Quit"),
            ("Enter", "Show"),
            ("Space", "Select"),
            ("F1", "Help"),
            ("F2", "Save"),
            ("F3", "Search"),
            ("F4", "Extended"),
            ("F5", "Clear"),
            ("F6", "Raw"),
            ("F7", "Filter"),
            ("F8", "Streams"),
            ("F9", "Statistics"),
            ("p", "Pause"),
            ("A", "Autoscroll"),
            ("<>z", "Sort"),
        ],
        (None, Page::Flow) => &[
            ("Esc", "Back"),
            ("Enter", "Message"),
            ("F1", "Help"),
            ("F2", "Save"),
            ("F6", "Raw"),
            ("F7", "Colours"),
            ("F8", "Streams"),
            ("Space", "Compare"),
            ("t", "Text"),
            ("p", "Pause"),
        ],
        (None, Page::Streams) => {
            &[("Esc", "Back"), ("Up/Down", "Choose"), ("F1", "Help"), ("F2", "Save"), ("p", "Pause")]
        }
        (None, _) => {
            &[("Esc", "Back"), ("PgUp/PgDn", "Scroll"), ("F1", "Help"), ("F2", "Save"), ("p", "Pause")]
        }
    };
    let mut column = 0;
    for (key, does) in keys {
        let width = key.len() + does.len() + 2;
        // Whole keys only: half a word helps nobody.
        if column + width > usize::from(pen.width()) {
            break;
        }
        column = pen.put(row, column, &pen::bold(*key));
        column = pen.put(row, column, &pen::bar(format!(" {does}"))) + 1;
    }
}
