//! What a monitor should find: the records of the traffic, known because it was made.
//!
//! Names, units and definitions are those of ringtap's records, so that one can be compared with the other field by
//! field; what is judgement (MOS), or depends on where a monitor stands, is left out.

use std::collections::VecDeque;

use ringtap_model::{
    CallState, Direction, Dtmf, Endpoint, Nanos, Party, Protocol, RegistrationState, Transport,
};
use serde::{Serialize, Serializer};

/// One record.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Truth {
    /// A call attempt.
    Call(CallTruth),
    /// A media stream.
    Stream(StreamTruth),
    /// A registration.
    Registration(RegistrationTruth),
    /// Everything that was sent: the last record.
    Summary(SummaryTruth),
}

/// One call attempt.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CallTruth {
    /// Call-ID.
    pub call_id: String,
    /// Always SIP.
    pub protocol: Protocol,
    /// What carried it.
    pub transport: Transport,
    /// Where the INVITE came from.
    pub src: Endpoint,
    /// Where it went.
    pub dst: Endpoint,
    /// User of From.
    pub from_user: String,
    /// Host of From.
    pub from_host: String,
    /// User of To.
    pub to_user: String,
    /// Host of To.
    pub to_host: String,
    /// How it ended.
    pub state: CallState,
    /// Last final answer to the INVITE.
    pub final_code: u16,
    /// Its phrase.
    pub final_reason: String,
    /// Who released it.
    pub released_by: Option<Party>,
    /// First INVITE.
    #[serde(rename = "invite_us", serialize_with = "micros_or_null")]
    pub invite: Option<Nanos>,
    /// First 100.
    #[serde(rename = "trying_us", serialize_with = "micros_or_null")]
    pub trying: Option<Nanos>,
    /// First 180.
    #[serde(rename = "ringing_us", serialize_with = "micros_or_null")]
    pub ringing: Option<Nanos>,
    /// First 200 to the INVITE.
    #[serde(rename = "answer_us", serialize_with = "micros_or_null")]
    pub answer: Option<Nanos>,
    /// First BYE, CANCEL, or final failure.
    #[serde(rename = "end_us", serialize_with = "micros_or_null")]
    pub end: Option<Nanos>,
    /// Messages sent.
    pub messages: u32,
    /// Those of them that repeat one.
    pub retransmissions: u32,
    /// Digits of which at least one packet got through.
    pub dtmf: Vec<Dtmf>,
}

/// One SSRC from one endpoint to another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StreamTruth {
    /// Call-ID of its call.
    pub call_id: String,
    /// Which way it flows in it.
    pub direction: Direction,
    /// Sender.
    pub src: Endpoint,
    /// Receiver.
    pub dst: Endpoint,
    /// RFC 3550 section 3.
    pub ssrc: u32,
    /// Of the audio.
    pub payload_type: u8,
    /// Its name in SDP.
    pub codec: &'static str,
    /// Its RTP clock, in Hz.
    pub clock_hz: u32,
    /// Sound in a packet, in milliseconds.
    pub ptime_ms: f64,
    /// First packet.
    #[serde(rename = "first_us", serialize_with = "micros")]
    pub first: Nanos,
    /// Last packet.
    #[serde(rename = "last_us", serialize_with = "micros")]
    pub last: Nanos,
    /// Packets that got through, repeats included.
    pub packets: u64,
    /// Different ones.
    pub unique: u64,
    /// Those missing between the first and the last number that got through.
    pub lost: u64,
    /// `packets - unique`.
    pub duplicates: u64,
    /// Packets that came after one with a higher number, repeats left out.
    pub reordered: u64,
    /// RTP payload.
    pub bytes: u64,
    /// With IP and above.
    pub ip_bytes: u64,
    /// RFC 3550 section 6.4.1, repeats and telephone-events left out: mean over the packets from the second on.
    pub jitter_ms_mean: Option<f64>,
    /// Its maximum.
    pub jitter_ms_max: Option<f64>,
    /// Longest time between two packets that follow one another, repeats left out.
    pub delta_ms_max: Option<f64>,
    /// Runs of consecutive lost numbers.
    pub loss_bursts: u64,
    /// Longest of them.
    pub burst_len_max: Option<u64>,
}

/// One registration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RegistrationTruth {
    /// `user@host` of To.
    pub aor: String,
    /// Contact URI.
    pub contact: String,
    /// Who registers.
    pub src: Endpoint,
    /// With whom.
    pub dst: Endpoint,
    /// How it stands: bindings are granted for a day, and never renewed.
    pub state: RegistrationState,
    /// Last final answer.
    pub code: u16,
    /// First REGISTER.
    #[serde(rename = "first_us", serialize_with = "micros")]
    pub first: Nanos,
    /// Last message.
    #[serde(rename = "last_us", serialize_with = "micros")]
    pub last: Nanos,
    /// REGISTER requests, repeats included.
    pub requests: u32,
}

/// Every frame that was sent, by what it carried.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SummaryTruth {
    /// Frames.
    pub frames: u64,
    /// Octets of them, from the Ethernet header on.
    pub bytes: u64,
    /// Frames of SIP: datagrams, or segments with or without a part of a message.
    pub signalling: u64,
    /// Frames of RTP.
    pub rtp: u64,
    /// Frames of RTCP.
    pub rtcp: u64,
    /// Frames that are no telephony.
    pub cross: u64,
    /// Octets of those.
    pub cross_bytes: u64,
    /// Records of calls.
    pub calls: u64,
    /// Records of streams.
    pub streams: u64,
    /// Records of registrations.
    pub registrations: u64,
    /// First frame.
    #[serde(rename = "first_us", serialize_with = "micros")]
    pub first: Nanos,
    /// Last frame.
    #[serde(rename = "last_us", serialize_with = "micros")]
    pub last: Nanos,
}

impl SummaryTruth {
    /// A record is complete.
    pub(crate) fn count(&mut self, record: &Truth) {
        match record {
            Truth::Call(_) => self.calls += 1,
            Truth::Stream(_) => self.streams += 1,
            Truth::Registration(_) => self.registrations += 1,
            Truth::Summary(_) => {}
        }
    }
}

/// Records that are complete and not yet taken.
pub(crate) type Records = VecDeque<Truth>;

fn micros<S: Serializer>(time: &Nanos, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(time.micros())
}

fn micros_or_null<S: Serializer>(time: &Option<Nanos>, serializer: S) -> Result<S::Ok, S::Error> {
    time.map(Nanos::micros).serialize(serializer)
}
