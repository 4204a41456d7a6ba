//! The call record: one call attempt.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Endpoint, Id, Nanos};

/// What the call was signalled with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// RFC 3261.
    Sip,
    /// Skinny Client Control Protocol.
    Sccp,
}

/// What carried the signalling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dtmf {
    /// `0`-`9`, `*`, `#`, `A`-`D`, or `flash`.
    pub digit: String,
    /// How it came.
    pub source: DtmfSource,
    /// When it began.
    #[serde(rename = "time_us", with = "micros")]
    pub time: Nanos,
}

/// What is kept of a call beside its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Recorded {
    /// Nothing.
    None,
    /// Its messages alone.
    Signalling,
    /// Its messages, and headers of its media without payload.
    Headers,
    /// Media.
    Media,
    /// Every packet.
    Full,
}

/// One call attempt: a Call-ID with its first INVITE, the challenges it answers, its forks, re-INVITEs and its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    #[serde(rename = "invite_us", with = "micros_or_null")]
    pub invite: Option<Nanos>,
    /// First 100.
    #[serde(rename = "trying_us", with = "micros_or_null")]
    pub trying: Option<Nanos>,
    /// First 18x.
    #[serde(rename = "ringing_us", with = "micros_or_null")]
    pub ringing: Option<Nanos>,
    /// First 2xx to the INVITE.
    #[serde(rename = "answer_us", with = "micros_or_null")]
    pub answer: Option<Nanos>,
    /// First BYE, or CANCEL, or final failure.
    #[serde(rename = "end_us", with = "micros_or_null")]
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
    /// Packets of it that are kept, signalling and media; null where nothing is.
    pub recorded_packets: Option<u64>,
    /// Packets that were counted and were to be kept, and are not: 0 where the recording is complete.
    pub recorded_missing: Option<u64>,
    /// Directions of an answered call of which no media is kept although it was to be, 0 to 2: whether one was never sent,
    /// or never passed here, its streams tell.
    pub recorded_empty: Option<u8>,
}

impl Call {
    /// The first moment known of it: its INVITE, or for a dialog joined later its first event.
    pub fn start(&self) -> Option<Nanos> {
        self.invite.or(self.trying).or(self.ringing).or(self.answer).or(self.end)
    }
}

/// A moment as whole microseconds, as records carry it; what lies below a microsecond is not kept.
pub(crate) mod micros {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(time: &Nanos, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(time.micros())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Nanos, D::Error> {
        u64::deserialize(deserializer).map(Nanos::from_micros)
    }
}

/// The same, `null` where it is not known.
pub(crate) mod micros_or_null {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(time: &Option<Nanos>, serializer: S) -> Result<S::Ok, S::Error> {
        match time {
            Some(time) => serializer.serialize_u64(time.micros()),
            None => serializer.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Nanos>, D::Error> {
        let micros = Option::<u64>::deserialize(deserializer)?;
        Ok(micros.map(Nanos::from_micros))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Endpoint, Id};

    /// Every field set, at whole microseconds.
    fn call() -> Call {
        let at = |millis| Some(Nanos::from_secs(1_795_262_400) + Nanos::from_millis(millis));
        Call {
            id: Id(*b"0123456789abcdef"),
            call_id: "4f2a\"19@192.0.2.1".into(),
            protocol: Protocol::Sip,
            transport: Transport::Wss,
            src: Endpoint::new([192, 0, 2, 1].into(), 5060),
            dst: Endpoint::new(std::net::Ipv6Addr::LOCALHOST.into(), 5061),
            from_user: Some("+4930".into()),
            from_host: None,
            from_display: Some("\u{1b}[31m".into()),
            to_user: None,
            to_host: Some("example.net".into()),
            ruri_user: None,
            ruri_host: None,
            asserted_identity: None,
            diverted_to: vec!["voicemail".into()],
            state: CallState::Ringing,
            final_code: 0,
            final_reason: None,
            cause: Some(16),
            released_by: Some(Party::Network),
            invite: at(0),
            trying: None,
            ringing: at(1_500),
            answer: None,
            end: None,
            pdd_ms: Some(1_500.1),
            duration_ms: None,
            messages: 3,
            retransmissions: 0,
            user_agent_caller: None,
            user_agent_callee: None,
            streams: vec![Id([7; 16])],
            mos: Some(0.1 + 0.2),
            mos_worst_interval: None,
            dtmf: vec![Dtmf { digit: "#".into(), source: DtmfSource::Info, time: Nanos::from_micros(7) }],
            capture_drops: 3,
            recorded: Recorded::None,
            recorded_packets: None,
            recorded_missing: None,
            recorded_empty: None,
        }
    }

    #[test]
    fn written_and_read_it_is_the_same() {
        let call = call();
        let text = serde_json::to_string(&call).unwrap();
        assert_eq!(serde_json::from_str::<Call>(&text).unwrap(), call);
        for state in CallState::ALL {
            let text = serde_json::to_string(&state).unwrap();
            assert_eq!(serde_json::from_str::<CallState>(&text).unwrap(), state);
            assert_eq!(text.trim_matches('"'), state.name());
        }
    }

    #[test]
    fn what_is_no_call_is_refused() {
        let text = serde_json::to_string(&call()).unwrap();
        for (right, wrong) in [
            ("192.0.2.1:5060", "192.0.2.1"),
            ("192.0.2.1:5060", "192.0.2.256:5060"),
            ("[::1]:5061", "::1:5061"),
            ("[::1]:5061", "[::1]:65536"),
            ("30313233", "3031323"),
            ("\"ringing\"", "\"rings\""),
        ] {
            let damaged = text.replacen(right, wrong, 1);
            assert_ne!(damaged, text, "{right} is not in it");
            assert!(serde_json::from_str::<Call>(&damaged).is_err(), "{wrong} was taken");
        }
    }
}
