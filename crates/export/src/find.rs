//! Searches for the call that the user named.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use anyhow::bail;
use ringtap_engine::{Sink, SipSeen, StreamEnd};
use ringtap_model::filter::Pattern;
use ringtap_model::{Call, Filter, Id, Message, Nanos, Registration, Stream};
use ringtap_report::calls::party;
use ringtap_report::text::{counted, cut, shown};
use ringtap_report::time;
use ringtap_store::{Query, Reader};

/// Candidates that an error lists.
const LISTED: usize = 10;
/// Calls that are read to tell whether a beginning of a Call-ID is that of one alone.
const MOST: usize = 1_000;
/// Columns of a number in the list of candidates.
const MOST_SHOWN: usize = 40;
/// Similar Call-IDs that an error suggests.
const NEAR: usize = 3;

/// A sink that can stop the reading of its input early.
pub trait Listener: Sink {
    /// Whether to stop reading, because the sink's output is closed.
    fn has_enough(&self) -> bool {
        false
    }
}

/// The call with this Call-ID or record id, or the only one whose Call-ID begins so.
///
/// # Errors
///
/// There is none, or there are several: the error lists them.
pub fn named_call(dir: &Path, store: &Reader, wanted: &str) -> anyhow::Result<Call> {
    let mut calls = named_calls(store, wanted)?;
    match (calls.pop(), calls.len()) {
        (Some(call), 0) => Ok(call),
        (None, _) => {
            let store = dir.display();
            bail!(
                "no call in `{store}` has the Call-ID or id `{wanted}`: `ringtap calls --store {store}` \
                 lists them; a call in progress is written there when it ends"
            )
        }
        (Some(last), _) => {
            calls.push(last);
            Err(NotFound::again(wanted, &calls).into())
        }
    }
}

/// Calls with this Call-ID or record id, or with the only Call-ID that begins so; several calls may have one
/// Call-ID. None is no error.
///
/// # Errors
///
/// Several Call-IDs begin so: the error lists them.
pub fn named_calls(store: &Reader, wanted: &str) -> anyhow::Result<Vec<Call>> {
    if let Ok(id) = wanted.parse()
        && let Some(call) = store.call(&id)?
    {
        return Ok(vec![call]);
    }
    let exact = store.calls(&Filter::call_id(Pattern::exact(wanted)).into())?.records;
    let prefix = beginning(wanted);
    if !exact.is_empty() || prefix.is_empty() {
        return Ok(exact);
    }
    let filter = Filter::call_id(Pattern::prefix(prefix));
    let calls = store.calls(&Query { filter: filter.clone(), limit: MOST, newest: false })?.records;
    let mut call_ids: Vec<&str> = calls.iter().map(|call| &*call.call_id).collect();
    call_ids.sort_unstable();
    call_ids.dedup();
    if call_ids.len() > 1 {
        return Err(NotFound::ambiguous(wanted, &calls).into());
    }
    Ok(if calls.len() < MOST { calls } else { store.calls(&filter.into())?.records })
}

/// A Call-ID, or what is left of it where a table has shortened it.
pub fn beginning(wanted: &str) -> &str {
    wanted.strip_suffix('…').unwrap_or(wanted)
}

/// A call with its streams.
#[derive(Clone, Debug)]
pub struct FoundCall {
    /// Its record.
    pub call: Call,
    /// Its media streams.
    pub streams: Vec<StreamEnd>,
}

impl FoundCall {
    /// The records of its streams.
    pub fn records(&self) -> Vec<Stream> {
        self.streams.iter().map(|stream| stream.record.clone()).collect()
    }
}

/// A sink that searches for a call by Call-ID, by a prefix of it, or by the id of its record.
///
/// With `SIP` it also passes each message with exactly that Call-ID to a callback.
pub struct Finder<'a, const SIP: bool> {
    /// As it was given.
    given: &'a str,
    /// Without the `…` of a table.
    wanted: &'a str,
    id: Option<Id>,
    total: u64,
    exact: Vec<FoundCall>,
    by_id: Option<FoundCall>,
    alike: BTreeMap<String, Vec<FoundCall>>,
    more_alike: bool,
    near: Vec<(usize, String)>,
    messages: &'a mut dyn FnMut(&SipSeen<'_>),
}

impl<'a, const SIP: bool> Finder<'a, SIP> {
    /// Creates a search for `wanted`; `messages` is called with each message of that Call-ID.
    pub fn new(wanted: &'a str, messages: &'a mut dyn FnMut(&SipSeen<'_>)) -> Self {
        Self {
            given: wanted,
            wanted: beginning(wanted),
            id: wanted.parse().ok(),
            total: 0,
            exact: Vec::new(),
            by_id: None,
            alike: BTreeMap::new(),
            more_alike: false,
            near: Vec::new(),
            messages,
        }
    }

    /// The calls found, in order of time: several where a Call-ID was used again later.
    pub fn found(mut self) -> Result<Vec<FoundCall>, NotFound> {
        self.exact.sort_by_key(|found| found.call.start());
        if !self.exact.is_empty() {
            return Ok(self.exact);
        }
        if let Some(found) = self.by_id {
            return Ok(vec![found]);
        }
        if self.alike.len() == 1 && !self.more_alike {
            return Ok(self.alike.into_values().next().unwrap_or_default());
        }
        let alike = self.alike.values().flatten().map(|found| candidate(&found.call)).take(LISTED);
        let alike: Vec<String> = alike.collect();
        let near = self.near.into_iter().map(|(_, call_id)| call_id).collect();
        Err(NotFound {
            wanted: self.given.to_string(),
            total: self.total,
            alike,
            more_alike: self.more_alike,
            near,
            again: false,
        })
    }

    fn add_alike(&mut self, found: FoundCall) {
        if self.alike.len() == LISTED && !self.alike.contains_key(&found.call.call_id) {
            self.more_alike = true;
            return;
        }
        self.alike.entry(found.call.call_id.clone()).or_default().push(found);
    }

    /// Remembers the [`NEAR`] Call-IDs most similar to the one wanted.
    fn add_near(&mut self, call_id: &str) {
        let score = likeness(self.wanted, call_id);
        let known = self.near.iter().any(|(_, near)| near == call_id);
        if score * 2 < self.wanted.len().max(2) || known {
            return;
        }
        let index = self.near.partition_point(|(other, _)| *other >= score);
        if index < NEAR {
            self.near.insert(index, (score, call_id.to_string()));
            self.near.truncate(NEAR);
        }
    }
}

/// The length of the common prefix and suffix of `call_id` and `wanted`, or all of `wanted` if `call_id`
/// contains it. One mistyped character costs one.
fn likeness(wanted: &str, call_id: &str) -> usize {
    if call_id.contains(wanted) {
        return wanted.len();
    }
    let same = |(a, b): &(u8, u8)| a.eq_ignore_ascii_case(b);
    let front = wanted.bytes().zip(call_id.bytes()).take_while(same).count();
    let back = wanted.bytes().rev().zip(call_id.bytes().rev()).take_while(same).count();
    (front + back).min(wanted.len()).min(call_id.len())
}

impl<const SIP: bool> Sink for Finder<'_, SIP> {
    const PACKETS: bool = SIP;

    fn call(&mut self, call: Call, streams: Vec<StreamEnd>) {
        self.total += 1;
        self.add_near(&call.call_id);
        let found = FoundCall { call, streams };
        if [self.given, self.wanted].contains(&&*found.call.call_id) {
            self.exact.push(found);
        } else if Some(found.call.id) == self.id {
            self.by_id = Some(found);
        } else if found.call.call_id.starts_with(self.wanted) {
            self.add_alike(found);
        }
    }

    fn stream(&mut self, _: StreamEnd) {}
    fn registration(&mut self, _: Registration) {}
    fn message(&mut self, _: Message) {}

    fn sip(&mut self, seen: &SipSeen<'_>) {
        if carries(seen, self.wanted) {
            (self.messages)(seen);
        }
    }
}

impl<const SIP: bool> Listener for Finder<'_, SIP> {}

/// Whether a message has exactly this Call-ID, compared in the form that records use.
pub fn carries(seen: &SipSeen<'_>, call_id: &str) -> bool {
    seen.message.call_id().is_some_and(|found| String::from_utf8_lossy(found) == call_id)
}

/// A range of time, its end excluded.
#[derive(Clone, Copy, Debug)]
pub struct TimeRange {
    from: Nanos,
    before: Nanos,
}

impl TimeRange {
    /// The range of each call in `found`, from its start to the start of the next. The calls have one Call-ID
    /// and are in order of time. The first range also covers everything before, the last everything after.
    fn of(found: &[FoundCall]) -> Vec<Self> {
        let start =
            |index: usize| found.get(index).and_then(|found| found.call.start()).unwrap_or(Nanos::MAX);
        let from = |index| if index == 0 { Nanos::ZERO } else { start(index) };
        (0..found.len()).map(|index| Self { from: from(index), before: start(index + 1) }).collect()
    }

    /// Whether `time` lies in it.
    pub fn contains(self, time: Nanos) -> bool {
        self.from <= time && (time < self.before || self.before == Nanos::MAX)
    }
}

/// The calls that the user selected, each with the time range in which messages with its Call-ID belong to
/// it.
#[derive(Debug)]
pub struct SelectedCalls(pub Vec<(FoundCall, TimeRange)>);

impl SelectedCalls {
    /// Selects all of `found`, which have one Call-ID, or only the one whose record id is `wanted`.
    pub fn of(found: Vec<FoundCall>, wanted: &str) -> Self {
        let ranges = TimeRange::of(&found);
        let mut selected: Vec<_> = found.into_iter().zip(ranges).collect();
        let is_named = |(found, _): &(FoundCall, TimeRange)| wanted.parse() == Ok(found.call.id);
        if selected.iter().any(is_named) {
            selected.retain(is_named);
        }
        Self(selected)
    }

    /// Their Call-ID.
    pub fn call_id(&self) -> &str {
        self.0.first().map_or("", |(found, _)| &found.call.call_id)
    }

    /// Whether a message belongs to one of the calls.
    pub fn has(&self, seen: &SipSeen<'_>) -> bool {
        carries(seen, self.call_id()) && self.0.iter().any(|(_, range)| range.contains(seen.time))
    }

    /// Their streams.
    pub fn streams(&self) -> impl Iterator<Item = (&Call, &StreamEnd)> {
        self.0.iter().flat_map(|(found, _)| found.streams.iter().map(move |stream| (&found.call, stream)))
    }
}

/// The search found no call, or several different ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotFound {
    wanted: String,
    total: u64,
    /// Candidates, a line each.
    alike: Vec<String>,
    more_alike: bool,
    near: Vec<String>,
    /// They have the same Call-ID.
    again: bool,
}

impl NotFound {
    /// Calls whose Call-IDs begin with what was wanted.
    pub fn ambiguous(wanted: &str, calls: &[Call]) -> Self {
        Self {
            wanted: wanted.to_owned(),
            total: calls.len() as u64,
            alike: calls.iter().take(LISTED).map(candidate).collect(),
            more_alike: calls.len() > LISTED,
            near: Vec::new(),
            again: false,
        }
    }

    /// Calls that all have the Call-ID.
    fn again(wanted: &str, calls: &[Call]) -> Self {
        Self { again: true, ..Self::ambiguous(wanted, calls) }
    }
}

/// A call in a line: the id of its record, time, parties, Call-ID.
pub fn candidate(call: &Call) -> String {
    let known = |party: Option<&str>| {
        party.map_or("-".to_owned(), |party| shown(&cut(party, MOST_SHOWN)).into_owned())
    };
    let from = known(party(call.from_user.as_deref(), call.from_host.as_deref()));
    let to = known(party(call.to_user.as_deref(), call.to_host.as_deref()));
    let start = call.start().map_or("time unknown".to_owned(), time::full);
    let call_id = shown(&cut(&call.call_id, 2 * MOST_SHOWN)).into_owned();
    let zone = time::zone_name();
    format!("{start} {zone}  {from} -> {to}  {call_id}  (record {})", call.id)
}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wanted = shown(&self.wanted);
        if !self.alike.is_empty() {
            match self.again {
                true => write!(f, "several calls have the Call-ID `{wanted}`: give the id of a record")?,
                false => write!(f, "several calls begin with `{wanted}`: give more of the Call-ID")?,
            }
            self.alike.iter().try_for_each(|line| write!(f, "\n  {line}"))?;
            return if self.more_alike { write!(f, "\n  and more") } else { Ok(()) };
        }
        let total = match self.total {
            0 => "there is no call in the input".to_string(),
            total => format!("the input has {}", counted(total, "call")),
        };
        write!(f, "no call has the Call-ID `{wanted}`; {total}")?;
        let near: Vec<_> = self.near.iter().map(|call_id| format!("`{}`", shown(call_id))).collect();
        match (&near[..], self.total) {
            ([], 0) => Ok(()),
            ([], _) => write!(f, ": `ringtap analyze` lists them"),
            (near, _) => write!(f, ", the nearest: {}", near.join(", ")),
        }
    }
}

impl std::error::Error for NotFound {}

#[cfg(test)]
mod tests {
    use ringtap_testing::samples;

    use super::*;

    fn find(wanted: &str, call_ids: &[&str]) -> Result<Vec<String>, String> {
        let mut ignore = |_: &SipSeen<'_>| {};
        let mut finder = Finder::<false>::new(wanted, &mut ignore);
        for (index, call_id) in call_ids.iter().enumerate() {
            let id = Id([index as u8; 16]);
            finder.call(Call { id, call_id: call_id.to_string(), ..samples::call() }, Vec::new());
        }
        let found = finder.found().map_err(|error| error.to_string())?;
        Ok(found.into_iter().map(|found| found.call.call_id).collect())
    }

    #[test]
    fn by_call_id_prefix_and_record() {
        let calls = ["abc@x", "abcd@x", "zz@x"];
        assert_eq!(find("abc@x", &calls).unwrap(), ["abc@x"]);
        assert_eq!(find("abcd", &calls).unwrap(), ["abcd@x"]);
        assert_eq!(find(&"02".repeat(16), &calls).unwrap(), ["zz@x"]);
        assert_eq!(find("same", &["same", "same"]).unwrap(), ["same", "same"]);
    }

    #[test]
    fn what_a_table_has_shortened_is_found() {
        assert_eq!(find("abcd…", &["abc@x", "abcd@x"]).unwrap(), ["abcd@x"]);
        assert_eq!(find("abc@x…", &["abc@x", "abc@xyz"]).unwrap(), ["abc@x"]);
        assert_eq!(find("ab…", &["ab…", "abc@x"]).unwrap(), ["ab…"], "a Call-ID may end so");
    }

    #[test]
    fn an_ambiguous_beginning_lists_the_calls() {
        let error = find("abc…", &["abc@x", "abcd@x"]).unwrap_err();
        let lines: Vec<&str> = error.lines().collect();
        assert_eq!(lines[0], "several calls begin with `abc…`: give more of the Call-ID");
        let parties = "2026-11-21 02:00:00.000 UTC  +420221111111 -> +420602222222";
        assert_eq!(lines[1], format!("  {parties}  abc@x  (record {})", "00".repeat(16)));
        assert_eq!((lines[2].contains("abcd@x"), lines.len()), (true, 3));
        let many: Vec<String> = (0..20).map(|n| format!("a{n:02}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let error = find("a", &many).unwrap_err();
        assert_eq!((error.lines().count(), error.lines().last()), (12, Some("  and more")));
    }

    #[test]
    fn an_unknown_call_names_its_neighbours() {
        let error = find("4f2a19@host", &["4f2b19@host", "other@y", "\x1b@z"]).unwrap_err();
        assert_eq!(
            error,
            "no call has the Call-ID `4f2a19@host`; the input has 3 calls, the nearest: `4f2b19@host`"
        );
        assert_eq!(find("x", &[]).unwrap_err(), "no call has the Call-ID `x`; there is no call in the input");
        let error = find("\x1b[2J", &["abc"]).unwrap_err();
        assert_eq!(
            error,
            "no call has the Call-ID `\\x1b[2J`; the input has 1 call: `ringtap analyze` lists them"
        );
    }

    #[test]
    fn a_reused_call_id_is_cut_in_time() {
        let at = |secs| Call { invite: Some(Nanos::from_secs(secs)), ..samples::call() };
        let found: Vec<FoundCall> =
            [100, 200].map(|secs| FoundCall { call: at(secs), streams: Vec::new() }).into();
        let ranges = TimeRange::of(&found);
        let contains =
            |secs| ranges.iter().map(|range| range.contains(Nanos::from_secs(secs))).collect::<Vec<_>>();
        assert_eq!(contains(50), [true, false]);
        assert_eq!(contains(199), [true, false]);
        assert_eq!(contains(200), [false, true]);
        assert!(ranges[1].contains(Nanos::MAX));
        assert_eq!(SelectedCalls::of(found.clone(), "x").0.len(), 2);
        let second =
            FoundCall { call: Call { id: Id([9; 16]), ..found[1].call.clone() }, streams: Vec::new() };
        let selected = SelectedCalls::of(vec![found[0].clone(), second], &"09".repeat(16));
        assert!(selected.0.len() == 1 && !selected.0[0].1.contains(Nanos::from_secs(150)));
    }
}
