//! Records: a call's with those of its streams, a stream's without a call.

use std::sync::{Arc, Mutex, PoisonError};

use ringtap_model::{Call, Dtmf, DtmfSource, Id, Nanos, Note, Stream};
use ringtap_quality::notes::{self, MediaFacts};
use ringtap_quality::{Receivers, Texts};

use crate::context::{Context, SipVerdict};
use crate::deferred::DeferredCall;
use crate::engine::{Engine, context};
use crate::media::{CallStreams, EndedStream, RecordMemory, StreamContext};
use crate::media_paths::MediaPaths;
use crate::sink::{Sink, StreamEnd};
use crate::spare::Spare;
use crate::table::lists::Lists;
use crate::table::timers::TimerOwner;
use crate::text::digit_name;
use crate::tracker::Tracker;
use crate::trackers::calls::interrupt;
use crate::update::{CallRef, Collected, EndedCall, Side};

impl<X: Tracker> Engine<X> {
    /// Serves what the call tracker asked for.
    #[inline]
    pub(crate) fn serve_requests<S: Sink>(&mut self, sink: &mut S) {
        if let Some(update) = self.requests.update.take() {
            self.publish_update(update);
        }
        if X::WANTS.calls {
            for (phase, number, call) in self.requests.phases.drain(..) {
                self.trackers.added.call_phase(phase, number, &call);
            }
        }
        if let Some(call) = self.requests.last_heard.take()
            && let Some(heard) = self.ask_last_heard(call)
        {
            self.answer_last_heard(call, heard, sink);
        }
        self.serve_ended(sink);
    }

    /// Collects the streams of calls that have ended.
    #[inline]
    fn serve_ended<S: Sink>(&mut self, sink: &mut S) {
        if let Some(lost) = self.requests.lost.take() {
            self.collect_streams(lost, Collected::SoFar, self.clock.now(), sink);
        }
        if let Some(ended) = self.requests.ended.take() {
            self.end_call(ended, self.clock.now(), sink);
        }
    }

    /// Tells the call tracker when media of a call were last heard; the call may end by that.
    pub(crate) fn answer_last_heard<S: Sink>(&mut self, call: CallRef, heard: Nanos, sink: &mut S) {
        let mut cx = context!(self, TimerOwner::Calls, sink);
        self.trackers.calls.last_heard(call, heard, &mut cx);
        if let Some(update) = self.requests.update.take() {
            self.publish_update(update);
        }
        self.serve_ended(sink);
    }

    /// The streams of a call that this worker has, as they are now.
    pub(crate) fn streams_so_far(&self, call: CallRef) -> CallStreams {
        let mut streams = self.streams.figures_of(call);
        streams.figures.iter_mut().for_each(|figures| self.trackers.describe_stream(figures));
        streams
    }

    /// Collects the streams of a call that this worker has.
    pub(crate) fn end_streams<S: Sink>(&mut self, call: CallRef, sink: &mut S) -> CallStreams {
        let mut streams = self.streams.end_streams(call);
        streams.figures.iter_mut().for_each(|figures| self.finish(figures, sink));
        streams
    }

    /// No packet of this stream follows: collects what trackers and the sink know of it.
    fn finish<S: Sink>(&mut self, figures: &mut EndedStream, sink: &mut S) {
        self.trackers.stream_ended(figures);
        if S::PACKETS {
            figures.recorded = sink.stream_finished(figures.serial);
        }
    }

    /// Delivers a call's record and those of its streams.
    pub(crate) fn deliver_call<S: Sink>(
        &mut self,
        ended: Box<EndedCall>,
        figures: Vec<EndedStream>,
        collected: Collected,
        sink: &mut S,
    ) {
        let now = self.clock.now();
        // A tracker that wants calls is told of them here.
        if S::DEFERRED && !X::WANTS.calls {
            if collected == Collected::Ended {
                sink.deferred(DeferredCall { ended, figures, now });
            }
            return;
        }
        while let Some((mut call, streams)) = sink.give_back() {
            self.memory().reuse(&mut call, streams);
        }
        let ended = self.trackers.calls.unboxed(ended);
        let (record, streams) = complete(ended, figures, &self.receivers, (&self.paths, now), self.memory());
        if collected == Collected::SoFar {
            return sink.lost(record, streams);
        }
        self.paths.add(&streams, now);
        if X::WANTS.calls {
            self.trackers.added.call_ended(&record, &streams);
        }
        sink.call(record, streams);
    }

    /// Delivers the record of a stream without a call; a provisional one is only counted.
    pub(crate) fn deliver_stream<S: Sink>(
        &mut self,
        mut figures: EndedStream,
        is_provisional: bool,
        sink: &mut S,
    ) {
        self.due.count_record();
        self.finish(&mut figures, sink);
        if is_provisional {
            self.streams.counts.unconfirmed += figures.packets();
        } else {
            let (serial, recorded) = (figures.serial, figures.recorded);
            let mut record = figures.record(None, &self.receivers, &self.streams.memory);
            record.notes = notes::of_stream(&record, &MediaFacts::default(), &std::fmt::format).collect();
            self.paths.add_any(self.clock.now());
            sink.stream(StreamEnd { serial, record, recorded });
        }
    }

    fn memory(&self) -> Memory<'_> {
        Memory { own: &self.streams.memory, ended: &self.streams.ended, ends: &self.ends }
    }

    /// What makes the records of its [deferred](Sink::deferred) calls.
    pub fn completer(&self) -> Completer {
        let (receivers, paths) = (self.receivers.clone(), self.paths.clone());
        Completer { receivers, paths, memory: Mutex::default() }
    }

    /// The records of a call as if it ended now.
    pub(crate) fn snapshot_of(&self, id: &Id) -> Option<(Call, Vec<Stream>)> {
        let mut ended = self.trackers.calls.snapshot(id, self.drops())?;
        let streams = ended.media.map_or_else(CallStreams::default, |call| self.streams_so_far(call));
        let figures = streams.into_figures(&mut ended.facts);
        let paths = (&*self.paths, self.clock.now());
        let (record, streams) = complete(ended, figures, &self.receivers, paths, self.memory());
        Some((record, streams.into_iter().map(|stream| stream.record).collect()))
    }

    /// The records of the latest calls in progress as if they ended now, at most `most`, and how many there
    /// are.
    pub(crate) fn snapshots_of(&self, most: usize) -> (Vec<(Call, Vec<Stream>)>, usize) {
        let record = |mut ended: EndedCall| {
            let streams = ended.media.map_or_else(CallStreams::default, |call| self.streams_so_far(call));
            let figures = streams.into_figures(&mut ended.facts);
            let paths = (&*self.paths, self.clock.now());
            let (record, streams) = complete(ended, figures, &self.receivers, paths, self.memory());
            (record, streams.into_iter().map(|stream| stream.record).collect())
        };
        let (calls, total) = self.trackers.calls.latest(most, self.drops());
        (calls.map(record).collect(), total)
    }

    /// Ends all calls, in order of their first message.
    pub(crate) fn end_calls<S: Sink>(&mut self, sink: &mut S) {
        let drops = self.drops();
        for slot in self.trackers.calls.slots() {
            if let Some(ended) = self.trackers.calls.end(slot, false, drops, &self.streams.memory.spare) {
                self.end_call(ended, Nanos::MAX, sink);
            }
        }
    }

    /// Ends what is left: streams without a call, then what the other trackers hold.
    pub(crate) fn end_rest<S: Sink>(&mut self, sink: &mut S) {
        for slot in self.streams.slots() {
            let is_provisional = self.streams.is_provisional(slot);
            if let Some(figures) = self.streams.end(slot) {
                self.deliver_stream(figures, is_provisional, sink);
            }
        }
        let mut cx = context!(self, TimerOwner::Added, sink);
        self.trackers.close(&mut cx);
    }
}

/// Makes the records of an engine's [deferred](Sink::deferred) calls, in any thread: those of each half
/// second after those of the half seconds before, since earlier calls tell where media was seen.
pub struct Completer {
    receivers: Receivers,
    paths: Arc<MediaPaths>,
    memory: Mutex<(RecordMemory, Lists<EndedStream>, Lists<StreamEnd>)>,
}

/// Memory for the records of a call.
#[derive(Clone, Copy)]
struct Memory<'a> {
    own: &'a RecordMemory,
    ended: &'a Lists<EndedStream>,
    ends: &'a Lists<StreamEnd>,
}

impl Memory<'_> {
    /// Keeps the memory of records that a sink has given back.
    fn reuse(self, call: &mut Call, mut streams: Vec<StreamEnd>) {
        self.own.spare.reuse(call);
        streams.iter_mut().for_each(|stream| self.own.spare.reuse_stream(&mut stream.record));
        self.ends.give(streams);
    }
}

impl Completer {
    /// The records of a call and of its streams, as [`Sink::call`] gets them.
    pub fn complete(&self, call: DeferredCall) -> (Call, Vec<StreamEnd>) {
        let DeferredCall { ended, figures, now } = call;
        let memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let memory = Memory { own: &memory.0, ended: &memory.1, ends: &memory.2 };
        let (record, streams) = complete(*ended, figures, &self.receivers, (&self.paths, now), memory);
        self.paths.add(&streams, now);
        (record, streams)
    }

    /// Makes further records in the memory of those that [`Sink::give_back`] gives.
    pub fn reuse(&self, mut call: Call, streams: Vec<StreamEnd>) {
        let memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        Memory { own: &memory.0, ended: &memory.1, ends: &memory.2 }.reuse(&mut call, streams);
    }
}

/// A call's record with those of its streams.
fn complete(
    ended: EndedCall,
    mut figures: Vec<EndedStream>,
    receivers: &Receivers,
    paths: (&MediaPaths, Nanos),
    memory: Memory<'_>,
) -> (Call, Vec<StreamEnd>) {
    let spare = &memory.own.spare;
    let EndedCall { record: mut call, rtt, facts, silent_since, .. } = ended;
    // Usually sorted already: then nothing is moved.
    if !figures.is_sorted_by_key(|figures| figures.serial) {
        figures.sort_by_key(|figures| figures.serial);
    }
    let context = StreamContext {
        call_id: &call.call_id,
        call: call.id,
        rtt,
        agents: [call.user_agent_caller.as_deref(), call.user_agent_callee.as_deref()],
        facts: &facts,
        round_trips: [Side::Caller, Side::Callee].map(|side| round_trip_from(side, &figures)),
        capture_drops: call.capture_drops,
    };
    let mut streams = memory.ends.take(figures.len());
    if call.dtmf.capacity() == 0 && figures.iter().any(|figures| !figures.digits.is_empty()) {
        call.dtmf = spare.digits.take_any();
    }
    for figures in figures.drain(..) {
        let digits = figures.digits.iter().filter_map(|digit| {
            let name = spare.text(digit_name(digit.code)?);
            Some(Dtmf { digit: name, source: DtmfSource::Rfc4733, time: digit.time })
        });
        call.dtmf.extend(digits);
        let (serial, recorded) = (figures.serial, figures.recorded);
        let record = figures.record(Some(&context), receivers, memory.own);
        streams.push(StreamEnd { serial, record, recorded });
    }
    memory.ended.give(figures);
    // A call that goes on over a restart has those of the last run already.
    if call.streams.capacity() == 0 {
        call.streams = spare.ids.take(streams.len());
    }
    call.streams.extend(streams.iter().map(|stream| stream.record.id));
    let lowest = |values: &mut dyn Iterator<Item = f64>| values.reduce(f64::min);
    let mos = streams.iter().filter_map(|stream| stream.record.mos);
    call.mos = lowest(&mut call.mos.into_iter().chain(mos));
    let intervals = streams.iter().flat_map(|stream| &stream.record.intervals);
    let worst = intervals.filter_map(|interval| interval.mos);
    call.mos_worst_interval = lowest(&mut call.mos_worst_interval.into_iter().chain(worst));
    // Sorting may allocate.
    if !call.dtmf.is_sorted_by_key(|digit| digit.time) {
        call.dtmf.sort_by_key(|digit| digit.time);
    }
    if let Some(since) = silent_since.filter(|_| streams.is_empty()) {
        interrupt(&mut call, since);
    }
    remark(&mut call, &mut streams, &facts, paths, spare);
    (call, streams)
}

/// Notes of one call, its own and those of its streams.
const MAX_NOTES: usize = 32;

/// Adds what an engineer would remark: the notes of each stream, and those of the call with them.
fn remark(
    call: &mut Call,
    streams: &mut [StreamEnd],
    facts: &MediaFacts,
    (paths, now): (&MediaPaths, Nanos),
    spare: &Spare,
) {
    let texts: Texts<'_> = &|text| spare.written(text);
    for stream in &mut *streams {
        let mut own = spare.notes.take_any();
        own.extend(notes::of_stream(&stream.record, facts, texts));
        stream.record.notes = own;
    }
    let mut all = std::mem::take(&mut call.notes);
    let records = || streams.iter().map(|stream| &stream.record);
    notes::of_call((call, &mut all), records(), facts, |one, two| paths.sees(one, two, now), texts);
    for note in records().flat_map(|stream| &stream.notes) {
        let same = |other: &Note| (other.code, other.direction) == (note.code, note.direction);
        if all.len() < MAX_NOTES && !all.iter().any(same) {
            all.push(Note { evidence: spare.text(&note.evidence), ..*note });
        }
    }
    call.notes = all;
}

/// The round trip from here to the receiver of the first stream from that side of which RTCP shows one.
fn round_trip_from(side: Side, figures: &[EndedStream]) -> Option<Nanos> {
    figures.iter().filter(|figures| figures.side() == Some(side)).find_map(EndedStream::round_trip)
}
