//! Searches for calls: page by page, or all of them one by one. Days are searched by several threads, in
//! order; what they find waits in queues of a few calls.

use std::collections::VecDeque;
use std::fmt;
use std::ops::ControlFlow;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use ringtap_model::{Call, Filter, Id, Nanos, Stream};
use ringtap_search::{Expression, TimeSpan};

use crate::candidates::Candidates;
use crate::day_reader::DayReader;
use crate::reader::THREADS;
use crate::record::{StoredRecord, integer};
use crate::running::RunningSearch;
use crate::search_sql::{self, Bounds};
use crate::{Day, Error, Reader};

/// Calls to search for.
#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    /// What they satisfy.
    pub expression: Expression,
    /// What they satisfy beside.
    pub filter: Filter,
    /// Which come first.
    pub order: SearchOrder,
    /// At most this many for a page, and about so many where calls are passed on one by one.
    pub limit: usize,
    /// Only those behind this place.
    pub after: Option<Cursor>,
}

/// The order of calls: by their beginning, and by id where that is the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SearchOrder {
    /// The latest first.
    #[default]
    NewestFirst,
    /// The earliest first.
    OldestFirst,
}

/// A place between calls: behind the call with this beginning and id, in the order of the search. It stays
/// right while calls are stored and deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// The beginning, in whole microseconds.
    pub start: Nanos,
    /// The id.
    pub id: Id,
}

/// Calls that satisfy a search, up to its limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    /// The calls, in the order of the search.
    pub calls: Vec<Call>,
    /// What was searched.
    pub coverage: Coverage,
}

/// What a search looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coverage {
    /// Why it ended.
    pub end: SearchEnd,
    /// Days with records of the time that was searched.
    pub days: usize,
    /// Days that were searched to their end.
    pub days_searched: usize,
    /// Records that were read and compared; those that an index or a column left out are not counted.
    pub looked_at: u64,
    /// The time in which the calls began that were searched for.
    pub span: TimeSpan,
    /// Where the search goes on; none where it is complete.
    pub next: Option<Cursor>,
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchEnd {
    /// All calls were searched.
    Complete,
    /// There are more than were asked for.
    Enough,
    /// It was stopped, or its time was over.
    Stopped,
}

/// What a thread tells of the day that it searches.
enum Told {
    Call(Box<Call>, Vec<Stream>),
    /// It was stopped; behind this place, where it had come so far.
    Stopped(Option<Cursor>),
    Failed(Error),
}

/// Days that no thread searches yet, each with where its calls go.
type Jobs = Mutex<VecDeque<(Day, SyncSender<Told>)>>;

/// A search as the threads of a reader do it.
struct Scan<'s> {
    reader: &'s Reader,
    search: &'s Search,
    running: &'s Arc<RunningSearch>,
    with_streams: bool,
    /// Keys that so many calls of a day have are not looked up: it takes less time to compare calls in order.
    most_keys: u64,
    /// Whoever wanted the calls has enough.
    enough: Arc<AtomicBool>,
}

impl Search {
    /// All calls that satisfy an expression, the latest first.
    pub fn new(expression: Expression) -> Self {
        let (filter, order) = (Filter::default(), SearchOrder::default());
        Self { expression, filter, order, limit: usize::MAX, after: None }
    }

    /// The time in which the calls began that it selects.
    pub fn time_span(&self) -> TimeSpan {
        search_sql::time_span(&self.expression, &self.filter)
    }

    fn is_newest_first(&self) -> bool {
        self.order == SearchOrder::NewestFirst
    }

    /// The place before all calls.
    fn beginning(&self) -> Cursor {
        match self.is_newest_first() {
            true => Cursor { start: Nanos::MAX, id: Id([0xff; 16]) },
            false => Cursor { start: Nanos::ZERO, id: Id([0; 16]) },
        }
    }

    /// The place before all calls that began at a moment, in microseconds.
    fn before(&self, start: i64) -> Cursor {
        let start = u64::try_from(start).unwrap_or(0);
        match self.is_newest_first() {
            true => Cursor { start: Nanos::from_micros(start + 1), id: Id([0; 16]) },
            false => Cursor { start: Nanos::from_micros(start.saturating_sub(1)), id: Id([0xff; 16]) },
        }
    }

    /// The place behind all calls of a day.
    fn behind(&self, day: Day) -> Cursor {
        match self.is_newest_first() {
            true => Cursor { start: day.start(), id: Id([0; 16]) },
            false => Cursor { start: Nanos::from_micros(day.end().micros() - 1), id: Id([0xff; 16]) },
        }
    }
}

impl Reader {
    /// The calls that satisfy a search, up to its limit, and where to go on. The same search behind
    /// [`Coverage::next`] gives no call twice, and leaves none out that was stored before.
    ///
    /// # Errors
    ///
    /// A day cannot be read. A search that was stopped is no error: [`Coverage::end`] says so.
    pub fn page(&self, search: &Search, running: &Arc<RunningSearch>) -> Result<Page, Error> {
        let mut calls: Vec<Call> = Vec::new();
        let mut page = |call, _| {
            if calls.len() == search.limit {
                return ControlFlow::Break(());
            }
            calls.push(call);
            ControlFlow::Continue(())
        };
        let coverage = Scan::of(self, search, running, false).run(&mut page)?;
        Ok(Page { calls, coverage })
    }

    /// Passes each call that satisfies a search, whatever its limit, in its order, until `each` breaks; with
    /// its streams if `with_streams`, otherwise without. The search goes on with the call at which it broke.
    /// Few calls are in memory at a time.
    ///
    /// # Errors
    ///
    /// A day cannot be read. A search that was stopped is no error: [`Coverage::end`] says so.
    pub fn each_call(
        &self,
        search: &Search,
        with_streams: bool,
        running: &Arc<RunningSearch>,
        mut each: impl FnMut(Call, Vec<Stream>) -> ControlFlow<()>,
    ) -> Result<Coverage, Error> {
        Scan::of(self, search, running, with_streams).run(&mut each)
    }
}

impl<'s> Scan<'s> {
    fn of(
        reader: &'s Reader,
        search: &'s Search,
        running: &'s Arc<RunningSearch>,
        with_streams: bool,
    ) -> Self {
        let most_keys = if search.limit <= FEW { FEW_KEYS } else { MOST_KEYS };
        Self { reader, search, running, with_streams, most_keys, enough: Arc::default() }
    }

    /// Passes the calls of all days in order.
    fn run(&self, each: &mut dyn FnMut(Call, Vec<Stream>) -> ControlFlow<()>) -> Result<Coverage, Error> {
        let days = self.days()?;
        self.running.begin(days.len());
        let (jobs, told): (VecDeque<_>, Vec<_>) = days
            .iter()
            .map(|day| {
                let (sender, receiver) = sync_channel(QUEUED);
                ((*day, sender), (*day, receiver))
            })
            .unzip();
        let jobs = Mutex::new(jobs);
        thread::scope(|scope| {
            let mut threads = 0;
            for _ in 0..days.len().min(threads_at_once()) {
                let worker = || {
                    while let Some((day, sender)) = next(&jobs) {
                        self.day(day, &sender);
                    }
                };
                match thread::Builder::new().name("search".into()).spawn_scoped(scope, worker) {
                    Ok(_) => threads += 1,
                    Err(error) if threads == 0 => return Err(Error::io(self.reader.directory(), error)),
                    // Fewer threads give the same answer.
                    Err(_) => break,
                }
            }
            self.collect(told, each)
        })
    }

    /// Passes on what the threads tell, day after day.
    fn collect(
        &self,
        told: Vec<(Day, Receiver<Told>)>,
        each: &mut dyn FnMut(Call, Vec<Stream>) -> ControlFlow<()>,
    ) -> Result<Coverage, Error> {
        let days = told.len();
        let (mut days_searched, mut reached, mut end) = (0, self.search.after, SearchEnd::Complete);
        'days: for (day, told) in &told {
            for told in told {
                match told {
                    Told::Call(call, streams) => {
                        let place = Cursor::of(&call);
                        if each(*call, streams).is_break() {
                            end = SearchEnd::Enough;
                            break 'days;
                        }
                        reached = Some(place);
                    }
                    Told::Stopped(place) => {
                        reached = place.or(reached);
                        end = SearchEnd::Stopped;
                        break 'days;
                    }
                    Told::Failed(error) => {
                        self.enough.store(true, Ordering::Relaxed);
                        return Err(error);
                    }
                }
            }
            days_searched += 1;
            reached = Some(self.search.behind(*day));
        }
        self.enough.store(true, Ordering::Relaxed);
        let (looked_at, span) = (self.running.looked_at(), self.search.time_span());
        let goes_on = end != SearchEnd::Complete;
        let next = goes_on.then(|| reached.unwrap_or(self.search.beginning()));
        Ok(Coverage { end, days, days_searched, looked_at, span, next })
    }

    /// The days that the search is about, in its order.
    fn days(&self) -> Result<Vec<Day>, Error> {
        let span = self.search.time_span();
        let is_behind = |day: &Day| {
            self.search.after.is_none_or(|after| match self.search.is_newest_first() {
                true => day.start() <= after.start,
                false => day.end() > after.start,
            })
        };
        let covers = |day: &Day| {
            let whole = TimeSpan { from: Some(day.start()), to: Some(day.end()) };
            !span.is_empty() && !span.and(whole).is_empty()
        };
        let mut days = self.reader.searchable()?;
        days.retain(|day| is_behind(day) && covers(day));
        if self.search.is_newest_first() {
            days.reverse();
        }
        Ok(days)
    }

    /// Searches a day, and tells what it finds. Nothing is told at its end.
    fn day(&self, day: Day, told: &SyncSender<Told>) {
        let mut place = None;
        let last = match self.search_day(day, &mut place, told) {
            Ok(true) => return,
            Ok(false) => Told::Stopped(place),
            Err(Error::Interrupted { .. }) if self.is_over() => Told::Stopped(place),
            Err(error) => Told::Failed(error),
        };
        // Nobody listens any more: nobody misses it.
        let _ = told.send(last);
    }

    /// Whether the day was searched to its end. `place` becomes the last call that was compared.
    fn search_day(
        &self,
        day: Day,
        place: &mut Option<Cursor>,
        told: &SyncSender<Told>,
    ) -> Result<bool, Error> {
        if self.is_over() {
            return Ok(false);
        }
        let mut is_whole = true;
        if let Some(mut file) = self.reader.open_day(day)? {
            let stopped_by = [Some(self.running.clone()), self.reader.stopper()];
            let enough = self.enough.clone();
            let running = self.running.clone();
            let is_over = move || {
                running.go_on();
                let mut stopped_by = stopped_by.iter().flatten();
                enough.load(Ordering::Relaxed) || stopped_by.any(|running| running.is_over())
            };
            file.stop_when(is_over)?;
            is_whole = self.search_file(&file, &self.bounds(day, &file)?, place, told)?;
            self.reader.keep_open(file);
        }
        if is_whole {
            self.running.end_day();
        }
        Ok(is_whole)
    }

    /// The same of its file.
    fn search_file(
        &self,
        file: &DayReader,
        bounds: &Bounds,
        place: &mut Option<Cursor>,
        told: &SyncSender<Told>,
    ) -> Result<bool, Error> {
        let Bounds { condition, values, columns } = bounds;
        let is_newest_first = self.search.is_newest_first();
        // Blocks and rows as they are at one moment.
        let _transaction = file.connection().unchecked_transaction().map_err(|error| file.failed(error))?;
        let candidates = match columns {
            Some(columns) => Candidates::of(file, bounds, columns, is_newest_first)?,
            None => None,
        };
        let Some(mut candidates) = candidates else {
            let compare = |call: Call| self.compare(file, call, place, told);
            return file.each(condition, values, is_newest_first, compare);
        };
        let mut many = FIRST;
        loop {
            let rows = candidates.next(many, || {
                self.running.go_on();
                self.is_over()
            });
            if !matches!(&rows, Ok(rows) if !rows.is_empty()) {
                *place = candidates.reached().map(|start| self.search.before(start)).or(*place);
            }
            let rows = rows?;
            if rows.is_empty() {
                return Ok(!self.is_over());
            }
            let compare = |call: Call| self.compare(file, call, place, told);
            if !file.each_of(&rows, condition, values, is_newest_first, compare)? {
                return Ok(false);
            }
            many = MANY;
        }
    }

    /// Compares a call, and tells it if it is selected; returns whether the search goes on.
    fn compare(
        &self,
        file: &DayReader,
        call: Call,
        place: &mut Option<Cursor>,
        told: &SyncSender<Told>,
    ) -> Result<bool, Error> {
        if self.is_over() {
            return Ok(false);
        }
        self.running.look_at();
        let cursor = Cursor::of(&call);
        let is_heard = match self.selected(file, &call)? {
            Some(streams) => told.send(Told::Call(Box::new(call), streams)).is_ok(),
            None => true,
        };
        *place = Some(cursor);
        Ok(is_heard)
    }

    /// What leaves out of a day what cannot be selected.
    fn bounds(&self, day: Day, file: &DayReader) -> Result<Bounds, Error> {
        let mut by_keys = true;
        for rows in search_sql::key_rows(&self.search.expression, day) {
            by_keys = file.count(&rows.condition, &rows.values, self.most_keys)? < self.most_keys;
            if by_keys {
                break;
            }
        }
        let Search { expression, filter, after, .. } = self.search;
        let after = after.filter(|after| Day::of(after.start) == day);
        let after =
            after.map(|after| (integer(after.start.micros()), after.id, self.search.is_newest_first()));
        Ok(search_sql::of_day(expression, filter, day, by_keys, after))
    }

    /// The streams of a call that is selected, where they are wanted; none if it is not selected.
    fn selected(&self, file: &DayReader, call: &Call) -> Result<Option<Vec<Stream>>, Error> {
        let Search { expression, filter, .. } = self.search;
        let known = expression.matches_call(call);
        if known == Some(false) {
            return Ok(None);
        }
        let needs_streams = known.is_none() || filter.needs_streams();
        let streams = match needs_streams || self.with_streams {
            true => self.reader.streams_of_call(file, call)?,
            false => Vec::new(),
        };
        let is_selected = filter.selects_call(call, &streams)
            && known.unwrap_or_else(|| expression.matches(call, &streams));
        Ok(is_selected.then(|| if self.with_streams { streams } else { Vec::new() }))
    }

    fn is_over(&self) -> bool {
        self.running.is_over() || self.enough.load(Ordering::Relaxed) || self.reader.is_over()
    }
}

fn next(jobs: &Jobs) -> Option<(Day, SyncSender<Told>)> {
    jobs.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
}

/// More threads than processors, as some wait for the disk.
fn threads_at_once() -> usize {
    thread::available_parallelism().map_or(2, |processors| processors.get() * 2).min(THREADS)
}

impl Cursor {
    /// Behind that call.
    pub fn of(call: &Call) -> Self {
        Self { start: Nanos::from_micros(StoredRecord::start(call).micros()), id: call.id }
    }
}

/// Microseconds since 1970, `-`, and the id.
impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.start.micros(), self.id)
    }
}

/// The text is no [`Cursor`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the place in the list cannot be read: begin with the first page")]
pub struct NotACursor;

impl FromStr for Cursor {
    type Err = NotACursor;

    fn from_str(text: &str) -> Result<Self, NotACursor> {
        let (micros, id) = text.split_once('-').ok_or(NotACursor)?;
        let is_plain = micros.bytes().all(|byte| byte.is_ascii_digit());
        let micros: u64 = micros.parse().ok().filter(|_| is_plain).ok_or(NotACursor)?;
        let start = micros.checked_mul(1_000).map(Nanos).ok_or(NotACursor)?;
        Ok(Self { start, id: id.parse().map_err(|_| NotACursor)? })
    }
}

/// Calls of a day that wait until those of the days before are passed on.
const QUEUED: usize = 64;
/// A page of up to this many calls is found sooner in order of time than among very many keys.
const FEW: usize = 1_000;
/// Calls of a day that are read first where columns select them, so that the first are soon seen.
const FIRST: usize = 8;
/// Calls that are read at once then.
const MANY: usize = 256;
/// Keys that are looked up for such a page in a day.
const FEW_KEYS: u64 = 20_000;
/// Keys that are looked up in a day otherwise.
const MOST_KEYS: u64 = 200_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_text_and_back() {
        let cursor = Cursor { start: Nanos::from_micros(1_795_226_400_000_001), id: Id([0xab; 16]) };
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
        let id = Id([1; 16]);
        for wrong in
            ["", "-", "1", &format!("+1-{id}"), &format!("{}-{id}", u64::MAX), "1-ab", &format!("-{id}")]
        {
            assert_eq!(wrong.parse::<Cursor>(), Err(NotACursor), "{wrong}");
        }
    }
}
