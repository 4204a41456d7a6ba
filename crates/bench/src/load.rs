//! The workloads and their size.

use crate::error::Error;
use crate::headers::Headers;
use crate::machine;

/// A kind of traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Workload {
    /// Calls set up by SIP, then their media: the usual load of a sensor.
    Media,
    /// Packets of 64 bytes other than telephony, which are recognised and dropped.
    Other,
    /// SIP alone: calls that start and end, without media.
    Sip,
    /// Complete calls: set-up, endpoints, first media packets, release, record.
    Calls,
    /// How long the engine takes to add a stream, and to end one, among many active ones.
    Changes,
    /// Media by one worker and by two that share them.
    Workers,
}

impl Workload {
    /// All workloads, in the order in which they are reported.
    pub const ALL: [Self; 6] =
        [Self::Media, Self::Other, Self::Sip, Self::Calls, Self::Changes, Self::Workers];
}

/// The codec of all media, 20 ms a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Codec {
    /// 160 bytes of sound: frames of 214 bytes.
    #[default]
    G711,
    /// 20 bytes of sound: frames of 74 bytes.
    G729,
}

impl Codec {
    /// Payload type (RFC 3551 section 6).
    pub(crate) fn payload_type(self) -> u8 {
        match self {
            Self::G711 => 0,
            Self::G729 => 18,
        }
    }

    /// Bytes of sound in a packet.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::G711 => 160,
            Self::G729 => 20,
        }
    }

    /// Its `a=rtpmap` (RFC 8866 section 6.6).
    pub(crate) fn rtpmap(self) -> &'static str {
        match self {
            Self::G711 => "0 PCMU/8000",
            Self::G729 => "18 G729/8000",
        }
    }
}

/// The size of a workload.
#[derive(Clone, Debug)]
pub struct Load {
    /// Concurrent calls; each has two streams.
    pub calls: u32,
    /// The codec of media.
    pub codec: Codec,
    /// What is below media: for [`Workload::Media`].
    pub headers: Headers,
    /// Frames laid out in memory, and so in each round; None for the workload's default.
    pub packets: Option<u32>,
    /// Number of measured rounds.
    pub rounds: u32,
    /// Frames passed to the engine at once.
    pub batch: usize,
    /// Whether the engine listens to G.711 for silence and clipping, as it does unless told otherwise.
    pub sound: bool,
}

impl Default for Load {
    fn default() -> Self {
        Self {
            calls: 52_000,
            codec: Codec::G711,
            headers: Headers::Plain,
            packets: None,
            rounds: 7,
            batch: 512,
            sound: true,
        }
    }
}

impl Load {
    /// Most calls for which the benchmarking range (RFC 2544 appendix C.2.2) has addresses.
    pub const MAX_CALLS: u32 = 5_000_000;

    /// Frames in a round.
    pub(crate) fn frames(&self, workload: Workload) -> u32 {
        self.packets.unwrap_or(match workload {
            // Far more than fit into caches, and several of each stream.
            Workload::Media | Workload::Workers => 4_000_000.max(self.calls.saturating_mul(2 * 4)),
            Workload::Other => 4_000_000,
            Workload::Sip => 420_000,
            Workload::Calls => 540_000,
            Workload::Changes => 5_000,
        })
    }

    /// Checks that the workload can run here.
    pub(crate) fn check(&self, workload: Workload) -> Result<(), Error> {
        let wrong = |text: String| Err(Error::Load(text));
        if self.calls == 0 || self.calls > Self::MAX_CALLS {
            return wrong(format!("{} calls: it can be 1 to {}", self.calls, Self::MAX_CALLS));
        }
        let packets = u64::from(self.frames(workload));
        if self.rounds == 0 || packets == 0 || self.batch == 0 {
            return wrong("rounds, packets and batch have to be at least 1".to_owned());
        }
        if self.headers != Headers::Plain && workload != Workload::Media {
            return wrong("other headers than the plainest are for media alone".to_owned());
        }
        let streams = u64::from(self.calls) * 2;
        if matches!(workload, Workload::Media | Workload::Workers) && packets < streams {
            return wrong(format!(
                "{packets} packets are not one for each of {streams} streams: take more packets or fewer \
                 calls"
            ));
        }
        let Some(free) = machine::memory_free() else { return Ok(()) };
        let needed = self.bytes(workload);
        if needed > free {
            let remedy =
                if matches!(workload, Workload::Sip | Workload::Changes) { "calls" } else { "packets" };
            return Err(Error::Memory { needed: needed / 1_000_000, free: free / 1_000_000, remedy });
        }
        Ok(())
    }

    /// Approximate memory: the frames, and a generous amount per call.
    fn bytes(&self, workload: Workload) -> u64 {
        let frame = match workload {
            Workload::Media => 80 + self.codec.bytes() as u64,
            Workload::Workers => 2 * (80 + self.codec.bytes() as u64) + 60,
            Workload::Other => 96,
            Workload::Sip | Workload::Calls => 1_000,
            Workload::Changes => 0,
        };
        u64::from(self.frames(workload)) * frame + u64::from(self.calls) * 8_000
    }
}
