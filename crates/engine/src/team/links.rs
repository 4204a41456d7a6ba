//! Rings between workers: one for each ordered pair, so that each has one writer and one reader and needs no lock.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use ringtap_model::Nanos;
use ringtap_wire::frame::Ip;
use rtrb::{Consumer, Producer, PushError, RingBuffer};

use crate::trackers::calls::Hop;
use crate::trackers::media::{Codec, Figures};
use crate::trackers::update::{CallRef, Learned, Note, Order};

/// Letters that all rings of a team hold together, shared out among them; what one holds at least.
const LETTERS: usize = 1 << 14;
const LETTERS_MIN: usize = 256;
/// Letters that wait for a peer whose ring is full. A peer that leaves so many unread has stopped.
const MAX_OUTBOX: usize = 1 << 16;
/// SIP messages wait no longer than this: fresh ones are worth more, and the rest must have room.
const MAX_WAITING_SIP: usize = 1 << 12;

/// A SIP message on its way to the worker that owns its Call-ID.
pub(crate) struct Forward {
    pub(crate) order: Order,
    pub(crate) hop: Hop,
    pub(crate) bytes: Box<[u8]>,
    pub(crate) frames: Box<[u64]>,
}

/// A datagram put together from fragments, on its way to the worker that has the packets of that sender that were not
/// fragmented.
pub(crate) struct Whole {
    pub(crate) number: u64,
    pub(crate) time: Nanos,
    pub(crate) ip: Ip,
    pub(crate) depth: u8,
    pub(crate) bytes: Vec<u8>,
    pub(crate) frames: Vec<u64>,
}

/// A part of a datagram in a tunnel, on its way to the worker that puts it together.
pub(crate) struct Inner {
    pub(crate) number: u64,
    pub(crate) time: Nanos,
    pub(crate) ip: Ip,
    pub(crate) depth: u8,
    /// Of its datagram, as [`Fragment`](ringtap_wire::frame::Fragment) has them.
    pub(crate) id: u32,
    pub(crate) offset: u32,
    pub(crate) more: bool,
    pub(crate) proto: u8,
    pub(crate) len: usize,
    pub(crate) bytes: Vec<u8>,
    pub(crate) frames: Vec<u64>,
}

/// What one worker tells another.
pub(crate) enum Letter {
    /// To the owner of a Call-ID.
    Sip(Box<Forward>),
    /// In lockstep alone: live, datagrams are taken where they were put together.
    Whole(Box<Whole>),
    /// In lockstep alone.
    Inner(Box<Inner>),
    /// The number that the sender's notes use for a codec.
    Codec(u16, Box<Codec>),
    /// Media of a call of the sender's.
    Note(Arc<Note>),
    /// When was a call last heard?
    Ask(CallRef),
    /// The answer.
    Heard(CallRef, Nanos),
    /// A call has ended: its streams are wanted.
    End(CallRef),
    /// The answer.
    Ended(CallRef, Vec<Figures>),
    /// What a stream taught.
    Learned(Box<Learned>),
}

/// What found no room on the way to another worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LinkCounts {
    pub(crate) sip_lost: u64,
    pub(crate) worker_messages_lost: u64,
}

struct Peer {
    to: Producer<Letter>,
    from: Consumer<Letter>,
    /// What found no room in the ring; before what comes later.
    outbox: VecDeque<Letter>,
}

/// What a worker shows to all others.
#[derive(Default)]
struct Sign {
    /// Packets that it knows to have been dropped.
    drops: AtomicU64,
    /// Capture time up to which it has handed on what it found.
    clock: AtomicU64,
}

/// A worker's ends of the rings.
pub(crate) struct Links {
    me: usize,
    /// By number of the worker; none for itself.
    peers: Vec<Option<Peer>>,
    /// Whose ring is read next.
    turn: usize,
    /// In lockstep the outbox holds whatever one batch gives, and nothing is lost.
    pub(crate) lossless: bool,
    /// Something was sent since this was last cleared.
    pub(crate) has_sent: bool,
    signs: Arc<[Sign]>,
    pub(crate) counts: LinkCounts,
}

impl Links {
    /// Rings between so many workers.
    pub(crate) fn join(workers: usize) -> Vec<Self> {
        let capacity = (LETTERS / workers.max(1)).max(LETTERS_MIN);
        let signs: Arc<[Sign]> = (0..workers).map(|_| Sign::default()).collect();
        let mut readers: Vec<Vec<_>> = (0..workers).map(|_| Vec::new()).collect();
        let ring = |writer, (reader, ends): (usize, &mut Vec<_>)| {
            let (to, from) = (writer != reader).then(|| RingBuffer::new(capacity)).unzip();
            ends.push(from);
            to
        };
        let writers: Vec<Vec<_>> = (0..workers)
            .map(|writer| readers.iter_mut().enumerate().map(|ends| ring(writer, ends)).collect())
            .collect();
        let peer =
            |(to, from): (Option<_>, Option<_>)| Some(Peer { to: to?, from: from?, outbox: VecDeque::new() });
        let links = |(me, (writers, readers)): (usize, (Vec<_>, Vec<_>))| Self {
            me,
            peers: writers.into_iter().zip(readers).map(peer).collect(),
            turn: 0,
            lossless: false,
            has_sent: false,
            signs: signs.clone(),
            counts: LinkCounts::default(),
        };
        writers.into_iter().zip(readers).enumerate().map(links).collect()
    }

    pub(crate) fn me(&self) -> usize {
        self.me
    }

    pub(crate) fn workers(&self) -> usize {
        self.peers.len()
    }

    /// The worker that owns a Call-ID, by its hash: by bits that the tables look at least.
    pub(crate) fn owner(&self, hash: u64) -> usize {
        ((hash >> 32) as u16 as usize * self.peers.len()) >> 16
    }

    /// Every worker but this one.
    pub(crate) fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let me = self.me;
        (0..self.peers.len()).filter(move |worker| *worker != me)
    }

    /// Sends a letter after all that were sent before; false when it was lost, and counted.
    pub(crate) fn send(&mut self, worker: usize, letter: Letter) -> bool {
        let Some(Some(peer)) = self.peers.get_mut(worker) else { return false };
        let is_sip = matches!(letter, Letter::Sip(_));
        let limit = if is_sip { MAX_WAITING_SIP } else { MAX_OUTBOX };
        if peer.outbox.len() >= limit && !self.lossless {
            let count =
                if is_sip { &mut self.counts.sip_lost } else { &mut self.counts.worker_messages_lost };
            *count += 1;
            return false;
        }
        self.has_sent = true;
        if !peer.outbox.is_empty() {
            peer.outbox.push_back(letter);
        } else if let Err(PushError::Full(letter)) = peer.to.push(letter) {
            peer.outbox.push_back(letter);
        }
        true
    }

    /// Sends the same to every other worker; gives how many it reached.
    pub(crate) fn send_all(&mut self, letter: impl Fn() -> Letter) -> usize {
        self.others().filter(|worker| self.send(*worker, letter())).count()
    }

    /// Sends what waits; true when something still does.
    pub(crate) fn flush(&mut self) -> bool {
        let mut waits = false;
        for peer in self.peers.iter_mut().flatten() {
            while let Some(letter) = peer.outbox.pop_front() {
                if let Err(PushError::Full(letter)) = peer.to.push(letter) {
                    peer.outbox.push_front(letter);
                    break;
                }
            }
            waits |= !peer.outbox.is_empty();
        }
        waits
    }

    /// The next letter and who sent it.
    pub(crate) fn receive(&mut self) -> Option<(usize, Letter)> {
        for _ in 0..self.peers.len() {
            if let Some(Some(peer)) = self.peers.get_mut(self.turn)
                && let Ok(letter) = peer.from.pop()
            {
                return Some((self.turn, letter));
            }
            self.turn = (self.turn + 1) % self.peers.len();
        }
        None
    }

    /// Tells the others how many packets this worker knows to have been dropped.
    pub(crate) fn publish(&self, drops: u64) {
        self.signs[self.me].drops.store(drops, Relaxed);
    }

    /// Packets known to have been dropped, by any worker.
    pub(crate) fn drops(&self) -> u64 {
        self.signs.iter().map(|sign| sign.drops.load(Relaxed)).sum()
    }

    /// Tells the others that all that was captured until `now` has been sent.
    pub(crate) fn reached(&self, now: Nanos) {
        // Who reads this finds the letters that were sent before it.
        self.signs[self.me].clock.store(now.0, Release);
    }

    /// Capture time up to which the rings hold all that the others have to say. Read before the rings are.
    pub(crate) fn reached_by_others(&self) -> Nanos {
        self.others().map(|worker| Nanos(self.signs[worker].clock.load(Acquire))).min().unwrap_or(Nanos::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::slots::Slots;

    fn call() -> CallRef {
        let mut slots = Slots::new(1);
        let slot = slots.insert(()).unwrap();
        CallRef::new(0, slots.ticket(slot))
    }

    fn sip() -> Letter {
        let end = ringtap_model::Endpoint::new([192, 0, 2, 1].into(), 5060);
        let transport = ringtap_model::Transport::Udp;
        let hop = Hop { time: Nanos::ZERO, src: end, dst: end, transport };
        let (bytes, frames) = (Box::default(), Box::default());
        Letter::Sip(Box::new(Forward { order: Order::default(), hop, bytes, frames }))
    }

    #[test]
    fn letters_come_in_order_through_a_full_ring() {
        let [mut one, mut two] = <[Links; 2]>::try_from(Links::join(2)).ok().unwrap();
        let capacity = LETTERS / 2;
        for time in 0..capacity as u64 + 10 {
            assert!(one.send(1, Letter::Heard(call(), Nanos(time))));
        }
        let mut next = 0;
        while next < capacity as u64 + 10 {
            assert_eq!(one.flush(), next == 0);
            while let Some((from, Letter::Heard(_, time))) = two.receive() {
                assert_eq!((from, time), (0, Nanos(next)));
                next += 1;
            }
        }
        assert_eq!(one.counts, LinkCounts::default());
    }

    #[test]
    fn what_finds_no_room_is_counted() {
        let mut links = Links::join(2);
        let one = &mut links[0];
        let (ring, extra) = (LETTERS / 2, 5);
        for _ in 0..ring + MAX_WAITING_SIP + extra {
            one.send(1, sip());
        }
        assert_eq!(one.counts, LinkCounts { sip_lost: 5, worker_messages_lost: 0 });
        // The rest has room still.
        for _ in 0..MAX_OUTBOX - MAX_WAITING_SIP + extra {
            one.send(1, Letter::Ask(call()));
        }
        assert_eq!(one.counts, LinkCounts { sip_lost: 5, worker_messages_lost: 5 });
        one.lossless = true;
        assert!(one.send(1, sip()));
    }

    #[test]
    fn every_worker_owns_its_share() {
        let links = Links::join(3);
        let hasher = crate::table::hash::Hasher::new(7);
        let mut shares = [0; 3];
        for call_id in 0..3000u32 {
            shares[links[0].owner(hasher.of(call_id))] += 1;
        }
        assert!(shares.iter().all(|share| (900..1100).contains(share)), "{shares:?}");
    }
}
