//! The frames of the input, cut into batches and shared out among workers.

use std::sync::Arc;

use ringtap_capture::{Merge, SharedFrame, SharedFrames};
use ringtap_engine::team::{Assigner, BatchCutter, BatchKind, FrameList};
use ringtap_model::Frame;
use ringtap_report::summary::TimeSpan;

/// Frames that are read at once: enough for a batch to make waiting for each other cheap.
const FRAMES: usize = 8192;

/// Frames that were read at once, by worker and kind, in one or more batches.
#[derive(Default)]
pub(super) struct Chunk {
    frames: SharedFrames,
    /// By worker and [`FrameList`].
    lists: Vec<[Vec<SharedFrame>; FrameList::COUNT]>,
    batches: Vec<(BatchKind, usize)>,
    /// By batch and worker: where each list ends.
    ends: Vec<[usize; FrameList::COUNT]>,
}

/// A batch of a chunk.
#[derive(Clone)]
pub(super) struct Batch {
    chunk: Arc<Chunk>,
    index: usize,
}

impl Batch {
    /// Which stages it needs.
    pub(super) fn kind(&self) -> BatchKind {
        self.chunk.batches[self.index].0
    }

    /// Number of its frames.
    pub(super) fn len(&self) -> usize {
        self.chunk.batches[self.index].1
    }

    /// The frames of a worker in one of its lists.
    pub(super) fn frames(&self, worker: usize, list: FrameList) -> impl Iterator<Item = Frame<'_>> {
        let (list, workers) = (list as usize, self.chunk.lists.len());
        let end = |batch: usize| self.chunk.ends[batch * workers + worker][list];
        let begin = if self.index == 0 { 0 } else { end(self.index - 1) };
        let shared = &self.chunk.lists[worker][list][begin..end(self.index)];
        shared.iter().map(|shared| self.chunk.frames.frame(shared))
    }

    /// Its chunk, for other frames, if it was the last batch.
    pub(super) fn into_chunk(self) -> Option<Chunk> {
        Arc::into_inner(self.chunk)
    }
}

impl Chunk {
    fn clear(&mut self, workers: usize) {
        self.frames.clear();
        self.lists.resize_with(workers, Default::default);
        self.lists.iter_mut().flatten().for_each(Vec::clear);
        self.batches.clear();
        self.ends.clear();
    }

    fn into_batches(self) -> impl Iterator<Item = Batch> {
        let (count, chunk) = (self.batches.len(), Arc::new(self));
        (0..count).map(move |index| Batch { chunk: chunk.clone(), index })
    }
}

/// Reads the input in order.
pub(super) struct Batches {
    frames: Merge,
    cutter: BatchCutter,
    assigner: Assigner,
    /// Times of the frames.
    span: Option<TimeSpan>,
}

impl Batches {
    /// Of the input, shared out like this.
    pub(super) fn new(frames: Merge, assigner: Assigner) -> Self {
        Self { frames, cutter: BatchCutter::default(), assigner, span: None }
    }

    /// The input, and the times of the frames that were read.
    pub(super) fn into_parts(self) -> (Merge, Option<TimeSpan>) {
        (self.frames, self.span)
    }

    /// Bytes of the input that were read.
    pub(super) fn offset(&self) -> u64 {
        self.frames.offset()
    }

    /// The next batches, at the end of the input none. `chunk` has memory for them.
    pub(super) fn next(&mut self, mut chunk: Chunk) -> impl Iterator<Item = Batch> + use<> {
        chunk.clear(self.assigner.workers());
        let Chunk { frames, lists, batches, ends } = &mut chunk;
        let (mut kind, mut count) = (BatchKind::default(), 0);
        let mut cut = |kind: BatchKind, count: usize, lists: &[[Vec<SharedFrame>; FrameList::COUNT]]| {
            if count > 0 {
                batches.push((kind, count));
                ends.extend(lists.iter().map(|lists| lists.each_ref().map(Vec::len)));
            }
        };
        let Self { frames: source, cutter, assigner, span } = self;
        source.share(FRAMES, frames, |frame, shared| {
            span.get_or_insert_with(|| TimeSpan::new(frame.time)).add(frame.time);
            if let Some(tick) = cutter.next_frame(frame.time) {
                cut(kind, count, lists);
                (kind, count) = (BatchKind { tick: Some(tick), ..BatchKind::default() }, 0);
            }
            let assignment = assigner.assign(frame);
            kind.add(assignment.list);
            lists[assignment.worker][assignment.list as usize].push(shared);
            count += 1;
        });
        cut(kind, count, lists);
        chunk.into_batches()
    }
}
