//! The loop around a real terminal.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use ratatui::crossterm::event::{self, DisableMouseCapture, EnableMouseCapture, Event, KeyEventKind};
use ratatui::crossterm::execute;
use ringtap_live::watch::Shared;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::app::{App, Effect};
use crate::input::{handle, on_mouse};
use crate::{draw, save};

/// At most this often a second something new is drawn.
const FRAME: Duration = Duration::from_millis(100);

/// Events of the terminal that wait to be handled: a paste of more waits in the terminal.
const EVENTS: usize = 64;

/// Shows what is published and handles keys until people have seen enough, or the terminal is gone.
pub fn run(shared: &Shared, colour: bool, interrupted: fn() -> bool) -> anyhow::Result<()> {
    // Restores the terminal also where the program panics.
    let mut terminal = ratatui::try_init().context("cannot draw on this terminal")?;
    let mouse = MouseCapture::begin();
    let result = show(&mut terminal, shared, colour, interrupted);
    drop(mouse);
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
    let events = events().context("cannot start the thread that reads keys")?;
    let mut drawn: Option<Instant> = None;
    while !interrupted() && !hung_up() {
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
            let event = match events.recv_timeout(if handled { Duration::ZERO } else { left }) {
                Ok(event) => event.context("cannot read keys")?,
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            };
            let effect = match event {
                Event::Key(key) if key.kind == KeyEventKind::Release => continue,
                Event::Key(key) => handle(&mut app, key),
                Event::Mouse(event) => on_mouse(&mut app, event),
                _ => break,
            };
            handled = true;
            match effect {
                Effect::Nothing | Effect::Scroll => {}
                Effect::Mouse(on) => capture_mouse(on),
                Effect::Quit => return Ok(()),
                Effect::Clear => {
                    shared.clear();
                    app.tell("cleared; the capture goes on".to_string());
                }
                Effect::Save(path, calls, with_media) => {
                    let serials = || calls.iter().map(|call| call.serial).collect();
                    let media = if with_media { shared.media(serials()) } else { Some(Vec::new()) };
                    let saved = media
                        .context("the thread that captures does not answer: try again")
                        .and_then(|media| save::write(&calls, &media, &path));
                    app.tell(saved.unwrap_or_else(|error| format!("not saved: {error:#}")));
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

/// As long as it lives, or until the program panics, the terminal reports its mouse.
struct MouseCapture;

impl MouseCapture {
    fn begin() -> Self {
        capture_mouse(true);
        Self
    }
}

impl Drop for MouseCapture {
    fn drop(&mut self) {
        capture_mouse(false);
    }
}

/// Asks for clicks and the wheel, or leaves them to the terminal. A terminal without a mouse ignores it.
fn capture_mouse(on: bool) {
    let _ = if on {
        execute!(io::stdout(), EnableMouseCapture)
    } else {
        execute!(io::stdout(), DisableMouseCapture)
    };
}

/// The terminal's events, read by a thread of its own, which ends with the program: `crossterm` does not
/// return from reading a terminal that has hung up, and takes a whole core for it.
fn events() -> io::Result<Receiver<io::Result<Event>>> {
    let (sender, receiver) = sync_channel(EVENTS);
    let read = move || while sender.send(event::read()).is_ok() {};
    thread::Builder::new().name("keys".into()).spawn(read)?;
    Ok(receiver)
}

/// Whether the other end of the terminal is closed: a lost connection, a terminal program that was killed.
/// SIGHUP tells the same, but not everybody gets it.
fn hung_up() -> bool {
    let stdin = io::stdin();
    let mut terminal = [PollFd::new(&stdin, PollFlags::empty())];
    let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
    poll(&mut terminal, Some(&Timespec::default())).is_ok() && terminal[0].revents().intersects(gone)
}

const DRAWING: &str = "cannot draw on this terminal";
