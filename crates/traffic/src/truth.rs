//! The truth: the records that a monitor should find in the traffic.
//!
//! Names, units and definitions are those of ringtap's records, so that both can be compared field by field.
//! Fields that are estimates (MOS) or depend on the position of the monitor are left out.

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
    /// Summary of all frames: the last record.
    Summary(SummaryTruth),
}

/// One call attempt.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CallTruth {
    /// Call-ID.
    pub call_id: String,
    /// Always SIP.
    pub protocol: Protocol,
    /// Transport.
    pub transport: Transport,
    /// Source of the INVITE.
    pub src: Endpoint,
    /// Destination of the INVITE.
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
    /// Last final response to the INVITE.
    pub final_code: u16,
    /// Its reason phrase.
    pub final_reason: String,
    /// The side that released the call.
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
    /// Retransmissions among them.
    pub retransmissions: u32,
    /// Digits of which at least one packet arrived.
    pub dtmf: Vec<Dtmf>,
}

/// One SSRC from one endpoint to another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StreamTruth {
    /// Call-ID of its call.
    pub call_id: String,
    /// Direction in the call.
    pub direction: Direction,
    /// Sender.
    pub src: Endpoint,
    /// Receiver.
    pub dst: Endpoint,
    /// RFC 3550 section 3.
    pub ssrc: u32,
    /// Payload type of the audio.
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
    /// Packets that arrived, duplicates included.
    pub packets: u64,
    /// Distinct packets.
    pub unique: u64,
    /// Packets missing between the first and the last that arrived.
    pub lost: u64,
    /// `packets - unique`.
    pub duplicates: u64,
    /// Packets that arrived after one with a higher number, without duplicates.
    pub reordered: u64,
    /// RTP payload.
    pub bytes: u64,
    /// Bytes from the IP header on.
    pub ip_bytes: u64,
    /// RFC 3550 section 6.4.1, without duplicates and telephone events: mean over the packets from the second
    /// on.
    pub jitter_ms_mean: Option<f64>,
    /// Its maximum.
    pub jitter_ms_max: Option<f64>,
    /// Longest time between successive packets, without duplicates.
    pub delta_ms_max: Option<f64>,
    /// Runs of consecutive lost packets.
    pub loss_bursts: u64,
    /// Longest of them.
    pub burst_len_max: Option<u64>,
    /// Where its packets were lost, and the round trip to its receiver; in calls with RTCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathTruth>,
}

/// What only both ends of a stream know.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PathTruth {
    /// Where its packets were lost.
    #[serde(flatten)]
    pub places: LossPlaces,
    /// From the capture point to the receiver and back, in milliseconds.
    pub rtt_ms: f64,
}

/// Packets lost at each place, from the first number to the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LossPlaces {
    /// Numbered and never sent.
    pub unsent: u64,
    /// Between the sender and the capture point.
    pub before: u64,
    /// Between the capture point and the receiver.
    pub behind: u64,
    /// Received, and not captured.
    pub uncaptured: u64,
}

/// One registration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RegistrationTruth {
    /// `user@host` of To.
    pub aor: String,
    /// Contact URI.
    pub contact: String,
    /// Source of the REGISTER.
    pub src: Endpoint,
    /// Destination of the REGISTER.
    pub dst: Endpoint,
    /// Its state: bindings are granted for a day and never renewed.
    pub state: RegistrationState,
    /// Last final response.
    pub code: u16,
    /// First REGISTER.
    #[serde(rename = "first_us", serialize_with = "micros")]
    pub first: Nanos,
    /// Last message.
    #[serde(rename = "last_us", serialize_with = "micros")]
    pub last: Nanos,
    /// REGISTER requests, retransmissions included.
    pub requests: u32,
}

/// Counts of all frames by content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SummaryTruth {
    /// Frames.
    pub frames: u64,
    /// Their bytes, from the Ethernet header on.
    pub bytes: u64,
    /// Frames of SIP: datagrams, or segments with or without a part of a message.
    pub signalling: u64,
    /// Frames of RTP.
    pub rtp: u64,
    /// Frames of RTCP.
    pub rtcp: u64,
    /// Frames of cross traffic.
    pub cross: u64,
    /// Their bytes.
    pub cross_bytes: u64,
    /// Frames of hostile traffic.
    pub flood: u64,
    /// Bytes of hostile traffic, from the Ethernet header on.
    pub flood_bytes: u64,
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
    /// Counts a complete record.
    pub(crate) fn count(&mut self, record: &Truth) {
        match record {
            Truth::Call(_) => self.calls += 1,
            Truth::Stream(_) => self.streams += 1,
            Truth::Registration(_) => self.registrations += 1,
            Truth::Summary(_) => {}
        }
    }
}

/// Complete records that were not yet fetched.
pub(crate) type Records = VecDeque<Truth>;

fn micros<S: Serializer>(time: &Nanos, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(time.micros())
}

fn micros_or_null<S: Serializer>(time: &Option<Nanos>, serializer: S) -> Result<S::Ok, S::Error> {
    time.map(Nanos::micros).serialize(serializer)
}
