//! `[engine]`: ceilings and time limits of the engine.

use ringtap_capture::host;
use ringtap_engine as engine;
use ringtap_engine::config::TRANSACTIONS;
use ringtap_wire::sip::Method;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::key::{Bounds, DAY, KIB, MIB, SECOND, key_values, list, quoted, section};
use super::quality::Quality;
use super::values::{Size, Span};

/// What the 32-bit indices of the engine's tables hold, with room to spare.
const ENTRIES: Bounds = Bounds::between(1, 100_000_000);
const MEMORY: Bounds =
    Bounds::between(4 * MIB, 1 << 50).example("4GiB").zero("0 is a quarter of the memory that it may use");
const LIMIT: Bounds = Bounds::between(SECOND, 30 * DAY);

/// A method of which transactions outside of calls are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordedMethod(Method);

impl<'de> Deserialize<'de> for RecordedMethod {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        TRANSACTIONS.into_iter().find(|method| method.name() == name).map(Self).ok_or_else(|| {
            let names = TRANSACTIONS.map(Method::name).join(", ");
            D::Error::custom(format!("`{name}` is none of {names}"))
        })
    }
}

key_values! {
    Vec<RecordedMethod>: "a list of methods, such as [\"SUBSCRIBE\", \"OPTIONS\"]",
        |methods| list(methods, |method| quoted(method.0.name()));
}

section! {
    /// How many calls and streams are followed at once, and how long. Memory for them is allocated at the
    /// start.
    #[name = "engine"]
    pub(crate) struct Limits {
        /// Calls followed at once, over all workers; further ones are counted as refused.
        #[bounds = ENTRIES]
        max_calls: usize = engine::Config::default().max_calls,
        /// Media streams followed at once; those not yet confirmed count.
        #[bounds = ENTRIES]
        max_streams: usize = engine::Config::default().max_streams,
        /// Registrations followed at once.
        #[bounds = ENTRIES]
        max_registrations: usize = engine::Config::default().max_registrations,
        /// SIP transactions outside of calls followed at once: MESSAGE, SUBSCRIBE, NOTIFY, OPTIONS, PUBLISH.
        #[bounds = ENTRIES]
        max_messages: usize = engine::Config::default().max_messages,
        /// Which transactions outside of calls are recorded: `SUBSCRIBE`, `NOTIFY`, `OPTIONS`, `PUBLISH`. All
        /// are counted, and MESSAGEs and registrations are recorded in any case.
        transactions: Vec<RecordedMethod> = Vec::new(),
        /// Fragmented IP datagrams reassembled at once.
        #[bounds = ENTRIES]
        max_fragmented: usize = engine::Config::default().max_fragmented,
        /// TCP connections followed at once.
        #[bounds = ENTRIES]
        max_connections: usize = engine::Config::default().max_connections,
        /// Bytes buffered for one direction of a TCP connection.
        #[bounds = Bounds::between(4 * KIB, 64 * MIB)]
        max_stream_bytes: Size = Size(engine::Config::default().max_stream_bytes as u64),
        /// Memory that calls, registrations, messages, TCP connections, SCTP messages and fragments take
        /// together, over all workers, beside the tables that the keys above size. Calls have 45 % of it, TCP
        /// connections 25 %, registrations and fragments 10 % each, messages and SCTP 5 % each. Above its
        /// share each kind gives up what is least established and oldest, and counts it.
        #[bounds = MEMORY]
        memory: Size = Size(0),
        /// An INVITE without a final answer for this long is a timeout (RFC 3261 section 16.6, timer C, and a
        /// margin).
        #[bounds = LIMIT]
        invite_limit: Span = Span(engine::Config::default().invite_limit),
        /// An answered call with neither signalling nor media for this long is a timeout.
        #[bounds = LIMIT]
        idle_limit: Span = Span(engine::Config::default().idle_limit),
        /// An answered call whose media were heard and then neither they nor RTCP nor signalling for this
        /// long is recorded as a timeout at its last packet, unless it is on hold or sends a fax: its BYE was
        /// probably lost. What comes within `idle_limit` amends the record.
        #[bounds = LIMIT]
        silence_limit: Span = Span(engine::Config::default().silence_limit),
        /// How long a released call waits for late messages and media before its record is made.
        linger: Span = Span(engine::Config::default().linger),
        /// How long a challenge (401, 407) may wait for the INVITE that answers it.
        #[bounds = LIMIT]
        challenge_limit: Span = Span(engine::Config::default().challenge_limit),
        /// A stream without signalling ends after this much silence.
        #[bounds = LIMIT]
        stream_idle: Span = Span(engine::Config::default().stream_idle),
        /// A stream that was never confirmed is dropped after this long.
        #[bounds = LIMIT]
        provisional_limit: Span = Span(engine::Config::default().provisional_limit),
        /// Measure silence and clipping of G.711. Reads the payload.
        measure_sound: bool = engine::Config::default().measure_sound,
    }
}

impl Limits {
    /// Streams and calls that can be recorded at once: as many as can be followed.
    pub(crate) fn owners(&self) -> usize {
        self.max_calls.saturating_add(self.max_streams)
    }

    /// The engine's configuration, with the seed of its hashes, and whether it captures live.
    pub(crate) fn engine(&self, quality: &Quality, seed: u64, live: bool) -> engine::Config {
        engine::Config {
            max_calls: self.max_calls,
            max_streams: self.max_streams,
            max_registrations: self.max_registrations,
            max_messages: self.max_messages,
            transactions: self.transactions.iter().map(|method| method.0).collect(),
            max_fragmented: self.max_fragmented,
            max_connections: self.max_connections,
            max_stream_bytes: usize::try_from(self.max_stream_bytes.0).unwrap_or(usize::MAX),
            memory: match self.memory.0 {
                0 => host::quarter_of_memory(),
                bytes => usize::try_from(bytes).unwrap_or(usize::MAX),
            },
            invite_limit: self.invite_limit.0,
            idle_limit: self.idle_limit.0,
            silence_limit: self.silence_limit.0,
            linger: self.linger.0,
            challenge_limit: self.challenge_limit.0,
            stream_idle: self.stream_idle.0,
            provisional_limit: self.provisional_limit.0,
            measure_sound: self.measure_sound,
            receivers: quality.receivers(),
            seed,
            live,
        }
    }
}
