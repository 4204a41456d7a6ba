//! What a worker keeps of calls, on its way from the engine's hooks into the spool.
//!
//! The worker that has a call's signalling asks the rules, at each message that may change what they say, and writes the
//! answer into the table that all workers share; the worker that sees its media looks there.

mod call;
mod command;
mod figures;
mod pause;
mod product;
mod sink;
mod stream;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};
use std::net::IpAddr;
use std::sync::Arc;

use ringtap_engine::{CallNumber, CallPhase, RecordedPackets, RtcpSeen, RtpSeen, SipSeen, StreamEnd};
use ringtap_model::{Call, Endpoint, Frame, Nanos, Recorded, Transport};
use ringtap_spool::rules::{CallDecision, CallFacts, DecisionState, PendingPackets, RecordingScope, Verdict};
use ringtap_spool::{
    Category, Error, OwnerHandle, PendingEntry, SpoolWriter, WriterCounts, WriterSettings, WriterStatus, key,
    of_call, of_stream,
};

use self::call::{CallState, Other, mask, standing};
pub use self::figures::{Decisions, Figures};
use self::pause::{Pressed, pause_or_resume};
use self::product::{Products, Target};
pub use self::sink::Keeping;
pub use self::sink::wrapped;
use self::stream::{Serials, Straight, Stream, alone, alone_facts, stand};
use crate::amend::Amender;
use crate::complete::complete;
use crate::doubt::number;
use crate::erase::{Erase, Eraser};
use crate::facts::{Gathered, digit, digit_of_event, events};
use crate::orders::{Act, Command, Orders, Ruling, Switch, place};
use crate::shelf::{Piece, Shelf, Track};

/// A worker's part of the spool.
pub struct Recorder {
    shelf: Shelf,
    orders: Arc<Orders>,
    ruling: Arc<Ruling>,
    epoch: u64,
    eraser: Option<Eraser>,
    amender: Option<Amender>,
    /// By the stream's serial.
    streams: HashMap<u64, Stream, BuildHasherDefault<Serials>>,
    /// By the stream's place in the engine.
    straight: Box<[Straight]>,
    /// Streams of which packets wait.
    waiting: Vec<u64>,
    /// Calls that this worker has the signalling of, by their place.
    calls: HashMap<u32, CallState>,
    /// Their places by the key of their Call-ID.
    by_key: HashMap<u64, u32>,
    /// Messages that belong to no call, by the key of their Call-ID.
    others: HashMap<u64, Other>,
    /// What is kept of who is intercepted.
    products: Products,
    /// Where every frame is kept.
    rest: Option<Box<Rest>>,
    /// Time by the packets, or by the clock.
    now: Nanos,
    looked: Nanos,
    swept: Nanos,
    counts: Decisions,
    /// Packets lost, as far as the operator knows.
    told: u64,
    worker: usize,
}

/// The frames that are no call's, and which of the batch are some call's.
type Rest = (Track, Vec<bool>);

impl Recorder {
    /// For so many `streams` at once. `undecided` bytes are for what no rule can decide yet. Without an eraser, what was kept until the end stays.
    pub fn open(
        settings: WriterSettings,
        streams: usize,
        undecided: usize,
        orders: Arc<Orders>,
        eraser: Option<Eraser>,
    ) -> Result<Self, Error> {
        let (worker, owners) = (usize::from(settings.worker), settings.owners);
        let (ruling, epoch) = orders.ruling();
        let rest = rest(&ruling, worker);
        Ok(Self {
            shelf: Shelf {
                keeper: SpoolWriter::open(settings)?,
                undecided: PendingPackets::new(undecided, owners),
                left_out: 0,
            },
            orders,
            ruling,
            epoch,
            eraser,
            amender: None,
            streams: HashMap::default(),
            straight: vec![Straight::NONE; streams].into_boxed_slice(),
            waiting: Vec::new(),
            calls: HashMap::new(),
            by_key: HashMap::new(),
            others: HashMap::new(),
            products: Products::default(),
            rest,
            now: Nanos::ZERO,
            looked: Nanos::ZERO,
            swept: Nanos::ZERO,
            counts: Decisions::default(),
            told: 0,
            worker,
        })
    }

    /// A batch of so many frames follows, which ends at that time.
    pub fn begin(&mut self, frames: usize, now: Nanos) {
        self.now = now;
        if let Some(rest) = &mut self.rest {
            rest.1.clear();
            rest.1.resize(frames, false);
        }
    }

    /// The batch is over: what no call's was kept of it, where every frame is.
    pub fn rest(&mut self, frames: &[Frame<'_>]) {
        let Some(rest) = &mut self.rest else { return };
        let (track, kept) = &mut **rest;
        let full = CallDecision {
            state: DecisionState::Decided,
            what: RecordingScope::Full,
            ..CallDecision::default()
        };
        for (frame, _) in frames.iter().zip(kept).filter(|(_, kept)| !**kept) {
            let Frame { time, wire_len, data, .. } = *frame;
            let piece = Piece { time, wire_len, data, head: data.len(), payload_type: 0 };
            self.shelf.put(track, &full, &piece);
        }
    }

    /// Time has passed: what waited long enough is written, who was silent long enough is forgotten; what others want is done.
    pub fn tick(&mut self, now: Nanos) {
        self.now = now;
        self.eraser.iter_mut().for_each(Eraser::catch_up);
        self.shelf.keeper.tick(now);
        if self.orders.epoch() != self.epoch {
            self.obey();
        }
        for command in self.orders.commands(self.worker) {
            self.command(&command);
        }
        if now.since(self.looked) >= LOOK {
            self.looked = now;
            self.look(now);
        }
        if now.since(self.swept) >= SWEEP {
            self.swept = now;
            self.sweep(now);
        }
    }

    /// New rules: who is not decided yet is asked about again.
    #[cold]
    fn obey(&mut self) {
        (self.ruling, self.epoch) = self.orders.ruling();
        if self.rest.is_some() != self.ruling.everything {
            self.rest = rest(&self.ruling, self.worker);
        }
        let open: Vec<u32> =
            self.calls.iter().filter(|(_, call)| !call.fixed).map(|(slot, _)| *slot).collect();
        for slot in open {
            self.judge(slot, None, false);
        }
        self.streams.values_mut().for_each(|stream| stream.alone = None);
        self.obey_product();
    }

    /// Whether what waits has been decided elsewhere meanwhile; who waits for a call that does not come is decided alone.
    fn look(&mut self, now: Nanos) {
        self.shelf.undecided.expire(Nanos(now.0.saturating_sub(LONGEST.0)));
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.retain(|serial| {
            let Some(stream) = self.streams.get_mut(serial) else { return false };
            if !stream.track.waits() {
                return false;
            }
            if stream.call.is_none() && (stream.left.is_some() || stream.first + ALONE < now) {
                stream.alone = Some(alone(&self.ruling, stream));
            }
            let standing = stand(&self.orders, &self.ruling, stream);
            let decided = matches!(standing.state, DecisionState::UntilEnd | DecisionState::Decided);
            let gone = stream.left.is_some_and(|left| left + PATIENCE < now);
            if standing.provisional {
                stream.doubt(self.eraser.as_mut());
            }
            if decided {
                self.shelf.settle(&mut stream.track, &standing);
            }
            if stream.left.is_some() && (decided || gone) {
                self.shelf.end(&mut stream.track, now);
                self.streams.remove(serial);
            }
            !decided && !gone
        });
        self.waiting = waiting;
        self.look_product(now);
    }

    /// Who is silent has no packets in memory any more, and needs no place there.
    fn sweep(&mut self, now: Nanos) {
        let Self { streams, straight, shelf, .. } = self;
        for (serial, stream) in streams.iter_mut() {
            let straight = straight.get_mut(stream.place as usize).filter(|line| line.serial == *serial);
            let last = straight.as_ref().map_or(Nanos::ZERO, |line| line.last);
            stream.last = stream.last.max(last);
            if stream.last + SILENCE < now {
                straight.into_iter().for_each(|line| line.owner = None);
                shelf.finish(&mut stream.track, now);
            }
        }
        let silent = |_: &u64, other: &mut Other| other.last + SILENCE < now;
        for (_, mut other) in self.others.extract_if(silent) {
            self.shelf.end(&mut other.track, now);
        }
        self.sweep_product(now);
    }

    /// Tells the operator when packets are lost on the way to the disk, and why.
    pub fn report(&mut self) {
        let WriterCounts { lost_oversized, lost_disk, .. } = self.shelf.keeper.counts();
        let written = self.shelf.keeper.written();
        let (left_out, undecided) = (self.shelf.left_out, self.shelf.undecided.lost());
        let lost = lost_oversized + lost_disk + left_out + undecided + written.lost_packets();
        if lost > self.told {
            let why = match written.failure() {
                Some(error) => error.to_string(),
                None if lost_disk > 0 => {
                    "the disk does not keep up, or pauses for longer than [spool] memory bridges".to_owned()
                }
                None if lost_oversized > 0 => "they are longer than 68 KiB".to_owned(),
                None if left_out > 0 => "more streams at once than the spool has places".to_owned(),
                None => "their calls were not decided in time: [spool] undecided is too small".to_owned(),
            };
            let more = lost - self.told;
            log::warn!(target: "spool", "worker {}: {more} packets could not be kept: {why}", self.worker);
            self.told = lost;
        }
    }

    /// What was kept and what was lost.
    pub fn figures(&self) -> Figures {
        let written = self.shelf.keeper.written();
        Figures {
            counts: self.shelf.keeper.counts(),
            left_out: self.shelf.left_out,
            refused: written.lost_packets(),
            bytes: written.bytes(),
            writes: written.writes(),
            segments: written.segments(),
            failures: written.failures(),
            decisions: Decisions { lost: self.shelf.undecided.lost(), ..self.counts },
        }
    }

    /// Has records put right of which the disk refuses something later.
    pub fn amend_by(&mut self, amender: Amender) {
        amender.listen(self.written());
        self.amender = Some(amender);
    }

    /// What the disk has taken, for other threads.
    pub fn written(&self) -> Arc<WriterStatus> {
        self.shelf.keeper.written()
    }

    /// Writes everything.
    pub fn close(mut self, now: Nanos) {
        self.eraser.iter_mut().for_each(Eraser::flush);
        let Shelf { keeper, left_out, undecided } = self.shelf;
        let (written, undecided) = (keeper.written(), undecided.lost());
        let counts = keeper.close(now);
        log::info!(
            target: "spool",
            "worker {}: {} packets kept in {} segments, {} MiB; {} lost",
            self.worker,
            counts.packets,
            written.segments(),
            written.bytes() >> 20,
            counts.lost_oversized + counts.lost_disk + left_out + undecided + written.lost_packets(),
        );
    }
}

fn rest(ruling: &Ruling, worker: usize) -> Option<Box<Rest>> {
    let owner = || key([&b"link"[..], &worker.to_string().into_bytes()]);
    ruling.everything.then(|| Box::new((Track::new(Category::Media, owner()), Vec::new())))
}

const MINUTE: u64 = 60_000_000_000;

/// How often decisions are looked for by those who wait for them.
const LOOK: Nanos = Nanos::from_millis(200);

/// How often the silent are looked for.
const SWEEP: Nanos = Nanos::from_secs(5);

/// Who is silent for so long has no packets in memory any more, and needs no place there.
const SILENCE: Nanos = Nanos::from_secs(90);

/// A stream that no call claims for so long is taken to have none.
const ALONE: Nanos = Nanos::from_secs(5);

/// How long a stream that has ended waits for a word of its call's worker.
const PATIENCE: Nanos = Nanos::from_secs(10);

/// The longest that a packet waits for a decision: longer than a call may ring, and no longer than the spool's readers look.
const LONGEST: Nanos = Nanos::from_secs(210);
