//! Lines for the operator, in one format: `2026-11-21T02:00:00.123Z info  store: text`; for systemd's journal, which knows the
//! time, `<6>store: text`.

use std::fmt;
use std::io::{self, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use ringtap_model::Nanos;
use ringtap_report::text;

use crate::config::Level;

static LEVEL: AtomicU8 = AtomicU8::new(Level::Info as u8);
static JOURNAL: OnceLock<bool> = OnceLock::new();

/// From now on lines of that level and above are written.
pub(crate) fn level(level: Level) {
    LEVEL.store(level as u8, Ordering::Relaxed);
}

pub(crate) fn error(room: &str, what: impl fmt::Display) {
    line(Level::Error, room, &what);
}

pub(crate) fn warn(room: &str, what: impl fmt::Display) {
    line(Level::Warn, room, &what);
}

pub(crate) fn info(room: &str, what: impl fmt::Display) {
    line(Level::Info, room, &what);
}

pub(crate) fn debug(room: &str, what: impl fmt::Display) {
    line(Level::Debug, room, &what);
}

fn line(level: Level, room: &str, what: &dyn fmt::Display) {
    if level as u8 > LEVEL.load(Ordering::Relaxed) {
        return;
    }
    // systemd names the socket that standard error goes to.
    let journal = *JOURNAL.get_or_init(|| std::env::var_os("JOURNAL_STREAM").is_some());
    let line = written(journal.then_some(()), now(), level, room, &what.to_string());
    // Nowhere to say that nothing can be said.
    let _ = io::stderr().lock().write_all(line.as_bytes());
}

fn written(journal: Option<()>, now: Nanos, level: Level, room: &str, what: &str) -> String {
    // Names of files and interfaces, and what the system says, may hold anything.
    let what = text::shown(what);
    let (name, priority) = match level {
        Level::Error => ("error", 3),
        Level::Warn => ("warn", 4),
        Level::Info => ("info", 6),
        Level::Debug => ("debug", 7),
    };
    match journal {
        Some(()) => format!("<{priority}>{room}: {what}\n"),
        None => {
            let time = ringtap_report::time::full(now).replace(' ', "T");
            format!("{time}Z {name:<5} {room}: {what}\n")
        }
    }
}

/// The time by the clock.
pub(crate) fn now() -> Nanos {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let now = Nanos(1_795_226_400_123_000_000);
        assert_eq!(
            written(None, now, Level::Warn, "store", "waits\n\u{1b}[2J"),
            "2026-11-21T02:00:00.123Z warn  store: waits\\n\\x1b[2J\n"
        );
        assert_eq!(written(Some(()), now, Level::Error, "run", "stopped"), "<3>run: stopped\n");
    }
}
