//! The other legs of a call, in captures.

use std::collections::HashMap;

use ringtap_conversation::Joiner;
use ringtap_engine::{Sink, SipSeen, StreamEnd};
use ringtap_export::find::{Finder, FoundCall, Listener};
use ringtap_export::steps::Steps;
use ringtap_model::{Call, Id, Message, Registration};

/// Finds a call, and joins all others meanwhile.
pub(crate) struct LegFinder<'a> {
    pub(crate) finder: Finder<'a, true>,
    joiner: Joiner,
    /// Call-ID and conversation of every call.
    calls: HashMap<Id, (Box<str>, Id)>,
}

impl<'a> LegFinder<'a> {
    pub(crate) fn new(finder: Finder<'a, true>, joiner: Joiner) -> Self {
        Self { finder, joiner, calls: HashMap::new() }
    }

    /// What was searched for, and the conversations of all calls.
    pub(crate) fn into_parts(self) -> (Finder<'a, true>, Conversations) {
        (self.finder, Conversations(self.calls))
    }
}

/// The conversations of all calls.
pub(crate) struct Conversations(HashMap<Id, (Box<str>, Id)>);

impl Conversations {
    /// The legs of a call's conversation by their ids, with their Call-IDs; none where it has one leg.
    pub(crate) fn legs_of(self, call: &Id) -> HashMap<Id, Box<str>> {
        let Some((_, conversation)) = self.0.get(call).cloned() else { return HashMap::new() };
        let of =
            |(id, (call_id, other)): (Id, (Box<str>, Id))| (other == conversation).then_some((id, call_id));
        let legs: HashMap<Id, Box<str>> = self.0.into_iter().filter_map(of).collect();
        if legs.len() > 1 { legs } else { HashMap::new() }
    }
}

impl Sink for LegFinder<'_> {
    const PACKETS: bool = true;

    fn call(&mut self, mut call: Call, streams: Vec<StreamEnd>) {
        for amendment in self.joiner.add(&mut call) {
            if let Some((_, conversation)) = self.calls.get_mut(&amendment.call) {
                *conversation = amendment.conversation;
            }
        }
        self.calls.insert(call.id, (call.call_id.as_str().into(), call.conversation.unwrap_or(call.id)));
        self.finder.call(call, streams);
    }

    fn stream(&mut self, _: StreamEnd) {}
    fn registration(&mut self, _: Registration) {}
    fn message(&mut self, _: Message) {}

    fn sip(&mut self, seen: &SipSeen<'_>) {
        self.finder.sip(seen);
    }
}

impl Listener for LegFinder<'_> {}

/// Collects the legs of a conversation, and their messages.
pub(crate) struct LegCollector {
    legs: HashMap<Id, Box<str>>,
    joiner: Joiner,
    pub(crate) found: Vec<FoundCall>,
    pub(crate) steps: Steps,
}

impl LegCollector {
    pub(crate) fn new(legs: HashMap<Id, Box<str>>, joiner: Joiner) -> Self {
        Self { legs, joiner, found: Vec::new(), steps: Steps::default() }
    }
}

impl Sink for LegCollector {
    const PACKETS: bool = true;

    fn call(&mut self, mut call: Call, streams: Vec<StreamEnd>) {
        for amendment in self.joiner.add(&mut call) {
            if let Some(leg) = self.found.iter_mut().find(|leg| leg.call.id == amendment.call) {
                leg.call.conversation = Some(amendment.conversation);
            }
        }
        if self.legs.contains_key(&call.id) {
            self.found.push(FoundCall { call, streams });
        }
    }

    fn stream(&mut self, _: StreamEnd) {}
    fn registration(&mut self, _: Registration) {}
    fn message(&mut self, _: Message) {}

    fn sip(&mut self, seen: &SipSeen<'_>) {
        let Some(call_id) = seen.message.call_id() else { return };
        let call_id = String::from_utf8_lossy(call_id);
        if self.legs.values().any(|leg| **leg == *call_id) {
            self.steps.push(seen);
        }
    }
}

impl Listener for LegCollector {}
