//! Packet sizes: added up when they change, which is seldom.

use super::state::{Flow, SHORTER};

impl Flow {
    /// Packets of another size begin to come.
    #[inline(never)]
    pub(super) fn resize(&mut self, payload_len: u32) {
        self.end_equal_sizes();
        self.begin_equal_sizes(payload_len);
    }

    /// Adds the sizes of the packets on the fast path since the last that was not, or had another
    /// size.
    pub(super) fn end_equal_sizes(&mut self) {
        let packets = self.numbering.packets.wrapping_sub(self.equal_since);
        if packets > 0 {
            self.add_sizes(self.equal_len, self.equal_len + u32::from(self.overhead), packets);
            self.equal_since = self.numbering.packets;
        }
    }

    pub(super) fn begin_equal_sizes(&mut self, payload_len: u32) {
        (self.equal_len, self.equal_since) = (payload_len, self.numbering.packets);
        self.set(SHORTER, u64::from(payload_len) * u64::from(self.numbering.packets) < self.payload_sum);
    }

    /// Adds so many packets of a size.
    pub(super) fn add_sizes(&mut self, payload_len: u32, ip_len: u32, packets: u32) {
        self.size_min = self.size_min.min(short(ip_len));
        self.size_max = self.size_max.max(short(ip_len));
        let squares = u64::from(ip_len).pow(2).wrapping_mul(u64::from(packets));
        self.size_squares = self.size_squares.wrapping_add(squares);
        self.payload_sum += u64::from(payload_len) * u64::from(packets);
    }
}

pub(super) fn short(len: u32) -> u16 {
    u16::try_from(len).unwrap_or(u16::MAX)
}
