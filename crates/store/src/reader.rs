//! Answers to questions, over all day files in order of time.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use ringtap_model::{
    AffectedCall, Alarm, Call, Condition, Failover, Filter, Id, Message, Outage, Registration, ServiceHour,
    Stream, Transaction,
};
use rusqlite::types::Value as Sql;

use crate::day_reader::{DayReader, Readable};
use crate::holds::HELD;
use crate::migration::OnMigration;
use crate::open_files::OpenFiles;
use crate::record::StoredRecord;
use crate::running::RunningSearch;
use crate::{Day, Error, Query};

/// The answer to a [`Query`].
#[derive(Clone, Debug, PartialEq)]
pub struct Found<R> {
    /// Records in order of their beginning.
    pub records: Vec<R>,
    /// There were more than the query's limit.
    pub cut: bool,
    /// Day files that were searched. 0: nothing is stored for the time asked for.
    pub days: usize,
}

impl<R> Default for Found<R> {
    fn default() -> Self {
        Self { records: Vec::new(), cut: false, days: 0 }
    }
}

/// Searches a directory of day files, also while an [`ImportWriter`](crate::ImportWriter) writes to it.
///
/// An answer is whole or an error: one file that cannot be read fails the search.
#[derive(Clone, Debug)]
pub struct Reader {
    dir: PathBuf,
    on_migration: OnMigration,
    stopped_by: Option<Arc<RunningSearch>>,
    /// Where files are kept open for whoever reads them next.
    open_files: Option<Arc<OpenFiles>>,
}

impl Reader {
    /// A reader of that directory, which must exist and hold a day file.
    pub fn open(dir: &Path) -> Result<Self, Error> {
        let reader = Self {
            dir: dir.to_owned(),
            on_migration: OnMigration::default(),
            stopped_by: None,
            open_files: None,
        };
        if reader.days()?.is_empty() { Err(Error::NoDays { path: reader.dir }) } else { Ok(reader) }
    }

    /// Tells this of day files of an older version, which are migrated before they are read.
    #[must_use]
    pub fn on_migration(self, on_migration: OnMigration) -> Self {
        Self { on_migration, ..self }
    }

    /// Whatever reads records fails with [`Error::Interrupted`] soon after that search is over: in the middle
    /// of a statement, and between days. Pages and calls passed on one by one end as stopped instead.
    #[must_use]
    pub fn stopped_by(self, running: Arc<RunningSearch>) -> Self {
        Self { stopped_by: Some(running), ..self }
    }

    /// Files that it has read stay open for all readers that share them.
    #[must_use]
    pub fn sharing(self, open_files: Arc<OpenFiles>) -> Self {
        Self { open_files: Some(open_files), ..self }
    }

    /// Whether the search is over that stops this reader.
    pub(crate) fn is_over(&self) -> bool {
        self.stopped_by.as_ref().is_some_and(|running| running.is_over())
    }

    /// The search that stops this reader.
    pub(crate) fn stopper(&self) -> Option<Arc<RunningSearch>> {
        self.stopped_by.clone()
    }

    /// The days that have a file, in order; those of which only records of calls on hold are left as well.
    pub fn days(&self) -> Result<Vec<Day>, Error> {
        let mut days = days(&self.dir)?;
        let held = self.dir.join(HELD);
        if held.is_dir() {
            days.extend(self::days(&held)?);
        }
        days.sort_unstable();
        days.dedup();
        Ok(days)
    }

    /// The days that have a file of their own, in order.
    pub(crate) fn own_days(&self) -> Result<Vec<Day>, Error> {
        let mut days = days(&self.dir)?;
        days.sort_unstable();
        Ok(days)
    }

    /// The directory of the day files.
    pub(crate) fn directory(&self) -> &Path {
        &self.dir
    }

    /// Calls that satisfy a query.
    pub fn calls(&self, query: &Query) -> Result<Found<Call>, Error> {
        let streams = query.filter.needs_streams();
        let selects = |day: &DayReader, call: &Call| {
            let streams = if streams { self.streams_of_call(day, call)? } else { Vec::new() };
            Ok(query.filter.selects_call(call, &streams))
        };
        self.search(query, |day| query.of_calls(day), selects)
    }

    /// Streams that satisfy a query, in order of their first packet.
    pub fn streams(&self, query: &Query) -> Result<Found<Stream>, Error> {
        let of_calls = query.filter.of_calls();
        if !of_calls.is_set() {
            let selects = |_: &DayReader, stream: &Stream| Ok(query.filter.selects_stream(stream, None));
            return self.search(query, |day| query.of_streams(day), selects);
        }
        // A call may be of an earlier day than its streams: its time is no condition.
        let mut found = Found { days: self.searched(query)?.len(), ..Found::default() };
        for call in self.calls(&of_calls.into())?.records {
            let streams = self.streams_of(&call.id)?;
            let selected = |stream: &Stream| query.filter.selects_stream(stream, Some(&call));
            found.records.extend(streams.into_iter().filter(selected));
        }
        found.records.sort_by_key(|stream| (stream.first, stream.id));
        found.keep(query);
        Ok(found)
    }

    /// Registrations that satisfy a query.
    pub fn registrations(&self, query: &Query) -> Result<Found<Registration>, Error> {
        let selects = |_: &DayReader, found: &Registration| Ok(query.filter.selects_registration(found));
        self.search(query, |day| query.of_others("first_us", day), selects)
    }

    /// SIP MESSAGEs that satisfy a query.
    pub fn messages(&self, query: &Query) -> Result<Found<Message>, Error> {
        let selects = |_: &DayReader, found: &Message| Ok(query.filter.selects_message(found));
        self.search(query, |day| query.of_others("time_us", day), selects)
    }

    /// SIP transactions outside of calls that satisfy a query.
    pub fn transactions(&self, query: &Query) -> Result<Found<Transaction>, Error> {
        let selects = |_: &DayReader, found: &Transaction| Ok(query.filter.selects_transaction(found));
        self.search(query, |day| query.of_others("time_us", day), selects)
    }

    /// Alarms that satisfy a query, by the time they were raised: each as it was stored last.
    pub fn alarms(&self, query: &Query) -> Result<Found<Alarm>, Error> {
        let selects = |_: &DayReader, found: &Alarm| Ok(query.filter.selects_alarm(found));
        self.search(query, |day| query.of_time("raised_us", day), selects)
    }

    /// Outages that began in the time of a query: each as it was stored last.
    pub fn outages(&self, query: &Query) -> Result<Found<Outage>, Error> {
        let selects = |_: &DayReader, found: &Outage| Ok(query.filter.selects_time(found.from));
        self.search(query, |day| query.of_time(Outage::START, day), selects)
    }

    /// Failovers that began in the time of a query: each as it was stored last.
    pub fn failovers(&self, query: &Query) -> Result<Found<Failover>, Error> {
        let selects = |_: &DayReader, found: &Failover| Ok(query.filter.selects_time(found.from));
        self.search(query, |day| query.of_time(Failover::START, day), selects)
    }

    /// Calls that failovers had an effect on which began in the time of a query: failover by failover, in
    /// order of their first INVITE.
    pub fn affected_calls(&self, query: &Query) -> Result<Found<AffectedCall>, Error> {
        let selects =
            |_: &DayReader, found: &AffectedCall| Ok(query.filter.selects_time(found.failover_from));
        let mut found = self.search(query, |day| query.of_time(AffectedCall::START, day), selects)?;
        let order = |call: &AffectedCall| (call.failover_from, call.failover, call.invite, call.id);
        found.records.sort_by_key(order);
        Ok(found)
    }

    /// Services by the hours that began in the time of a query: each as it was stored last.
    pub fn service_hours(&self, query: &Query) -> Result<Found<ServiceHour>, Error> {
        let selects = |_: &DayReader, found: &ServiceHour| Ok(query.filter.selects_time(found.from));
        self.search(query, |day| query.of_time(ServiceHour::START, day), selects)
    }

    /// The call of that id, if it is stored.
    pub fn call(&self, id: &Id) -> Result<Option<Call>, Error> {
        for day in self.searchable()? {
            if let Some(file) = self.open_day(day)? {
                let call = file.call(id)?;
                self.keep_open(file);
                if call.is_some() {
                    return Ok(call);
                }
            }
        }
        Ok(None)
    }

    /// The legs of a conversation, in order of their beginning. All days are searched: a call that is
    /// transferred may have begun on another day.
    pub fn conversation(&self, id: &Id) -> Result<Vec<Call>, Error> {
        Ok(self.calls(&Filter(vec![Condition::Conversation(*id)]).into())?.records)
    }

    /// The records of a call's media streams, in order of their first packet.
    ///
    /// A stream is stored on the day that it began, which may be after the call's: all days are searched.
    pub fn streams_of(&self, call: &Id) -> Result<Vec<Stream>, Error> {
        let mut streams = Vec::new();
        for day in self.searchable()? {
            if let Some(file) = self.open_day(day)? {
                streams.extend(file.streams_of(call)?);
                self.keep_open(file);
            }
        }
        Ok(streams)
    }

    /// The same, where the record of the call is in the file of `day`: other days are searched only for
    /// streams that are missing there.
    pub(crate) fn streams_of_call(&self, day: &DayReader, call: &Call) -> Result<Vec<Stream>, Error> {
        let streams = day.streams_near(call)?;
        if streams.len() >= call.streams.len() { Ok(streams) } else { self.streams_of(&call.id) }
    }

    /// Each of these calls with its streams, in their order.
    pub fn with_streams(&self, calls: &[Call], mut each: impl FnMut(&Call, &[Stream])) -> Result<(), Error> {
        let mut open: Option<(Day, DayReader)> = None;
        for call in calls {
            let day = Day::of(StoredRecord::start(call));
            if open.as_ref().is_none_or(|(other, _)| *other != day) {
                open.take().into_iter().for_each(|(_, file)| self.keep_open(file));
                open = self.open_day(day)?.map(|file| (day, file));
            }
            let streams = match &open {
                Some((_, file)) => self.streams_of_call(file, call)?,
                None => Vec::new(),
            };
            each(call, &streams);
        }
        open.into_iter().for_each(|(_, file)| self.keep_open(file));
        Ok(())
    }

    /// Records that satisfy a query: `condition` leaves out of a day what cannot, `selects` has the last
    /// word.
    ///
    /// Days are searched by several threads, which wait for the disk most of the time, in order from the end
    /// where the query's limit begins. None begins a day that the limit leaves out for certain.
    fn search<R: Readable>(
        &self,
        query: &Query,
        condition: impl Fn(Day) -> (String, Vec<Sql>) + Sync,
        selects: impl Fn(&DayReader, &R) -> Result<bool, Error> + Sync,
    ) -> Result<Found<R>, Error> {
        let mut days = self.searched(query)?;
        if query.newest {
            days.reverse();
        }
        let (next, answers) = (AtomicUsize::new(0), Mutex::new(Answers::new(days.len(), query.limit)));
        let work = || {
            while let Some(day) = days.get(next.fetch_add(1, Ordering::Relaxed)) {
                let answer = self.search_day(*day, query, &condition, &selects);
                let place = days.iter().position(|other| other == day).unwrap_or_default();
                if answers.lock().unwrap_or_else(PoisonError::into_inner).add(place, answer) {
                    // Nothing is missing in front of the last record of the answer.
                    next.store(days.len(), Ordering::Relaxed);
                }
            }
        };
        thread::scope(|scope| {
            // This thread works as well; fewer threads give the same answer.
            for _ in 1..days.len().min(THREADS) {
                let _ = thread::Builder::new().name("search".into()).spawn_scoped(scope, work);
            }
            work();
        });
        let answers = answers.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut found = Found { days: days.len(), ..Found::default() };
        for answer in answers.by_day {
            let Some(answer) = answer else { break };
            found.records.extend(answer?);
            if found.records.len() > query.limit {
                break;
            }
        }
        found.cut = found.records.len() > query.limit;
        found.records.truncate(query.limit);
        if query.newest {
            found.records.reverse();
        }
        Ok(found)
    }

    /// Records of a day, one more than the limit at most, from the end where the limit begins.
    fn search_day<R: Readable>(
        &self,
        day: Day,
        query: &Query,
        condition: impl Fn(Day) -> (String, Vec<Sql>),
        selects: impl Fn(&DayReader, &R) -> Result<bool, Error>,
    ) -> Result<Vec<R>, Error> {
        let mut records = Vec::new();
        if let Some(file) = self.open_day(day)? {
            let (condition, values) = condition(day);
            file.each(&condition, &values, query.newest, |record| {
                if selects(&file, &record)? {
                    records.push(record);
                }
                Ok(records.len() <= query.limit)
            })?;
            self.keep_open(file);
        }
        Ok(records)
    }

    /// The days that a query is about.
    fn searched(&self, query: &Query) -> Result<Vec<Day>, Error> {
        Ok(self.searchable()?.into_iter().filter(|&day| query.covers(day)).collect())
    }

    /// The days, at least one: a directory that was emptied meanwhile is no empty answer.
    pub(crate) fn searchable(&self) -> Result<Vec<Day>, Error> {
        let days = self.days()?;
        if days.is_empty() { Err(Error::NoDays { path: self.dir.clone() }) } else { Ok(days) }
    }

    /// The file of a day; none if it was created but never written.
    pub(crate) fn open_day(&self, day: Day) -> Result<Option<DayReader>, Error> {
        let mut path = self.dir.join(day.file_name());
        let held = self.dir.join(HELD).join(day.file_name());
        // The day has all that is held of it, as long as it is there.
        if !path.exists() && held.exists() {
            path = held;
        }
        if self.is_over() {
            return Err(Error::Interrupted { path });
        }
        let mut file = match self.open_files.as_ref().and_then(|files| files.take(&path)) {
            Some(file) => Some(file),
            None => DayReader::open(path, &self.on_migration)?,
        };
        if let (Some(file), Some(running)) = (&mut file, &self.stopped_by) {
            let running = Arc::clone(running);
            file.stop_when(move || running.is_over())?;
        }
        Ok(file)
    }

    /// Keeps a file open for whoever reads it next.
    pub(crate) fn keep_open(&self, file: DayReader) {
        if let Some(files) = &self.open_files {
            files.keep(file);
        }
    }
}

/// What the days searched so far gave, in the order of the search.
struct Answers<R> {
    by_day: Vec<Option<Result<Vec<R>, Error>>>,
    limit: usize,
}

impl<R> Answers<R> {
    fn new(days: usize, limit: usize) -> Self {
        Self { by_day: (0..days).map(|_| None).collect(), limit }
    }

    /// Adds the answer of a day; returns whether no further day is needed.
    fn add(&mut self, place: usize, answer: Result<Vec<R>, Error>) -> bool {
        self.by_day[place] = Some(answer);
        let mut records = 0;
        for answer in &self.by_day {
            match answer {
                Some(Ok(found)) => records += found.len(),
                // The search fails.
                Some(Err(_)) => return true,
                None => return false,
            }
            if records > self.limit {
                return true;
            }
        }
        true
    }
}

impl<R> Found<R> {
    /// Leaves what the query's limit lets in.
    fn keep(&mut self, query: &Query) {
        self.cut = self.records.len() > query.limit;
        if query.newest {
            self.records.drain(..self.records.len().saturating_sub(query.limit));
        }
        self.records.truncate(query.limit);
    }
}

/// The days that have a file in a directory.
fn days(dir: &Path) -> Result<Vec<Day>, Error> {
    let failed = |error| Error::io(dir, error);
    let mut days = Vec::new();
    for entry in fs::read_dir(dir).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        days.extend(name.to_str().and_then(Day::from_file_name));
    }
    Ok(days)
}

/// Threads that search at most. They wait for the disk most of the time.
pub(crate) const THREADS: usize = 8;
