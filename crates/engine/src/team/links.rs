//! Rings between workers: one for each ordered pair, so that each has one writer and one reader and needs no
//! lock.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use ringtap_model::{Endpoint, Nanos};
use ringtap_wire::frame::Ip;
use rtrb::{Consumer, Producer, PushError, RingBuffer};

use crate::codecs::{Codec, CodecId};
use crate::context::Hop;
use crate::media::CallStreams;
use crate::table::timers::TimerOwner;
use crate::update::{CallRef, Collected, InputOrder, LearnedEndpoint, MediaUpdate};

/// Messages that all rings of a team hold together, divided among them; and the minimum of one ring.
const RING_MESSAGES: usize = 1 << 14;
const RING_MESSAGES_MIN: usize = 256;
/// Messages that wait for a peer whose ring is full. A peer that leaves so many unread has stopped.
const MAX_OUTBOX: usize = 1 << 16;
/// SIP messages have a lower limit: fresh ones are worth more than old ones, and other messages must have
/// room.
const MAX_WAITING_INPUT: usize = 1 << 12;

/// A SIP message on its way to the worker that owns its Call-ID.
pub(crate) struct ForwardedSip {
    pub(crate) order: InputOrder,
    /// A quality report, to the owner of its own Call-ID.
    pub(crate) is_own: bool,
    pub(crate) hop: Hop,
    pub(crate) bytes: Box<[u8]>,
    pub(crate) frames: Box<[u64]>,
}

/// A datagram that every worker handles, see [`Sharing::AllWorkers`](crate::Sharing).
pub(crate) struct SharedDatagram {
    pub(crate) owner: TimerOwner,
    pub(crate) order: InputOrder,
    pub(crate) time: Nanos,
    pub(crate) src: Endpoint,
    pub(crate) dst: Endpoint,
    pub(crate) ip_len: u32,
    pub(crate) len: usize,
    pub(crate) data: Box<[u8]>,
    pub(crate) frames: Box<[u64]>,
}

/// A reassembled datagram on its way to the worker that has its sender's other packets.
pub(crate) struct ReassembledDatagram {
    pub(crate) number: u64,
    pub(crate) time: Nanos,
    pub(crate) ip: Ip,
    pub(crate) depth: u8,
    pub(crate) bytes: Vec<u8>,
    pub(crate) frames: Vec<u64>,
}

/// A fragment inside a tunnel, on its way to the worker that reassembles its datagram.
pub(crate) struct TunnelFragment {
    pub(crate) number: u64,
    pub(crate) time: Nanos,
    pub(crate) ip: Ip,
    pub(crate) depth: u8,
    /// As in [`Fragment`](ringtap_wire::frame::Fragment).
    pub(crate) id: u32,
    pub(crate) offset: u32,
    pub(crate) more: bool,
    pub(crate) proto: u8,
    pub(crate) len: usize,
    pub(crate) bytes: Vec<u8>,
    pub(crate) frames: Vec<u64>,
}

/// What one worker sends another.
pub(crate) enum WorkerMessage {
    /// To the owner of a Call-ID.
    Sip(Box<ForwardedSip>),
    /// To all workers.
    Datagram(Arc<SharedDatagram>),
    /// In lockstep only: live, datagrams are handled where they were reassembled.
    Reassembled(Box<ReassembledDatagram>),
    /// In lockstep only.
    TunnelFragment(Box<TunnelFragment>),
    /// The number that the sender's media updates use for a codec from now on.
    Codec(CodecId, Box<Codec>),
    /// Media of a call that the sender owns.
    MediaUpdate(Arc<MediaUpdate>),
    /// When was media of this call last heard?
    AskLastHeard(CallRef),
    /// The answer to [`WorkerMessage::AskLastHeard`].
    LastHeard(CallRef, Nanos),
    /// A call has ended, or has probably lost its BYE: its owner wants its streams.
    CollectStreams(CallRef, Collected),
    /// The answer to [`WorkerMessage::CollectStreams`].
    StreamsCollected(CallRef, Collected, CallStreams),
    /// An endpoint learned from a stream.
    LearnedEndpoint(Box<LearnedEndpoint>),
}

/// What found no room on the way to another worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LinkCounts {
    pub(crate) sip_lost: u64,
    pub(crate) messages_lost: u64,
}

struct Peer {
    to: Producer<WorkerMessage>,
    from: Consumer<WorkerMessage>,
    /// Messages that found no room in the ring, in order.
    outbox: VecDeque<WorkerMessage>,
}

/// What a worker publishes to all others.
#[derive(Default)]
struct Published {
    /// Packets that it knows were dropped.
    drops: AtomicU64,
    /// Capture time up to which it has sent all its messages.
    clock: AtomicU64,
}

/// A worker's ends of the rings.
pub(crate) struct Links {
    me: usize,
    /// By worker number; None for itself.
    peers: Vec<Option<Peer>>,
    /// The peer whose ring is read next: round robin.
    next_peer: usize,
    /// In lockstep the outbox holds all messages of a batch, and nothing is lost.
    pub(crate) lossless: bool,
    /// Something was sent since this was last cleared.
    pub(crate) has_sent: bool,
    published: Arc<[Published]>,
    pub(crate) counts: LinkCounts,
}

impl Links {
    /// Connects `workers` workers by rings.
    pub(crate) fn connect(workers: usize) -> Vec<Self> {
        let capacity = (RING_MESSAGES / workers.max(1)).max(RING_MESSAGES_MIN);
        let published: Arc<[Published]> = (0..workers).map(|_| Published::default()).collect();
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
            next_peer: 0,
            lossless: false,
            has_sent: false,
            published: published.clone(),
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

    /// The worker that owns a Call-ID.
    pub(crate) fn owner(&self, hash: u64) -> usize {
        owner(hash, self.peers.len())
    }

    /// Every worker but this one.
    pub(crate) fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let me = self.me;
        (0..self.peers.len()).filter(move |worker| *worker != me)
    }

    /// Sends a message after all earlier ones; false when it was lost, which is counted.
    pub(crate) fn send(&mut self, worker: usize, message: WorkerMessage) -> bool {
        let Some(Some(peer)) = self.peers.get_mut(worker) else { return false };
        let is_sip = matches!(message, WorkerMessage::Sip(_));
        let is_input = is_sip || matches!(message, WorkerMessage::Datagram(_));
        let limit = if is_input { MAX_WAITING_INPUT } else { MAX_OUTBOX };
        if peer.outbox.len() >= limit && !self.lossless {
            let count = if is_sip { &mut self.counts.sip_lost } else { &mut self.counts.messages_lost };
            *count += 1;
            return false;
        }
        self.has_sent = true;
        if !peer.outbox.is_empty() {
            peer.outbox.push_back(message);
        } else if let Err(PushError::Full(message)) = peer.to.push(message) {
            peer.outbox.push_back(message);
        }
        true
    }

    /// Sends a message to every other worker; returns how many it reached.
    pub(crate) fn send_all(&mut self, message: impl Fn() -> WorkerMessage) -> usize {
        self.others().filter(|worker| self.send(*worker, message())).count()
    }

    /// Sends what waits in the outboxes; true when something still waits.
    pub(crate) fn flush(&mut self) -> bool {
        let mut waits = false;
        for peer in self.peers.iter_mut().flatten() {
            while let Some(message) = peer.outbox.pop_front() {
                if let Err(PushError::Full(message)) = peer.to.push(message) {
                    peer.outbox.push_front(message);
                    break;
                }
            }
            waits |= !peer.outbox.is_empty();
        }
        waits
    }

    /// The next message, with its sender.
    pub(crate) fn receive(&mut self) -> Option<(usize, WorkerMessage)> {
        for _ in 0..self.peers.len() {
            if let Some(Some(peer)) = self.peers.get_mut(self.next_peer)
                && let Ok(message) = peer.from.pop()
            {
                return Some((self.next_peer, message));
            }
            self.next_peer = (self.next_peer + 1) % self.peers.len();
        }
        None
    }

    /// Publishes how many packets this worker knows were dropped.
    pub(crate) fn publish(&self, drops: u64) {
        self.published[self.me].drops.store(drops, Relaxed);
    }

    /// Packets that any worker knows were dropped.
    pub(crate) fn drops(&self) -> u64 {
        self.published.iter().map(|worker| worker.drops.load(Relaxed)).sum()
    }

    /// Publishes that all messages up to capture time `now` have been sent.
    pub(crate) fn reached(&self, now: Nanos) {
        // Release: whoever reads this finds the messages sent before it.
        self.published[self.me].clock.store(now.0, Release);
    }

    /// Capture time up to which the rings hold all messages of the other workers. Read it before reading the
    /// rings.
    pub(crate) fn reached_by_others(&self) -> Nanos {
        self.others()
            .map(|worker| Nanos(self.published[worker].clock.load(Acquire)))
            .min()
            .unwrap_or(Nanos::MAX)
    }
}

/// Which of so many workers owns a Call-ID, by bits of its hash that the tables use least.
pub(crate) fn owner(hash: u64, workers: usize) -> usize {
    ((hash >> 32) as u16 as usize * workers) >> 16
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

    fn sip() -> WorkerMessage {
        let end = Endpoint::new([192, 0, 2, 1].into(), 5060);
        let transport = ringtap_model::Transport::Udp;
        let hop = Hop { time: Nanos::ZERO, src: end, dst: end, transport, ip_id: 0, sender: None };
        let (bytes, frames) = (Box::default(), Box::default());
        WorkerMessage::Sip(Box::new(ForwardedSip {
            order: InputOrder::default(),
            is_own: false,
            hop,
            bytes,
            frames,
        }))
    }

    #[test]
    fn messages_come_in_order_through_a_full_ring() {
        let [mut one, mut two] = <[Links; 2]>::try_from(Links::connect(2)).ok().unwrap();
        let capacity = RING_MESSAGES / 2;
        for time in 0..capacity as u64 + 10 {
            assert!(one.send(1, WorkerMessage::LastHeard(call(), Nanos(time))));
        }
        let mut next = 0;
        while next < capacity as u64 + 10 {
            assert_eq!(one.flush(), next == 0);
            while let Some((from, WorkerMessage::LastHeard(_, time))) = two.receive() {
                assert_eq!((from, time), (0, Nanos(next)));
                next += 1;
            }
        }
        assert_eq!(one.counts, LinkCounts::default());
    }

    #[test]
    fn what_finds_no_room_is_counted() {
        let mut links = Links::connect(2);
        let one = &mut links[0];
        let (ring, extra) = (RING_MESSAGES / 2, 5);
        for _ in 0..ring + MAX_WAITING_INPUT + extra {
            one.send(1, sip());
        }
        assert_eq!(one.counts, LinkCounts { sip_lost: 5, messages_lost: 0 });
        // The rest has room still.
        for _ in 0..MAX_OUTBOX - MAX_WAITING_INPUT + extra {
            one.send(1, WorkerMessage::AskLastHeard(call()));
        }
        assert_eq!(one.counts, LinkCounts { sip_lost: 5, messages_lost: 5 });
        one.lossless = true;
        assert!(one.send(1, sip()));
    }

    #[test]
    fn a_flood_of_shared_datagrams_leaves_room_for_other_messages() {
        let mut links = Links::connect(2);
        let one = &mut links[0];
        let end = Endpoint::new([192, 0, 2, 1].into(), 5061);
        let shared = Arc::new(SharedDatagram {
            owner: TimerOwner::Rtcp,
            order: InputOrder::default(),
            time: Nanos::ZERO,
            src: end,
            dst: end,
            ip_len: 36,
            len: 8,
            data: Box::new([0x80, 201, 0, 1, 0, 0, 0, 1]),
            frames: Box::default(),
        });
        for _ in 0..RING_MESSAGES / 2 + MAX_WAITING_INPUT + 3 {
            one.send(1, WorkerMessage::Datagram(shared.clone()));
        }
        assert_eq!(one.counts, LinkCounts { sip_lost: 0, messages_lost: 3 });
        assert!(one.send(1, WorkerMessage::AskLastHeard(call())));
    }

    #[test]
    fn every_worker_owns_its_share() {
        let links = Links::connect(3);
        let hasher = crate::table::hash::Hasher::new(7);
        let mut shares = [0; 3];
        for call_id in 0..3000u32 {
            shares[links[0].owner(hasher.of(call_id))] += 1;
        }
        assert!(shares.iter().all(|share| (900..1100).contains(share)), "{shares:?}");
    }

    #[test]
    fn rings_are_read_round_robin_and_each_message_names_its_sender() {
        let mut links = Links::connect(3);
        for (sender, time) in [(0, 1), (2, 2), (0, 3)] {
            links[sender].send(1, WorkerMessage::LastHeard(call(), Nanos(time)));
        }
        let mut senders = Vec::new();
        while let Some((sender, _)) = links[1].receive() {
            senders.push(sender);
        }
        senders.sort_unstable();
        assert_eq!(senders, [0, 0, 2]);
        assert!(links[0].receive().is_none());
    }

    #[test]
    fn a_message_to_all_reaches_every_other_worker() {
        let mut links = Links::connect(3);
        assert_eq!(links[1].others().collect::<Vec<_>>(), [0, 2]);
        assert!(!links[1].has_sent);
        assert_eq!(links[1].send_all(|| WorkerMessage::AskLastHeard(call())), 2);
        assert!(links[1].has_sent);
        assert!(links[0].receive().is_some() && links[2].receive().is_some());
        assert!(!links[1].send(1, sip()));
    }

    #[test]
    fn drops_are_those_of_all_workers_and_the_clock_is_that_of_the_slowest_other() {
        let links = Links::connect(3);
        links[0].publish(5);
        links[1].publish(7);
        links[1].publish(8);
        assert_eq!(links[2].drops(), 13);
        assert_eq!(links[0].reached_by_others(), Nanos::ZERO);
        links[1].reached(Nanos(50));
        links[2].reached(Nanos(30));
        assert_eq!(links[0].reached_by_others(), Nanos(30));
        assert_eq!(links[2].reached_by_others(), Nanos::ZERO);
        assert_eq!(Links::connect(1)[0].reached_by_others(), Nanos::MAX);
    }
}
