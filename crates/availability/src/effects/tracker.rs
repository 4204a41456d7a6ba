//! Availability and what its effects depend on, as a tracker of the engine.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use ringtap_engine::{Context, RtpSeen, Sink, SipMessage, StreamEnd, Tracker, Wants};
use ringtap_model::{Call, Nanos};

use super::facts::{CallFacts, Ending, Gap, MediaFacts, Observed};
use super::gaps::{GapWatch, successions};
use super::registers::Registers;
use super::signals::{SignalTable, Signals};
use crate::settings::Settings;
use crate::tracker::AvailabilityTracker;

/// Streams of one call.
const STREAMS: usize = 64;
/// Media change a little before and after the message that says so.
const AROUND_CHANGE: Nanos = Nanos::from_secs(1);

/// Emits [`Findings`](crate::Findings) at the end, then [`Observed`]. For one engine, as
/// [`AvailabilityTracker`].
#[derive(Debug)]
pub struct EffectsTracker {
    availability: AvailabilityTracker,
    signals: SignalTable,
    registers: Registers,
    gaps: GapWatch,
    calls: Vec<EndedCall>,
    ceiling: usize,
    known: HashSet<u64>,
    hasher: RandomState,
    total: u64,
    calls_refused: u64,
    streams_refused: u64,
}

/// A call, and of each stream its serial number and what it lost.
#[derive(Debug)]
struct EndedCall {
    facts: CallFacts,
    streams: Vec<(u64, u64)>,
}

impl EffectsTracker {
    /// With empty tables. `streams`: how many the engine follows at once.
    pub fn new(settings: Settings, streams: usize) -> Self {
        Self {
            availability: AvailabilityTracker::new(settings),
            signals: SignalTable::new(settings.calls),
            registers: Registers::new(settings.registers),
            gaps: GapWatch::new(streams, settings.gaps),
            calls: Vec::new(),
            ceiling: settings.calls,
            known: HashSet::new(),
            hasher: RandomState::new(),
            total: 0,
            calls_refused: 0,
            streams_refused: 0,
        }
    }

    fn ended(&mut self, call: &Call, streams: &[StreamEnd]) {
        let signals = self.signals.take(&call.call_id);
        let Some(mut facts) = CallFacts::of(call) else { return };
        // A Call-ID whose messages come late has a second record.
        let key = self.hasher.hash_one(&call.call_id);
        if self.known.contains(&key) {
            return;
        }
        self.total += 1;
        if self.calls.len() >= self.ceiling {
            self.calls_refused += 1;
            return;
        }
        self.known.insert(key);
        self.streams_refused += streams.len().saturating_sub(STREAMS) as u64;
        let streams = &streams[..streams.len().min(STREAMS)];
        facts.media = streams.iter().map(|stream| MediaFacts::of(&stream.record)).collect();
        if let Some(signals) = signals {
            facts.gaps = replaced(&facts, &signals, streams);
            facts.attempts = signals.attempts();
            facts.release = signals.release();
            facts.holds = signals.holds();
            if let Some(code) = signals.failed_with().filter(|_| facts.answered.is_some()) {
                (facts.answered, facts.ending) = (None, Ending::Network(code));
            }
        }
        let streams = streams.iter().map(|stream| (stream.serial, stream.record.lost)).collect();
        self.calls.push(EndedCall { facts, streams });
    }

    fn observed(&mut self, until: Nanos) -> Observed {
        let lost = self.gaps.close();
        let with_gaps = |EndedCall { mut facts, streams }: EndedCall| {
            for ((serial, missing), stream) in streams.into_iter().zip(&facts.media) {
                let gaps = lost.of(serial, missing).map(|(from, until)| Gap {
                    direction: stream.direction,
                    from,
                    until,
                });
                facts.gaps.extend(gaps);
            }
            let (answered, ended) = (facts.answered, facts.ended.unwrap_or(Nanos::MAX));
            facts.gaps.retain(|gap| answered.is_some_and(|time| time <= gap.until) && gap.from < ended);
            facts
        };
        let mut calls: Vec<CallFacts> = std::mem::take(&mut self.calls).into_iter().map(with_gaps).collect();
        calls.sort_by(|a, b| (a.invite, &a.call_id).cmp(&(b.invite, &b.call_id)));
        let (registers, registers_refused) = self.registers.close();
        Observed {
            calls,
            registers,
            until,
            total: self.total,
            calls_refused: self.calls_refused,
            facts_refused: registers_refused + lost.refused + self.streams_refused + self.signals.refused(),
        }
    }
}

/// Gaps until another stream took the place of one, where no message told that media change.
fn replaced(facts: &CallFacts, signals: &Signals, streams: &[StreamEnd]) -> Vec<Gap> {
    let mut gaps = successions(streams);
    gaps.retain(|gap| {
        facts.answered.is_some_and(|answered| answered <= gap.from)
            && signals.is_unchanged(gap.from.since(AROUND_CHANGE), gap.until + AROUND_CHANGE)
    });
    gaps
}

impl Tracker for EffectsTracker {
    const WANTS: Wants = Wants { sip: true, media: true, calls: true, ..Wants::NOTHING };

    fn sip<S: Sink>(&mut self, sip: &SipMessage<'_>, cx: &mut Context<'_, S>) {
        self.signals.message(sip);
        self.registers.message(sip);
        self.availability.sip(sip, cx);
    }

    fn rtp(&mut self, packet: &RtpSeen<'_>) {
        self.gaps.packet(packet);
    }

    fn call_ended(&mut self, call: &Call, streams: &[StreamEnd]) {
        self.ended(call, streams);
    }

    fn close<S: Sink>(&mut self, cx: &mut Context<'_, S>) {
        self.availability.close(cx);
        let observed = self.observed(cx.now());
        cx.emit(&observed);
    }
}
