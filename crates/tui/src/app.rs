//! What is shown, and what keys change.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ringtap_live::calls::{self, DialogEntry, SipMessage, View};
use ringtap_model::{Id, Nanos, Stream};

use crate::form::{FIELDS, Filter, Line};
use crate::order::{SORTS, compare};
pub(crate) use crate::order::{Sort, mos};

/// Which screen is in front.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Page {
    /// Calls.
    List,
    /// The ladder of some of them.
    Flow,
    /// Messages as text: of the ladder's calls, or one message.
    Raw {
        /// Its place in the ladder.
        one: Option<usize>,
    },
    /// Two messages side by side.
    Compare,
    /// Streams of some calls.
    Streams,
    /// Counts.
    Statistics,
}

/// A window in front of the page; it receives the keys.
#[derive(Clone, Debug)]
pub(crate) enum Popup {
    Help,
    Quit,
    Search(Line),
    Filter {
        filter: Filter,
        /// The active field; after the text fields come `calls only` and the state.
        at: usize,
    },
    Save {
        path: Line,
        /// Save every call that is shown, not only the selected ones.
        all: bool,
        /// Save media packets too.
        media: bool,
    },
}

/// What the caller must do.
#[derive(Clone, Debug)]
pub(crate) enum Effect {
    Nothing,
    Quit,
    Clear,
    /// Save these calls, and their media packets if the last is true.
    Save(PathBuf, Vec<Arc<DialogEntry>>, bool),
    /// A text was scrolled, possibly past its end.
    Scroll,
    /// Clicks come here, or go to the terminal.
    Mouse(bool),
}

/// How arrows of the ladder are coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LadderColours {
    /// By method or class of answer.
    ByMethod,
    /// By Call-ID.
    ByCallId,
}

/// A row of the ladder.
#[derive(Clone, Debug)]
pub(crate) enum Row {
    /// A message, and which of the calls it belongs to.
    Sip(Arc<SipMessage>, usize),
    /// A stream that begins.
    Rtp(Box<Stream>, usize),
}

impl Row {
    pub(crate) fn time(&self) -> Nanos {
        match self {
            Self::Sip(message, _) => message.time,
            Self::Rtp(stream, _) => stream.first,
        }
    }
}

/// The state that the screen shows.
pub(crate) struct App {
    pub(crate) view: Arc<View>,
    pub(crate) paused: bool,
    /// The stack of pages, with the list at the bottom.
    pages: Vec<Page>,
    pub(crate) popup: Option<Popup>,
    /// Size of the terminal: columns and rows.
    pub(crate) size: (u16, u16),
    /// The last event, shown at the bottom of the screen.
    pub(crate) note: Option<String>,

    pub(crate) filter: Filter,
    pub(crate) sort: Sort,
    pub(crate) descending: bool,
    pub(crate) follow: bool,
    /// Indexes in the view, filtered and in order.
    pub(crate) rows: Vec<usize>,
    /// Serials of the selected calls.
    pub(crate) selected: BTreeSet<u64>,
    pub(crate) cursor: usize,
    pub(crate) top: usize,

    /// The open calls, as they were last seen: they may have left the list.
    pub(crate) open: Vec<Arc<DialogEntry>>,
    pub(crate) flow: Vec<Row>,
    pub(crate) step: usize,
    pub(crate) preview: bool,
    pub(crate) ladder_colours: LadderColours,
    /// The first lifeline shown, if there is no room for all.
    pub(crate) first_lifeline: usize,
    pub(crate) stream: usize,
    pub(crate) scroll: usize,
    /// A message of the ladder that was chosen to be compared, then the second one.
    pub(crate) compared: Vec<Arc<SipMessage>>,
    /// Clicks come here rather than to the terminal's own selection.
    pub(crate) mouse: bool,
}

impl App {
    pub(crate) fn new(view: Arc<View>) -> Self {
        Self {
            view,
            paused: false,
            pages: Vec::new(),
            popup: None,
            size: (80, 24),
            note: None,
            filter: Filter::default(),
            sort: Sort::Time,
            descending: false,
            follow: false,
            rows: Vec::new(),
            selected: BTreeSet::new(),
            cursor: 0,
            top: 0,
            open: Vec::new(),
            flow: Vec::new(),
            step: 0,
            preview: true,
            ladder_colours: LadderColours::ByMethod,
            first_lifeline: 0,
            stream: 0,
            scroll: 0,
            compared: Vec::new(),
            mouse: true,
        }
    }

    /// The page in front.
    pub(crate) fn page(&self) -> Page {
        self.pages.last().copied().unwrap_or(Page::List)
    }

    /// Takes what was published, unless people hold the picture.
    pub(crate) fn update(&mut self, view: Arc<View>) {
        if self.paused {
            return;
        }
        self.view = view;
        self.arrange();
        for entry in &mut self.open {
            if let Some(newer) = find(&self.view, entry.serial) {
                *entry = newer;
            }
        }
        self.unroll();
    }

    /// Takes the size of the screen.
    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        self.size = (columns, rows);
        self.keep_in_sight();
    }

    /// Says something at the bottom of the screen.
    pub(crate) fn tell(&mut self, note: String) {
        self.note = Some(note);
    }

    /// Calls under way whose figures are on the screen.
    pub(crate) fn watched(&self) -> Vec<Id> {
        match self.page() {
            Page::List => {
                let shown = self.rows.iter().skip(self.top).take(self.list_room());
                calls::ids(shown.filter_map(|place| self.view.entries.get(*place)))
            }
            _ => calls::ids(self.open.iter()),
        }
    }

    /// Rows of the list that fit.
    pub(crate) fn list_room(&self) -> usize {
        usize::from(self.size.1).saturating_sub(LIST_FRAME).max(1)
    }

    /// The entry under the cursor.
    pub(crate) fn current(&self) -> Option<&Arc<DialogEntry>> {
        self.view.entries.get(*self.rows.get(self.cursor)?)
    }

    /// Filters and sorts anew; the cursor stays on its call.
    fn arrange(&mut self) {
        let current = self.current().map(|entry| entry.serial);
        let entries = Arc::clone(&self.view.entries);
        let filter = &self.filter;
        let mut rows: Vec<usize> =
            (0..entries.len()).filter(|place| filter.passes(&entries[*place])).collect();
        let now = self.view.now;
        // In order of coming already.
        if self.sort != Sort::Time {
            rows.sort_by(|a, b| compare(&entries[*a], &entries[*b], self.sort, now));
        }
        if self.descending {
            rows.reverse();
        }
        self.rows = rows;
        self.selected.retain(|serial| entries.binary_search_by_key(serial, |entry| entry.serial).is_ok());
        let place =
            current.and_then(|serial| self.rows.iter().position(|place| entries[*place].serial == serial));
        self.cursor = match place {
            _ if self.follow => self.rows.len().saturating_sub(1),
            Some(place) => place,
            None => self.cursor.min(self.rows.len().saturating_sub(1)),
        };
        self.keep_in_sight();
    }

    pub(crate) fn keep_in_sight(&mut self) {
        let room = self.list_room();
        self.top = self.top.min(self.cursor).max((self.cursor + 1).saturating_sub(room));
        // No empty lines at the end while there are rows above.
        self.top = self.top.min(self.rows.len().saturating_sub(room));
    }

    /// The rows of the ladder anew.
    fn unroll(&mut self) {
        let mut rows: Vec<Row> = Vec::new();
        for (index, entry) in self.open.iter().enumerate() {
            rows.extend(entry.messages.iter().map(|message| Row::Sip(Arc::clone(message), index)));
            rows.extend(entry.streams.iter().map(|stream| Row::Rtp(Box::new(stream.clone()), index)));
        }
        rows.sort_by_key(Row::time);
        self.flow = rows;
        self.step = self.step.min(self.flow.len().saturating_sub(1));
        self.stream = self.stream.min(self.streams().count().saturating_sub(1));
    }

    /// Streams of the calls looked at.
    pub(crate) fn streams(&self) -> impl Iterator<Item = &Stream> {
        self.open.iter().flat_map(|entry| &entry.streams)
    }

    /// Handles a key.
    pub(crate) fn key(&mut self, key: KeyEvent) -> Effect {
        self.note = None;
        if key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL) {
            return Effect::Quit;
        }
        if let Some(popup) = self.popup.take() {
            return self.key_popup(popup, key);
        }
        match key.code {
            KeyCode::F(1) | KeyCode::Char('h' | '?') => self.popup = Some(Popup::Help),
            KeyCode::F(2) | KeyCode::Char('s') => {
                let path = format!("ringtap-{}.pcap", self.view.now.0 / 1_000_000_000);
                self.popup = Some(Popup::Save {
                    path: Line(path),
                    all: self.page() == Page::List && self.selected.is_empty(),
                    media: false,
                });
            }
            KeyCode::Char('p') => {
                self.paused = !self.paused;
            }
            KeyCode::Char('M') => {
                self.mouse = !self.mouse;
                return Effect::Mouse(self.mouse);
            }
            KeyCode::Char('i') | KeyCode::F(9) if self.page() != Page::Statistics => {
                self.enter(Page::Statistics)
            }
            KeyCode::Esc | KeyCode::Char('q') => match self.pages.pop() {
                Some(_) => self.scroll = 0,
                None => self.popup = Some(Popup::Quit),
            },
            _ => match self.page() {
                Page::List => return self.key_list(key),
                Page::Flow => self.key_flow(key),
                Page::Raw { .. } | Page::Statistics | Page::Compare => return self.key_text(key),
                Page::Streams => self.key_streams(key),
            },
        }
        Effect::Nothing
    }

    pub(crate) fn enter(&mut self, page: Page) {
        self.scroll = 0;
        self.pages.push(page);
    }

    /// Opens a page about the selected calls, or the one under the cursor.
    pub(crate) fn look_at(&mut self, page: Page, extended: bool) {
        self.open = if extended && !self.selected.is_empty() {
            self.selected.iter().filter_map(|serial| find(&self.view, *serial)).collect()
        } else {
            self.current().cloned().into_iter().collect()
        };
        if self.open.is_empty() {
            return self.tell("there is no call to show yet".to_string());
        }
        (self.step, self.stream, self.first_lifeline) = (0, 0, 0);
        self.compared.clear();
        self.unroll();
        self.enter(page);
    }

    fn key_list(&mut self, key: KeyEvent) -> Effect {
        let last = self.rows.len().saturating_sub(1);
        let room = self.list_room();
        let before = self.cursor;
        match key.code {
            KeyCode::Up | KeyCode::Char('k') => self.cursor = self.cursor.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => self.cursor = (self.cursor + 1).min(last),
            KeyCode::PageUp => self.cursor = self.cursor.saturating_sub(room),
            KeyCode::PageDown => self.cursor = (self.cursor + room).min(last),
            KeyCode::Home | KeyCode::Char('g') => self.cursor = 0,
            KeyCode::End | KeyCode::Char('G') => self.cursor = last,
            KeyCode::Enter => self.look_at(Page::Flow, !self.selected.is_empty()),
            KeyCode::F(4) | KeyCode::Char('x') => self.look_at(Page::Flow, true),
            KeyCode::F(6) | KeyCode::Char('r') => {
                self.look_at(Page::Raw { one: None }, !self.selected.is_empty())
            }
            KeyCode::F(8) | KeyCode::Char('m') => self.look_at(Page::Streams, !self.selected.is_empty()),
            KeyCode::Char(' ') => {
                if let Some(serial) = self.current().map(|entry| entry.serial)
                    && !self.selected.remove(&serial)
                {
                    self.selected.insert(serial);
                }
                self.cursor = (self.cursor + 1).min(last);
            }
            KeyCode::Char('a') => {
                let all: BTreeSet<u64> =
                    self.rows.iter().map(|place| self.view.entries[*place].serial).collect();
                self.selected = if self.selected == all { BTreeSet::new() } else { all };
            }
            KeyCode::F(3) | KeyCode::Char('/') => {
                self.popup = Some(Popup::Search(Line(self.filter.any.clone())))
            }
            KeyCode::F(7) | KeyCode::Char('f') => {
                self.popup = Some(Popup::Filter { filter: self.filter.clone(), at: 0 })
            }
            KeyCode::F(5) => return self.clear(),
            KeyCode::Char('l') if key.modifiers.contains(KeyModifiers::CONTROL) => return self.clear(),
            KeyCode::Char('A') => {
                self.follow = !self.follow;
                self.arrange();
            }
            KeyCode::Char('<') => self.sort_by(-1),
            KeyCode::Char('>') => self.sort_by(1),
            KeyCode::Char('z') => {
                self.descending = !self.descending;
                self.arrange();
            }
            _ => {}
        }
        if self.cursor < before {
            self.follow = false;
        }
        self.keep_in_sight();
        Effect::Nothing
    }

    fn clear(&mut self) -> Effect {
        self.selected.clear();
        self.paused = false;
        Effect::Clear
    }

    /// Sorts by a column; a second time in the other direction.
    pub(crate) fn sort_on(&mut self, sort: Sort) {
        self.descending = self.sort == sort && !self.descending;
        self.sort = sort;
        self.arrange();
    }

    fn sort_by(&mut self, step: isize) {
        let place = SORTS.iter().position(|sort| *sort == self.sort).unwrap_or(0) as isize;
        let count = SORTS.len() as isize;
        self.sort = SORTS[(place + step).rem_euclid(count) as usize];
        self.arrange();
    }

    fn key_flow(&mut self, key: KeyEvent) {
        let last = self.flow.len().saturating_sub(1);
        let room = usize::from(self.size.1).saturating_sub(FLOW_FRAME).max(1);
        match key.code {
            KeyCode::Up | KeyCode::Char('k') => self.step = self.step.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => self.step = (self.step + 1).min(last),
            KeyCode::PageUp => self.step = self.step.saturating_sub(room),
            KeyCode::PageDown => self.step = (self.step + room).min(last),
            KeyCode::Home | KeyCode::Char('g') => self.step = 0,
            KeyCode::End | KeyCode::Char('G') => self.step = last,
            KeyCode::Left => self.first_lifeline = self.first_lifeline.saturating_sub(1),
            KeyCode::Right => self.first_lifeline = (self.first_lifeline + 1).min(self.flow.len()),
            KeyCode::Enter if !self.flow.is_empty() => self.enter(Page::Raw { one: Some(self.step) }),
            KeyCode::F(6) | KeyCode::Char('r') => self.enter(Page::Raw { one: None }),
            KeyCode::F(8) | KeyCode::Char('m') => self.enter(Page::Streams),
            KeyCode::Char('t') => self.preview = !self.preview,
            KeyCode::Char(' ') => self.compare(),
            KeyCode::F(7) | KeyCode::Char('c') => {
                self.ladder_colours = if self.ladder_colours == LadderColours::ByMethod {
                    LadderColours::ByCallId
                } else {
                    LadderColours::ByMethod
                };
            }
            _ => {}
        }
    }

    /// Chooses the message under the cursor; with a second one, shows both.
    fn compare(&mut self) {
        let Some(Row::Sip(message, _)) = self.flow.get(self.step) else {
            return self.tell("only messages can be compared".to_string());
        };
        let message = Arc::clone(message);
        if self.compared.len() == 2 {
            self.compared.clear();
        }
        match &self.compared[..] {
            [one] if Arc::ptr_eq(one, &message) => self.compared.clear(),
            [_] => {
                self.compared.push(message);
                self.compared.sort_by_key(|message| message.time);
                self.enter(Page::Compare);
            }
            _ => {
                self.compared.push(message);
                self.tell("Space on another message compares it with this one".to_string());
            }
        }
    }

    /// Whether a row is the message that waits to be compared.
    pub(crate) fn is_marked(&self, row: &Row) -> bool {
        matches!((row, &self.compared[..]), (Row::Sip(message, _), [one]) if Arc::ptr_eq(one, message))
    }

    fn key_streams(&mut self, key: KeyEvent) {
        let last = self.streams().count().saturating_sub(1);
        match key.code {
            KeyCode::Up | KeyCode::Char('k') => self.stream = self.stream.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => self.stream = (self.stream + 1).min(last),
            KeyCode::Home | KeyCode::Char('g') => self.stream = 0,
            KeyCode::End | KeyCode::Char('G') => self.stream = last,
            _ => {}
        }
    }

    fn key_text(&mut self, key: KeyEvent) -> Effect {
        let room = usize::from(self.size.1).saturating_sub(3).max(1);
        match key.code {
            KeyCode::Up | KeyCode::Char('k') => self.scroll = self.scroll.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => self.scroll += 1,
            KeyCode::PageUp => self.scroll = self.scroll.saturating_sub(room),
            KeyCode::PageDown | KeyCode::Char(' ') => self.scroll += room,
            KeyCode::Home | KeyCode::Char('g') => self.scroll = 0,
            KeyCode::End | KeyCode::Char('G') => self.scroll = usize::MAX / 2,
            _ => {}
        }
        Effect::Scroll
    }

    fn key_popup(&mut self, popup: Popup, key: KeyEvent) -> Effect {
        match popup {
            Popup::Help => {}
            Popup::Quit => {
                if matches!(key.code, KeyCode::Enter | KeyCode::Char('y' | 'Y' | 'q')) {
                    return Effect::Quit;
                }
            }
            Popup::Search(mut line) => match key.code {
                KeyCode::Enter => {}
                KeyCode::Esc => {
                    self.filter.any.clear();
                    self.arrange();
                }
                _ => {
                    line.key(key);
                    self.filter.any.clone_from(&line.0);
                    self.arrange();
                    self.popup = Some(Popup::Search(line));
                }
            },
            Popup::Filter { filter, at } => self.key_filter(filter, at, key),
            Popup::Save { mut path, mut all, mut media } => match key.code {
                KeyCode::Esc => {}
                KeyCode::Enter => {
                    return Effect::Save(PathBuf::from(path.0), self.to_save(all), media);
                }
                _ => {
                    match key.code {
                        KeyCode::Tab => all = !all,
                        KeyCode::Up | KeyCode::Down => media = !media,
                        _ => path.key(key),
                    }
                    self.popup = Some(Popup::Save { path, all, media });
                }
            },
        }
        Effect::Nothing
    }

    fn key_filter(&mut self, mut filter: Filter, mut at: usize, key: KeyEvent) {
        let count = FIELDS.len() + 2;
        match key.code {
            KeyCode::Esc => return,
            KeyCode::Enter => {
                self.filter = filter;
                return self.arrange();
            }
            KeyCode::Delete => filter = Filter::default(),
            KeyCode::Tab | KeyCode::Down => at = (at + 1) % count,
            KeyCode::BackTab | KeyCode::Up => at = (at + count - 1) % count,
            _ if at < FIELDS.len() => filter.fields[at].key(key),
            KeyCode::Char(' ') | KeyCode::Left | KeyCode::Right if at == FIELDS.len() => {
                filter.calls = !filter.calls
            }
            KeyCode::Char(' ') | KeyCode::Left | KeyCode::Right => filter.next_state(),
            _ => {}
        }
        self.popup = Some(Popup::Filter { filter, at });
    }

    /// What is saved: all that the list shows, or the selected ones, or those looked at.
    pub(crate) fn to_save(&self, all: bool) -> Vec<Arc<DialogEntry>> {
        if all {
            return self.rows.iter().filter_map(|place| self.view.entries.get(*place)).cloned().collect();
        }
        if self.page() != Page::List && !self.open.is_empty() {
            return self.open.clone();
        }
        if self.selected.is_empty() {
            return self.current().cloned().into_iter().collect();
        }
        self.selected.iter().filter_map(|serial| find(&self.view, *serial)).collect()
    }
}

fn find(view: &View, serial: u64) -> Option<Arc<DialogEntry>> {
    let place = view.entries.binary_search_by_key(&serial, |entry| entry.serial).ok()?;
    view.entries.get(place).cloned()
}

/// Lines of the list's screen that are not rows: three of the head, the columns, the keys.
const LIST_FRAME: usize = 5;
/// Lines of the ladder's screen that are not rows.
const FLOW_FRAME: usize = 4;
