//! Where packets of a call's media are missing, for the player to mark.

use std::collections::HashMap;

use ringtap_engine::{RtpSeen, Sink, StreamEnd};
use ringtap_export::find::SelectedCalls;
use ringtap_model::{Call, Direction, Message, Nanos, Registration};
use serde::Serialize;
use utoipa::ToSchema;

/// A place where packets are missing.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct Mark {
    /// From the first sample of the sound.
    pub(crate) at_ms: f64,
    #[schema(example = "lost")]
    kind: &'static str,
    #[serde(serialize_with = "name")]
    #[schema(value_type = String, example = "caller_to_callee")]
    direction: Direction,
    /// Packets that never came.
    packets: u32,
}

fn name<S: serde::Serializer>(direction: &Direction, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(direction.name())
}

/// A sink that finds gaps in the numbering of streams.
pub(crate) struct LostPackets {
    streams: HashMap<u64, Numbering>,
}

struct Numbering {
    direction: Direction,
    highest: Option<(i64, Nanos)>,
    gaps: Vec<Gap>,
}

/// Numbers that have not come yet.
struct Gap {
    time: Nanos,
    first: i64,
    last: i64,
    missing: u32,
}

impl LostPackets {
    /// For the streams of a call that are heard.
    pub(crate) fn of(selected: &SelectedCalls) -> Self {
        let streams = selected.streams().filter_map(|(_, stream)| {
            let direction = stream.record.direction?;
            Some((stream.serial, Numbering { direction, highest: None, gaps: Vec::new() }))
        });
        Self { streams: streams.collect() }
    }

    /// The gaps that stayed, in order of time, as a sound that begins then has them.
    pub(crate) fn marks(self, start: Nanos) -> Vec<Mark> {
        let mut marks: Vec<Mark> = Vec::new();
        for numbering in self.streams.into_values() {
            let gaps = numbering.gaps.iter().filter(|gap| gap.missing > 0);
            marks.extend(gaps.map(|gap| Mark {
                at_ms: (gap.time.0 as f64 - start.0 as f64) / 1e6,
                kind: "lost",
                direction: numbering.direction,
                packets: gap.missing,
            }));
        }
        marks.sort_by(|one, other| one.at_ms.total_cmp(&other.at_ms));
        marks
    }
}

impl Numbering {
    fn add(&mut self, sequence: u16, time: Nanos) {
        let Some((highest, before)) = self.highest else {
            self.highest = Some((i64::from(sequence), time));
            return;
        };
        // RFC 3550 A.1: the number that is nearest to the highest.
        let step = i64::from(sequence.wrapping_sub(highest as u16).cast_signed());
        let number = highest + step;
        match step {
            // A jump so far is another numbering, not loss.
            _ if step.abs() > FARTHEST => self.highest = Some((number, time)),
            1.. => {
                if step > 1 && self.gaps.len() < MOST {
                    let missing = (step - 1) as u32;
                    self.gaps.push(Gap { time: before, first: highest + 1, last: number - 1, missing });
                }
                self.highest = Some((number, time));
            }
            _ => {
                let late = self.gaps.iter_mut().rev().take(LATE);
                let gap = late.into_iter().find(|gap| (gap.first..=gap.last).contains(&number));
                if let Some(gap) = gap {
                    gap.missing = gap.missing.saturating_sub(1);
                }
            }
        }
    }
}

impl Sink for LostPackets {
    const PACKETS: bool = true;

    fn call(&mut self, _: Call, _: Vec<StreamEnd>) {}
    fn stream(&mut self, _: StreamEnd) {}
    fn registration(&mut self, _: Registration) {}
    fn message(&mut self, _: Message) {}

    fn rtp(&mut self, seen: &RtpSeen<'_>) {
        if let Some(numbering) = self.streams.get_mut(&seen.serial)
            && !seen.duplicate
        {
            numbering.add(seen.sequence, seen.time);
        }
    }
}

/// Numbers between two packets from which on it is another numbering: MAX_DROPOUT of RFC 3550.
const FARTHEST: i64 = 3_000;
/// Most gaps of a stream.
const MOST: usize = 20_000;
/// Gaps in which a late packet is looked for.
const LATE: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_that_late_packets_fill_are_none_and_numbers_wrap() {
        let mut numbering =
            Numbering { direction: Direction::CallerToCallee, highest: None, gaps: Vec::new() };
        for (at, sequence) in [65_533, 65_534, 1, 65_535, 2, 6, 4, 40_000, 40_001].into_iter().enumerate() {
            numbering.add(sequence, Nanos::from_millis(20 * at as u64));
        }
        let lost = LostPackets { streams: HashMap::from([(1, numbering)]) }.marks(Nanos::from_millis(20));
        let found: Vec<(f64, u32)> = lost.iter().map(|mark| (mark.at_ms, mark.packets)).collect();
        assert_eq!(found, [(0.0, 1), (60.0, 2)], "0; 3 and 5");
    }
}
