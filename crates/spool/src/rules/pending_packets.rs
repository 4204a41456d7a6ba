//! Packets of calls with a pending decision: in memory only, and only while there is room.
//!
//! They are in a ring; the oldest are dropped first, and counted as lost. They are never written to the disk,
//! because they may be what must not be recorded. Messages of calls under way are few and small: they are
//! copied to the front again while they fill no more than half of the ring.

use ringtap_model::Nanos;

/// The waiting packets of one owner. Valid until they are drained or given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PendingList {
    at: u32,
    life: u32,
}

/// A packet that waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingPacket<'a> {
    /// When it was captured.
    pub time: Nanos,
    /// Bytes on the wire.
    pub wire_len: u32,
    /// The caller's value.
    pub tag: u32,
    /// Its bytes.
    pub data: &'a [u8],
}

/// The ring of waiting packets.
#[derive(Debug)]
pub struct PendingPackets {
    /// Its length is the capacity.
    ring: Vec<u8>,
    /// Bytes ever written; the oldest that remains is at `tail`.
    head: u64,
    tail: u64,
    lists: Vec<ListEntry>,
    free: Vec<u32>,
    ceiling: usize,
    /// Bytes of messages in live lists.
    messages: u64,
    scratch: Vec<u8>,
    lost: u64,
}

#[derive(Debug)]
struct ListEntry {
    /// Odd while the list is live.
    life: u32,
    first: u64,
    last: u64,
    lost: u64,
    is_signalling: bool,
}

/// In front of a packet in the ring.
#[derive(Clone, Copy)]
struct PacketHead {
    /// Position of the next packet of its list.
    next: u64,
    time: Nanos,
    at: u32,
    life: u32,
    len: u32,
    wire_len: u32,
    tag: u32,
}

const HEAD: usize = 36;
const NONE: u64 = u64::MAX;

impl PacketHead {
    fn bytes(&self) -> [u8; HEAD] {
        let mut bytes = [0; HEAD];
        bytes[..8].copy_from_slice(&self.next.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.time.0.to_le_bytes());
        for (place, field) in
            bytes[16..].chunks_exact_mut(4).zip([self.at, self.life, self.len, self.wire_len, self.tag])
        {
            place.copy_from_slice(&field.to_le_bytes());
        }
        bytes
    }

    fn of(bytes: &[u8; HEAD]) -> Self {
        let long = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        let short = |at: usize| u32::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        Self {
            next: long(0),
            time: Nanos(long(8)),
            at: short(16),
            life: short(20),
            len: short(24),
            wire_len: short(28),
            tag: short(32),
        }
    }
}

impl PendingPackets {
    /// With room for so many bytes and owners. Unused pages cost no memory.
    pub fn new(bytes: usize, owners: usize) -> Self {
        Self {
            ring: vec![0; bytes],
            head: 0,
            tail: 0,
            lists: Vec::new(),
            free: Vec::new(),
            ceiling: owners.min(u32::MAX as usize),
            messages: 0,
            scratch: Vec::new(),
            lost: 0,
        }
    }

    /// Packets that were dropped while their decision was pending.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Begins a list of packets. None at the ceiling: those packets are lost.
    pub fn begin(&mut self, is_signalling: bool) -> Option<PendingList> {
        let at = match self.free.pop() {
            Some(at) => at,
            None if self.lists.len() < self.ceiling => {
                self.lists.push(ListEntry { life: 0, first: NONE, last: NONE, lost: 0, is_signalling });
                (self.lists.len() - 1) as u32
            }
            None => return None,
        };
        let life = self.lists[at as usize].life.wrapping_add(1);
        self.lists[at as usize] = ListEntry { life, first: NONE, last: NONE, lost: 0, is_signalling };
        Some(PendingList { at, life })
    }

    /// Adds a packet; the oldest packets make room. `tag` is returned with it. HOT: copies, and allocates
    /// nothing.
    pub fn put(&mut self, list: PendingList, time: Nanos, wire_len: u32, tag: u32, data: &[u8]) {
        let Some(is_signalling) = self.entry(list).map(|entry| entry.is_signalling) else { return };
        let need = HEAD + data.len();
        if need > self.ring.len() / 4 {
            self.lists[list.at as usize].lost += 1;
            self.lost += 1;
            return;
        }
        while self.room() < need {
            self.evict(true);
        }
        let head = PacketHead {
            next: NONE,
            time,
            at: list.at,
            life: list.life,
            len: data.len() as u32,
            wire_len,
            tag,
        };
        let at = self.append(&head, data);
        if is_signalling {
            self.messages += need as u64;
        }
        let entry = &mut self.lists[list.at as usize];
        let last = std::mem::replace(&mut entry.last, at);
        if last == NONE {
            entry.first = at;
        } else {
            self.link(last, at);
        }
    }

    /// Drops packets captured before that time.
    pub fn expire(&mut self, before: Nanos) {
        while self.tail < self.head && self.head_at(self.tail).time < before {
            self.evict(false);
        }
    }

    /// Passes the packets of a list to `each`, in the order of their arrival, and ends the list. Returns how
    /// many were lost.
    pub fn drain(&mut self, list: PendingList, mut each: impl FnMut(PendingPacket<'_>)) -> u64 {
        let Some(entry) = self.entry(list) else { return 0 };
        let mut at = entry.first;
        let mut scratch = std::mem::take(&mut self.scratch);
        while at != NONE {
            let head = self.head_at(at);
            scratch.clear();
            scratch.resize(head.len as usize, 0);
            self.copy_out(at + HEAD as u64, &mut scratch);
            each(PendingPacket { time: head.time, wire_len: head.wire_len, tag: head.tag, data: &scratch });
            at = head.next;
        }
        self.scratch = scratch;
        self.give_up(list)
    }

    /// Ends a list without reading its packets. Returns how many were lost.
    pub fn give_up(&mut self, list: PendingList) -> u64 {
        let Some(entry) = self.entry(list) else { return 0 };
        let (mut at, lost) = (entry.first, entry.lost);
        if entry.is_signalling {
            while at != NONE {
                let head = self.head_at(at);
                self.messages -= HEAD as u64 + u64::from(head.len);
                at = head.next;
            }
        }
        let entry = &mut self.lists[list.at as usize];
        entry.life = entry.life.wrapping_add(1);
        self.free.push(list.at);
        lost
    }

    fn entry(&self, list: PendingList) -> Option<&ListEntry> {
        self.lists.get(list.at as usize).filter(|entry| entry.life == list.life && list.life % 2 == 1)
    }

    fn room(&self) -> usize {
        self.ring.len() - (self.head - self.tail) as usize
    }

    /// Drops the oldest packet, or copies a message to the front.
    fn evict(&mut self, again: bool) {
        let at = self.tail;
        let head = self.head_at(at);
        let need = HEAD as u64 + u64::from(head.len);
        self.tail += need;
        let list = PendingList { at: head.at, life: head.life };
        let Some(entry) = self.entry(list) else { return };
        if !entry.is_signalling {
            // The packets of a list are in the ring in order: this one is its first.
            let entry = &mut self.lists[list.at as usize];
            entry.first = head.next;
            if entry.first == NONE {
                entry.last = NONE;
            }
            entry.lost += 1;
            self.lost += 1;
            return;
        }
        let before = self.before(list, at);
        let stays = again && self.messages * 2 <= self.ring.len() as u64;
        let instead = if stays {
            let mut scratch = std::mem::take(&mut self.scratch);
            scratch.clear();
            scratch.resize(head.len as usize, 0);
            self.copy_out(at + HEAD as u64, &mut scratch);
            let moved = self.append(&head, &scratch);
            self.scratch = scratch;
            moved
        } else {
            self.messages -= need;
            self.lists[list.at as usize].lost += 1;
            self.lost += 1;
            head.next
        };
        match before {
            Some(before) => self.link(before, instead),
            None => self.lists[list.at as usize].first = instead,
        }
        let entry = &mut self.lists[list.at as usize];
        if entry.last == at {
            entry.last = if stays { instead } else { before.unwrap_or(NONE) };
        }
    }

    /// Position of the packet before that one in its list: a call has few messages.
    fn before(&self, list: PendingList, wanted: u64) -> Option<u64> {
        let mut at = self.lists[list.at as usize].first;
        let mut before = None;
        while at != wanted && at != NONE {
            before = Some(at);
            at = self.head_at(at).next;
        }
        before
    }

    /// INVARIANT: there is room.
    fn append(&mut self, head: &PacketHead, data: &[u8]) -> u64 {
        let at = self.head;
        self.copy_in(at, &head.bytes());
        self.copy_in(at + HEAD as u64, data);
        self.head += (HEAD + data.len()) as u64;
        at
    }

    fn link(&mut self, at: u64, next: u64) {
        self.copy_in(at, &next.to_le_bytes());
    }

    fn head_at(&self, at: u64) -> PacketHead {
        let mut bytes = [0; HEAD];
        self.copy_out(at, &mut bytes);
        PacketHead::of(&bytes)
    }

    fn copy_in(&mut self, at: u64, bytes: &[u8]) {
        let start = (at % self.ring.len() as u64) as usize;
        let (front, back) = bytes.split_at(bytes.len().min(self.ring.len() - start));
        self.ring[start..start + front.len()].copy_from_slice(front);
        self.ring[..back.len()].copy_from_slice(back);
    }

    fn copy_out(&self, at: u64, bytes: &mut [u8]) {
        let start = (at % self.ring.len() as u64) as usize;
        let middle = bytes.len().min(self.ring.len() - start);
        let (front, back) = bytes.split_at_mut(middle);
        front.copy_from_slice(&self.ring[start..start + front.len()]);
        back.copy_from_slice(&self.ring[..back.len()]);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn taken(pending: &mut PendingPackets, list: PendingList) -> (Vec<(u64, u32, Vec<u8>)>, u64) {
        let mut packets = Vec::new();
        let lost = pending.drain(list, |packet| {
            assert_eq!(packet.wire_len, packet.data.len() as u32 + 4);
            packets.push((packet.time.0, packet.tag, packet.data.to_vec()));
        });
        (packets, lost)
    }

    fn put(pending: &mut PendingPackets, list: PendingList, time: u64, data: &[u8]) {
        pending.put(list, Nanos(time), data.len() as u32 + 4, time as u32 * 3, data);
    }

    #[test]
    fn what_waits_comes_back_in_order() {
        let mut pending = PendingPackets::new(10_000, 2);
        let [call, stream] = [true, false].map(|is_signalling| pending.begin(is_signalling).unwrap());
        assert_eq!(pending.begin(false), None, "a ceiling");
        put(&mut pending, call, 1, b"INVITE");
        put(&mut pending, stream, 2, b"rtp");
        put(&mut pending, call, 3, b"");
        let expected = vec![(1, 3, b"INVITE".to_vec()), (3, 9, Vec::new())];
        assert_eq!(taken(&mut pending, call), (expected, 0));
        assert_eq!(taken(&mut pending, call), (Vec::new(), 0), "once");
        assert_eq!(pending.give_up(stream), 0);
        put(&mut pending, stream, 4, b"nobody's");
        let next = pending.begin(false).unwrap();
        assert_ne!(next, stream);
        assert_eq!(taken(&mut pending, next), (Vec::new(), 0));
        put(&mut pending, call, 5, b"x");
        assert_eq!((pending.lost(), pending.messages), (0, 0));
    }

    #[test]
    fn the_oldest_media_go_and_messages_stay() {
        let mut pending = PendingPackets::new(4000, 10);
        let [call, stream] = [true, false].map(|is_signalling| pending.begin(is_signalling).unwrap());
        put(&mut pending, call, 0, &[7; 300]);
        for time in 1..=1000 {
            put(&mut pending, stream, time, &[1; 64]);
        }
        put(&mut pending, call, 1001, &[8; 300]);
        let (media, lost) = taken(&mut pending, stream);
        assert_eq!(media.len() as u64 + lost, 1000);
        assert!((30..=37).contains(&media.len()), "{}", media.len());
        assert!(media.iter().map(|packet| packet.0).eq(lost + 1..=1000), "the newest are there");
        assert_eq!(pending.lost(), lost);
        let (messages, lost) = taken(&mut pending, call);
        assert_eq!((messages.len(), lost), (2, 0));
        assert_eq!((messages[0].2[0], messages[1].2[0]), (7, 8));
        // More messages than half of the ring: their oldest are dropped as well.
        let calls: Vec<PendingList> = (0..9).map(|_| pending.begin(true).unwrap()).collect();
        for (time, call) in calls.iter().enumerate() {
            put(&mut pending, *call, time as u64, &[9; 600]);
        }
        let found: Vec<usize> = calls.iter().map(|call| taken(&mut pending, *call).0.len()).collect();
        assert_eq!(found.iter().sum::<usize>(), 6, "{found:?}");
        assert_eq!(found[8], 1);
        // Longer than a packet that may wait.
        let list = pending.begin(true).unwrap();
        put(&mut pending, list, 1, &[0; 1000]);
        assert_eq!(taken(&mut pending, list), (Vec::new(), 1));
    }

    #[test]
    fn what_waited_too_long_goes() {
        let mut pending = PendingPackets::new(4000, 10);
        let lists = [true, false].map(|is_signalling| pending.begin(is_signalling).unwrap());
        for time in 1..=4 {
            lists.iter().for_each(|list| put(&mut pending, *list, time, b"abc"));
        }
        pending.expire(Nanos(3));
        for list in lists {
            let (left, lost) = taken(&mut pending, list);
            assert_eq!((left.iter().map(|packet| packet.0).collect::<Vec<_>>(), lost), (vec![3, 4], 2));
        }
        pending.expire(Nanos::MAX);
        assert_eq!((pending.lost(), pending.room()), (4, 4000));
    }

    proptest! {
        /// Whatever is done: the packets that come back are those that were added, in order, with a gap only
        /// at the beginning for media; and no packet is both lost and found.
        #[test]
        fn nothing_comes_back_as_something_else(
            steps in prop::collection::vec((0..6u8, 0..5usize, 0..200usize), 1..400),
            room in 1000..3000usize,
        ) {
            let mut pending = PendingPackets::new(room, 4);
            let mut model: BTreeMap<usize, (PendingList, bool, Vec<u64>)> = BTreeMap::new();
            let mut lost = 0;
            for (time, (step, name, len)) in steps.into_iter().enumerate() {
                let time = time as u64;
                match step {
                    0..=3 => {
                        let is_signalling = name % 2 == 0;
                        if !model.contains_key(&name) {
                            let Some(list) = pending.begin(is_signalling) else {
                                prop_assert_eq!(model.len(), 4);
                                continue;
                            };
                            model.insert(name, (list, is_signalling, Vec::new()));
                        }
                        let Some((list, _, times)) = model.get_mut(&name) else { continue };
                        times.push(time);
                        put(&mut pending, *list, time, &vec![time as u8; len]);
                    }
                    4 => {
                        let Some((list, is_signalling, times)) = model.remove(&name) else { continue };
                        let (found, gone) = taken(&mut pending, list);
                        lost += gone;
                        prop_assert_eq!(found.len() as u64 + gone, times.len() as u64);
                        let found_times: Vec<u64> = found.iter().map(|packet| packet.0).collect();
                        for (time, _, data) in &found {
                            prop_assert!(data.iter().all(|byte| *byte == *time as u8));
                        }
                        if is_signalling {
                            prop_assert!(found_times.is_sorted());
                        } else {
                            prop_assert_eq!(&times[gone as usize..], &found_times[..]);
                        }
                    }
                    _ => lost += model.remove(&name).map_or(0, |(list, ..)| pending.give_up(list)),
                }
            }
            lost += model.into_values().map(|(list, ..)| pending.give_up(list)).sum::<u64>();
            prop_assert_eq!(pending.lost(), lost);
            prop_assert_eq!(pending.messages, 0);
        }
    }
}
