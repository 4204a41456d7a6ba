//! The records of calls that a kill cut off, completed by what the spool has of them.

use std::collections::BTreeMap;

use ringtap_engine::stream_id;
use ringtap_model::{Call, Id, Nanos, Recorded, Stream};
use ringtap_spool::{Category, RecordedSpans, of_call, of_stream};
use ringtap_store::{CallNote, NotedStream, RecoveredCall};

use crate::noted_decision::{NotedDecision, wider};

/// Calls that the journal had, and whose streams they are.
#[derive(Debug, Default)]
pub struct RecoveredCalls {
    calls: Vec<CallOfJournal>,
}

/// A call that the journal had.
#[derive(Debug)]
pub struct CallOfJournal {
    /// As the journal had it.
    pub call: RecoveredCall,
    /// Its streams, in order of their notes.
    pub streams: Vec<NotedStream>,
}

impl RecoveredCalls {
    /// A stream that several calls claimed belongs to the last of them.
    pub fn new(calls: Vec<RecoveredCall>) -> Self {
        let mut claims = BTreeMap::<u64, (Nanos, usize)>::new();
        for (place, call) in calls.iter().enumerate() {
            for stream in noted_streams(call) {
                let claim = claims.entry(owner(stream)).or_insert((stream.since, place));
                *claim = (*claim).max((stream.since, place));
            }
        }
        let of_journal = |(place, call): (usize, RecoveredCall)| {
            let owns = |stream: &&NotedStream| claims.get(&owner(stream)).is_some_and(|(_, of)| *of == place);
            let streams = noted_streams(&call).filter(owns).copied().collect();
            CallOfJournal { call, streams }
        };
        Self { calls: calls.into_iter().enumerate().map(of_journal).collect() }
    }

    /// The calls, by their beginning.
    pub fn iter(&self) -> impl Iterator<Item = &CallOfJournal> {
        self.calls.iter()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// The keys under which the spool has their packets, each with the earliest time of these.
    pub fn owners(&self) -> BTreeMap<u64, Nanos> {
        let mut owners = BTreeMap::new();
        for of_journal in &self.calls {
            let record = &of_journal.call.record;
            let signalling = (of_call(record.call_id.as_bytes()), record.start().unwrap_or_default());
            let media = of_journal.unstored().map(|stream| (owner(stream), stream.first));
            for (owner, first) in std::iter::once(signalling).chain(media) {
                let from = owners.entry(owner).or_insert(first - BEFORE);
                *from = (*from).min(first - BEFORE);
            }
        }
        owners
    }

    /// The records of each, with what the spool has of it.
    pub fn records(self, spans: &RecordedSpans) -> impl Iterator<Item = (Call, Vec<Stream>)> {
        self.calls.into_iter().map(|call| call.records(spans))
    }
}

fn noted_streams(call: &RecoveredCall) -> impl Iterator<Item = &NotedStream> {
    call.notes.iter().filter_map(|note| match note {
        CallNote::Stream(stream) => Some(stream),
        _ => None,
    })
}

fn owner(stream: &NotedStream) -> u64 {
    of_stream(stream.src, stream.dst, stream.ssrc)
}

impl CallOfJournal {
    /// Its record, for a run that goes on with it.
    pub fn continued_record(&self) -> Call {
        let mut record = self.call.record.clone();
        let unstored: Vec<Id> = self.unstored().map(|stream| id_of(&record, stream)).collect();
        record.streams.extend(unstored);
        if !self.call.is_handed_over() {
            // How many packets are recorded was not known yet.
            record.recorded = self.decision().map_or(Recorded::None, NotedDecision::recorded);
            record.recorded_packets = None;
            record.recorded_missing = None;
            record.recorded_empty = None;
        }
        Call { state: self.call.state, end: None, duration_ms: None, ..record }
    }

    /// What is recorded of it.
    pub fn decision(&self) -> Option<NotedDecision> {
        self.call.notes.iter().find_map(|note| match note {
            CallNote::Decision(bits) => Some(NotedDecision::of_bits(*bits)),
            _ => None,
        })
    }

    /// Streams that no run has stored: those noted since one handed the call over, or went on with it.
    fn unstored(&self) -> impl Iterator<Item = &NotedStream> {
        let notes = &self.call.notes;
        let stored = notes.iter().rposition(|note| matches!(note, CallNote::State(_))).unwrap_or(0);
        let is_new = move |stream: &&NotedStream| notes[stored..].contains(&CallNote::Stream(**stream));
        self.streams.iter().filter(is_new)
    }

    fn records(&self, spans: &RecordedSpans) -> (Call, Vec<Stream>) {
        let mut call = self.call.record.clone();
        let of_media = |stream: &NotedStream| spans.get(&(Category::Media, owner(stream)));
        let signalling = spans.get(&(Category::Signalling, of_call(call.call_id.as_bytes())));
        let media: u64 = self.unstored().filter_map(of_media).map(|span| span.packets).sum();
        let packets = signalling.map_or(0, |span| span.packets) + media;
        // What is there is there, whatever was noted.
        let recorded = match self.decision().map(NotedDecision::recorded) {
            _ if packets == 0 => Recorded::None,
            _ if media == 0 => Recorded::Signalling,
            Some(Recorded::Headers) => Recorded::Headers,
            _ => Recorded::Full,
        };
        if self.call.is_handed_over() {
            // Its run has counted what it recorded, and no other has gone on.
        } else if call.streams.is_empty() {
            call.recorded = recorded;
            call.recorded_packets = (packets > 0).then_some(packets);
        } else {
            // An earlier run has stored streams of it, which are not looked for again.
            call.recorded = wider(call.recorded, recorded);
            (call.recorded_packets, call.recorded_missing) = (None, None);
        }
        let end = call.end.or(call.start()).unwrap_or_default();
        let restore = |stream: &NotedStream| {
            let found = of_media(stream).map(|span| (span.last, span.packets));
            let (last, packets) = found.unwrap_or((end.max(stream.first), 0));
            stream_record(&call, stream, last, packets)
        };
        let mut streams: Vec<Stream> = self.unstored().map(restore).collect();
        streams.sort_by_key(|stream| (stream.first, stream.id));
        streams.dedup_by_key(|stream| stream.id);
        call.streams.extend(streams.iter().map(|stream| stream.id));
        (call, streams)
    }
}

fn id_of(call: &Call, stream: &NotedStream) -> Id {
    stream_id(Some(call.id), (stream.src, stream.dst, stream.ssrc), stream.first)
}

/// A stream of which nothing but its name, its times and the number of packets in the spool is known.
fn stream_record(call: &Call, noted: &NotedStream, last: Nanos, packets: u64) -> Stream {
    let NotedStream { src, dst, ssrc, payload_type, first, .. } = *noted;
    let id = id_of(call, noted);
    Stream::unmeasured((id, call), (src, dst, ssrc), payload_type, (first, last), packets)
}

/// Signalling may begin this long before the first time of its record; so may the time of a chunk.
const BEFORE: Nanos = Nanos::from_secs(10);

#[cfg(test)]
mod tests {
    use ringtap_model::{CallState, Endpoint};
    use ringtap_spool::RecordedSpan;
    use ringtap_spool::rules::{CallDecision, DecisionState, RecordingScope};
    use ringtap_testing::samples;

    use super::*;

    fn at(seconds: u64) -> Nanos {
        Nanos::from_secs(1_795_262_400 + seconds)
    }

    fn end(port: u16) -> Endpoint {
        Endpoint::new([192, 0, 2, 1].into(), port)
    }

    fn stream(port: u16, since: u64) -> NotedStream {
        NotedStream { src: end(port), dst: end(9), ssrc: 7, payload_type: 8, first: at(2), since: at(since) }
    }

    fn call(number: u8, notes: Vec<CallNote>) -> RecoveredCall {
        let record = Call {
            id: Id([number; 16]),
            call_id: number.to_string(),
            state: CallState::Interrupted,
            invite: Some(at(1)),
            end: Some(at(60)),
            streams: Vec::new(),
            ..samples::call()
        };
        RecoveredCall { record, state: CallState::Active, notes }
    }

    fn span(last: u64, packets: u64) -> RecordedSpan {
        RecordedSpan { first: at(2), last: at(last), packets }
    }

    fn full() -> CallNote {
        let decision = CallDecision {
            state: DecisionState::Decided,
            what: RecordingScope::Full,
            ..CallDecision::default()
        };
        CallNote::Decision(NotedDecision::of(&decision).bits())
    }

    #[test]
    fn what_the_spool_has_of_a_call_is_in_its_record() {
        let notes = vec![full(), CallNote::Stream(stream(1, 3)), CallNote::Stream(stream(2, 3))];
        let calls = RecoveredCalls::new(vec![call(1, notes)]);
        let media = of_stream(end(1), end(9), 7);
        assert_eq!(calls.owners()[&media], at(2) - BEFORE);
        let spans = RecordedSpans::from([
            ((Category::Media, media), span(63, 50)),
            ((Category::Signalling, of_call(b"1")), span(30, 5)),
        ]);
        let (call, streams) = calls.records(&spans).next().unwrap();
        assert_eq!((call.recorded, call.recorded_packets, call.streams.len()), (Recorded::Full, Some(55), 2));
        let mut known: Vec<_> =
            streams.iter().map(|stream| (stream.src.port, stream.packets, stream.last)).collect();
        known.sort_unstable();
        assert_eq!(known, [(1, 50, at(63)), (2, 0, at(60))]);
        assert!(streams.iter().all(|stream| stream.call == Some(call.id) && !stream.is_measured()));
        assert_eq!(streams[0].id, stream_id(Some(call.id), (streams[0].src, end(9), 7), at(2)));
    }

    #[test]
    fn nothing_on_the_disk_is_recorded_none() {
        let calls = RecoveredCalls::new(vec![call(1, vec![full(), CallNote::Stream(stream(1, 3))])]);
        let (call, streams) = calls.records(&RecordedSpans::new()).next().unwrap();
        assert_eq!((call.recorded, call.recorded_packets, streams.len()), (Recorded::None, None, 1));
        let signalling = RecordedSpans::from([((Category::Signalling, of_call(b"1")), span(3, 2))]);
        let calls = RecoveredCalls::new(vec![self::call(1, vec![full()])]);
        let (call, _) = calls.records(&signalling).next().unwrap();
        assert_eq!((call.recorded, call.recorded_packets), (Recorded::Signalling, Some(2)));
    }

    /// Who forgets the call that lost it must not erase the other's.
    #[test]
    fn a_stream_that_two_calls_claimed_belongs_to_the_last() {
        let noted = |since| vec![CallNote::Stream(stream(1, since))];
        let calls = RecoveredCalls::new(vec![call(1, noted(9)), call(2, noted(4))]);
        let streams: Vec<usize> =
            calls.records(&RecordedSpans::new()).map(|(_, streams)| streams.len()).collect();
        assert_eq!(streams, [1, 0]);
    }

    /// A run that ended cleanly knows what it recorded; of what a later one recorded the spool tells.
    #[test]
    fn what_a_clean_stop_has_counted_stays() {
        let spans = RecordedSpans::from([
            ((Category::Media, of_stream(end(2), end(9), 7)), span(63, 50)),
            ((Category::Signalling, of_call(b"1")), span(30, 5)),
        ]);
        let state = || CallNote::State(Vec::new());
        for (notes, packets, streams) in [
            (vec![full(), state()], Some(1_500), 0),
            (vec![full(), state(), CallNote::Stream(stream(2, 70))], None, 1),
        ] {
            let mut call = call(1, notes);
            call.record.streams = vec![Id([9; 16])];
            (call.record.recorded, call.record.recorded_packets) = (Recorded::Full, Some(1_500));
            let (record, found) = RecoveredCalls::new(vec![call]).records(&spans).next().unwrap();
            assert_eq!((record.recorded, record.recorded_packets), (Recorded::Full, packets));
            assert_eq!((found.len(), record.streams.len()), (streams, streams + 1));
        }
    }
}
