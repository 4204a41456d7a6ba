//! SIP messages out of TCP: RFC 9293 sequence space, RFC 3261 section 18.3 framing, RFC 7118 WebSocket.
//!
//! Any cut, any order, retransmitted, overlapping, starting in mid-stream. Only connections that carry
//! signalling are followed: one that talks on port 5060, begins a segment with a SIP message or one of TURN
//! (RFC 8656), or upgrades to WebSocket; and those on ports that an added tracker wants, by its framing.

mod direction;
mod framing;
mod long;
#[cfg(test)]
mod tests;

use ringtap_model::{Endpoint, Nanos};
use ringtap_wire::frame::{Tcp, TcpFlags};
use ringtap_wire::sip;

use direction::HalfConnection;
pub(crate) use framing::{DeliveredMessage, Delivery, MessageKind, TcpCounts};
use framing::{Output, carries_turn, is_upgrade};

use crate::media::{FlowKey, Key};
use crate::table::hash::Hasher;
use crate::table::index::{Index, NONE};
use crate::table::queues::Queues;
use crate::table::slots::{Slots, Ticket};
use crate::table::timers::{Timer, TimerOwner, TimerWheel};
use crate::tcp_wants::TcpWants;

/// A connection without data for this long is forgotten; a later message starts it anew.
const IDLE: Nanos = Nanos::from_secs(600);
const SIP_PORT: u16 = 5060;
/// Ranks of connections: nothing was delivered yet, and something was.
const SILENT: usize = 0;
const DELIVERED: usize = 1;

/// The connections that carry signalling.
pub(crate) struct Connections {
    halves: Slots<HalfConnection>,
    index: Index,
    hasher: Hasher,
    /// Those that have not delivered a message yet, and those that have, in order of the last one.
    order: Queues,
    /// Bytes that one direction may hold.
    max_bytes: usize,
    /// Bytes that all hold, and may hold.
    memory: usize,
    max_memory: usize,
    scratch: Vec<u8>,
    /// What the added tracker wants.
    added: Option<TcpWants>,
    pub(crate) counts: TcpCounts,
}

impl Connections {
    /// For up to `ceiling` connections; each direction may hold `max_bytes`, and all together `max_memory`.
    pub(crate) fn new(ceiling: usize, max_bytes: usize, max_memory: usize, hasher: Hasher) -> Self {
        // Two directions each.
        let halves = ceiling.saturating_mul(2);
        Self {
            halves: Slots::new(halves),
            index: Index::new(halves),
            hasher,
            order: Queues::new(2, halves),
            max_bytes,
            memory: 0,
            max_memory,
            scratch: Vec::new(),
            added: None,
            counts: TcpCounts::default(),
        }
    }

    /// The same, and for connections that an added tracker wants.
    pub(crate) fn and_added(self, added: Option<TcpWants>) -> Self {
        Self { added, ..self }
    }

    /// Takes one segment and hands on each message that it completes.
    pub(crate) fn push(
        &mut self,
        (src, dst): (Endpoint, Endpoint),
        tcp: &Tcp<'_>,
        now: Nanos,
        frames: &[u64],
        timers: &mut TimerWheel,
        deliver: impl FnMut(Delivery<'_>),
    ) {
        let key = (src, dst);
        let hash = Key::of(&FlowKey { src, dst, ssrc: 0 }, &self.hasher).0.hash(&self.hasher);
        let found = self.index.find(hash, |slot| self.halves[slot].key == key);
        let slot = match found {
            Some(slot) => slot,
            None => match self.begin(key, hash, tcp, now) {
                Some(slot) => {
                    timers.arm(
                        now + IDLE,
                        Timer { owner: TimerOwner::Connections, ticket: self.halves.ticket(slot) },
                    );
                    slot
                }
                None => return,
            },
        };
        let has_delivered = self.segment(slot, tcp, now, frames, deliver);
        if tcp.flags.fin() || tcp.flags.rst() {
            self.remove(slot);
            return;
        }
        if has_delivered {
            self.order.push(slot, DELIVERED);
        }
        self.account(slot);
        while self.memory > self.max_memory && self.evict(DELIVERED) {}
    }

    /// Takes a segment of a connection that is followed; true when it completed a message.
    fn segment(
        &mut self,
        slot: u32,
        tcp: &Tcp<'_>,
        now: Nanos,
        frames: &[u64],
        mut deliver: impl FnMut(Delivery<'_>),
    ) -> bool {
        let half = &mut self.halves[slot];
        half.last = now;
        let mut has_delivered = false;
        let mut output = Output {
            counts: &mut self.counts,
            scratch: &mut self.scratch,
            deliver: &mut |delivery: Delivery<'_>| {
                has_delivered = true;
                deliver(delivery);
            },
            max: self.max_bytes,
            time: now,
        };
        if tcp.flags.syn() {
            half.restart(tcp.seq.wrapping_add(1));
        } else if tcp.len > 0 {
            half.segment(tcp.seq, tcp.data, tcp.len as u32, now, frames, &mut output);
        }
        if tcp.flags.fin() || tcp.flags.rst() {
            half.skip_holes(&mut output);
            half.end_long(&mut output);
        }
        has_delivered
    }

    /// Notes what a direction holds now.
    fn account(&mut self, slot: u32) {
        let half = &mut self.halves[slot];
        let memory = size_of::<HalfConnection>() + half.heap_bytes();
        self.memory = self.memory - half.memory + memory;
        half.memory = memory;
    }

    /// Gives up the direction that is least established and oldest, of ranks up to `highest`; false where
    /// there is none.
    fn evict(&mut self, highest: usize) -> bool {
        let Some(slot) = (SILENT..=highest).find_map(|rank| self.order.oldest(rank)) else { return false };
        self.remove(slot);
        self.counts.evicted += 1;
        true
    }

    /// Whether no followed connection has that hash, which is the one of its addresses and ports as [`Key`]
    /// has them: then a segment that [`is_wanted`] does not want is nobody's. HOT.
    #[inline]
    pub(crate) fn is_untracked(&self, hash: u64) -> bool {
        self.halves.len() == 0 || self.index.first(hash) == NONE
    }

    /// A connection's timer fired.
    pub(crate) fn expire(&mut self, ticket: Ticket, now: Nanos, timers: &mut TimerWheel) {
        let Some(slot) = self.halves.redeem(ticket) else { return };
        let deadline = self.halves[slot].last + IDLE;
        if deadline > now {
            timers.arm(deadline, Timer { owner: TimerOwner::Connections, ticket });
        } else {
            self.remove(slot);
        }
    }

    /// At the end of the input: what waits behind a hole is handed on.
    pub(crate) fn close(&mut self, mut deliver: impl FnMut((Endpoint, Endpoint), Delivery<'_>)) {
        // An order that names no place in the table: it is the same for any number of workers.
        let mut slots = self.halves.indices();
        slots.sort_by_key(|slot| (self.halves[*slot].last, self.halves[*slot].key));
        for slot in slots {
            let half = &mut self.halves[slot];
            let (key, last) = (half.key, half.last);
            let mut each = |delivery: Delivery<'_>| deliver(key, delivery);
            let mut output = Output {
                counts: &mut self.counts,
                scratch: &mut self.scratch,
                deliver: &mut each,
                max: self.max_bytes,
                time: last,
            };
            half.skip_holes(&mut output);
            half.end_long(&mut output);
            self.remove(slot);
        }
    }

    fn begin(&mut self, key: (Endpoint, Endpoint), hash: u64, tcp: &Tcp<'_>, now: Nanos) -> Option<u32> {
        let ports = (key.0.port, key.1.port);
        let added = self.added.filter(|added| added.is_on(ports)).map(|added| added.framing);
        let is_of_added = added.is_some() && (tcp.flags.syn() || tcp.len > 0);
        if !is_of_added && !is_wanted(ports, tcp.flags, tcp.data) {
            return None;
        }
        // One that has not said anything yet gives way; one that has delivered messages does not.
        if self.halves.is_full() {
            self.evict(SILENT);
        }
        let half = HalfConnection::new(key, hash, now, added);
        let Some(slot) = self.halves.insert(half) else {
            self.counts.refused += 1;
            return None;
        };
        self.index.insert(hash, slot);
        self.order.push(slot, SILENT);
        Some(slot)
    }

    fn remove(&mut self, slot: u32) {
        if let Some(half) = self.halves.remove(slot) {
            self.index.remove(half.hash, slot);
            self.order.remove(slot);
            self.memory -= half.memory;
        }
    }
}
/// Whether a segment begins a connection that is worth following. HOT: most segments carry nothing, or what
/// is encrypted; no start line and no upgrade begins with anything but a graphic character.
#[inline]
pub(crate) fn is_wanted(ports: (u16, u16), flags: TcpFlags, data: &[u8]) -> bool {
    let on_port = ports.0 == SIP_PORT || ports.1 == SIP_PORT;
    match data {
        // SYN with FIN or RST is no beginning.
        [] => flags.syn() && !flags.fin() && !flags.rst() && on_port,
        [first, ..] if !on_port && !first.is_ascii_graphic() => carries_turn(ports, data),
        data => on_port || sip::sniff(data) == Some(0) || is_upgrade(data) || carries_turn(ports, data),
    }
}
