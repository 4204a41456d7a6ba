//! An RTP packet, as far as the figures of its stream need it.

use ringtap_model::Nanos;
use ringtap_wire::rtp;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use crate::testing::at;

    /// RFC 3550 section 5.1.
    #[test]
    fn the_fields_are_those_of_the_header() {
        for (second_octet, payload_type, marker) in
            [(0x08, 8, false), (0x88, 8, true), (0xff, 127, true), (0x7f, 127, false)]
        {
            let bytes = testing::rtp(second_octet, 0x1234, 0x89ab_cdef, 7);
            let Ok(view) = rtp::View::parse(&bytes, bytes.len()) else { continue };
            let packet = RtpPacket::new(&view, at(5), 200);
            assert_eq!((packet.payload_type, packet.marker), (payload_type, marker));
            assert_eq!((packet.sequence, packet.timestamp), (0x1234, 0x89ab_cdef));
            assert_eq!((packet.now, packet.payload_len, packet.ip_len), (at(5), 160, 200));
        }
    }
}
