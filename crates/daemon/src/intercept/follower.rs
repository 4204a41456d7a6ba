//! The thread that intercepts: it merges what workers pass on by time, and has it followed.
//!
//! Frames wait half a second for earlier ones, which leaves time to read the register. When somebody turns
//! out to be a target, workers pass on that target's frames from then on; those of the half second before,
//! and since the packet that said so, are taken out of what workers remember, and come in their order.
//!
//! A sniffer's frames wait until its probe has told everything of their time: whose an address was then is
//! not known before. What finds no room meanwhile is counted as lost.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use ringtap_engine::Targets;
use ringtap_intercept::{Interception, PassedFrame, Scout};
use ringtap_model::{Frame, Nanos};
use ringtap_remote::{Change, Heard, What};
use ringtap_report::time;
use ringtap_store::{CountsHandle, IdentityReader};
use ringtap_warrant::{Liid, Order};

use super::accounts::Accounts;
use super::link::WorkerLink;
use super::placement::Placement;
use super::report::{FunctionFigures, OrderFigures, ProductReport};
use super::waiting::{self, Next, Waiting, bytes_of};
use crate::config::Intercept;

/// What the thread works on.
pub(crate) struct Follower {
    interception: Interception<Accounts>,
    links: Vec<Arc<WorkerLink>>,
    targets: Arc<Targets>,
    placement: Placement,
    waiting: BinaryHeap<Reverse<Waiting>>,
    /// Bytes of the frames that wait.
    waiting_bytes: usize,
    /// How long a frame waits for earlier ones.
    delay: Nanos,
    /// Up to where frames have been followed.
    followed: Nanos,
    /// Somebody turned out to be a target at that time: what workers remember since has to be looked at.
    recall_from: Option<Nanos>,
    remembered_too_little: u64,
    product: PathBuf,
    buffer: u64,
    rotate: Duration,
    rotated: Instant,
    kept: Instant,
    since: Nanos,
    /// Looks ahead; none in a replay, which has time.
    scout: Option<Scout>,
    activations: Activations,
    /// Frames for which there was no room until the probe was heard.
    unheard: u64,
    /// When the workers had ended.
    ended: Option<Instant>,
    /// Frames that workers had lost when each order began.
    lost_before: HashMap<Liid, u64>,
    refused: HashMap<Liid, String>,
    public_key: String,
    resuming: Option<Resuming>,
    is_replay: bool,
}

/// Sessions of the previous run that wait to be read.
pub(crate) struct Resuming {
    records: PathBuf,
    store: CountsHandle,
    began: Instant,
}

impl Resuming {
    pub(crate) fn new(records: &Path, store: CountsHandle) -> Self {
        Self { records: records.to_owned(), store, began: Instant::now() }
    }
}

impl Follower {
    pub(crate) fn new(
        interception: Interception<Accounts>,
        (links, targets): (Vec<Arc<WorkerLink>>, Arc<Targets>),
        placement: Placement,
        (product, settings, public_key): (PathBuf, &Intercept, String),
        latency: Nanos,
        resuming: Option<Resuming>,
        is_replay: bool,
    ) -> Self {
        let since = time::now();
        let scout = (!is_replay).then(|| Scout::new(Arc::clone(&targets)));
        // A sniffer that begins does not know whose an address was before.
        let followed = if placement.is_sniffer() && !is_replay { since } else { Nanos::ZERO };
        Self {
            interception,
            links,
            targets,
            placement,
            waiting: BinaryHeap::new(),
            waiting_bytes: 0,
            delay: DELAY + latency,
            followed,
            recall_from: None,
            remembered_too_little: 0,
            product,
            buffer: settings.buffer.0,
            rotate: Duration::from_nanos(settings.rotate.0.0),
            rotated: Instant::now(),
            kept: Instant::now(),
            since,
            scout,
            activations: Activations::default(),
            unheard: 0,
            ended: None,
            lost_before: HashMap::new(),
            refused: HashMap::new(),
            public_key,
            resuming,
            is_replay,
        }
    }

    /// Runs until all workers have ended.
    pub(crate) fn run(mut self) {
        loop {
            let has_ended = self.links.iter().all(|link| link.has_ended());
            let done: Vec<u64> = self.links.iter().map(|link| link.done()).collect();
            let now = self.now();
            let mut any = self.take();
            // Nothing comes after that, so all of it is followed in order.
            while has_ended && self.take() {
                any = true;
            }
            self.look_at_orders();
            self.hear();
            self.resume();
            let from = self.followed;
            self.follow(match (has_ended, &self.resuming) {
                (true, _) => Nanos::MAX,
                // Whose an address is will be known in a moment.
                (_, Some(_)) => self.followed,
                _ => now.since(self.delay),
            });
            // Of a replay, nothing may be passed on before an order or a range has begun.
            if !has_ended && (!self.is_replay || self.interception.is_due(self.followed)) {
                let before = self.targets.additions();
                self.interception.advance(self.followed);
                // An order began while nothing was passed on.
                self.note_additions(before, from);
            }
            let is_over = has_ended && self.is_over();
            // Also at the end: what comes later, nobody has seen.
            self.vouch();
            self.links.iter().zip(done).for_each(|(link, batches)| link.handled(batches));
            self.record();
            self.keep(is_over);
            if is_over {
                break;
            }
            if !any {
                thread::sleep(if self.is_replay { REPLAY_PAUSE } else { PAUSE });
            }
        }
        let (accounts, _) = self.interception.close();
        if let Some(delivered) = accounts.finish() {
            delivered.finish(if self.is_replay { REPLAYED } else { STOPPED });
        }
    }

    /// The time that has passed on the wire.
    fn now(&self) -> Nanos {
        if self.is_replay {
            return self.links.iter().map(|link| link.now()).max().unwrap_or_default();
        }
        // A worker that was held up has frames of then: nothing later is looked at before.
        let reached = self.links.iter().map(|link| link.reached()).min();
        reached.unwrap_or_default().min(time::now())
    }

    /// The workers have ended: whether what waits has been followed. A sniffer hears its probe out first.
    fn is_over(&mut self) -> bool {
        let ended = *self.ended.get_or_insert_with(Instant::now);
        let frames = self.waiting.iter().filter(|Reverse(one)| matches!(one, Waiting::Frame(_))).count();
        if frames > 0 && ended.elapsed() < HEARD_OUT {
            return false;
        }
        self.unheard += frames as u64;
        true
    }

    /// Sniffers may rely on what they were told, up to that time: not before everything is known here.
    fn vouch(&self) {
        if self.resuming.is_none() && self.placement.is_known() {
            self.placement.followed(self.followed);
        }
    }

    /// Takes what workers have passed on; whether there was anything.
    fn take(&mut self) -> bool {
        let (mut any, mut ahead) = (false, None);
        for link in &self.links {
            for frame in std::iter::from_fn(|| link.ring.pop()).take(MOST_TAKEN) {
                any = true;
                if frame.is_marked
                    && let Some(scout) = &mut self.scout
                {
                    let networks = scout.see(&frame.frame());
                    if !networks.is_empty() {
                        self.activations.note(frame.time);
                        self.placement.soon(&networks, frame.time);
                        ahead = Some(ahead.map_or(frame.time, |from: Nanos| from.min(frame.time)));
                    }
                }
                if self.waiting_bytes > MOST_WAITING && self.placement.is_sniffer() {
                    self.unheard += 1;
                    continue;
                }
                self.waiting_bytes += bytes_of(&frame);
                self.waiting.push(Reverse(Waiting::Frame(frame)));
            }
        }
        if let Some(from) = ahead {
            self.remember(from);
        }
        any
    }

    /// Hears a probe: what it says counts in its order among the frames.
    fn hear(&mut self) {
        let Some(told) = self.placement.told() else { return };
        let Heard { changes, soon, .. } = told.hear();
        self.look_ahead(&soon);
        for change in changes {
            if change.what == What::Restart {
                // What was told before may not hold any more.
                self.waiting.retain(|Reverse(waiting)| matches!(waiting, Waiting::Frame(_)));
            }
            match self.placement.told().is_some_and(|told| told.is_restarting(&change)) {
                true => self.apply(change, self.followed),
                false => self.waiting.push(Reverse(Waiting::Change(change))),
            }
        }
    }

    /// The probe has seen that these may become a target's.
    fn look_ahead(&mut self, soon: &[((IpAddr, u8), Nanos)]) {
        let Some(scout) = &mut self.scout else { return };
        let mut from = None;
        for (network, at) in soon {
            if scout.open(*network, *at) {
                self.activations.note(*at);
                from = Some(from.map_or(*at, |from: Nanos| from.min(*at)));
            }
        }
        if let Some(from) = from {
            self.remember(from);
        }
    }

    /// Has a change count that the probe has told.
    fn apply(&mut self, change: Change, at: Nanos) {
        let before = self.targets.additions();
        // An order that begins at that time has begun.
        self.interception.advance(at);
        if let What::Orders(orders) = &change.what {
            self.take_orders(orders);
        }
        let followed = self.followed;
        if let Some(told) = self.placement.told() {
            told.apply(change, followed, &mut self.interception);
        }
        self.note_additions(before, at);
    }

    /// Has frames up to a time followed, in their order.
    fn follow(&mut self, until: Nanos) {
        loop {
            let next = self.waiting.peek().map(|Reverse(next)| next.time());
            // Those that were taken while memory is short do not wait.
            let until = if self.waiting_bytes > MOST_WAITING { Nanos::MAX } else { until };
            let until = self.placement.known(until);
            let next = next.filter(|time| *time <= until);
            match (next, self.recall_from) {
                // Those that became targets at nearly the same time are looked for together.
                (Some(time), Some(from)) if time > from + TOGETHER => self.recall(from),
                (None, Some(from)) => self.recall(from),
                (None, None) => break,
                (Some(_), _) => self.follow_batch(until),
            }
        }
        let until = self.placement.known(until);
        if until != Nanos::MAX {
            self.followed = self.followed.max(until);
        }
    }

    /// What is next: frames, one with signalling alone, or some without; or something that the probe has
    /// told.
    fn follow_batch(&mut self, until: Nanos) {
        let until = self.recall_from.map_or(until, |from| until.min(from + TOGETHER));
        let batch = match waiting::next(&mut self.waiting, until) {
            Next::Frames(batch) => batch,
            Next::Change(change) => {
                let at = change.at;
                self.apply(change, at);
                self.followed = self.followed.max(at);
                return;
            }
        };
        self.waiting_bytes -= batch.iter().map(bytes_of).sum::<usize>();
        let Some(first) = batch.first().map(|frame| frame.time) else { return };
        let frames: Vec<Frame<'_>> = batch.iter().map(PassedFrame::frame).collect();
        let before = self.targets.additions();
        self.interception.batch(&frames);
        self.note_additions(before, first);
        self.followed = self.followed.max(first);
    }

    /// If somebody became a target, frames since have to be looked for.
    fn note_additions(&mut self, before: u64, from: Nanos) {
        if self.targets.additions() != before && self.links.iter().any(|link| link.history.is_some()) {
            self.recall_from = Some(self.recall_from.map_or(from, |other| other.min(from)));
        }
    }

    fn recall(&mut self, from: Nanos) {
        self.recall_from = None;
        self.remember(from);
    }

    /// Takes targets' frames since that time out of what workers remember: those that they did not pass on,
    /// each once.
    fn remember(&mut self, from: Nanos) {
        let Self { interception, links, targets, .. } = self;
        let accounts = interception.product();
        let mut found = Vec::new();
        for link in links {
            let Some(history) = &link.history else { continue };
            // Batches that began before the change of the targets: in those since, it counts.
            let (begun, began) = (link.begun(), Instant::now());
            while link.done() < begun && !link.has_ended() && began.elapsed() < PATIENCE {
                thread::sleep(MOMENT);
            }
            let wants = |frame: &Frame<'_>| !accounts.is_recalled(frame.number) && targets.concerns(frame);
            if !history.since(from, wants, &mut found) {
                self.remembered_too_little += 1;
            }
        }
        for frame in found {
            if accounts.recall(frame.number, frame.time) {
                self.waiting_bytes += bytes_of(&frame);
                self.waiting.push(Reverse(Waiting::Frame(frame)));
            }
        }
    }

    /// Reads the register, where it has changed.
    fn look_at_orders(&mut self) {
        let Some(orders) = self.placement.look(time::now(), self.followed) else { return };
        let orders = orders.to_vec();
        self.take_orders(&orders);
        let before = self.targets.additions();
        self.interception.replace_orders(orders);
        // Not from before: whose an address was then is not known any more.
        self.note_additions(before, self.followed);
    }

    /// These are the orders now: who delivers has to know them before they count.
    fn take_orders(&mut self, orders: &[Order]) {
        let lost = self.lost();
        if let Some(scout) = &mut self.scout {
            scout.replace_orders(orders);
        }
        self.lost_before.retain(|liid, _| orders.iter().any(|order| order.liid == *liid));
        for order in orders {
            self.lost_before.entry(order.liid.clone()).or_insert(lost);
        }
        if let Some(delivered) = self.interception.product().delivered() {
            let all: Vec<&_> = orders.iter().collect();
            let refused = delivered.replace_orders(&all, self.buffer);
            self.refused = refused.into_iter().map(|(liid, error)| (liid, error.to_string())).collect();
        }
    }

    /// Frames that were lost before anybody knew whose they are.
    fn lost(&self) -> u64 {
        self.unheard + self.links.iter().map(|link| link.ring.dropped()).sum::<u64>()
    }

    /// Goes on with the sessions of the previous run, once the store has stored what waited for it.
    fn resume(&mut self) {
        let Some(Resuming { store, began, .. }) = &self.resuming else { return };
        if store.counts().outbox_records > 0 && began.elapsed() < STORED {
            return;
        }
        let Some(Resuming { records, .. }) = self.resuming.take() else { return };
        let mut sessions = Vec::new();
        // Where nothing was ever stored, there is nothing to go on with; that it cannot be read, the thread
        // that follows sessions tells.
        if let Ok(reader) = IdentityReader::open(&records) {
            let _ = reader.open_sessions(|session| sessions.push(session));
        }
        let before = self.targets.additions();
        self.interception.resume(sessions);
        self.note_additions(before, self.followed);
    }

    /// Records in the register what began and ended.
    fn record(&mut self) {
        let changes = self.interception.product().take_changes();
        let now = time::now();
        self.placement.record(changes, now);
        let followed = self.followed;
        if let Some(told) = self.placement.told() {
            told.confirm(followed, now, None);
        }
    }

    /// Once a second: product is brought to the disk, and told of.
    fn keep(&mut self, is_end: bool) {
        if !is_end && self.kept.elapsed() < KEEP {
            return;
        }
        self.kept = Instant::now();
        if let Some(scout) = &mut self.scout {
            scout.advance(time::now());
        }
        let before = self.followed.since(LATE);
        let accounts = self.interception.product();
        accounts.forget_recalled(before);
        accounts.files().sync();
        if self.rotated.elapsed() >= self.rotate {
            self.rotated = Instant::now();
            accounts.files().rotate();
        }
        let report = self.report();
        // A full disk is told of once there is room for it.
        let _ = report.write(&self.product);
        let (followed, now) = (self.followed, time::now());
        if let Some(told) = self.placement.told() {
            told.confirm(followed, now, Some(&report));
        }
    }

    fn report(&mut self) -> ProductReport {
        let lost = self.lost();
        let histories = self.links.iter().filter_map(|link| Some((link, link.history.as_ref()?)));
        let remembers = histories.map(|(link, history)| {
            let oldest = history.oldest();
            oldest.map_or(0, |oldest| link.now().since(oldest).0 / 1_000_000)
        });
        let remembers_ms = remembers.min();
        let mut orders = Vec::new();
        for order in self.placement.orders() {
            let figures = self.interception.figures(&order.liid);
            let accounts = self.interception.product();
            orders.push(OrderFigures {
                liid: order.liid.text().to_string(),
                events: figures.iri,
                packets: figures.packets,
                octets: figures.octets,
                recalled: accounts.recalled_packets(&order.liid),
                unattributed: figures.unattributed,
                cut: figures.cut,
                dropped: figures.dropped,
                lost: lost - self.lost_before.get(&order.liid).copied().unwrap_or(lost),
                unwritten: accounts.files().lost(&order.liid),
                manifest: accounts.files().manifest(&order.liid).map(|head| head.to_string()),
                undelivered: accounts.delivered().map_or(0, |delivered| delivered.lost_of(&order.liid)),
                not_delivered: self.refused.get(&order.liid).cloned(),
            });
        }
        let status = self.interception.product().delivered().map(|delivered| delivered.status());
        let functions = status.into_iter().flatten().map(|link| FunctionFigures {
            name: format!("{} {:?}", link.function, link.handover).to_lowercase(),
            is_connected: link.is_connected,
            arrived: link.arrived,
            waiting: link.waiting,
        });
        ProductReport {
            at_us: time::now().micros(),
            since_us: self.since.micros(),
            register_usable: self.placement.is_usable(),
            remembers_ms,
            remembered_too_little: self.remembered_too_little,
            activations: self.activations.count,
            activation_us: self.activations.mean().micros(),
            slowest_activation_us: self.activations.slowest.micros(),
            orders,
            functions: functions.collect(),
            gaps: self.placement.gaps(),
            public_key: self.public_key.clone(),
            sniffers: self.placement.sniffers(time::now()),
        }
    }
}

/// How long it took until packets of addresses were wanted, from the packets that named these.
#[derive(Debug, Default)]
struct Activations {
    count: u64,
    sum: Nanos,
    slowest: Nanos,
}

impl Activations {
    /// Now they are, because of a packet of that time.
    fn note(&mut self, time: Nanos) {
        let took = time::now().since(time);
        self.count += 1;
        self.sum += took;
        self.slowest = self.slowest.max(took);
    }

    fn mean(&self) -> Nanos {
        Nanos(self.sum.0 / self.count.max(1))
    }
}

/// How long a frame waits for earlier ones, beside the time that they may wait in the ring of the capture.
const DELAY: Nanos = Nanos::from_millis(500);
/// Targets that turn out within this time are looked for at once.
const TOGETHER: Nanos = Nanos::from_millis(10);
/// How long ago the frames are that are not looked for again.
const LATE: Nanos = Nanos::from_secs(2);
/// Frames that are taken from one worker, before those of the next.
const MOST_TAKEN: usize = 16_384;
/// Bytes of frames that wait.
const MOST_WAITING: usize = 256 << 20;
/// How long nothing is waited for: the same with targets and without.
const PAUSE: Duration = Duration::from_micros(500);
const REPLAY_PAUSE: Duration = Duration::from_micros(50);
/// How long a worker is waited for that is in the middle of a batch.
const PATIENCE: Duration = Duration::from_secs(1);
const MOMENT: Duration = Duration::from_micros(20);
/// How long the store is waited for at the start.
const STORED: Duration = Duration::from_secs(30);
/// How long a sniffer that stops waits for what its probe says of its last frames.
const HEARD_OUT: Duration = Duration::from_secs(3);
/// How often product is synced and told of.
const KEEP: Duration = Duration::from_secs(1);
/// How long mediation functions are waited for at the end: what did not arrive waits for the next start.
const STOPPED: Duration = Duration::from_secs(2);
/// The same after a replay.
const REPLAYED: Duration = Duration::from_secs(60);
