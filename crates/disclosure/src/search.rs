//! The passes over the database: sessions of the subjects, their calls, and who had the addresses of these.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use ringtap_identity::Holders;
use ringtap_model::{Condition, Filter, Identity, Nanos};
use ringtap_search::Expression;
use ringtap_store::{IdentityReader, Reader, RunningSearch, Search, SearchEnd, SearchOrder};
use ringtap_warrant::{Category, NewRequest};

use crate::access_row::AccessRow;
use crate::call_row::{CallRow, FoundCall};
use crate::error::Error;
use crate::holder::AddressSet;
use crate::subjects::{Subjects, network_of, was_held_in};

/// Where data is retained.
pub struct Store {
    /// Records of calls; needed for a request for calls.
    pub calls: Option<Reader>,
    /// Sessions; none where none is stored, so that nobody is known by an address.
    pub sessions: Option<IdentityReader>,
}

/// What a request finds.
#[derive(Debug, Default)]
pub struct Found {
    /// Calls, in the order of their begin.
    pub calls: Vec<CallRow>,
    /// Sessions, in the order of their log-in.
    pub accesses: Vec<AccessRow>,
    /// Days of the period of which there are records of calls, where calls are asked for: what is missing was
    /// deleted, or never seen.
    pub days: Option<usize>,
}

/// Finds what a request asks for: calls that began in its period, and sessions that went on in it; at most
/// `most` of each.
///
/// # Errors
///
/// The database cannot be read, there are more, or `running` was stopped. Then nothing is found.
pub fn search(
    store: &Store,
    request: &NewRequest,
    most: usize,
    running: &Arc<RunningSearch>,
) -> Result<Found, Error> {
    let period = request.from..request.until;
    let subjects = Subjects::new(&request.subjects, period.clone());
    let asks = |category| request.categories.contains(&category);
    let pass = Pass { store, period: &period, most, running };
    let sessions = if subjects.are_of_sessions() { pass.sessions(&subjects)? } else { Vec::new() };
    let mut found = Found::default();
    if asks(Category::Telephony) {
        let reader = store.calls.as_ref().ok_or(Error::NoCalls)?;
        let (calls, days) = pass.calls(reader, &subjects, &sessions)?;
        (found.calls, found.days) = (pass.joined(calls)?, Some(days));
    }
    if asks(Category::InternetAccess) {
        let rows = sessions.into_iter().map(|(session, found_by)| AccessRow::new(session, found_by, &period));
        found.accesses = rows.collect();
        found.accesses.sort_by_key(|row| (row.log_in, row.id));
    }
    Ok(found)
}

/// A session with by what it was found.
type FoundSession = (Identity, Vec<&'static str>);

struct Pass<'a> {
    store: &'a Store,
    period: &'a Range<Nanos>,
    most: usize,
    running: &'a Arc<RunningSearch>,
}

impl Pass<'_> {
    /// The sessions of the subjects.
    fn sessions(&self, subjects: &Subjects<'_>) -> Result<Vec<FoundSession>, Error> {
        self.sessions_that(self.period.clone(), ("sessions of the subjects", self.most), |session| {
            let found_by = subjects.of_session(&session);
            (!found_by.is_empty()).then_some((session, found_by))
        })
    }

    /// What is chosen of the sessions that went on in some of that time.
    fn sessions_that<T>(
        &self,
        time: Range<Nanos>,
        (what, most): (&'static str, usize),
        choose: impl Fn(Identity) -> Option<T>,
    ) -> Result<Vec<T>, Error> {
        let mut found = Vec::new();
        let Some(reader) = &self.store.sessions else { return Ok(found) };
        let flow = reader.each_between(time, |session| {
            found.extend(choose(session));
            let goes_on = found.len() <= most && !self.running.is_over();
            if goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        match flow {
            _ if found.len() > most => Err(Error::TooMany { what, limit: most }),
            ControlFlow::Break(()) => Err(Error::Interrupted),
            ControlFlow::Continue(()) => Ok(found),
        }
    }

    /// The calls of the subjects, and of how many days of the period there are records.
    fn calls(
        &self,
        reader: &Reader,
        subjects: &Subjects<'_>,
        sessions: &[FoundSession],
    ) -> Result<(Vec<FoundCall>, usize), Error> {
        let records: Vec<Identity> = sessions.iter().map(|(session, _)| session.clone()).collect();
        let own = Holders::new(&records);
        let filter = Filter(vec![Condition::Since(self.period.start), Condition::Until(self.period.end)]);
        let order = SearchOrder::OldestFirst;
        let search = Search { filter, order, ..Search::new(Expression::default()) };
        let mut found = Vec::new();
        let coverage = reader.each_call(&search, true, self.running, |call, streams| {
            let mut found_by = subjects.of_call(&call, &streams);
            let is_of_session = || {
                let mut ends = crate::subjects::endpoints(&call, &streams);
                ends.any(|(end, at)| !own.find(end.ip.to_canonical(), Some(end.port), Some(at)).is_empty())
            };
            if !records.is_empty() && is_of_session() {
                found_by.push("session");
            }
            if !found_by.is_empty() {
                found.push(FoundCall::new(call, &streams, found_by));
            }
            if found.len() > self.most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        match coverage.end {
            _ if found.len() > self.most => {
                Err(Error::TooMany { what: "calls of the subjects", limit: self.most })
            }
            SearchEnd::Complete => Ok((found, coverage.days)),
            SearchEnd::Stopped | SearchEnd::Enough => Err(Error::Interrupted),
        }
    }

    /// The calls with who had their addresses.
    fn joined(&self, calls: Vec<FoundCall>) -> Result<Vec<CallRow>, Error> {
        let (mut addresses, mut last) = (AddressSet::default(), self.period.end);
        for call in &calls {
            let ends = [call.row.caller.address, call.row.callee.address];
            ends.into_iter().for_each(|end| addresses.add(end.ip));
            for (end, at) in &call.used {
                addresses.add(end.ip);
                last = last.max(*at + Nanos(1));
            }
        }
        let time = self.period.start..last;
        let limit = ("sessions with addresses of the calls", self.most.max(MOST_HOLDING));
        let needed = |held: &_| {
            was_held_in(held, &time) && network_of(held).is_some_and(|network| addresses.has_any_of(network))
        };
        let sessions = match addresses.is_empty() {
            true => Vec::new(),
            false => self.sessions_that(time.clone(), limit, |session| {
                session.addresses.iter().any(needed).then_some(session)
            })?,
        };
        let holders = Holders::new(&sessions);
        Ok(calls.into_iter().map(|call| call.joined(&holders)).collect())
    }
}

/// Sessions that are looked at to tell who had an address; more if more may be given.
const MOST_HOLDING: usize = 100_000;
