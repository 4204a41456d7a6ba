//! The packets of one block of an AF_PACKET ring.
//!
//! The kernel writes the headers. They are checked nevertheless, since a wrong offset would read another
//! packet's bytes. An invalid header ends the block and is counted ([`BlockPackets::damaged`]).

use crate::sys::{self, ring::STATUS_END};

/// One packet of the ring, with its VLAN tag restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packet<'a> {
    /// Nanoseconds since 1970.
    pub(super) time: u64,
    /// Length on the wire, the tag included.
    pub(super) wire_len: u32,
    /// `TP_STATUS_` bits.
    pub(super) status: u32,
    pub(super) data: &'a [u8],
}

/// The packets of one block.
#[derive(Debug)]
pub(super) struct BlockPackets<'a> {
    /// The rest of the block, from the next packet's header on.
    rest: &'a mut [u8],
    left: u32,
    damaged: bool,
}

impl<'a> BlockPackets<'a> {
    /// `block` starts after the status word of the block's descriptor.
    pub(super) fn new(block: &'a mut [u8]) -> Self {
        let word = |at: usize| block.get(at..at + 4).map_or(0, |bytes| word(bytes, 0));
        let (left, first, length) = (word(0), word(4), word(8));
        // Both offsets count from the start of the descriptor.
        let from = (first as usize).checked_sub(STATUS_END);
        let until = (length as usize).saturating_sub(STATUS_END).min(block.len());
        match from.and_then(|from| block.get_mut(from..until)) {
            Some(rest) => Self { rest, left, damaged: false },
            None => Self { rest: &mut [], left: 0, damaged: left != 0 },
        }
    }

    /// Whether the block ended at an invalid header.
    pub(super) fn damaged(&self) -> bool {
        self.damaged
    }

    #[cold]
    fn damage(&mut self) -> Option<Packet<'a>> {
        self.damaged = true;
        self.left = 0;
        None
    }
}

impl<'a> Iterator for BlockPackets<'a> {
    type Item = Packet<'a>;

    // HOT: one length check for the header, one for the data.
    #[inline]
    fn next(&mut self) -> Option<Packet<'a>> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        let rest = std::mem::take(&mut self.rest);
        if rest.len() < HEADER {
            return self.damage();
        }
        let next = word(rest, 0) as usize;
        // The last packet of a block has a next offset of 0.
        let end = if next == 0 { rest.len() } else { next };
        if end < HEADER || end > rest.len() || (next == 0 && self.left != 0) {
            return self.damage();
        }
        let (packet, rest) = rest.split_at_mut(end);
        sys::prefetch(rest);
        self.rest = rest;

        let (seconds, nanos) = (word(packet, 4), word(packet, 8));
        let (caught, wire_len) = (word(packet, 12), word(packet, 16));
        let status = word(packet, 20);
        let (tag, kind) = (half(packet, 32), half(packet, 36));
        let begin = usize::from(half(packet, 24));
        let end = begin.saturating_add(caught as usize);
        if begin < HEADER || end > packet.len() {
            return self.damage();
        }
        let time = u64::from(seconds) * 1_000_000_000 + u64::from(nanos);
        if status & libc::TP_STATUS_VLAN_VALID == 0 {
            return Some(Packet { time, wire_len, status, data: &packet[begin..end] });
        }
        let kind = if status & libc::TP_STATUS_VLAN_TPID_VALID == 0 { VLAN } else { kind };
        let data = tagged(packet, begin, end, tag, kind);
        let grown = data.len().saturating_sub(caught as usize) as u32;
        Some(Packet { time, wire_len: wire_len.saturating_add(grown), status, data })
    }
}

/// Restores the tag of the frame at `begin..end`: moves its two addresses four bytes forward, into space that
/// the ring's header leaves, and inserts the tag before the type.
fn tagged(packet: &mut [u8], begin: usize, end: usize, tag: u16, kind: u16) -> &[u8] {
    let room = begin.checked_sub(4).filter(|room| *room >= HEADER && end - begin >= ADDRESSES);
    if let Some(room) = room {
        packet.copy_within(begin..begin + ADDRESSES, room);
        packet[room + ADDRESSES..room + ADDRESSES + 2].copy_from_slice(&kind.to_be_bytes());
        packet[room + ADDRESSES + 2..room + ADDRESSES + 4].copy_from_slice(&tag.to_be_bytes());
    }
    &packet[room.unwrap_or(begin)..end]
}

#[inline(always)]
fn word(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_ne_bytes(word)
}

#[inline(always)]
fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes([bytes[at], bytes[at + 1]])
}

/// `struct tpacket3_hdr` of `linux/if_packet.h`, before any packet: next offset 0, seconds 4, nanoseconds 8,
/// captured 12, length 16, status 20, offset of the frame 24, VLAN tag 32, its type 36.
const HEADER: usize = 48;
/// Two Ethernet addresses.
const ADDRESSES: usize = 12;
/// The default type of a tag (IEEE 802.1Q).
const VLAN: u16 = 0x8100;

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A block with these packets in it, as the kernel lays them out: (status, tag, its type, wire length,
    /// data).
    pub(crate) fn block(packets: &[(u32, u16, u16, u32, &[u8])]) -> Vec<u8> {
        let mut block = vec![0u8; 48];
        for (index, (status, tag, kind, wire_len, data)) in packets.iter().enumerate() {
            let at = block.len();
            let last = index + 1 == packets.len();
            let size = (86 + data.len()).next_multiple_of(16);
            block.resize(at + size, 0xee);
            let mut put =
                |offset: usize, bytes: &[u8]| block[at + offset..][..bytes.len()].copy_from_slice(bytes);
            put(0, &(if last { 0 } else { size as u32 }).to_ne_bytes());
            put(4, &7u32.to_ne_bytes());
            put(8, &(index as u32).to_ne_bytes());
            put(12, &(data.len() as u32).to_ne_bytes());
            put(16, &wire_len.to_ne_bytes());
            put(20, &status.to_ne_bytes());
            put(24, &86u16.to_ne_bytes());
            put(32, &u32::from(*tag).to_ne_bytes());
            put(36, &kind.to_ne_bytes());
            put(86, data);
        }
        let length = block.len() as u32;
        block[12..16].copy_from_slice(&(packets.len() as u32).to_ne_bytes());
        block[16..20].copy_from_slice(&48u32.to_ne_bytes());
        block[20..24].copy_from_slice(&length.to_ne_bytes());
        block[STATUS_END..].to_vec()
    }

    #[test]
    fn packets_come_in_order_and_tags_are_back_in_place() {
        let plain = b"\x02\0\0\0\0\x02\x02\0\0\0\0\x01\x08\0 payload";
        let tags = libc::TP_STATUS_VLAN_VALID | libc::TP_STATUS_VLAN_TPID_VALID;
        let mut block = block(&[
            (0, 0, 0, 30, plain),
            (tags, 0x2064, 0x88a8, 22, plain),
            (libc::TP_STATUS_VLAN_VALID, 5, 0, 22, plain),
        ]);
        let mut walk = BlockPackets::new(&mut block);
        let first = walk.next().expect("a packet");
        assert_eq!((first.time, first.wire_len, first.data), (7_000_000_000, 30, &plain[..]));
        let second = walk.next().expect("a packet");
        assert_eq!((second.time, second.wire_len), (7_000_000_001, 26));
        assert_eq!(second.data, b"\x02\0\0\0\0\x02\x02\0\0\0\0\x01\x88\xa8\x20\x64\x08\0 payload");
        let third = walk.next().expect("a packet");
        assert_eq!(third.data, b"\x02\0\0\0\0\x02\x02\0\0\0\0\x01\x81\0\0\x05\x08\0 payload");
        assert_eq!((walk.next(), walk.damaged()), (None, false));
    }

    /// The second of two packets states one thing that cannot be: the first is given, the second is not.
    #[test]
    fn a_header_that_cannot_be_ends_the_block() {
        let data = [0x55u8; 60];
        let good = block(&[(0, 0, 0, 60, &data), (0, 0, 0, 60, &data)]);
        let second = 48 - STATUS_END + (86usize + 60).next_multiple_of(16);
        let hostile: [(usize, &[u8]); 7] = [
            (0, &47u32.to_ne_bytes()),
            (0, &u32::MAX.to_ne_bytes()),
            (12, &u32::MAX.to_ne_bytes()),
            (12, &75u32.to_ne_bytes()),
            (24, &47u16.to_ne_bytes()),
            (24, &u16::MAX.to_ne_bytes()),
            (24, &0u16.to_ne_bytes()),
        ];
        for (offset, bytes) in hostile {
            let mut block = good.clone();
            block[second + offset..][..bytes.len()].copy_from_slice(bytes);
            let mut walk = BlockPackets::new(&mut block);
            assert_eq!(walk.by_ref().count(), 1, "{bytes:?} at {offset}");
            assert!(walk.damaged(), "{bytes:?} at {offset}");
        }
    }

    #[test]
    fn descriptors_that_cannot_be_give_nothing() {
        let good = block(&[(0, 0, 0, 60, &[0x55u8; 60])]);
        for (offset, value) in [(4, 0u32), (4, 11), (4, u32::MAX), (8, 0), (8, 60)] {
            let mut block = good.clone();
            block[offset..offset + 4].copy_from_slice(&value.to_ne_bytes());
            let mut walk = BlockPackets::new(&mut block);
            assert_eq!((walk.by_ref().count(), walk.damaged()), (0, true), "{value} at {offset}");
        }
        let mut more = good;
        more[0..4].copy_from_slice(&9u32.to_ne_bytes());
        let mut walk = BlockPackets::new(&mut more);
        assert_eq!((walk.by_ref().count(), walk.damaged()), (0, true), "the last packet is not the last");
    }

    proptest! {
        #[test]
        fn any_bytes_are_walked(mut block in proptest::collection::vec(any::<u8>(), 0..600),
            small in any::<bool>()) {
            if small {
                for byte in block.iter_mut().skip(1).step_by(2) {
                    *byte = 0;
                }
            }
            let length = block.len();
            for packet in BlockPackets::new(&mut block) {
                prop_assert!(packet.data.len() <= length);
            }
        }
    }
}
