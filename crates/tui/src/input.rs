//! What keys, clicks and the wheel change.

use ratatui::crossterm::event::{KeyCode, KeyEvent, MouseButton, MouseEvent, MouseEventKind};

use crate::app::{App, Effect, Page};
use crate::draw::{flow, list, most_scroll, streams};

/// Rows that one turn of the wheel moves.
const TURN: usize = 3;

/// Handles a key. Only the drawing knows how long a text is, and scrolling ends where it does.
pub(crate) fn handle(app: &mut App, key: KeyEvent) -> Effect {
    let effect = app.key(key);
    if matches!(effect, Effect::Scroll) {
        app.scroll = app.scroll.min(most_scroll(app));
    }
    effect
}

/// Handles a click or the wheel. A click chooses a row, a click on the chosen row opens it, one on a heading
/// sorts; in a window, clicks do nothing.
pub(crate) fn on_mouse(app: &mut App, event: MouseEvent) -> Effect {
    let turn = match event.kind {
        MouseEventKind::ScrollUp => Some(KeyCode::Up),
        MouseEventKind::ScrollDown => Some(KeyCode::Down),
        _ => None,
    };
    if app.popup.is_some() {
        return Effect::Nothing;
    }
    if let Some(key) = turn {
        let mut effect = Effect::Nothing;
        for _ in 0..TURN {
            effect = handle(app, KeyEvent::from(key));
        }
        return effect;
    }
    if event.kind == MouseEventKind::Down(MouseButton::Right) && app.page() != Page::List {
        return handle(app, KeyEvent::from(KeyCode::Esc));
    }
    if event.kind != MouseEventKind::Down(MouseButton::Left) {
        return Effect::Nothing;
    }
    let chosen = match app.page() {
        Page::List => return in_list(app, event),
        Page::Flow => flow::row_at(app, event.row).map(|row| row == std::mem::replace(&mut app.step, row)),
        Page::Streams => {
            streams::row_at(app, event.row).map(|row| row == std::mem::replace(&mut app.stream, row))
        }
        Page::Raw { .. } | Page::Compare | Page::Statistics => None,
    };
    match chosen {
        Some(true) => handle(app, KeyEvent::from(KeyCode::Enter)),
        _ => Effect::Nothing,
    }
}

fn in_list(app: &mut App, event: MouseEvent) -> Effect {
    match event.row {
        HEADINGS => {
            if let Some(sort) = list::column_at(app.size.0, event.column) {
                app.sort_on(sort);
            }
        }
        row => {
            let place =
                row.checked_sub(HEADINGS + 1).map(usize::from).filter(|place| *place < app.list_room());
            if let Some(row) = place.map(|place| app.top + place).filter(|row| *row < app.rows.len()) {
                if app.cursor == row {
                    return handle(app, KeyEvent::from(KeyCode::Enter));
                }
                app.follow = false;
                app.cursor = row;
                app.keep_in_sight();
            }
        }
    }
    Effect::Nothing
}

/// The row of the headings.
const HEADINGS: u16 = 3;
