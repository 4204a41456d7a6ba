//! Follows sessions of subscribers: workers pass packets of RADIUS, DHCP and PPPoE on, one thread orders and
//! follows them, and writes what becomes of sessions to the store.
//!
//! A request and its answer reach different workers, since these share packets by sender. So packets wait
//! half a second for those that are earlier. A worker never waits for the thread: a packet that finds no room
//! in the queue is counted. At the start, sessions that are open in the store are followed on. Nothing about
//! a subscriber is logged.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use ringtap_engine::Datagram;
use ringtap_identity::{Carried, Counts, Sessions, is_dhcp};
use ringtap_model::{Endpoint, Frame, Identity, LinkType, Nanos};
use ringtap_report::text::counted;
use ringtap_report::time;
use ringtap_store::{CountsHandle, Error, IdentityReader, RecordSender, StoreWriter, write_ranges};

use crate::config::Following;

/// A worker's way to the thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct RadiusFeed(Option<Feeding>);

#[derive(Clone, Debug)]
struct Feeding {
    packets: SyncSender<Packet>,
    figures: Arc<RadiusFigures>,
    /// Leases are followed, too.
    dhcp: bool,
    pppoe: bool,
    /// A replay has time.
    waits: bool,
}

/// A packet that sessions may be known by.
#[derive(Debug, PartialEq, Eq)]
struct Packet {
    time: Nanos,
    frame: u64,
    kind: PacketKind,
    data: Box<[u8]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PacketKind {
    /// A datagram that may be a RADIUS packet or a DHCP message: sender and receiver.
    Datagram(Endpoint, Endpoint),
    /// A frame of PPPoE.
    Pppoe(LinkType),
}

impl RadiusFeed {
    /// Passes a datagram on.
    pub(crate) fn datagram(&self, datagram: &Datagram<'_>) {
        let Some(feeding) = self.0.as_ref().filter(|feeding| feeding.dhcp || !is_dhcp(datagram)) else {
            return;
        };
        let Datagram { time, src, dst, data, .. } = *datagram;
        let frame = datagram.frames.last().copied().unwrap_or_default();
        feeding.pass((time, frame), PacketKind::Datagram(src, dst), data);
    }

    /// Passes a frame of PPPoE on.
    pub(crate) fn pppoe(&self, frame: &Frame<'_>) {
        if let Some(feeding) = self.0.as_ref().filter(|feeding| feeding.pppoe) {
            feeding.pass((frame.time, frame.number), PacketKind::Pppoe(frame.link), frame.data);
        }
    }
}

impl Feeding {
    /// Queues a packet, or counts that there was no room for it.
    fn pass(&self, (time, frame): (Nanos, u64), kind: PacketKind, data: &[u8]) {
        let Self { packets, figures, waits, .. } = self;
        let packet = Packet { time, frame, kind, data: data[..data.len().min(LONGEST)].into() };
        let bytes = packet.data.len() as u64;
        let waiting = figures.waiting.fetch_add(bytes, Ordering::Relaxed);
        let has_room = if *waits {
            packets.send(packet).is_ok()
        } else {
            waiting + bytes <= QUEUE_BYTES && packets.try_send(packet).is_ok()
        };
        if !has_room {
            figures.waiting.fetch_sub(bytes, Ordering::Relaxed);
            figures.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// What the thread has counted, for others.
#[derive(Debug, Default)]
pub(crate) struct RadiusFigures {
    /// Packets that found no room in the queue.
    dropped: AtomicU64,
    /// Bytes of the packets in the queue.
    waiting: AtomicU64,
    seen: Mutex<Seen>,
}

/// Figures of one moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) counts: Counts,
    /// Sessions that are followed.
    pub(crate) open: u64,
    /// Sessions of the previous run that are followed on.
    pub(crate) resumed: u64,
    /// Packets that were dropped before they were followed.
    pub(crate) dropped: u64,
}

impl RadiusFigures {
    /// As they were published last.
    pub(crate) fn seen(&self) -> Seen {
        let seen = *self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        Seen { dropped: self.dropped.load(Ordering::Relaxed), ..seen }
    }
}

/// The thread.
pub(crate) struct RadiusThread {
    pub(crate) figures: Arc<RadiusFigures>,
    thread: JoinHandle<()>,
}

impl RadiusThread {
    /// Starts it where sessions are followed, has the store know the static ranges, and returns it with what
    /// workers pass packets by. It ends when the last of these is gone. Without settings these pass on
    /// nothing.
    pub(crate) fn start(
        following: Option<Following>,
        records: &Path,
        store: &StoreWriter,
        is_replay: bool,
    ) -> anyhow::Result<(Option<Self>, RadiusFeed)> {
        let ranges = following.as_ref().map(|following| &following.ranges[..]).unwrap_or_default();
        write_ranges(records, ranges).context("[radius] static: the ranges cannot be stored")?;
        let Some(following) = following else { return Ok((None, RadiusFeed::default())) };
        let (packets, queue) = sync_channel(QUEUE);
        let figures = Arc::new(RadiusFigures::default());
        let (dhcp, pppoe) = (following.leases, following.pppoe);
        let follower = Follower {
            sessions: following.sessions().noting_changes(),
            waiting: BinaryHeap::new(),
            waiting_bytes: 0,
            newest: Nanos::ZERO,
            unsent: VecDeque::new(),
            sender: store.sender().context("the store's thread has stopped")?,
            figures: Arc::clone(&figures),
            resumed: 0,
            told: (0, None),
            is_replay,
        };
        // A replay begins at its beginning again.
        let resumes = (!is_replay).then(|| (records.to_owned(), store.counts_handle()));
        let builder = thread::Builder::new().name("radius".into());
        let thread = builder.spawn(move || follower.run(&queue, resumes));
        let thread = thread.context("cannot start the thread that follows sessions")?;
        let feeding = Feeding { packets, figures: Arc::clone(&figures), dhcp, pppoe, waits: is_replay };
        Ok((Some(Self { figures, thread }), RadiusFeed(Some(feeding))))
    }

    /// Waits until what is known of every session is on its way to the store. The workers have ended.
    pub(crate) fn close(self) {
        if self.thread.join().is_err() {
            log::error!(
                target: "radius",
                "the thread that follows sessions crashed: the next start goes on from the database; please \
                 report this fault of ringtap"
            );
        }
    }
}

/// What the thread works on.
struct Follower {
    sessions: Sessions,
    /// Packets that wait for earlier ones.
    waiting: BinaryHeap<Reverse<(Nanos, u64, Order)>>,
    /// Of those.
    waiting_bytes: usize,
    /// Time of the latest packet, or of the clock.
    newest: Nanos,
    /// Records that found no room in the store's queue.
    unsent: VecDeque<Box<Identity>>,
    sender: RecordSender,
    figures: Arc<RadiusFigures>,
    resumed: u64,
    /// Packets dropped as the log said last, and when.
    told: (u64, Option<Instant>),
    is_replay: bool,
}

/// A packet that is ordered by time and frame alone.
struct Order(Packet);

impl PartialEq for Order {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Order {}

impl PartialOrd for Order {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Order {
    fn cmp(&self, _: &Self) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

impl Follower {
    fn run(mut self, queue: &Receiver<Packet>, resumes: Option<(PathBuf, CountsHandle)>) {
        if let Some((records, store)) = resumes {
            self.resume(records, &store);
        }
        loop {
            match queue.recv_timeout(TICK) {
                Ok(packet) => {
                    self.add(packet);
                    queue.try_iter().take(BATCH).for_each(|packet| self.add(packet));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if !self.is_replay {
                self.newest = self.newest.max(time::now());
            }
            self.follow(self.newest.since(DELAY));
            self.write();
            self.publish();
            self.tell();
        }
        self.follow(self.newest);
        self.finish();
    }

    /// Goes on with the sessions that are open in the store, once it has stored what waited for it.
    fn resume(&mut self, records: PathBuf, store: &CountsHandle) {
        let began = Instant::now();
        while store.counts().outbox_records > 0 && began.elapsed() < PATIENCE {
            thread::sleep(TICK);
        }
        let resume = |reader: IdentityReader| {
            reader.open_sessions(|session| {
                self.sessions.resume(session);
                self.resumed += 1;
            })
        };
        match IdentityReader::open(&records).and_then(resume) {
            Ok(()) => {
                let sessions = counted(self.resumed, "session");
                log::info!(target: "radius", "goes on with {sessions} of the previous run");
            }
            // Nothing was ever stored.
            Err(Error::NoDays { .. }) => {}
            Err(error) => log::error!(
                target: "radius",
                "cannot go on with sessions of the previous run, whose ends will be missing: {error}"
            ),
        }
        self.publish();
    }

    fn add(&mut self, packet: Packet) {
        self.figures.waiting.fetch_sub(packet.data.len() as u64, Ordering::Relaxed);
        self.newest = self.newest.max(packet.time);
        self.waiting_bytes += packet.data.len();
        self.waiting.push(Reverse((packet.time, packet.frame, Order(packet))));
        while self.waiting.len() > MOST_WAITING || self.waiting_bytes > MOST_WAITING_BYTES {
            self.follow_next();
        }
    }

    /// Follows the packets up to a time, in their order.
    fn follow(&mut self, until: Nanos) {
        while self.waiting.peek().is_some_and(|Reverse((time, ..))| *time <= until) {
            self.follow_next();
        }
        self.sessions.advance(until);
    }

    fn follow_next(&mut self) {
        let Some(Reverse((time, frame, Order(Packet { kind, data, .. })))) = self.waiting.pop() else {
            return;
        };
        self.waiting_bytes -= data.len();
        match kind {
            PacketKind::Datagram(src, dst) => {
                self.sessions.datagram(&data, Carried { time, src, dst, frame });
            }
            PacketKind::Pppoe(link) => self.sessions.pppoe(link.0, &data, time, frame),
        }
    }

    /// Sends records of what changed to the store, as far as it has room.
    fn write(&mut self) {
        loop {
            while let Some(record) = self.unsent.pop_front() {
                if let Err(record) = self.sender.identity(record) {
                    self.unsent.push_front(record);
                    return self.bound_unsent();
                }
            }
            // In this order: of a session that changed and is over, the latter is newer.
            self.unsent.extend(self.sessions.take_changed(BATCH).into_iter().map(Box::new));
            self.unsent.extend(self.sessions.take().into_iter().map(Box::new));
            if self.unsent.is_empty() {
                return;
            }
        }
    }

    /// Records of sessions that are over go on coming while the store takes none.
    fn bound_unsent(&mut self) {
        self.unsent.extend(self.sessions.take().into_iter().map(Box::new));
        let excess = self.unsent.len().saturating_sub(MOST_UNSENT);
        self.unsent.drain(..excess);
        self.sender.identities_dropped(excess as u64);
    }

    /// The end: writes what changed last. Sessions that go on are open in the store, for the next start.
    fn finish(mut self) {
        let began = Instant::now();
        self.write();
        while !self.unsent.is_empty() && began.elapsed() < PATIENCE {
            thread::sleep(TICK);
            self.write();
        }
        self.sender.identities_dropped(self.unsent.len() as u64);
        self.publish();
        let (open, counts) = (self.sessions.open() as u64, self.sessions.counts());
        let packets = counts.packets + counts.dhcp.messages + counts.pppoe.frames;
        log::info!(
            target: "radius",
            "{} of RADIUS, DHCP and PPPoE read; {} followed at the end",
            counted(packets, "packet"),
            counted(open, "session"),
        );
    }

    /// Tells the log of packets that were dropped, once a minute.
    fn tell(&mut self) {
        let (told, at) = self.told;
        let dropped = self.figures.dropped.load(Ordering::Relaxed);
        if dropped > told && at.is_none_or(|at| at.elapsed() >= BETWEEN) {
            self.told = (dropped, Some(Instant::now()));
            log::warn!(
                target: "radius",
                "{} came faster than sessions are followed, and were dropped: ends of sessions may be \
                missing",
                counted(dropped - told, "packet"),
            );
        }
    }

    fn publish(&self) {
        let (counts, open) = (self.sessions.counts(), self.sessions.open() as u64);
        let seen = Seen { counts, open, resumed: self.resumed, dropped: 0 };
        *self.figures.seen.lock().unwrap_or_else(PoisonError::into_inner) = seen;
    }
}

/// Packets that wait for the thread at most.
const QUEUE: usize = 65_536;
/// Bytes of them at most, live. A replay, whose workers wait for room, has as many as that number of packets.
const QUEUE_BYTES: u64 = 64 << 20;
/// Packets and records that are handled between two looks at the time.
const BATCH: usize = 1_024;
/// Packets that wait for earlier ones at most: a replay may be far ahead with one worker.
const MOST_WAITING: usize = 1 << 20;
/// Bytes of them at most.
const MOST_WAITING_BYTES: usize = 256 << 20;
/// Records that wait for room in the store's queue at most.
const MOST_UNSENT: usize = 65_536;
/// How long a packet waits for earlier ones.
const DELAY: Nanos = Nanos::from_millis(500);
/// How long nothing is waited for.
const TICK: Duration = Duration::from_millis(100);
/// How long the store is waited for, at the start and at the end.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often the log is told of the same.
const BETWEEN: Duration = Duration::from_secs(60);
/// Bytes of the longest packet (RFC 2865 section 3); messages of DHCP and PPPoE fit into a frame.
const LONGEST: usize = 4_096;

#[cfg(test)]
mod tests {
    use super::*;

    /// The longest packets fill the queue's bytes long before its places; what is taken makes room.
    #[test]
    fn the_queue_has_a_ceiling_of_bytes() {
        let (packets, queue) = sync_channel(QUEUE);
        let figures = Arc::new(RadiusFigures::default());
        let feeding =
            Feeding { packets, figures: Arc::clone(&figures), dhcp: false, pppoe: false, waits: false };
        let end = Endpoint::new([192, 0, 2, 1].into(), 1812);
        let pass = || feeding.pass((Nanos::ZERO, 1), PacketKind::Datagram(end, end), &[0; LONGEST]);
        let most = QUEUE_BYTES / LONGEST as u64;
        (0..most + 3).for_each(|_| pass());
        assert_eq!((queue.try_iter().count() as u64, figures.seen().dropped), (most, 3));
        pass();
        assert_eq!(figures.seen().dropped, 4, "none was taken by the thread yet");
        figures.waiting.store(0, Ordering::Relaxed);
        pass();
        assert_eq!(figures.seen().dropped, 4);
    }
}
