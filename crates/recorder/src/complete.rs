//! Completeness of a recording: compares the packets counted with the packets recorded.

use ringtap_engine::{RecordedPackets, StreamEnd};
use ringtap_model::{Call, Direction, Recorded};

use crate::noted_decision::wider;

/// Fills in the fields of a call's record about its recording, of which `recorded` was the aim.
///
/// The engine counts a stream's RTP; the spool counts its packets on disk, RTCP included, and its lost
/// packets. Together they show gaps that neither count shows alone.
pub(crate) fn complete(
    call: &mut Call,
    recorded: Recorded,
    signalling: RecordedPackets,
    streams: &[StreamEnd],
) {
    let continued = call.unmonitored_ms.is_some().then(|| PreviousRun::of(call));
    fill_in(call, recorded, signalling, streams);
    if let Some(previous) = continued {
        previous.add_to(call);
    }
}

/// What the previous run recorded of a call that went on over a restart.
struct PreviousRun {
    recorded: Recorded,
    packets: Option<u64>,
    missing: Option<u64>,
    empty: Option<u8>,
}

impl PreviousRun {
    /// Moves the fields out of the record.
    fn of(call: &mut Call) -> Self {
        Self {
            recorded: std::mem::replace(&mut call.recorded, Recorded::None),
            packets: call.recorded_packets.take(),
            missing: call.recorded_missing.take(),
            empty: call.recorded_empty.take(),
        }
    }

    /// After a kill, how many packets were recorded is not known: then it is not known of the call.
    fn add_to(self, call: &mut Call) {
        match (self.recorded, call.recorded) {
            (Recorded::None, _) => return,
            (_, Recorded::None) => {
                call.recorded_packets = self.packets;
                call.recorded_missing = self.missing;
                call.recorded_empty = self.empty;
            }
            _ => {
                let sum = |one: Option<u64>, other: Option<u64>| Some(one?.saturating_add(other?));
                call.recorded_packets = sum(call.recorded_packets, self.packets);
                call.recorded_missing = sum(call.recorded_missing, self.missing);
                call.recorded_empty = call.recorded_empty.zip(self.empty).map(|(one, other)| one.min(other));
            }
        }
        call.recorded = wider(self.recorded, call.recorded);
    }
}

fn fill_in(call: &mut Call, recorded: Recorded, signalling: RecordedPackets, streams: &[StreamEnd]) {
    call.recorded = recorded;
    if recorded == Recorded::None {
        return;
    }
    let media = recorded != Recorded::Signalling;
    let missing_of = |stream: &StreamEnd| {
        stream.recorded.lost.max(stream.record.packets.saturating_sub(stream.recorded.packets))
    };
    let packets: u64 = streams.iter().map(|stream| stream.recorded.packets).sum();
    let missing: u64 = streams.iter().filter(|_| media).map(missing_of).sum();
    // Messages of the previous run are not counted apart.
    let messages = if call.unmonitored_ms.is_none() { call.messages.into() } else { 0 };
    let unkept = u64::saturating_sub(messages, signalling.packets);
    call.recorded_packets = Some(signalling.packets + packets);
    call.recorded_missing = Some(signalling.lost.max(unkept) + missing);
    call.recorded_empty = (media && call.answer.is_some()).then(|| {
        let heard = |side: Direction| {
            streams.iter().any(|stream| {
                stream.recorded.packets > 0 && stream.record.direction.is_none_or(|of| of == side)
            })
        };
        [Direction::CallerToCallee, Direction::CalleeToCaller]
            .into_iter()
            .filter(|side| !heard(*side))
            .count() as u8
    });
}

#[cfg(test)]
mod tests {
    use ringtap_testing::samples;

    use super::*;

    fn stream(direction: Option<Direction>, counted: u64, kept: u64, lost: u64) -> StreamEnd {
        let record = ringtap_model::Stream { direction, packets: counted, ..samples::stream() };
        StreamEnd { serial: 1, record, recorded: RecordedPackets { packets: kept, lost } }
    }

    #[test]
    fn what_lacks_is_counted() {
        let kept = |packets, lost| RecordedPackets { packets, lost };
        let there = Some(Direction::CallerToCallee);
        let back = Some(Direction::CalleeToCaller);
        for (recorded, signalling, streams, expected) in [
            (Recorded::None, kept(0, 0), vec![], (None, None, None)),
            (Recorded::Signalling, kept(7, 0), vec![stream(there, 5, 0, 0)], (Some(7), Some(0), None)),
            // RTCP is recorded with its stream.
            (
                Recorded::Full,
                kept(7, 0),
                vec![stream(there, 50, 52, 0), stream(back, 50, 50, 0)],
                (Some(109), Some(0), Some(0)),
            ),
            (Recorded::Full, kept(5, 2), vec![stream(there, 50, 48, 2)], (Some(53), Some(4), Some(1))),
            // The spool lost packets, but RTCP makes up the count.
            (
                Recorded::Headers,
                kept(7, 0),
                vec![stream(there, 50, 50, 3), stream(back, 50, 0, 0)],
                (Some(57), Some(53), Some(1)),
            ),
            // The sender is unknown: it may be either side.
            (Recorded::Full, kept(7, 0), vec![stream(None, 50, 50, 0)], (Some(57), Some(0), Some(0))),
        ] {
            let mut call = Call { messages: 7, ..samples::call() };
            assert!(call.answer.is_some(), "the sample is an answered call");
            complete(&mut call, recorded, signalling, &streams);
            assert_eq!(call.recorded, recorded);
            assert_eq!((call.recorded_packets, call.recorded_missing, call.recorded_empty), expected);
        }
    }

    #[test]
    fn what_two_runs_recorded_is_added_up() {
        let back = Some(Direction::CalleeToCaller);
        let recorded = RecordedPackets { packets: 3, lost: 0 };
        for (previous, expected) in [
            ((Recorded::None, None, None), (Recorded::Headers, Some(13), Some(0))),
            ((Recorded::Full, Some(100), Some(2)), (Recorded::Full, Some(113), Some(2))),
            // After a kill.
            ((Recorded::Full, None, None), (Recorded::Full, None, None)),
        ] {
            let mut call = Call { messages: 7, unmonitored_ms: Some(10.0), ..samples::call() };
            (call.recorded, call.recorded_packets, call.recorded_missing) = previous;
            complete(&mut call, Recorded::Headers, recorded, &[stream(back, 10, 10, 0)]);
            assert_eq!((call.recorded, call.recorded_packets, call.recorded_missing), expected);
            // Nothing is recorded any more.
            (call.recorded, call.recorded_packets, call.recorded_missing) = previous;
            complete(&mut call, Recorded::None, recorded, &[]);
            assert_eq!((call.recorded, call.recorded_packets, call.recorded_missing), previous);
        }
    }
}
