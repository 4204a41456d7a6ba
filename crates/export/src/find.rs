//! Searches for the call that the user named.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use anyhow::bail;
use ringtap_engine::{Sink, SipSeen, StreamEnd};
use ringtap_model::{Call, Id, Message, Nanos, Registration};
use ringtap_report::text::{counted, shown};
use ringtap_store::{Query, Reader};

/// Ambiguous calls that an error lists by Call-ID.
const ALIKE: usize = 8;
/// Similar Call-IDs that an error suggests.
const NEAR: usize = 3;

/// A sink that can stop the reading of its input early.
pub trait Listener: Sink {
    /// Whether to stop reading, because the sink's output is closed.
    fn has_enough(&self) -> bool {
        false
    }
}

/// The call with this Call-ID or record id.
pub fn named_call(dir: &Path, store: &Reader, call: &str) -> anyhow::Result<Call> {
    if let Ok(id) = call.parse()
        && let Some(call) = store.call(&id)?
    {
        return Ok(call);
    }
    let query = Query { call_id: Some(call.to_owned()), limit: 2, ..Query::default() };
    let mut calls = store.calls(&query)?.calls;
    match (calls.pop(), calls.len()) {
        (Some(call), 0) => Ok(call),
        (None, _) => {
            let store = dir.display();
            bail!(
                "no call in `{store}` has the Call-ID or id `{call}`: `ringtap calls --store {store}` lists \
                 them; a call in progress is written there when it ends"
            )
        }
        _ => bail!("several calls have the Call-ID `{call}`: select one by the id of its record"),
    }
}

/// A call with its streams.
#[derive(Clone, Debug)]
pub struct FoundCall {
    /// Its record.
    pub call: Call,
    /// Its media streams.
    pub streams: Vec<StreamEnd>,
}

/// A sink that searches for a call by Call-ID, by a prefix of it, or by the id of its record.
///
/// With `SIP` it also passes each message with exactly that Call-ID to a callback.
pub struct Finder<'a, const SIP: bool> {
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
            wanted,
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
        let alike: Vec<String> = self.alike.into_keys().collect();
        let near = self.near.into_iter().map(|(_, call_id)| call_id).collect();
        Err(NotFound {
            wanted: self.wanted.to_string(),
            total: self.total,
            alike,
            more_alike: self.more_alike,
            near,
        })
    }

    fn add_alike(&mut self, found: FoundCall) {
        if self.alike.len() == ALIKE && !self.alike.contains_key(&found.call.call_id) {
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
        if found.call.call_id == self.wanted {
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
    alike: Vec<String>,
    more_alike: bool,
    near: Vec<String>,
}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |calls: &[String]| {
            calls.iter().map(|call_id| format!("`{}`", shown(call_id))).collect::<Vec<_>>().join(", ")
        };
        let wanted = shown(&self.wanted);
        if !self.alike.is_empty() {
            let more = if self.more_alike { " and more" } else { "" };
            return write!(
                f,
                "several calls begin with `{wanted}`: {}{more}; give more of the Call-ID",
                list(&self.alike)
            );
        }
        let total = match self.total {
            0 => "there is no call in the input".to_string(),
            total => format!("the input has {}", counted(total, "call")),
        };
        write!(f, "no call has the Call-ID `{wanted}`; {total}")?;
        match (&self.near[..], self.total) {
            ([], 0) => Ok(()),
            ([], _) => write!(f, ": `ringtap analyze` lists them"),
            (near, _) => write!(f, ", the nearest: {}", list(near)),
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
    fn an_ambiguous_beginning_lists_the_calls() {
        let error = find("abc", &["abc@x", "abcd@x"]).unwrap_err();
        assert_eq!(error, "several calls begin with `abc`: `abc@x`, `abcd@x`; give more of the Call-ID");
        let many: Vec<String> = (0..20).map(|n| format!("a{n:02}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(find("a", &many).unwrap_err().contains("`a07` and more"));
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
