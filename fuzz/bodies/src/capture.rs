//! Reads arbitrary bytes as capture files.

use ringtap_capture::{Capture, Merge};
use ringtap_model::Nanos;

/// Reads the bytes as a capture file of any format, compressed or not.
pub fn capture(bytes: &[u8]) {
    let capture = match Capture::from_bytes("input", bytes.to_vec()) {
        Ok(capture) => capture,
        Err(error) => {
            assert!(error.to_string().contains("input"), "a message names its file: {error}");
            return;
        }
    };
    let mut frames = capture.frames();
    let (mut number, mut count, mut offset) = (0, 0, 0);
    let mut last = Nanos::ZERO;
    let mut in_order = true;
    for frame in frames.by_ref() {
        assert!(frame.number > number, "frames are numbered upwards");
        assert!(frame.data.len() as u64 <= capture.size());
        in_order &= frame.time >= last;
        (number, last) = (frame.number, frame.time);
        count += 1;
    }
    assert!(frames.next().is_none(), "an iterator that has ended stays so");
    offset = frames.offset().max(offset);
    assert!(offset <= capture.size());
    assert!(frames.damage().is_some() || offset == capture.size(), "all is read, or it says why not");
    assert!(frames.damage().is_none_or(|damage| !damage.kind.to_string().is_empty()));
    merged(&capture, count, in_order);
}

/// Merges the file with itself by time.
fn merged(capture: &Capture, count: usize, in_order: bool) {
    let captures = std::slice::from_ref(capture);
    assert_eq!(Merge::new(captures).count(), count);
    let mut last = Nanos::ZERO;
    for frame in Merge::new(captures) {
        assert!(!in_order || frame.time >= last);
        last = frame.time;
    }
}
