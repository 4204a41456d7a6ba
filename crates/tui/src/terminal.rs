//! The loop around a real terminal.

use std::time::{Duration, Instant};

use anyhow::Context;
use ratatui::crossterm::event::{self, Event, KeyEvent, KeyEventKind};
use ringtap_live::watch::Shared;

use crate::app::{App, Effect};
use crate::{draw, save};

/// At most this often a second something new is drawn.
const FRAME: Duration = Duration::from_millis(100);

/// Shows what is published and handles keys until people have seen enough.
pub fn run(shared: &Shared, colour: bool, interrupted: fn() -> bool) -> anyhow::Result<()> {
    // Restores the terminal also where the program panics.
    let mut terminal = ratatui::try_init().context("cannot draw on this terminal")?;
    let result = show(&mut terminal, shared, colour, interrupted);
    ratatui::restore();
    result
}

fn show(
    terminal: &mut ratatui::DefaultTerminal,
    shared: &Shared,
    colour: bool,
    interrupted: fn() -> bool,
) -> anyhow::Result<()> {
    let mut app = App::new(shared.view());
    let mut drawn: Option<Instant> = None;
    while !interrupted() {
        app.update(shared.view());
        shared.watch(app.watched());
        let size = terminal.size().context(DRAWING)?;
        app.resize(size.width, size.height);
        terminal.draw(|frame| draw::draw(&app, frame.area(), frame.buffer_mut(), colour)).context(DRAWING)?;
        drawn.replace(Instant::now());
        // Keys that came in a burst are all handled before the next picture.
        let mut handled = false;
        loop {
            let left = FRAME.saturating_sub(drawn.map_or(FRAME, |drawn| drawn.elapsed()));
            if !event::poll(if handled { Duration::ZERO } else { left }).context("cannot read keys")? {
                break;
            }
            let Event::Key(key) = event::read().context("cannot read keys")? else { break };
            if key.kind == KeyEventKind::Release {
                continue;
            }
            handled = true;
            match handle(&mut app, key) {
                Effect::Nothing | Effect::Scroll => {}
                Effect::Quit => return Ok(()),
                Effect::Clear => {
                    shared.clear();
                    app.tell("cleared; the capture goes on".to_string());
                }
                Effect::Save(path, calls) => {
                    let told =
                        save::write(&calls, &path).unwrap_or_else(|error| format!("not saved: {error:#}"));
                    app.tell(told);
                }
            }
            // A held key must not starve the picture.
            if drawn.is_some_and(|drawn| drawn.elapsed() > FRAME * 2) {
                break;
            }
        }
    }
    Ok(())
}

/// Handles a key. Only the drawing knows how long a text is, and scrolling ends where it does.
pub(crate) fn handle(app: &mut App, key: KeyEvent) -> Effect {
    let effect = app.key(key);
    if matches!(effect, Effect::Scroll) {
        app.scroll = app.scroll.min(draw::most_scroll(app));
    }
    effect
}

const DRAWING: &str = "cannot draw on this terminal";
