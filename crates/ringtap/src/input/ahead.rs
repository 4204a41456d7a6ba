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

#[cfg(test)]
mod tests {
    use ringtap_capture::{Capture, Writer};
    use ringtap_model::{LinkType, Nanos};

    use super::*;

    /// More frames than all chunks hold at once, each with its number in it.
    fn capture() -> Capture {
        let mut writer = Writer::new(Vec::new(), &[LinkType(1)]).expect("a vector takes everything");
        for number in 1..60_000u64 {
            let (time, data) = (Nanos::from_secs(number), number.to_be_bytes());
            let frame = Frame { time, number: 0, link: LinkType(1), wire_len: 8, data: &data };
            writer.write(&frame).expect("a vector takes everything");
        }
        let bytes = writer.finish().expect("a vector takes everything");
        Capture::from_bytes("test", bytes).expect("a capture")
    }

    #[test]
    fn frames_that_are_read_ahead_come_whole_and_in_order() {
        let capture = capture();
        let mut frames = Merge::new(std::slice::from_ref(&capture));
        let (mut next, mut last) = (1u64, 0);
        assert!(each_batch_read_ahead(&mut frames, |batch, offset| {
            for frame in batch {
                assert_eq!((frame.number, frame.data), (next, &next.to_be_bytes()[..]));
                next += 1;
            }
            last = offset;
            true
        }));
        assert_eq!((next, last, frames.offset()), (60_000, capture.size(), capture.size()));
    }

    /// The thread that reads may be waiting for room then.
    #[test]
    fn reading_ahead_ends_with_the_one_who_has_enough() {
        let capture = capture();
        let mut frames = Merge::new(std::slice::from_ref(&capture));
        let mut batches = 0;
        assert!(each_batch_read_ahead(&mut frames, |_, _| {
            batches += 1;
            batches < 20
        }));
        assert_eq!(batches, 20);
    }
}
