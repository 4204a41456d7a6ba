//! One worker's recording: what the engine saw of calls, on its way into the spool.
//!
//! The worker that has a call's signalling asks the rules, at each message that may change what they say, and
//! writes the answer into the table that all workers share; the worker that sees its media looks there.

mod call;
mod command;
mod counts;
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

use self::call::{CallState, OtherDialog, mask, standing};
pub use self::counts::{Decisions, RecordingCounts};
use self::pause::{PressedDigits, pause_or_resume};
use self::product::{InterceptedCall, Interceptions};
pub use self::sink::RecordingSink;
pub use self::sink::wrapped;
use self::stream::{FastPath, SerialHasher, Stream, alone, alone_facts, decision_of};
use crate::amend::Amender;
use crate::complete::complete;
use crate::erase::{Eraser, Erasure};
use crate::facts::{GatheredFacts, digit, digit_of_event, events};
use crate::orders::{CallCommand, Command, Orders, PauseTrigger, Ruling, place};
use crate::output::{OwnerRecording, PacketOutput, PassingPacket};
use crate::pending::number;

/// Records the calls and streams of one worker.
pub struct Recorder {
    output: PacketOutput,
    orders: Arc<Orders>,
    ruling: Arc<Ruling>,
    epoch: u64,
    eraser: Option<Eraser>,
    amender: Option<Amender>,
    /// By the stream's serial.
    streams: HashMap<u64, Stream, BuildHasherDefault<SerialHasher>>,
    /// By the stream's place in the engine.
    fast_paths: Box<[FastPath]>,
    /// Streams of which packets wait.
    waiting: Vec<u64>,
    /// Calls that this worker has the signalling of, by their place.
    calls: HashMap<u32, CallState>,
    /// Their places by the key of their Call-ID.
    by_key: HashMap<u64, u32>,
    /// Messages that belong to no call, by the key of their Call-ID.
    others: HashMap<u64, OtherDialog>,
    /// What is kept of who is intercepted.
    products: Interceptions,
    /// Where every frame is kept.
    rest: Option<Box<Rest>>,
    /// Time by the packets, or by the clock.
    now: Nanos,
    looked: Nanos,
    swept: Nanos,
    counts: Decisions,
    /// Packets lost, as far as the operator knows.
    reported_losses: u64,
    worker: usize,
}

/// The frames that are no call's, and which of the batch are some call's.
type Rest = (OwnerRecording, Vec<bool>);

impl Recorder {
    /// Opens a recorder for at most `streams` streams at once, with `undecided` bytes for packets that no
    /// rule can decide yet. Without an eraser, calls that were recorded until their end stay on the disk.
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
            output: PacketOutput {
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
            fast_paths: vec![FastPath::NONE; streams].into_boxed_slice(),
            waiting: Vec::new(),
            calls: HashMap::new(),
            by_key: HashMap::new(),
            others: HashMap::new(),
            products: Interceptions::default(),
            rest,
            now: Nanos::ZERO,
            looked: Nanos::ZERO,
            swept: Nanos::ZERO,
            counts: Decisions::default(),
            reported_losses: 0,
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
            let piece = PassingPacket { time, wire_len, data, head: data.len(), payload_type: 0 };
            self.output.put(track, &full, &piece);
        }
    }

    /// Writes what has waited long enough, releases silent streams, applies new rules and runs commands. Call
    /// it after each batch, and when time passes without packets.
    pub fn tick(&mut self, now: Nanos) {
        self.now = now;
        self.eraser.iter_mut().for_each(Eraser::catch_up);
        self.output.keeper.tick(now);
        if self.orders.epoch() != self.epoch {
            self.apply_new_rules();
        }
        for command in self.orders.commands(self.worker) {
            self.command(&command);
        }
        if now.since(self.looked) >= LOOK {
            self.looked = now;
            self.check_waiting(now);
        }
        if now.since(self.swept) >= SWEEP {
            self.swept = now;
            self.release_silent(now);
        }
    }

    /// Applies new rules to every call that is not decided yet.
    #[cold]
    fn apply_new_rules(&mut self) {
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
        self.apply_new_rules_to_product();
    }

    /// Applies decisions that another worker has made for packets that wait. A stream that no call has
    /// claimed for too long is decided by itself.
    fn check_waiting(&mut self, now: Nanos) {
        self.output.undecided.expire(Nanos(now.0.saturating_sub(LONGEST.0)));
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.retain(|serial| {
            let Some(stream) = self.streams.get_mut(serial) else { return false };
            if !stream.track.waits() {
                return false;
            }
            if stream.call.is_none() && (stream.left.is_some() || stream.first + ALONE < now) {
                stream.alone = Some(alone(&self.ruling, stream));
            }
            let standing = decision_of(&self.orders, &self.ruling, stream);
            let decided = matches!(standing.state, DecisionState::UntilEnd | DecisionState::Decided);
            let gone = stream.left.is_some_and(|left| left + PATIENCE < now);
            if standing.provisional {
                stream.note_pending(self.eraser.as_mut());
            }
            if decided {
                self.output.settle(&mut stream.track, &standing);
            }
            if stream.left.is_some() && (decided || gone) {
                self.output.end(&mut stream.track, now);
                self.streams.remove(serial);
            }
            !decided && !gone
        });
        self.waiting = waiting;
        self.check_waiting_product(now);
    }

    /// Releases the memory of streams and dialogs that have been silent for a while.
    fn release_silent(&mut self, now: Nanos) {
        let Self { streams, fast_paths, output, .. } = self;
        for (serial, stream) in streams.iter_mut() {
            let fast_paths = fast_paths.get_mut(stream.place as usize).filter(|line| line.serial == *serial);
            let last = fast_paths.as_ref().map_or(Nanos::ZERO, |line| line.last);
            stream.last = stream.last.max(last);
            if stream.last + SILENCE < now {
                fast_paths.into_iter().for_each(|line| line.owner = None);
                output.finish(&mut stream.track, now);
            }
        }
        let silent = |_: &u64, other: &mut OtherDialog| other.last + SILENCE < now;
        for (_, mut other) in self.others.extract_if(silent) {
            self.output.end(&mut other.track, now);
        }
        self.sweep_product(now);
    }

    /// Logs packets that could not be recorded since the last report, and why.
    pub fn report(&mut self) {
        let WriterCounts { lost_oversized, lost_disk, .. } = self.output.keeper.counts();
        let written = self.output.keeper.written();
        let (left_out, undecided) = (self.output.left_out, self.output.undecided.lost());
        let lost = lost_oversized + lost_disk + left_out + undecided + written.lost_packets();
        if lost > self.reported_losses {
            let why = match written.failure() {
                Some(error) => error.to_string(),
                None if lost_disk > 0 => {
                    "the disk does not keep up, or pauses for longer than [spool] memory bridges".to_owned()
                }
                None if lost_oversized > 0 => "they are longer than 68 KiB".to_owned(),
                None if left_out > 0 => "more streams at once than the spool has places".to_owned(),
                None => "their calls were not decided in time: [spool] undecided is too small".to_owned(),
            };
            let more = lost - self.reported_losses;
            log::warn!(target: "spool", "worker {}: {more} packets could not be kept: {why}", self.worker);
            self.reported_losses = lost;
        }
    }

    /// What was recorded and what was lost.
    pub fn counts(&self) -> RecordingCounts {
        let written = self.output.keeper.written();
        RecordingCounts {
            counts: self.output.keeper.counts(),
            left_out: self.output.left_out,
            refused: written.lost_packets(),
            bytes: written.bytes(),
            writes: written.writes(),
            segments: written.segments(),
            failures: written.failures(),
            decisions: Decisions { lost: self.output.undecided.lost(), ..self.counts },
        }
    }

    /// Has records corrected when the disk refuses packets after the record was made.
    pub fn amend_by(&mut self, amender: Amender) {
        amender.listen(self.written());
        self.amender = Some(amender);
    }

    /// What the disk has taken, for other threads.
    pub fn written(&self) -> Arc<WriterStatus> {
        self.output.keeper.written()
    }

    /// Writes everything.
    pub fn close(mut self, now: Nanos) {
        self.eraser.iter_mut().for_each(Eraser::flush);
        let PacketOutput { keeper, left_out, undecided } = self.output;
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
    ruling.everything.then(|| Box::new((OwnerRecording::new(Category::Media, owner()), Vec::new())))
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

/// The longest that a packet waits for a decision: longer than a call may ring, and no longer than the
/// spool's readers look.
const LONGEST: Nanos = Nanos::from_secs(210);
