//! Reads the log.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ringtap_model::Nanos;
use ringtap_model::filter::Pattern;

use crate::audit::chain::{Body, Line};
use crate::audit::day_keys::DayKeys;
use crate::audit::entry::{Action, Actor, Entry};
use crate::audit::log_files::{self, lines};
use crate::audit::what::{Piece, StoredPiece};
use crate::day::Day;
use crate::error::Error;

/// Reads the log of a console, while it is written too. Changes nothing.
#[derive(Clone)]
pub struct AuditReader {
    pub(super) dir: PathBuf,
    keys: Arc<DayKeys>,
}

/// Which entries are wanted. All conditions hold; the default is every entry, with its numbers hidden.
#[derive(Clone, Debug)]
pub struct AuditQuery {
    /// Not before this.
    pub since: Nanos,
    /// Before this.
    pub until: Nanos,
    /// Whose name matches.
    pub who: Option<Pattern>,
    /// From where.
    pub from: Option<Pattern>,
    /// One of these; all if there are none.
    pub actions: Vec<Action>,
    /// Text in what or reason, in upper or lower case. Numbers are searched if they are shown.
    pub text: Option<String>,
    /// Only entries with a lower number: those that follow on the next page.
    pub before: Option<u64>,
    /// So many at most.
    pub limit: usize,
    /// Show the numbers that can still be opened.
    pub numbers: bool,
}

impl Default for AuditQuery {
    fn default() -> Self {
        Self {
            since: Nanos::ZERO,
            until: Nanos::MAX,
            who: None,
            from: None,
            actions: Vec::new(),
            text: None,
            before: None,
            limit: usize::MAX,
            numbers: false,
        }
    }
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditPage {
    /// The newest first.
    pub entries: Vec<Entry>,
    /// Whether there are older ones: ask again, `before` the last of these.
    pub more: bool,
    /// Lines that are no entries, or were changed: [`AuditReader::verify`] names the first.
    pub damaged: u64,
}

impl AuditReader {
    /// The log of the console in that directory.
    ///
    /// # Errors
    ///
    /// There is none, or it cannot be read.
    pub fn open(console: &Path) -> Result<Self, Error> {
        let dir = console.join(super::DIRECTORY);
        log_files::list(&dir)?;
        let keys = Arc::new(DayKeys::of_log(&dir));
        Ok(Self::new(dir, keys))
    }

    pub(super) fn new(dir: PathBuf, keys: Arc<DayKeys>) -> Self {
        Self { dir, keys }
    }

    /// Finds entries. Reads one file of the log after the other, from the newest, until it has enough.
    ///
    /// # Errors
    ///
    /// The log cannot be read.
    pub fn read(&self, query: &AuditQuery) -> Result<AuditPage, Error> {
        let mut page = AuditPage::default();
        let wanted = query.text.as_ref().map(|text| text.to_lowercase());
        for file in log_files::list(&self.dir)?.into_iter().rev() {
            let is_outside = file.day.end() <= query.since || file.day.start() >= query.until;
            if is_outside || query.before.is_some_and(|before| file.first >= before) {
                continue;
            }
            let bytes = file.read()?;
            let all: Vec<&[u8]> = lines(&bytes).map(|(_, line)| line).collect();
            for line in all.into_iter().rev() {
                // The last one may be about to be written.
                if !line.ends_with(b"\n") {
                    continue;
                }
                let Ok(line) = Line::parse(line) else {
                    page.damaged += 1;
                    continue;
                };
                if !is_wanted(&line.body, query) {
                    continue;
                }
                let entry = self.entry(line, query.numbers);
                if !wanted.as_ref().is_none_or(|text| has_text(&entry, text)) {
                    continue;
                }
                if page.entries.len() >= query.limit {
                    page.more = true;
                    return Ok(page);
                }
                page.entries.push(entry);
            }
        }
        Ok(page)
    }

    fn entry(&self, line: Line, numbers: bool) -> Entry {
        let Line { body, hash, .. } = line;
        let (day, number) = (Day::of(body.time), body.number);
        let piece = |piece| match piece {
            StoredPiece::Text(text) => Piece::Text(text),
            StoredPiece::Sealed { .. } if !numbers => Piece::Hidden,
            StoredPiece::Sealed { sealed } => {
                self.keys.open(day, number, &sealed).map_or(Piece::Forgotten, Piece::Number)
            }
        };
        Entry {
            number,
            time: body.time,
            actor: Actor { who: body.who, role: body.role, from: body.from },
            action: body.action,
            what: body.what.into_iter().map(piece).collect(),
            reason: body.reason,
            previous: body.previous,
            hash,
        }
    }
}

fn is_wanted(body: &Body, query: &AuditQuery) -> bool {
    (query.since..query.until).contains(&body.time)
        && query.before.is_none_or(|before| body.number < before)
        && query.who.as_ref().is_none_or(|who| who.matches(&body.who))
        && query.from.as_ref().is_none_or(|from| from.matches(&body.from))
        && (query.actions.is_empty() || query.actions.contains(&body.action))
}

fn has_text(entry: &Entry, text: &str) -> bool {
    let has = |field: &str| field.to_lowercase().contains(text);
    has(&entry.what.to_string()) || entry.reason.as_deref().is_some_and(has)
}
