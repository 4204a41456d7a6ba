//! Frames that one thread reads for another.

use ringtap_capture::{Merge, SharedFrame, SharedFrames};
use ringtap_model::{Frame, Nanos};

/// Frames passed to the engine at once: enough for its prefetching, few enough to stay in the L1 cache.
pub(crate) const BATCH: usize = 512;
/// Frames that are read at once: few enough for the caches that cores share.
const FRAMES: usize = 4096;

/// Frames that were read at once.
#[derive(Default)]
pub(super) struct Chunk {
    frames: SharedFrames,
    list: Vec<SharedFrame>,
}

/// Memory for frames, without any.
#[derive(Default)]
pub(super) struct Room(Vec<Frame<'static>>);

impl Chunk {
    /// Reads the next frames in place of those that it has, and tells `seen` the time of each; false at the
    /// end.
    pub(super) fn read(&mut self, source: &mut Merge, mut seen: impl FnMut(Nanos)) -> bool {
        self.clear();
        let Self { frames, list } = self;
        let add = |frame: &Frame<'_>, shared| {
            seen(frame.time);
            list.push(shared);
        };
        source.share(FRAMES, frames, add) > 0
    }

    /// Passes its frames on in batches, as long as `handle` wants more; whether it wanted all.
    pub(super) fn each_batch(&self, room: &mut Room, mut handle: impl FnMut(&[Frame<'_>]) -> bool) -> bool {
        self.list.chunks(BATCH).all(|shared| {
            let mut frames: Vec<Frame<'_>> = std::mem::take(&mut room.0);
            frames.extend(shared.iter().map(|shared| self.frames.frame(shared)));
            let goes_on = handle(&frames);
            frames.clear();
            // The memory stays, the frames do not.
            room.0 = frames.into_iter().map_while(|_| None).collect();
            goes_on
        })
    }

    /// Lets go of its frames.
    pub(super) fn clear(&mut self) {
        self.frames.clear();
        self.list.clear();
    }
}
