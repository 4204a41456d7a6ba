//! A sync that fails loses what was written since the last one: the kernel may have dropped it, and the next
//! sync succeeds all the same.

use std::fs;

use ringtap_model::{Frame, LinkType, Nanos};
use ringtap_spool::{Category, Reader, SpoolWriter, WriterSettings};

use crate::{scratch, sys, turn};

const START: Nanos = Nanos::from_secs(1_795_219_200);

/// Writes 4 seconds of one stream, with blocks that are written each second.
#[test]
fn what_was_written_before_a_failed_sync_counts_as_lost() {
    let _turn = turn();
    let home = scratch();
    let mut failed = 0;
    for after in 0..12 {
        let dir = home.path().join(format!("spool{after}"));
        fs::create_dir(&dir).expect("a directory");
        sys::watch(dir.to_str().expect("text"));
        let settings = WriterSettings {
            memory: 70 * 4096,
            owners: 8,
            wait: true,
            age: Nanos::from_millis(500),
            span: Nanos::from_secs(60),
            ..WriterSettings::new(dir.clone())
        };
        let mut writer = SpoolWriter::open(settings).expect("a spool");
        let owner = writer.begin(Category::Media, 7).expect("a place");
        let written = writer.written();
        sys::fail_sync(after);
        for number in 0..40 {
            let time = START + Nanos::from_millis(100 * number);
            writer.put(owner, &Frame { time, number, link: LinkType(1), wire_len: 60, data: &[0x55; 60] });
            writer.tick(time);
        }
        writer.close(START + Nanos::from_secs(5));
        sys::unwatch();
        let lost = written.lost_packets();
        let chunks: u64 = written.drain_lost_chunks().iter().map(|chunk| u64::from(chunk.packets)).sum();
        assert_eq!(chunks, lost);
        let mut reader = Reader::open(&dir).expect("a directory");
        let segments = reader.between(Nanos::ZERO, Nanos::MAX).expect("segments");
        let found = reader.read(&[7], &segments).expect("readable").len() as u64;
        assert_eq!(found + lost, 40, "{after}");
        if written.failures() > 0 && lost > 0 {
            failed += 1;
        }
        assert!(after > 0 || (written.failures(), lost) == (1, 40), "the only sync of the segment failed");
    }
    assert!(failed > 0);
}
