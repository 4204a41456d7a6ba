//! The state of one worker's recorder: how it is opened, reported on and closed.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::Arc;

use ringtap_model::Nanos;
use ringtap_spool::rules::PendingPackets;
use ringtap_spool::{Category, Error, SpoolWriter, WriterCounts, WriterSettings, WriterStatus, key};

use super::call_state::{CallState, OtherDialog};
use super::counts::{Decisions, RecordingCounts};
use super::intercepted::Interceptions;
use super::stream_state::{FastPath, SerialHasher, Stream};
use crate::amend::Amender;
use crate::erase::Eraser;
use crate::orders::{Orders, Ruling};
use crate::output::{OwnerRecording, PacketOutput};

/// Records the calls and streams of one worker.
pub struct Recorder {
    pub(super) output: PacketOutput,
    pub(super) orders: Arc<Orders>,
    pub(super) ruling: Arc<Ruling>,
    pub(super) epoch: u64,
    pub(super) eraser: Option<Eraser>,
    pub(super) amender: Option<Amender>,
    /// By the stream's serial.
    pub(super) streams: HashMap<u64, Stream, BuildHasherDefault<SerialHasher>>,
    /// By the stream's place in the engine.
    pub(super) fast_paths: Box<[FastPath]>,
    /// Streams of which packets wait.
    pub(super) waiting: Vec<u64>,
    /// Calls that this worker has the signalling of, by their place.
    pub(super) calls: HashMap<u32, CallState>,
    /// Their places by the key of their Call-ID.
    pub(super) by_key: HashMap<u64, u32>,
    /// Messages that belong to no call, by the key of their Call-ID.
    pub(super) others: HashMap<u64, OtherDialog>,
    /// What is kept of who is intercepted.
    pub(super) products: Interceptions,
    /// Where every frame is kept.
    pub(super) rest: Option<Box<Rest>>,
    /// Time by the packets, or by the clock.
    pub(super) now: Nanos,
    pub(super) looked: Nanos,
    pub(super) swept: Nanos,
    pub(super) counts: Decisions,
    /// Packets lost, as far as the operator knows.
    pub(super) reported_losses: u64,
    pub(super) worker: usize,
}

/// The frames that are no call's, and which of the batch are some call's.
pub(super) type Rest = (OwnerRecording, Vec<bool>);

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

    /// What was kept and what was lost.
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

pub(super) fn rest(ruling: &Ruling, worker: usize) -> Option<Box<Rest>> {
    let owner = || key([&b"link"[..], &worker.to_string().into_bytes()]);
    ruling.everything.then(|| Box::new((OwnerRecording::new(Category::Media, owner()), Vec::new())))
}
