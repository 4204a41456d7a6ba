//! Quality reports in signalling: what an endpoint measured of a call's media, as it tells by SIP.
//!
//! [`report`] reads the bodies of RFC 6035 (PUBLISH and NOTIFY with `application/vq-rtcpxr`), [`statistics`]
//! the header fields `P-RTP-Stat`, `X-RTP-Stat`, `RTP-RxStat` and `RTP-TxStat` of a BYE and its answer.

mod body;
mod headers;

pub use body::{ReportKind, VqReport, call_id, report};
pub use headers::statistics;

/// What a report says of the media that one side received. What it leaves out is None.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Metrics<'a> {
    /// Name of the codec as the reporter writes it.
    pub codec: Option<&'a [u8]>,
    /// Packets sent and received, and packets lost on the way to it.
    pub sent: Option<u64>,
    /// Packets received.
    pub received: Option<u64>,
    /// Packets lost.
    pub lost: Option<u64>,
    /// Network packet loss, in percent.
    pub loss_pct: Option<f64>,
    /// Packets that the jitter buffer discarded, in percent.
    pub discard_pct: Option<f64>,
    /// Interarrival jitter (RFC 3550), in milliseconds.
    pub jitter_ms: Option<f64>,
    /// Round trip, in milliseconds.
    pub round_trip_ms: Option<f64>,
    /// Delay within the end system, in milliseconds.
    pub end_system_ms: Option<f64>,
    /// R factor of listening quality, else of conversational quality.
    pub r_factor: Option<f64>,
    /// MOS-LQ.
    pub mos_lq: Option<f64>,
    /// MOS-CQ.
    pub mos_cq: Option<f64>,
}

/// A number of 0 or more that is finite; what follows its digits does not matter.
fn number(text: &[u8]) -> Option<f64> {
    let end = text.iter().position(|byte| !matches!(byte, b'0'..=b'9' | b'.')).unwrap_or(text.len());
    let number: f64 = std::str::from_utf8(&text[..end]).ok()?.parse().ok()?;
    number.is_finite().then_some(number)
}

/// A count.
fn count(text: &[u8]) -> Option<u64> {
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    std::str::from_utf8(&text[..end]).ok()?.parse().ok()
}
