//! Log lines on standard error: `2026-11-21T02:00:00.123Z info  store: text`, or `<6>store: text` for
//! systemd's journal, which adds the time itself.

use std::io::{self, Write};
use std::sync::OnceLock;

use log::{LevelFilter, Log, Metadata, Record};
use ringtap_model::Nanos;
use ringtap_report::{text, time};

use crate::config::LogLevel;

static LOGGER: Logger = Logger;
static JOURNAL: OnceLock<bool> = OnceLock::new();

/// Subjects of log lines. Lines of libraries, under other names, are left out.
const TARGETS: [&str; 23] = [
    "alarm",
    "availability",
    "capture",
    "clock",
    "console",
    "control",
    "engine",
    "hooks",
    "journal",
    "kpi",
    "loss",
    "metrics",
    "mcp",
    "notify",
    "radius",
    "rules",
    "run",
    "spool",
    "status",
    "store",
    "system",
    "worker",
    "x1",
];

/// Writes lines of information and above to standard error, for commands that run on without a
/// configuration.
pub fn to_stderr() {
    level(LogLevel::Info);
}

/// Writes lines of `level` and above to standard error from now on.
pub(crate) fn level(level: LogLevel) {
    // A second call finds the logger set.
    let _ = log::set_logger(&LOGGER);
    log::set_max_level(match level {
        LogLevel::Error => LevelFilter::Error,
        LogLevel::Warn => LevelFilter::Warn,
        LogLevel::Info => LevelFilter::Info,
        LogLevel::Debug => LevelFilter::Debug,
    });
}

struct Logger;

impl Log for Logger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        TARGETS.contains(&metadata.target())
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        // systemd names the socket that standard error goes to.
        let journal = *JOURNAL.get_or_init(|| std::env::var_os("JOURNAL_STREAM").is_some());
        let what = record.args().to_string();
        let line = written(journal.then_some(()), time::now(), record.level(), record.target(), &what);
        // There is nowhere to report a failure of standard error.
        let _ = io::stderr().lock().write_all(line.as_bytes());
    }

    fn flush(&self) {}
}

fn written(journal: Option<()>, now: Nanos, level: log::Level, room: &str, what: &str) -> String {
    // Names of files and interfaces may contain control characters.
    let what = text::shown(what);
    let (name, priority) = match level {
        log::Level::Error => ("error", 3),
        log::Level::Warn => ("warn", 4),
        log::Level::Info => ("info", 6),
        log::Level::Debug | log::Level::Trace => ("debug", 7),
    };
    match journal {
        Some(()) => format!("<{priority}>{room}: {what}\n"),
        None => {
            let time = time::full(now).replace(' ', "T");
            format!("{time}Z {name:<5} {room}: {what}\n")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Characters in which a line's macro names its subject.
    const LONGEST_BEGINNING: usize = 60;

    /// A line under another subject would be written nowhere.
    #[test]
    fn every_subject_that_is_used_is_written() {
        let mut folders = vec![std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))];
        let (mut used, mut unknown) = (0, Vec::new());
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|end| end == "rs") {
                    let text = std::fs::read_to_string(&path).unwrap();
                    let lines = text.split("log::").skip(1).filter_map(|line| line.get(..LONGEST_BEGINNING));
                    let subjects = lines.filter_map(|line| line.split_once("target: \""));
                    for subject in subjects.filter_map(|(_, rest)| rest.split('"').next()) {
                        used += 1;
                        if !TARGETS.contains(&subject) {
                            unknown.push(format!("{subject} in {}", path.display()));
                        }
                    }
                }
            }
        }
        assert!(used > 100 && unknown.is_empty(), "{used} used; {unknown:?}");
    }

    #[test]
    fn lines() {
        let now = Nanos(1_795_226_400_123_000_000);
        assert_eq!(
            written(None, now, log::Level::Warn, "store", "waits\n\u{1b}[2J"),
            "2026-11-21T02:00:00.123Z warn  store: waits\\n\\x1b[2J\n"
        );
        assert_eq!(written(Some(()), now, log::Level::Error, "run", "stopped"), "<3>run: stopped\n");
    }
}
