//! Follows telephone services: workers pass on what is known of SIP messages, of calls and of lost media, and
//! frames by which hosts claim addresses; one thread orders and follows them, and writes outages and
//! failovers to the store.
//!
//! A service answers in many calls, which workers share by Call-ID: only here is it seen whole. What comes
//! waits half a second for what is earlier. A worker never waits for the thread: what finds no room in the
//! queue is counted, and the time around it is unobserved, as where the capture loses packets.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use ringtap_alarm::HealthFigure;
use ringtap_availability::{CallReport, Found, Observation, Observer, Settings, Watch};
use ringtap_engine::{LostTime, SipMessage, StreamEnd};
use ringtap_model::{Call, Frame, LinkType, Nanos, Network, Outage};
use ringtap_report::text::counted;
use ringtap_report::time;
use ringtap_store::{AvailabilityRecord, RecordSender};

use crate::alarms::AlarmFeed;
use crate::availability_figures::{AvailabilityFigures, Known, SHOWN};

/// A worker's way to the thread. Each worker has one of its own: see [`AvailabilityFeed::of_another_worker`].
#[derive(Debug, Default)]
pub(crate) struct AvailabilityFeed(Option<Feeding>);

#[derive(Debug)]
struct Feeding {
    queue: SyncSender<Seen>,
    figures: Arc<AvailabilityFigures>,
    observer: Observer,
    /// Something found no room since the last observation.
    lost: bool,
    /// A replay has time.
    waits: bool,
}

/// What a worker saw.
#[expect(
    clippy::large_enum_variant,
    reason = "most are observations, and a box would be an allocation for each"
)]
#[derive(Debug)]
enum Seen {
    Sip(Observation),
    Call(Box<CallReport>),
    LostTime(LostTime),
    /// Time has passed: its source has ended then.
    Time(Nanos),
    Neighbour {
        time: Nanos,
        number: u64,
        link: LinkType,
        data: Box<[u8]>,
    },
}

impl AvailabilityFeed {
    /// One for a further worker.
    pub(crate) fn of_another_worker(&self) -> Self {
        Self(self.0.as_ref().map(|feeding| Feeding {
            queue: feeding.queue.clone(),
            figures: Arc::clone(&feeding.figures),
            observer: feeding.observer.of_another_engine(),
            lost: false,
            waits: feeding.waits,
        }))
    }

    /// Passes on what is known of a message. `drops`: packets known to be lost by then.
    pub(crate) fn sip(&mut self, sip: &SipMessage<'_>, drops: u64) {
        let Some(feeding) = &mut self.0 else { return };
        let mut observation = Observation::of(sip, drops, &mut feeding.observer);
        observation.lost |= feeding.lost;
        feeding.lost = !feeding.pass(Seen::Sip(observation));
    }

    /// Passes on what is known of a call that was answered.
    pub(crate) fn answered(&mut self, number: u64, call: &Call) {
        let Some(feeding) = &mut self.0 else { return };
        let report = CallReport::in_progress(call, number, &feeding.observer);
        feeding.report(report);
    }

    /// Passes on what is known of a call that has ended. `is_final`: no other record of it follows.
    pub(crate) fn ended(&mut self, call: &Call, streams: &[StreamEnd], is_final: bool) {
        let Some(feeding) = &mut self.0 else { return };
        let report = CallReport::ended(call, streams, is_final, &feeding.observer);
        feeding.report(report);
    }

    /// Passes on that packets of a stream were lost for a while.
    pub(crate) fn lost_time(&mut self, lost: &LostTime) {
        if let Some(feeding) = &self.0 {
            feeding.pass_fact(Seen::LostTime(*lost));
        }
    }

    /// Passes on that a replay has come to that time.
    pub(crate) fn replayed(&mut self, now: Nanos) {
        if let Some(feeding) = self.0.as_ref().filter(|feeding| feeding.waits) {
            feeding.pass(Seen::Time(now));
        }
    }

    /// Passes on a frame by which a host claims an address.
    pub(crate) fn neighbour(&mut self, frame: &Frame<'_>) {
        let Some(feeding) = &self.0 else { return };
        let data = frame.data[..frame.data.len().min(CLAIM)].into();
        feeding.pass(Seen::Neighbour { time: frame.time, number: frame.number, link: frame.link, data });
    }
}

impl Feeding {
    fn report(&self, report: Option<Box<CallReport>>) {
        if let Some(report) = report {
            self.pass_fact(Seen::Call(report));
        }
    }

    /// What services are not judged by: its loss leaves no time unobserved.
    fn pass_fact(&self, fact: Seen) {
        let has_room =
            if self.waits { self.queue.send(fact).is_ok() } else { self.queue.try_send(fact).is_ok() };
        if !has_room {
            self.figures.facts_dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether there was room in the queue.
    fn pass(&self, seen: Seen) -> bool {
        let has_room =
            if self.waits { self.queue.send(seen).is_ok() } else { self.queue.try_send(seen).is_ok() };
        if !has_room {
            self.figures.dropped.fetch_add(1, Ordering::Relaxed);
        }
        has_room
    }
}

impl Seen {
    fn time(&self) -> (Nanos, u64) {
        match self {
            Self::Sip(sip) => (sip.time, sip.frame),
            Self::Neighbour { time, number, .. } => (*time, *number),
            Self::Time(time) => (*time, u64::MAX),
            // These wait for nothing.
            Self::Call(_) | Self::LostTime(_) => (Nanos::ZERO, 0),
        }
    }
}

/// The thread, before it is started.
pub(crate) struct AvailabilityStart {
    pub(crate) figures: Arc<AvailabilityFigures>,
    watch: Watch,
    queue: Receiver<Seen>,
    is_replay: bool,
}

/// The running thread.
pub(crate) struct AvailabilityThread(JoinHandle<()>);

/// What workers pass on to where services are followed. Without settings it passes on nothing.
pub(crate) fn feed(
    settings: Option<(Settings, Vec<Network>)>,
    is_replay: bool,
) -> (Option<AvailabilityStart>, AvailabilityFeed) {
    let Some((settings, ours)) = settings else { return (None, AvailabilityFeed::default()) };
    let (sender, queue) = sync_channel(QUEUE);
    let figures = Arc::new(AvailabilityFigures::default());
    let feeding = Feeding {
        queue: sender,
        figures: Arc::clone(&figures),
        observer: Observer::default(),
        lost: false,
        waits: is_replay,
    };
    let start = AvailabilityStart { figures, watch: Watch::new(settings, ours), queue, is_replay };
    (Some(start), AvailabilityFeed(Some(feeding)))
}

impl AvailabilityStart {
    /// Starts the thread. It ends when the last feed of a worker is gone.
    pub(crate) fn start(
        self,
        sender: RecordSender,
        alarms: Option<AlarmFeed>,
    ) -> anyhow::Result<AvailabilityThread> {
        let Self { figures, watch, queue, is_replay } = self;
        let follower = Follower {
            watch,
            waiting: BinaryHeap::new(),
            newest: Nanos::ZERO,
            taken: Nanos::ZERO,
            unsent: VecDeque::new(),
            sender,
            alarms: alarms.map(Told::new),
            figures,
            published: None,
            known_dropped: 0,
            told: (0, None),
            is_replay,
        };
        let builder = thread::Builder::new().name("availability".into());
        let thread = builder.spawn(move || follower.run(&queue));
        Ok(AvailabilityThread(thread.context("cannot start the thread that follows services")?))
    }
}

impl AvailabilityThread {
    /// Waits until what is known is on its way to the store. The workers have ended.
    pub(crate) fn close(self) {
        if self.0.join().is_err() {
            log::error!(
                target: "availability",
                "the thread that follows services crashed: outages are missing; please report this fault of \
                 ringtap"
            );
        }
    }
}

/// What the thread works on.
struct Follower {
    watch: Watch,
    /// What waits for what is earlier.
    waiting: BinaryHeap<Reverse<Ordered>>,
    /// Time of the latest, or of the clock.
    newest: Nanos,
    /// When what became known was last taken, in its time.
    taken: Nanos,
    /// Records that found no room in the store's queue.
    unsent: VecDeque<AvailabilityRecord>,
    sender: RecordSender,
    alarms: Option<Told>,
    figures: Arc<AvailabilityFigures>,
    published: Option<Instant>,
    /// What was dropped when this was last looked at.
    known_dropped: u64,
    /// What the log said last, and when.
    told: (u64, Option<Instant>),
    is_replay: bool,
}

/// Ordered by time and frame alone.
struct Ordered(Seen);

impl PartialEq for Ordered {
    fn eq(&self, other: &Self) -> bool {
        self.0.time() == other.0.time()
    }
}

impl Eq for Ordered {}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.time().cmp(&other.0.time())
    }
}

impl Follower {
    fn run(mut self, queue: &Receiver<Seen>) {
        loop {
            match queue.recv_timeout(TICK) {
                Ok(seen) => {
                    self.add(seen);
                    queue.try_iter().take(BATCH).for_each(|seen| self.add(seen));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if !self.is_replay {
                self.newest = self.newest.max(time::now());
            }
            self.look_at_drops();
            let delay = if self.is_replay { REPLAYED } else { DELAY };
            self.follow(self.newest.since(delay));
            self.write();
            self.publish();
        }
        self.follow(self.newest);
        self.finish();
    }

    fn add(&mut self, seen: Seen) {
        let seen = match seen {
            Seen::Call(report) => return self.watch.call(report),
            Seen::LostTime(lost) => return self.watch.lost_time(&lost),
            seen => seen,
        };
        self.newest = self.newest.max(seen.time().0);
        self.waiting.push(Reverse(Ordered(seen)));
        while self.waiting.len() > MOST_WAITING {
            self.follow_next();
        }
    }

    /// What was dropped may have been answers, of services that nobody asks any more, too.
    fn look_at_drops(&mut self) {
        let dropped = self.figures.dropped.load(Ordering::Relaxed);
        if std::mem::replace(&mut self.known_dropped, dropped) != dropped {
            self.watch.lost_packets();
        }
        let (told, at) = self.told;
        if dropped > told && at.is_none_or(|at| at.elapsed() >= BETWEEN) {
            self.told = (dropped, Some(Instant::now()));
            log::warn!(
                target: "availability",
                "{} came faster than services are followed, and were dropped: that time is unobserved",
                counted(dropped - told, "SIP message"),
            );
        }
    }

    /// Follows what was seen up to a time, in its order.
    fn follow(&mut self, until: Nanos) {
        while self.waiting.peek().is_some_and(|Reverse(next)| next.0.time().0 <= until) {
            self.follow_next();
            // At full speed, a replay has minutes at once.
            if self.watch.now().since(self.taken) >= TOLD {
                self.take();
            }
        }
        self.watch.advance(until);
        self.take();
    }

    fn follow_next(&mut self) {
        let Some(Reverse(Ordered(seen))) = self.waiting.pop() else { return };
        match seen {
            Seen::Sip(observation) => self.watch.observe(&observation),
            Seen::Neighbour { time, number, link, data } => {
                let wire_len = u32::try_from(data.len()).unwrap_or(u32::MAX);
                self.watch.frame(&Frame { time, number, link, wire_len, data: &data });
            }
            Seen::Time(time) => self.watch.advance(time),
            // INVARIANT: these are followed as they come.
            Seen::Call(_) | Seen::LostTime(_) => {}
        }
    }

    /// Takes what became known, and tells the alarms of it.
    fn take(&mut self) {
        self.taken = self.watch.now();
        let Found { outages, failovers, affected, hours } = self.watch.take();
        if let Some(alarms) = &mut self.alarms {
            alarms.tell(&self.watch, &outages);
        }
        self.unsent.extend(outages.into_iter().map(|one| AvailabilityRecord::Outage(Box::new(one))));
        self.unsent.extend(failovers.into_iter().map(|one| AvailabilityRecord::Failover(Box::new(one))));
        let affected = affected.into_iter().map(|one| AvailabilityRecord::AffectedCall(Box::new(one)));
        self.unsent.extend(affected);
        self.unsent.extend(hours.into_iter().map(|one| AvailabilityRecord::Hour(Box::new(one))));
    }

    /// Sends records to the store, as far as it has room. The oldest give way where it has none for long.
    fn write(&mut self) {
        while let Some(record) = self.unsent.pop_front() {
            if let Err(record) = self.sender.availability(record) {
                self.unsent.push_front(record);
                break;
            }
        }
        let excess = self.unsent.len().saturating_sub(MOST_UNSENT);
        self.unsent.drain(..excess);
        self.sender.availability_dropped(excess as u64);
    }

    /// The end: writes what is known.
    fn finish(mut self) {
        self.watch.end();
        self.take();
        let began = Instant::now();
        self.write();
        while !self.unsent.is_empty() && began.elapsed() < PATIENCE {
            thread::sleep(TICK);
            self.write();
        }
        self.sender.availability_dropped(self.unsent.len() as u64);
        self.published = None;
        self.publish();
        let figures = self.watch.figures();
        log::info!(
            target: "availability",
            "{} followed, {} found",
            counted(figures.counts.services, "service"),
            counted(figures.outages, "outage"),
        );
    }

    fn publish(&mut self) {
        if self.published.is_some_and(|published| published.elapsed() < PUBLISHED) {
            return;
        }
        self.published = Some(Instant::now());
        let monitored = self.watch.monitored().take(SHOWN).collect();
        let known = Known { figures: self.watch.figures(), monitored, ..Known::default() };
        self.figures.publish(known);
    }
}

/// What alarms were told.
struct Told {
    feed: AlarmFeed,
    at: Nanos,
    failovers: u64,
    conflicts: u64,
}

impl Told {
    fn new(feed: AlarmFeed) -> Self {
        Self { feed, at: Nanos::ZERO, failovers: 0, conflicts: 0 }
    }

    /// Tells them of outages that became known or ended; of those that go on, and of failovers, once a second
    /// of its time.
    fn tell(&mut self, watch: &Watch, outages: &[Outage]) {
        let now = watch.now();
        for outage in outages {
            let service = format!("{}/{}", outage.service, outage.transport.name());
            self.feed.health(now, HealthFigure::ServiceOut, &service, outage.down_ms / 1e3);
        }
        if now.since(self.at) < TOLD {
            return;
        }
        self.at = now;
        let figures = watch.figures();
        let since = |before: &mut u64, now: u64| now.saturating_sub(std::mem::replace(before, now)) as f64;
        let failovers = since(&mut self.failovers, figures.failovers.values().sum());
        let conflicts = since(&mut self.conflicts, figures.conflicts);
        self.feed.health(now, HealthFigure::Failovers, "", failovers);
        self.feed.health(now, HealthFigure::AddressConflicts, "", conflicts);
        for (service, from) in figures.out.iter().take(SHOWN) {
            let seconds = now.since(*from).secs_f64();
            self.feed.health(now, HealthFigure::ServiceOut, &service.to_string(), seconds);
        }
    }
}

/// What waits for the thread at most.
const QUEUE: usize = 65_536;
/// What is handled between two looks at the time.
const BATCH: usize = 1_024;
/// What waits for what is earlier at most: a replay may be far ahead with one worker.
const MOST_WAITING: usize = 1 << 18;
/// Records that wait for room in the store's queue at most.
const MOST_UNSENT: usize = 65_536;
/// Bytes of a frame by which a host claims an address: tags, IPv6, an advertisement with its option.
const CLAIM: usize = 128;
/// How long something waits for what is earlier.
const DELAY: Nanos = Nanos::from_millis(500);
/// The same in a replay, whose time passes faster than its workers keep in step.
const REPLAYED: Nanos = Nanos::from_secs(10);
/// How long nothing is waited for.
const TICK: Duration = Duration::from_millis(100);
/// How long the store is waited for at the end.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often figures are published, and alarms told.
const PUBLISHED: Duration = Duration::from_secs(1);
const TOLD: Nanos = Nanos::from_secs(1);
/// How often the log is told of the same.
const BETWEEN: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests;
