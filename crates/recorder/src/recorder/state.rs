//! The state of one worker's recorder: how it is opened, reported on and closed.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::Arc;

use ringtap_model::Nanos;
use ringtap_spool::rules::PendingPackets;
use ringtap_spool::{Category, Error, SpoolWriter, WriterSettings, WriterStatus, key};
use ringtap_store::RecordSender;

use super::call_state::{CallState, OtherDialog};
use super::counts::{Decisions, Losses, RecordingCounts};
use super::intercepted::Interceptions;
use super::stream_state::{FastPath, SerialHasher, Stream};
use crate::amend::Amender;
use crate::erase::Eraser;
use crate::listening::HeardCalls;
use crate::output::{OwnerRecording, PacketOutput};
use crate::policy::{RecordingPolicy, SharedPolicy};

/// Records the calls and streams of one worker.
pub struct Recorder {
    pub(super) output: PacketOutput,
    pub(super) shared_policy: Arc<SharedPolicy>,
    pub(super) policy: Arc<RecordingPolicy>,
    pub(super) epoch: u64,
    /// Calls that somebody listens to.
    pub(super) heard: HeardCalls,
    pub(super) eraser: Option<Eraser>,
    pub(super) amender: Option<Amender>,
    /// The journal of calls in progress.
    pub(super) journal: Option<RecordSender>,
    /// Changes of decisions when the journal was last told of them.
    pub(super) journaled_changes: u64,
    /// By the stream's serial.
    pub(super) streams: HashMap<u64, Stream, BuildHasherDefault<SerialHasher>>,
    /// By the stream's slot in the engine.
    pub(super) fast_paths: Box<[FastPath]>,
    /// Streams with waiting packets.
    pub(super) waiting: Vec<u64>,
    /// Calls whose signalling this worker has, by their slot.
    pub(super) calls: HashMap<u32, CallState>,
    /// Their slots by the key of their Call-ID.
    pub(super) by_key: HashMap<u64, u32>,
    /// Dialogs that are not calls, by the key of their Call-ID.
    pub(super) others: HashMap<u64, OtherDialog>,
    /// Interception product.
    pub(super) products: Interceptions,
    /// The recording of all other frames; None unless `everything` is recorded.
    pub(super) rest: Option<Box<Rest>>,
    /// Time of the packets, or of the clock.
    pub(super) now: Nanos,
    pub(super) checked: Nanos,
    pub(super) released: Nanos,
    pub(super) counts: Decisions,
    /// Lost packets that have been logged.
    pub(super) reported_losses: Losses,
    pub(super) worker: usize,
}

/// The recording of frames outside calls, and which frames of the batch belong to a call.
pub(super) type Rest = (OwnerRecording, Vec<bool>);

impl Recorder {
    /// Opens a recorder for at most `streams` streams at once, with `undecided` bytes for packets whose
    /// decision is pending. Without an eraser, calls that were recorded until their end stay on the disk.
    pub fn open(
        settings: WriterSettings,
        streams: usize,
        undecided: usize,
        shared_policy: Arc<SharedPolicy>,
        eraser: Option<Eraser>,
    ) -> Result<Self, Error> {
        let (worker, owners) = (usize::from(settings.worker), settings.owners);
        let (policy, epoch) = shared_policy.policy();
        let rest = rest(&policy, worker);
        let mut fast_paths = Vec::with_capacity(streams);
        ringtap_cpu::large_pages(fast_paths.spare_capacity_mut());
        fast_paths.resize(streams, FastPath::NONE);
        Ok(Self {
            output: PacketOutput {
                writer: SpoolWriter::open(settings)?,
                undecided: PendingPackets::new(undecided, owners),
                left_out: 0,
            },
            shared_policy,
            policy,
            epoch,
            heard: HeardCalls::default(),
            eraser,
            amender: None,
            journal: None,
            journaled_changes: 0,
            streams: HashMap::default(),
            fast_paths: fast_paths.into_boxed_slice(),
            waiting: Vec::new(),
            calls: HashMap::new(),
            by_key: HashMap::new(),
            others: HashMap::new(),
            products: Interceptions::default(),
            rest,
            now: Nanos::ZERO,
            checked: Nanos::ZERO,
            released: Nanos::ZERO,
            counts: Decisions::default(),
            reported_losses: RecordingCounts::default().lost(),
            worker,
        })
    }

    /// Logs packets that could not be recorded since the last report, and why.
    pub fn report(&mut self) {
        let counts = self.counts();
        let failure = self.output.writer.written().last_failure();
        report(self.worker, &counts, &self.reported_losses, failure.as_ref());
        self.reported_losses = counts.lost();
    }

    /// Counts of recorded and lost packets, and of decisions.
    pub fn counts(&self) -> RecordingCounts {
        let written = self.output.writer.written();
        RecordingCounts {
            counts: self.output.writer.counts(),
            left_out: self.output.left_out,
            refused: written.lost_packets(),
            bytes: written.bytes(),
            writes: written.writes(),
            segments: written.segments(),
            failures: written.failures(),
            disagreements: written.disagreements().len() as u64,
            listened: self.heard.len() as u64,
            decisions: Decisions { lost: self.output.undecided.lost(), ..self.counts },
        }
    }

    /// Has records corrected when the disk refuses packets after the record was made.
    pub fn amend_by(&mut self, amender: Amender) {
        amender.watch(self.written());
        self.amender = Some(amender);
    }

    /// Notes in the journal which streams calls have, and what is recorded of them.
    pub fn note_in(&mut self, journal: RecordSender) {
        self.journal = Some(journal);
    }

    /// Status of the writer, for other threads.
    pub fn written(&self) -> Arc<WriterStatus> {
        self.output.writer.written()
    }

    /// Writes all waiting packets and closes the segments.
    pub fn close(mut self, now: Nanos) {
        self.eraser.iter_mut().for_each(Eraser::flush);
        let mut counts = self.counts();
        let Self { output: PacketOutput { writer, .. }, worker, reported_losses, .. } = self;
        let written = writer.written();
        counts.counts = writer.close(now);
        counts.refused = written.lost_packets();
        report(worker, &counts, &reported_losses, written.last_failure().as_ref());
        let lost = counts.lost().into_iter().filter(|(cause, _)| *cause != "stopped");
        log::info!(
            target: "spool",
            "worker {worker}: {} packets recorded in {} segments, {} MiB; {} lost",
            counts.counts.packets,
            written.segments(),
            written.bytes() >> 20,
            lost.map(|(_, packets)| packets).sum::<u64>(),
        );
    }
}

fn report(worker: usize, counts: &RecordingCounts, before: &Losses, failure: Option<&Error>) {
    if let Some(causes) = counts.describe_losses(before, failure) {
        log::warn!(target: "spool", "worker {worker}: packets could not be recorded: {causes}");
    }
}

pub(super) fn rest(policy: &RecordingPolicy, worker: usize) -> Option<Box<Rest>> {
    let owner = || key([&b"link"[..], &worker.to_string().into_bytes()]);
    policy.everything.then(|| Box::new((OwnerRecording::new(Category::Media, owner()), Vec::new())))
}
