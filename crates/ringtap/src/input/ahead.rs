//! Frames that a thread reads ahead of the one that handles them: for sinks that want packets, which stay in
//! one thread.

use std::sync::mpsc::{channel, sync_channel};
use std::thread;

use ringtap_capture::Merge;
use ringtap_model::Frame;

use super::chunk::{BATCH, Chunk, Room};

/// Chunks that wait at once.
const CHUNKS: usize = 3;

/// Passes all frames to `handle` in batches, with the bytes of the input that were read by then, as long as
/// it wants more.
pub(super) fn each_batch(frames: &mut Merge, mut handle: impl FnMut(&[Frame<'_>], u64) -> bool) {
    loop {
        let offset = frames.offset();
        let batch = frames.batch(BATCH);
        if batch.is_empty() || !handle(&batch, offset) {
            return;
        }
    }
}

/// As [`each_batch`], while another thread reads ahead. False, and nothing done, where the system refuses a
/// thread.
pub(super) fn each_batch_read_ahead(
    frames: &mut Merge,
    mut handle: impl FnMut(&[Frame<'_>], u64) -> bool,
) -> bool {
    let (full, read) = sync_channel(CHUNKS);
    let (back, spare) = channel::<Chunk>();
    thread::scope(|scope| {
        let reader = move || {
            loop {
                let mut chunk = spare.try_recv().unwrap_or_default();
                if !chunk.read(frames, |_| {}) || full.send((chunk, frames.offset())).is_err() {
                    return;
                }
            }
        };
        if thread::Builder::new().name("reader".into()).spawn_scoped(scope, reader).is_err() {
            return false;
        }
        let mut room = Room::default();
        for (mut chunk, offset) in read {
            if !chunk.each_batch(&mut room, |batch| handle(batch, offset)) {
                break;
            }
            chunk.clear();
            // At the end there is nobody to fill it.
            let _ = back.send(chunk);
        }
        true
    })
}
