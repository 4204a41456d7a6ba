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
    let (mut number, mut count) = (0, 0);
    let mut last = Nanos::ZERO;
    let mut in_order = true;
    loop {
        let batch = frames.batch(usize::from(bytes[0]) + 1);
        if batch.is_empty() {
            break;
        }
        for frame in batch {
            assert!(frame.number > number, "frames are numbered upwards");
            in_order &= frame.time >= last;
            (number, last) = (frame.number, frame.time);
            count += 1;
        }
    }
    assert!(frames.batch(1).is_empty(), "what has ended stays so");
    if capture.compression().is_none() {
        let offset = frames.offset();
        assert!(offset <= capture.size());
        assert!(frames.damage().is_some() || offset == capture.size(), "all is read, or it says why not");
    }
    assert!(frames.damage().is_none_or(|damage| !damage.kind.to_string().is_empty()));
    merged(&capture, count, in_order);
}

/// Merges the file with itself by time.
fn merged(capture: &Capture, count: usize, in_order: bool) {
    let captures = std::slice::from_ref(capture);
    let mut last = Nanos::ZERO;
    let merged = Merge::new(captures).owned();
    assert_eq!(merged.len(), count);
    for frame in merged.iter() {
        assert!(!in_order || frame.time >= last);
        last = frame.time;
    }
}
