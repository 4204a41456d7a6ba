//! The passes over the database: sessions of the subjects, their calls, and who had the addresses of these.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::net::IpAddr;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use ringtap_identity::Holders;
use ringtap_model::{Condition, Endpoint, Filter, Id, Identity, Nanos, Network};
use ringtap_search::Expression;
use ringtap_store::{Coverage, Day, IdentityReader, Reader, RunningSearch, Search, SearchEnd, SearchOrder};
use ringtap_warrant::{Category, NewRequest};

use crate::access_row::AccessRow;
use crate::call_row::{CallRow, FoundCall};
use crate::error::Error;
use crate::holder::AddressSet;
use crate::subjects::{Subjects, endpoints, network_of, was_held_in};

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
        let is_of_period = |day: &Day| day.end() > period.start && day.start() < period.end;
        found.days = Some(reader.days()?.into_iter().filter(is_of_period).count());
        found.calls = pass.joined(pass.calls(reader, &subjects, &sessions)?)?;
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

    /// The calls of the subjects, in the order of their begin.
    fn calls(
        &self,
        reader: &Reader,
        subjects: &Subjects<'_>,
        sessions: &[FoundSession],
    ) -> Result<Vec<FoundCall>, Error> {
        let named = if subjects.are_of_calls() { self.named_calls(reader, subjects)? } else { Vec::new() };
        let mut found: BTreeMap<(Nanos, Id), FoundCall> = BTreeMap::new();
        for call in named.into_iter().chain(self.calls_at_addresses(reader, subjects, sessions)?) {
            match found.entry((call.row.begin, call.row.id)) {
                Entry::Vacant(entry) => _ = entry.insert(call),
                Entry::Occupied(mut entry) => entry.get_mut().row.found_by.extend(call.row.found_by),
            }
        }
        self.within_limit(found.len())?;
        Ok(found.into_values().collect())
    }

    /// Calls with a name of a subject. No stream is read of others.
    fn named_calls(&self, reader: &Reader, subjects: &Subjects<'_>) -> Result<Vec<FoundCall>, Error> {
        let (mut calls, mut found_by) = (Vec::new(), Vec::new());
        let coverage = reader.each_call(&self.search(Vec::new()), false, self.running, |call, _| {
            let fields = subjects.named_in(&call);
            if !fields.is_empty() {
                calls.push(call);
                found_by.push(fields);
            }
            self.goes_on(calls.len())
        })?;
        self.within_limit(calls.len())?;
        is_whole(&coverage)?;
        let (mut found, mut found_by) = (Vec::new(), found_by.into_iter());
        let reader = reader.clone().stopped_by(Arc::clone(self.running));
        let read = reader.with_streams(&calls, |call, streams| {
            found.push(FoundCall::new(call.clone(), streams, found_by.next().unwrap_or_default()));
        });
        match read {
            Err(_) if self.running.is_over() => Err(Error::Interrupted),
            read => Ok(read.map(|()| found)?),
        }
    }

    /// Calls from and to an address of a subject, or of a session of a subject at that time.
    fn calls_at_addresses(
        &self,
        reader: &Reader,
        subjects: &Subjects<'_>,
        sessions: &[FoundSession],
    ) -> Result<Vec<FoundCall>, Error> {
        let records: Vec<Identity> = sessions.iter().map(|(session, _)| session.clone()).collect();
        let own = Holders::new(&records);
        let held = records.iter().flat_map(|session| &session.addresses);
        let held = held.filter_map(network_of);
        let networks: BTreeMap<_, _> = subjects
            .networks()
            .chain(held)
            .map(|network| ((network.ends(), network.bits()), network))
            .collect();
        let mut found = Vec::new();
        if networks.is_empty() {
            return Ok(found);
        }
        // The database leaves out what has none of the addresses; of many, a question would be too long.
        let addresses: Vec<Network> = networks.into_values().flat_map(with_mapped).collect();
        let is_short = addresses.len() <= MOST_NETWORKS;
        let condition = is_short.then_some(Condition::Ip(addresses)).into_iter().collect();
        let coverage = reader.each_call(&self.search(condition), true, self.running, |call, streams| {
            let of_session = |(end, at): (Endpoint, Nanos)| {
                !own.find(end.ip.to_canonical(), Some(end.port), Some(at)).is_empty()
            };
            let is_asked = subjects.have_address_of(&call, &streams);
            let is_of_session = !records.is_empty() && endpoints(&call, &streams).any(of_session);
            let found_by = [("address", is_asked), ("session", is_of_session)];
            let found_by: Vec<_> = found_by.into_iter().filter(|(_, is)| *is).map(|(by, _)| by).collect();
            if !found_by.is_empty() {
                found.push(FoundCall::new(call, &streams, found_by));
            }
            self.goes_on(found.len())
        })?;
        self.within_limit(found.len())?;
        is_whole(&coverage)?;
        Ok(found)
    }

    /// Calls of the period that satisfy conditions, the earliest first.
    fn search(&self, conditions: Vec<Condition>) -> Search {
        let period = [Condition::Since(self.period.start), Condition::Until(self.period.end)];
        let filter = Filter(period.into_iter().chain(conditions).collect());
        Search { filter, order: SearchOrder::OldestFirst, ..Search::new(Expression::default()) }
    }

    fn goes_on(&self, count: usize) -> ControlFlow<()> {
        if count <= self.most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    fn within_limit(&self, count: usize) -> Result<(), Error> {
        let what = "calls of the subjects";
        if count <= self.most { Ok(()) } else { Err(Error::TooMany { what, limit: self.most }) }
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

/// A search that ended before its end has found less than there is.
fn is_whole(coverage: &Coverage) -> Result<(), Error> {
    if coverage.end == SearchEnd::Complete { Ok(()) } else { Err(Error::Interrupted) }
}

/// A network; of IPv4 also as it is mapped into IPv6.
fn with_mapped(network: Network) -> impl Iterator<Item = Network> {
    let mapped = match network.ends().0 {
        IpAddr::V4(first) => {
            let mapped = format!("{}/{}", first.to_ipv6_mapped(), MAPPED + network.bits());
            mapped.parse().ok()
        }
        IpAddr::V6(_) => None,
    };
    std::iter::once(network).chain(mapped)
}

/// Bits in front of a mapped IPv4 address (RFC 4291 section 2.5.5.2).
const MAPPED: u8 = 96;
/// Addresses that are asked of the database at once.
const MOST_NETWORKS: usize = 256;
/// Sessions that are looked at to tell who had an address; more if more may be given.
const MOST_HOLDING: usize = 100_000;
