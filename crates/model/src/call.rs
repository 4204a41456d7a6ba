//! The call record: one call attempt.

use serde::Serialize;

use crate::{Endpoint, Id, Nanos};

/// What the call was signalled with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// RFC 3261.
    Sip,
    /// Skinny Client Control Protocol.
    Sccp,
}

/// What carried the signalling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// User datagrams.
    Udp,
    /// Byte stream.
    Tcp,
    /// TLS, decrypted with keys.
    Tls,
    /// RFC 4168.
    Sctp,
    /// WebSocket, RFC 7118.
    Ws,
    /// WebSocket over TLS.
    Wss,
    /// Mirrored by a HEP agent.
    Hep,
}

/// Where a call stands. `records.md` of the house defines each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CallState {
    /// Under way when the monitor was killed.
    Interrupted,
    /// Answered, then released.
    Completed,
    /// Answered, not released when the input ended.
    Active,
    /// Final 4xx, 5xx or 6xx.
    Failed,
    /// Final 3xx.
    Redirected,
    /// Given up by the caller.
    Cancelled,
    /// No final answer within the limit, or answered and then silent past it.
    Timeout,
    /// A 18x was the last answer when the input ended.
    Ringing,
    /// Not even that.
    Trying,
}

impl CallState {
    /// Every state, in the order that summaries show.
    pub const ALL: [Self; 9] = [
        Self::Completed,
        Self::Active,
        Self::Failed,
        Self::Redirected,
        Self::Cancelled,
        Self::Timeout,
        Self::Ringing,
        Self::Trying,
        Self::Interrupted,
    ];

    /// The name in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Interrupted => "interrupted",
            Self::Completed => "completed",
            Self::Active => "active",
            Self::Failed => "failed",
            Self::Redirected => "redirected",
            Self::Cancelled => "cancelled",
            Self::Timeout => "timeout",
            Self::Ringing => "ringing",
            Self::Trying => "trying",
        }
    }

    /// The state of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}

/// Who ended an answered call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Party {
    /// The side that sent the INVITE.
    Caller,
    /// The side that answered it.
    Callee,
    /// Neither: a proxy or the limit.
    Network,
}

/// How a digit was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DtmfSource {
    /// As a telephone-event in RTP, RFC 4733 (and RFC 2833).
    Rfc4733,
    /// In the body of a SIP INFO, RFC 6086.
    Info,
    /// As a tone in the audio.
    Inband,
}

/// A digit that one party pressed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Dtmf {
    /// `0`-`9`, `*`, `#`, `A`-`D`, or `flash`.
    pub digit: String,
    /// How it came.
    pub source: DtmfSource,
    /// When it began.
    #[serde(rename = "time_us", serialize_with = "micros")]
    pub time: Nanos,
}

/// What is kept of a call beside its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Recorded {
    /// Nothing.
    None,
    /// Headers without payload.
    Headers,
    /// Media.
    Media,
    /// Every packet.
    Full,
}

/// One call attempt: a Call-ID with its first INVITE, the challenges it answers, its forks, re-INVITEs and its end.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename = "call")]
pub struct Call {
    /// Derived from Call-ID, time of the first INVITE and the two hosts.
    pub id: Id,
    /// Call-ID as on the wire.
    pub call_id: String,
    /// What it was signalled with.
    pub protocol: Protocol,
    /// What carried the first message.
    pub transport: Transport,
    /// Where the first INVITE came from.
    pub src: Endpoint,
    /// Where the first INVITE went.
    pub dst: Endpoint,
    /// User part of the From URI.
    pub from_user: Option<String>,
    /// Host part of the From URI.
    pub from_host: Option<String>,
    /// Display name of From, without its quotes.
    pub from_display: Option<String>,
    /// User part of the To URI.
    pub to_user: Option<String>,
    /// Host part of the To URI.
    pub to_host: Option<String>,
    /// User part of the Request-URI of the first INVITE.
    pub ruri_user: Option<String>,
    /// Host part of the Request-URI of the first INVITE.
    pub ruri_host: Option<String>,
    /// P-Asserted-Identity (RFC 3325): user part, or the host where there is none.
    pub asserted_identity: Option<String>,
    /// Numbers that it was routed on to, in order seen, each once.
    pub diverted_to: Vec<String>,
    /// Where it stands.
    pub state: CallState,
    /// Last final answer to the INVITE, 0 when none.
    pub final_code: u16,
    /// Its phrase.
    pub final_reason: Option<String>,
    /// Q.850 cause from a Reason header (RFC 3326).
    pub cause: Option<u16>,
    /// Who released it.
    pub released_by: Option<Party>,
    /// First INVITE.
    #[serde(rename = "invite_us", serialize_with = "micros_or_null")]
    pub invite: Option<Nanos>,
    /// First 100.
    #[serde(rename = "trying_us", serialize_with = "micros_or_null")]
    pub trying: Option<Nanos>,
    /// First 18x.
    #[serde(rename = "ringing_us", serialize_with = "micros_or_null")]
    pub ringing: Option<Nanos>,
    /// First 2xx to the INVITE.
    #[serde(rename = "answer_us", serialize_with = "micros_or_null")]
    pub answer: Option<Nanos>,
    /// First BYE, or CANCEL, or final failure.
    #[serde(rename = "end_us", serialize_with = "micros_or_null")]
    pub end: Option<Nanos>,
    /// Post-dial delay: first INVITE to first 18x (or 2xx where none), in milliseconds.
    pub pdd_ms: Option<f64>,
    /// Answer to end, in milliseconds.
    pub duration_ms: Option<f64>,
    /// SIP messages seen, mirrored copies left out.
    pub messages: u32,
    /// Those of them that repeat one already seen.
    pub retransmissions: u32,
    /// User-Agent or Server of the calling side.
    pub user_agent_caller: Option<String>,
    /// User-Agent or Server of the called side.
    pub user_agent_callee: Option<String>,
    /// Ids of its media streams, in order of their first packet.
    pub streams: Vec<Id>,
    /// MOS-LQ of the worst direction, 1 to 4.5.
    pub mos: Option<f64>,
    /// Its worst 10 s.
    pub mos_worst_interval: Option<f64>,
    /// Digits pressed.
    pub dtmf: Vec<Dtmf>,
    /// Packets that this monitor is known to have dropped while the call lasted.
    pub capture_drops: u64,
    /// What is kept of it.
    pub recorded: Recorded,
}

impl Call {
    /// The first moment known of it: its INVITE, or for a dialog joined later its first event.
    pub fn start(&self) -> Option<Nanos> {
        self.invite.or(self.trying).or(self.ringing).or(self.answer).or(self.end)
    }
}

pub(crate) fn micros<S: serde::Serializer>(time: &Nanos, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(time.micros())
}

pub(crate) fn micros_or_null<S: serde::Serializer>(
    time: &Option<Nanos>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => serializer.serialize_u64(time.micros()),
        None => serializer.serialize_none(),
    }
}
