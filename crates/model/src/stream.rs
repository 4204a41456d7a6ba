//! The stream record: one SSRC in one direction.

use serde::Serialize;

use crate::call::micros;
use crate::{Endpoint, Hz, Id, Nanos};

/// Which way a stream of a call flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Sent by the side that sent the INVITE.
    CallerToCallee,
    /// Sent by the side that answered it.
    CalleeToCaller,
}

/// Ten seconds of a stream.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Where it begins.
    #[serde(rename = "start_us", serialize_with = "micros::serialize")]
    pub start: Nanos,
    /// Packets received, repeats included.
    pub packets: u32,
    /// Sequence numbers missing.
    pub lost: u32,
    /// Mean interarrival jitter in milliseconds.
    pub jitter_ms: f64,
    /// Packets that the adaptive 500 ms buffer would have thrown away.
    pub discarded: u32,
    /// MOS-LQ after the adaptive buffer; null where the codec has no model.
    pub mos: Option<f64>,
    /// MOS-LQ after the fixed 50 ms buffer.
    pub mos_fixed50: Option<f64>,
    /// MOS-LQ after the fixed 200 ms buffer.
    pub mos_fixed200: Option<f64>,
}

/// One SSRC in one direction of one call, or of no call that was seen.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename = "stream")]
pub struct Stream {
    /// Derived from the call, the endpoints, the SSRC and the first packet's time.
    pub id: Id,
    /// Call-ID of the call it belongs to.
    pub call_id: Option<String>,
    /// Id of that call.
    pub call: Option<Id>,
    /// Which way it flows in that call.
    pub direction: Option<Direction>,
    /// Sender as on the wire.
    pub src: Endpoint,
    /// Receiver as on the wire.
    pub dst: Endpoint,
    /// RFC 3550 section 3.
    pub ssrc: u32,
    /// Payload type of most packets.
    pub payload_type: u8,
    /// Its name as in SDP, null for a dynamic type that nothing announced.
    pub codec: Option<String>,
    /// Its RTP clock.
    #[serde(rename = "clock_hz", serialize_with = "hz_or_null")]
    pub clock: Option<Hz>,
    /// Time that one packet carries, in milliseconds.
    pub ptime_ms: Option<f64>,
    /// First packet.
    #[serde(rename = "first_us", serialize_with = "micros::serialize")]
    pub first: Nanos,
    /// Last packet.
    #[serde(rename = "last_us", serialize_with = "micros::serialize")]
    pub last: Nanos,
    /// Every RTP packet seen, repeats included.
    pub packets: u64,
    /// Different extended sequence numbers (RFC 3550 appendix A.1).
    pub unique: u64,
    /// Numbers between the lowest and the highest that were never seen and not spent elsewhere.
    pub lost: u64,
    /// `packets - unique`.
    pub duplicates: u64,
    /// Packets that came after one with a higher number, repeats left out.
    pub reordered: u64,
    /// RTP payload bytes.
    pub bytes: u64,
    /// Bytes with IP and above.
    pub ip_bytes: u64,
    /// `ip_bytes` over last - first, in bit/s.
    pub rate_bps: Option<f64>,
    /// RFC 3550 section 6.4.1, mean over packets, in milliseconds; null where the clock is not known.
    pub jitter_ms_mean: Option<f64>,
    /// Its maximum.
    pub jitter_ms_max: Option<f64>,
    /// Longest time between two packets that follow one another, in milliseconds.
    pub delta_ms_max: Option<f64>,
    /// Shortest interarrival time, in milliseconds.
    pub iat_ms_min: Option<f64>,
    /// Its mean.
    pub iat_ms_mean: Option<f64>,
    /// Its maximum.
    pub iat_ms_max: Option<f64>,
    /// Its standard deviation.
    pub iat_ms_sd: Option<f64>,
    /// Smallest packet at the IP layer, in bytes.
    pub size_min: u32,
    /// Mean packet size.
    pub size_mean: f64,
    /// Largest packet.
    pub size_max: u32,
    /// Standard deviation of the packet size.
    pub size_sd: f64,
    /// Runs of consecutive lost numbers.
    pub loss_bursts: u64,
    /// Mean length of a run.
    pub burst_len_mean: Option<f64>,
    /// Longest run.
    pub burst_len_max: Option<u64>,
    /// G.107 BurstR: mean observed run over the mean run if loss were random; null without loss.
    pub burst_ratio: Option<f64>,
    /// Round trip in milliseconds.
    pub rtt_ms: Option<f64>,
    /// Where the round trip was measured: `rtcp` or `sip`.
    pub rtt_source: Option<&'static str>,
    /// MOS-LQ of G.107 (G.107.1 wideband, G.107.2 fullband) after the adaptive jitter buffer.
    pub mos: Option<f64>,
    /// The transmission rating R behind it.
    pub r_factor: Option<f64>,
    /// MOS-LQ after a fixed 50 ms jitter buffer.
    pub mos_fixed50: Option<f64>,
    /// MOS-LQ after a fixed 200 ms jitter buffer.
    pub mos_fixed200: Option<f64>,
    /// MOS-LQ after an adaptive jitter buffer of at most 500 ms.
    pub mos_adaptive500: Option<f64>,
    /// The simplified E-model of Cole and Rosenbluth.
    pub mos_cole: Option<f64>,
    /// One entry per 10 s that had packets or loss.
    pub intervals: Vec<Interval>,
    /// Share of the sound that is silence, in percent, where the codec can be decoded.
    pub silence_pct: Option<f64>,
    /// Share of the samples at the end of the scale, in percent.
    pub clipped_pct: Option<f64>,
}

fn hz_or_null<S: serde::Serializer>(clock: &Option<Hz>, serializer: S) -> Result<S::Ok, S::Error> {
    match clock {
        Some(clock) => serializer.serialize_u32(clock.0),
        None => serializer.serialize_none(),
    }
}
