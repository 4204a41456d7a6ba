//! The records of calls that a kill cut off, completed by what the spool has of them.

use std::collections::BTreeMap;

use ringtap_engine::stream_id;
use ringtap_model::{Call, Nanos, Recorded, Stream};
use ringtap_spool::{Category, RecordedSpans, of_call, of_stream};
use ringtap_store::{CallNote, NotedStream, RecoveredCall};

use crate::noted_decision::NotedDecision;

/// Calls that the journal had, and whose streams they are.
#[derive(Debug, Default)]
pub struct RecoveredCalls {
    calls: Vec<(RecoveredCall, Vec<NotedStream>)>,
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
        let mut own: Vec<BTreeMap<u64, NotedStream>> = vec![BTreeMap::new(); calls.len()];
        for (place, call) in calls.iter().enumerate() {
            for stream in noted_streams(call) {
                if claims.get(&owner(stream)).is_some_and(|(_, owns)| *owns == place) {
                    // Noted again after a restart: the first packet was before that.
                    own[place].entry(owner(stream)).or_insert(*stream);
                }
            }
        }
        let streams = own.into_iter().map(|own| own.into_values().collect());
        Self { calls: calls.into_iter().zip(streams).collect() }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// The keys under which the spool has their packets, each with the earliest time of these.
    pub fn owners(&self) -> BTreeMap<u64, Nanos> {
        let mut owners = BTreeMap::new();
        for (call, streams) in &self.calls {
            let signalling =
                (of_call(call.record.call_id.as_bytes()), call.record.start().unwrap_or_default());
            let media = streams.iter().map(|stream| (owner(stream), stream.first));
            for (owner, first) in std::iter::once(signalling).chain(media) {
                let from = owners.entry(owner).or_insert(first - BEFORE);
                *from = (*from).min(first - BEFORE);
            }
        }
        owners
    }

    /// The records of each, with what the spool has of it.
    pub fn records(self, spans: &RecordedSpans) -> impl Iterator<Item = (Call, Vec<Stream>)> {
        self.calls.into_iter().map(|(call, streams)| records(&call, &streams, spans))
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

fn records(recovered: &RecoveredCall, noted: &[NotedStream], spans: &RecordedSpans) -> (Call, Vec<Stream>) {
    let mut call = recovered.record.clone();
    let decision = recovered.notes.iter().find_map(|note| match note {
        CallNote::Decision(bits) => Some(NotedDecision::of_bits(*bits)),
        _ => None,
    });
    let of_media = |stream: &NotedStream| spans.get(&(Category::Media, owner(stream)));
    let signalling = spans.get(&(Category::Signalling, of_call(call.call_id.as_bytes())));
    let media: u64 = noted.iter().filter_map(of_media).map(|span| span.packets).sum();
    let packets = signalling.map_or(0, |span| span.packets) + media;
    // What is there is there, whatever was noted.
    call.recorded = match decision.map(NotedDecision::recorded) {
        _ if packets == 0 => Recorded::None,
        _ if media == 0 => Recorded::Signalling,
        Some(Recorded::Headers) => Recorded::Headers,
        _ => Recorded::Full,
    };
    call.recorded_packets = (packets > 0).then_some(packets);
    let end = call.end.or(call.start()).unwrap_or_default();
    let mut streams: Vec<Stream> = noted
        .iter()
        .map(|stream| {
            let (last, packets) =
                of_media(stream).map_or((end.max(stream.first), 0), |span| (span.last, span.packets));
            stream_record(&call, stream, last, packets)
        })
        .collect();
    streams.sort_by_key(|stream| (stream.first, stream.id));
    call.streams = streams.iter().map(|stream| stream.id).collect();
    (call, streams)
}

/// A stream of which nothing but its name, its times and the number of packets in the spool is known.
fn stream_record(call: &Call, noted: &NotedStream, last: Nanos, packets: u64) -> Stream {
    let NotedStream { src, dst, ssrc, payload_type, first, .. } = *noted;
    let id = stream_id(Some(call.id), (src, dst, ssrc), first);
    Stream::unmeasured((id, call), (src, dst, ssrc), payload_type, (first, last), packets)
}

/// Signalling may begin this long before the first time of its record; so may the time of a chunk.
const BEFORE: Nanos = Nanos::from_secs(10);

#[cfg(test)]
mod tests {
    use ringtap_model::{CallState, Endpoint, Id};
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
}
