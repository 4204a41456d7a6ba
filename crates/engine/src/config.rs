//! What the engine is told at its start.

use ringtap_model::Nanos;
use ringtap_quality::Receivers;
use ringtap_wire::sip::Method;

/// Ceilings, limits and choices. Every table of the engine has its ceiling here.
#[derive(Clone, Debug)]
pub struct Config {
    /// Calls followed at once; a further one is counted as refused.
    pub max_calls: usize,
    /// Media streams (provisional ones included) followed at once.
    pub max_streams: usize,
    /// Registrations followed at once.
    pub max_registrations: usize,
    /// MESSAGE, SUBSCRIBE, NOTIFY, OPTIONS and PUBLISH transactions outside of calls followed at once.
    pub max_messages: usize,
    /// IP datagrams being put together at once.
    pub max_fragmented: usize,
    /// TCP connections followed at once.
    pub max_connections: usize,
    /// Bytes held back for one direction of a TCP connection.
    pub max_stream_bytes: usize,
    /// Bytes that calls, registrations, messages, TCP connections, SCTP messages and fragments hold together,
    /// beside the tables that the ceilings above size. What exceeds the share of its kind pushes out the
    /// least established and oldest of that kind, which is counted.
    pub memory: usize,
    /// An INVITE without a final answer for this long is a timeout (RFC 3261 section 16.6, timer C, and a
    /// margin).
    pub invite_limit: Nanos,
    /// An answered call with neither signalling nor media for this long is a timeout.
    pub idle_limit: Nanos,
    /// An answered call whose media were heard, and then neither they nor RTCP nor signalling for this long,
    /// has probably lost its BYE, unless it is on hold or sends a fax: [`Sink::lost`](crate::Sink::lost).
    pub silence_limit: Nanos,
    /// How long a released call waits for late messages and media before its record is made.
    pub linger: Nanos,
    /// How long a challenge (401, 407) may wait for the INVITE that answers it: people type passwords.
    pub challenge_limit: Nanos,
    /// A stream that no signalling names ends after this much silence.
    pub stream_idle: Nanos,
    /// A provisional stream that nothing confirms is forgotten after this long.
    pub provisional_limit: Nanos,
    /// Seed of the hash of every table. Records and their order do not depend on it. Take a random one, since
    /// who knows it can send keys that all collide; the default is for tests.
    pub seed: u64,
    /// Measure silence and clipping of G.711 (reads the payload).
    pub measure_sound: bool,
    /// Methods of which transactions outside of calls become records: SUBSCRIBE, NOTIFY, OPTIONS and PUBLISH
    /// do where they are named here, MESSAGE always, REGISTER in registrations. All are counted:
    /// [`Counters::transactions`](crate::Counters::transactions).
    pub transactions: Vec<Method>,
    /// Which receivers conceal loss where the codec leaves it to them.
    pub receivers: Receivers,
    /// For live captures, where packets do not wait. Every page of the tables of streams is touched at the
    /// start, so the memory of `max_streams` is in use from the beginning. Timers that fire together are
    /// handled one after the other between packets, so records are made up to half a second of capture time
    /// later; a late packet of a call may then be counted in it. Without effect on timers in lockstep.
    pub live: bool,
}

/// Methods that [`Config::transactions`] may name.
pub const TRANSACTIONS: [Method; 4] = [Method::Subscribe, Method::Notify, Method::Options, Method::Publish];

impl Config {
    /// How many timers run at once: one for each object that has one.
    pub(crate) fn timers(&self) -> usize {
        // A TCP connection has two directions.
        [
            self.max_calls,
            self.max_streams,
            self.max_registrations,
            self.max_messages,
            self.max_connections,
            self.max_connections,
        ]
        .into_iter()
        .fold(0, usize::saturating_add)
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            max_calls: 60_000,
            max_streams: 150_000,
            max_registrations: 100_000,
            max_messages: 10_000,
            max_fragmented: 4_096,
            max_connections: 16_384,
            max_stream_bytes: 256 << 10,
            memory: 1 << 30,
            invite_limit: Nanos::from_secs(200),
            idle_limit: Nanos::from_secs(4 * 3600),
            silence_limit: Nanos::from_secs(300),
            linger: Nanos::from_secs(32),
            challenge_limit: Nanos::from_secs(300),
            stream_idle: Nanos::from_secs(300),
            provisional_limit: Nanos::from_secs(10),
            seed: 0x7269_6e67_7461_7000,
            measure_sound: true,
            transactions: Vec::new(),
            receivers: Receivers::default(),
            live: false,
        }
    }
}
