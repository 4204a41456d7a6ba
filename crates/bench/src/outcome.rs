//! The results of a benchmark.

use serde::{Deserialize, Serialize};

/// A figure over several rounds: on a shared machine a single number means little.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Of all rounds.
    pub min: f64,
    /// Of all rounds; for an even number the lower of the two in the middle.
    pub median: f64,
    /// Of all rounds.
    pub max: f64,
}

impl Figure {
    /// The figure of the rounds' values; None without rounds.
    pub(crate) fn of(rounds: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut rounds: Vec<f64> = rounds.into_iter().collect();
        rounds.sort_by(f64::total_cmp);
        let median = *rounds.get(rounds.len().checked_sub(1)? / 2)?;
        Some(Self { min: *rounds.first()?, median, max: *rounds.last()? })
    }
}

/// The unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// Frames a second.
    #[serde(rename = "packets/s")]
    Packets,
    /// SIP messages a second.
    #[serde(rename = "messages/s")]
    Messages,
    /// Calls a second, from the INVITE to the record.
    #[serde(rename = "calls/s")]
    Calls,
    /// A ratio.
    #[serde(rename = "times")]
    Times,
    /// Nanoseconds for one operation.
    #[serde(rename = "ns")]
    Nanos,
}

impl Unit {
    /// The printed name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Packets => "packets/s",
            Self::Messages => "messages/s",
            Self::Calls => "calls/s",
            Self::Times => "times",
            Self::Nanos => "ns",
        }
    }
}

/// One measured quantity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    /// Its name: `reference`, `decode`, `rtp`, `engine`, ...
    pub name: String,
    /// Its description.
    pub what: String,
    /// Its unit.
    pub unit: Unit,
    /// The figure.
    pub figure: Figure,
    /// Ratio to the reference loop of the same round.
    pub ratio: Option<Figure>,
}

/// Memory of a workload, by the resident set of the process.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// Bytes with all calls active, without the packets themselves.
    pub total: u64,
    /// Bytes per call with its streams.
    pub per_call: u64,
}

/// The results of one workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// `media`, `other`, `sip`, `calls`, `changes`, `workers`, `file`.
    pub workload: String,
    /// Description of the workload.
    pub what: String,
    /// Active calls.
    pub calls: u64,
    /// Active streams.
    pub streams: u64,
    /// Frames in a round.
    pub packets: u64,
    /// Mean bytes of a frame, without the frame check sequence.
    pub frame_bytes: f64,
    /// Number of rounds.
    pub rounds: u32,
    /// The measured quantities.
    pub measures: Vec<Measure>,
    /// Its memory; None if unknown.
    pub memory: Option<Memory>,
}

impl Outcome {
    /// Finds a measured quantity by name.
    pub fn measure(&self, name: &str) -> Option<&Measure> {
        self.measures.iter().find(|measure| measure.name == name)
    }

    /// Gb/s on the wire at that frame rate, with preamble, frame check sequence and gap (IEEE 802.3: 24
    /// bytes).
    pub fn wire_gbps(&self, packets_per_second: f64) -> f64 {
        packets_per_second * (self.frame_bytes + ON_THE_WIRE) * 8.0 / 1e9
    }
}

/// Preamble and start 8, frame check sequence 4, gap 12 (IEEE 802.3 clauses 3.1.1 and 4.4.2).
const ON_THE_WIRE: f64 = 24.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_rounds() {
        assert_eq!(Figure::of([]), None);
        assert_eq!(Figure::of([3.0, 1.0, 2.0]), Some(Figure { min: 1.0, median: 2.0, max: 3.0 }));
        assert_eq!(Figure::of([4.0, 1.0]).unwrap().median, 1.0);
    }

    #[test]
    fn line_rate_of_ten_gigabits() {
        let outcome = |frame_bytes| Outcome {
            workload: String::new(),
            what: String::new(),
            calls: 0,
            streams: 0,
            packets: 0,
            frame_bytes,
            rounds: 1,
            measures: Vec::new(),
            memory: None,
        };
        // The smallest frame: 64 bytes with its check sequence, 14.88 million of them a second.
        assert!((outcome(60.0).wire_gbps(14.881e6) - 10.0).abs() < 0.001);
        assert!((outcome(74.0).wire_gbps(12.755e6) - 10.0).abs() < 0.001);
    }
}
