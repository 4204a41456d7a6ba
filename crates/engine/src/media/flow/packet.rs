//! An RTP packet, as far as the figures of its stream need it.

use ringtap_model::{Endpoint, Nanos};
use ringtap_wire::rtp;

/// Who sends what to whom: one SSRC from one endpoint to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FlowKey {
    pub(crate) src: Endpoint,
    pub(crate) dst: Endpoint,
    pub(crate) ssrc: u32,
}

/// An RTP packet, as far as figures need it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RtpPacket {
    pub(crate) now: Nanos,
    pub(crate) sequence: u16,
    pub(crate) timestamp: u32,
    pub(crate) payload_type: u8,
    pub(crate) marker: bool,
    /// Payload bytes, as sent.
    pub(crate) payload_len: u32,
    /// Bytes at the IP layer, as sent.
    pub(crate) ip_len: u32,
}

impl RtpPacket {
    /// As it came at `now`, in `ip_len` bytes at the IP layer.
    #[inline]
    pub(crate) fn new(view: &rtp::View<'_>, now: Nanos, ip_len: u32) -> Self {
        Self::of(view.head(), now, view.payload_len() as u32, ip_len)
    }

    /// By how it begins, see [`rtp::View::head`].
    #[inline]
    pub(crate) fn of(head: u64, now: Nanos, payload_len: u32, ip_len: u32) -> Self {
        Self {
            now,
            sequence: (head >> 32) as u16,
            timestamp: head as u32,
            payload_type: (head >> 48) as u8 & 0x7f,
            marker: head >> 55 & 1 != 0,
            payload_len,
            ip_len,
        }
    }
}
