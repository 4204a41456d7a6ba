//! The facts of calls, as they become known: from SIP messages in order of time, and from records and gaps in
//! any order.

use std::collections::HashMap;

use ringtap_engine::{LostTime, StreamEnd};
use ringtap_model::{Call, Nanos};
use ringtap_wire::sip::Method;

use super::facts::{CallFacts, Ending, Gap, MediaFacts, Observed};
use super::gaps::{LostTimes, successions};
use super::judge::Clients;
use super::registers::Registers;
use super::signals::Signals;
use crate::call_seen::{CallSeen, call_key};
use crate::observation::{Observation, Observer};
use crate::settings::Settings;

/// Streams of one call.
const STREAMS: usize = 64;
/// Hosts that sent calls to services.
const CLIENTS: usize = 65_536;
/// Media change a little before and after the message that says so.
const AROUND_CHANGE: Nanos = Nanos::from_secs(1);
/// A call that is not answered is forgotten after so long without a message: its record did not come.
const SET_UP: Nanos = Nanos::from_secs(600);
/// The same of one that is answered.
const LONGEST: Nanos = Nanos::from_secs(86_400);

/// What a record tells of a call, in a thread of its own from there on.
#[derive(Debug)]
pub struct CallReport {
    key: u64,
    facts: CallFacts,
    /// No other record of it follows.
    is_final: bool,
    /// Of a call that goes on.
    number: Option<u64>,
    /// Of each stream its serial number and what it lost.
    streams: Vec<(u64, u64)>,
    /// Times until another stream took the place of one.
    replaced: Vec<Gap>,
    refused: u64,
}

impl CallReport {
    /// Of a call that goes on: its number, and its record so far. None for one without an INVITE.
    pub fn in_progress(call: &Call, number: u64, observer: &Observer) -> Option<Box<Self>> {
        let mut report = Self::of(call, &[], observer)?;
        report.facts.media = None;
        Some(Box::new(Self { number: Some(number), is_final: false, ..report }))
    }

    /// Of a call that has ended, with its streams. `is_final`: no other record of it follows.
    pub fn ended(
        call: &Call,
        streams: &[StreamEnd],
        is_final: bool,
        observer: &Observer,
    ) -> Option<Box<Self>> {
        Some(Box::new(Self { is_final, ..Self::of(call, streams, observer)? }))
    }

    fn of(call: &Call, streams: &[StreamEnd], observer: &Observer) -> Option<Self> {
        let mut facts = CallFacts::of(call, observer)?;
        let refused = streams.len().saturating_sub(STREAMS) as u64;
        let streams = &streams[..streams.len().min(STREAMS)];
        facts.media = Some(streams.iter().map(|stream| MediaFacts::of(&stream.record)).collect());
        Some(Self {
            key: call_key(call.call_id.as_bytes(), &observer.hasher),
            facts,
            is_final: true,
            number: None,
            replaced: if streams.len() > 1 { successions(streams) } else { Vec::new() },
            streams: streams.iter().map(|stream| (stream.serial, stream.record.lost)).collect(),
            refused,
        })
    }
}

/// All calls, by the key of their Call-ID.
#[derive(Debug)]
pub(crate) struct FactTable {
    calls: HashMap<u64, KnownCall>,
    registers: Registers,
    lost: LostTimes,
    pub(crate) clients: Clients,
    ceiling: usize,
    total: u64,
    calls_refused: u64,
    facts_refused: u64,
}

#[derive(Debug, Default)]
struct KnownCall {
    signals: Option<Box<Signals>>,
    report: Option<Box<CallReport>>,
    /// Its last message.
    last: Nanos,
}

impl FactTable {
    /// Empty, with ceilings.
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            calls: HashMap::new(),
            registers: Registers::new(settings.registers),
            lost: LostTimes::new(settings.gaps),
            clients: Clients::new(),
            ceiling: settings.calls,
            total: 0,
            calls_refused: 0,
            facts_refused: 0,
        }
    }

    /// A SIP message, in order of time.
    pub(crate) fn message(&mut self, sip: &Observation) {
        self.registers.message(sip);
        if let Some(seen) = &sip.of_call {
            self.call_message(sip, seen);
        }
    }

    fn call_message(&mut self, sip: &Observation, seen: &CallSeen) {
        let is_invite = sip.method == Method::Invite && sip.code.is_none();
        let has_room = self.calls.len() < self.ceiling;
        let call = match self.calls.get_mut(&seen.call) {
            Some(call) => call,
            None if !is_invite => return,
            None if !has_room => {
                self.facts_refused += 1;
                return;
            }
            None => self.calls.entry(seen.call).or_default(),
        };
        call.last = call.last.max(sip.time);
        if call.signals.is_none() && is_invite {
            call.signals = Some(Box::new(Signals::of(seen.tag)));
        }
        let Some(signals) = &mut call.signals else { return };
        let refused = signals.refused;
        signals.message(sip, seen);
        self.facts_refused += signals.refused - refused;
        let client = (sip.dst, sip.src.ip);
        if is_invite && !sip.is_in_dialog && !self.clients.contains(&client) {
            match self.clients.len() < CLIENTS {
                true => _ = self.clients.insert(client),
                false => self.facts_refused += 1,
            }
        }
    }

    /// A record of a call.
    pub(crate) fn report(&mut self, report: Box<CallReport>) {
        self.facts_refused += report.refused;
        let has_room = self.calls.len() < self.ceiling;
        let call = match self.calls.get_mut(&report.key) {
            // A Call-ID whose messages come late has a second record.
            Some(call) if call.report.as_ref().is_some_and(|known| known.is_final) => return,
            Some(call) => call,
            None if !has_room => {
                self.total += u64::from(report.is_final);
                self.calls_refused += u64::from(report.is_final);
                return;
            }
            None => self.calls.entry(report.key).or_default(),
        };
        self.total += u64::from(report.is_final);
        let facts = &report.facts;
        call.last = call.last.max(facts.answered.unwrap_or(facts.invite));
        call.report = Some(report);
    }

    /// Packets of a stream were lost for a while.
    pub(crate) fn lost_time(&mut self, lost: &LostTime) {
        self.lost.add(lost);
    }

    /// What is known by `until`, calls in order of their first INVITE.
    pub(crate) fn observed(&mut self, until: Nanos) -> Observed {
        self.lost.sort();
        let mut by_number: HashMap<u64, Vec<Gap>> = HashMap::new();
        for (number, gap) in self.lost.of_calls() {
            by_number.entry(number).or_default().push(gap);
        }
        let mut calls: Vec<CallFacts> =
            self.calls.values().filter_map(|call| call.facts(&self.lost, &by_number)).collect();
        calls.sort_by(|a, b| (a.invite, &a.call_id).cmp(&(b.invite, &b.call_id)));
        Observed {
            calls,
            registers: self.registers.waited(),
            until,
            total: self.total,
            calls_refused: self.calls_refused,
            facts_refused: self.facts_refused(),
        }
    }

    /// Forgets what ended before.
    pub(crate) fn forget(&mut self, before: Nanos, now: Nanos) {
        self.calls.retain(|_, call| match &call.report {
            Some(report) if report.is_final => {
                report.facts.ended.unwrap_or_default().max(call.last) >= before
            }
            Some(_) => now.since(call.last) < LONGEST,
            None => now.since(call.last) < SET_UP,
        });
        self.registers.forget(before);
        self.lost.forget(before);
    }

    /// Calls whose facts are not known, since there were too many.
    pub(crate) fn calls_refused(&self) -> u64 {
        self.calls_refused
    }

    /// Messages, gaps and streams that ceilings turned away.
    pub(crate) fn facts_refused(&self) -> u64 {
        self.registers.refused() + self.lost.refused() + self.facts_refused
    }
}

impl KnownCall {
    /// None where no record of it is known.
    fn facts(&self, lost: &LostTimes, by_number: &HashMap<u64, Vec<Gap>>) -> Option<CallFacts> {
        let report = self.report.as_ref()?;
        let mut facts = report.facts.clone();
        if let Some(signals) = &self.signals {
            facts.gaps = replaced(&facts, signals, &report.replaced);
            facts.attempts = signals.attempts();
            facts.release = signals.release();
            facts.holds = signals.holds();
            if let Some(code) = signals.failed_with().filter(|_| facts.answered.is_some()) {
                (facts.answered, facts.ending) = (None, Ending::Network(code));
            }
        }
        for ((serial, missing), stream) in report.streams.iter().zip(facts.media.iter().flatten()) {
            let direction = stream.direction;
            let gaps = lost.of(*serial, *missing).map(|(from, until)| Gap { direction, from, until });
            facts.gaps.extend(gaps);
        }
        facts.gaps.extend(report.number.and_then(|number| by_number.get(&number)).into_iter().flatten());
        let (answered, ended) = (facts.answered, facts.ended.unwrap_or(Nanos::MAX));
        facts.gaps.retain(|gap| answered.is_some_and(|time| time <= gap.until) && gap.from < ended);
        Some(facts)
    }
}

/// Gaps until another stream took the place of one, where no message told that media change.
fn replaced(facts: &CallFacts, signals: &Signals, gaps: &[Gap]) -> Vec<Gap> {
    let is_sudden = |gap: &&Gap| {
        facts.answered.is_some_and(|answered| answered <= gap.from)
            && signals.is_unchanged(gap.from.since(AROUND_CHANGE), gap.until + AROUND_CHANGE)
    };
    gaps.iter().filter(is_sudden).copied().collect()
}
