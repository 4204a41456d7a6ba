//! What is deleted when segments expire and disks fill up, and what stays.

mod common;
mod disk;
mod far;
mod holds;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use ringtap_model::Nanos;
use ringtap_spool::{
    Category, Deletion, DeletionLog, DeletionReason, DiskSpace, Fault, ForgetOrder, HeldRange, Hold, Holds,
    Janitor, JanitorEvent, Limits, Location, LoggedDeletions, MasterKey, Reader, Segment, Signer,
    SpaceThreshold, VerifyOptions, Watermarks, WriterSettings, forget, release, scan, space, verify,
};

use common::{Calls, DAY, HOUR, MINUTE, START, owners, readable_packets, roomy, settings, spool};

fn janitor(dir: &Path, limits: Limits) -> Janitor {
    Janitor::new(dir.to_owned(), limits, DeletionLog::of(dir, None), Vec::new()).with_measure(roomy)
}

/// Runs steps until there is nothing more to do.
fn tend(janitor: &mut Janitor, now: Nanos) -> Vec<JanitorEvent> {
    let mut notices = Vec::new();
    for _ in 0..1_000 {
        if !janitor.step(now, |notice| notices.push(notice)) {
            return notices;
        }
    }
    panic!("no end: {notices:?}");
}

/// Packets of a call that can still be read.
fn packets(dir: &Path, call: u64) -> usize {
    packets_with(dir, call, None)
}

fn packets_with(dir: &Path, call: u64, key: Option<&MasterKey>) -> usize {
    let mut reader = Reader::open(dir).expect("a spool");
    key.into_iter().for_each(|key| reader.add_key(key.clone()));
    readable_packets(&mut reader, call)
}

/// Waits until the disk has that many packets of a call.
fn await_packets(dir: &Path, call: u64, wanted: usize) {
    let begun = Instant::now();
    while packets(dir, call) != wanted {
        assert!(begun.elapsed().as_secs() < 20, "{} of {wanted} packets of {call}", packets(dir, call));
        thread::yield_now();
    }
}

fn segments(dir: &Path) -> Vec<Segment> {
    Reader::open(dir).expect("a spool").between(Nanos::ZERO, Nanos::MAX).expect("a directory")
}

fn hold(call: u64, case: &str) -> Hold {
    let part = |owner| HeldRange { owner, from: START.0, to: (START + DAY).0 };
    Hold {
        case: case.to_owned(),
        id: format!("{call:032x}"),
        call_id: format!("{call}@example.org"),
        since: START.0,
        parts: owners(call).map(part).to_vec(),
        pending: None,
        product: false,
    }
}

/// Bytes of the blocks of all files below a directory.
fn on_disk(dir: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let mut sum = 0;
    for entry in fs::read_dir(dir).expect("a directory").flatten() {
        let told = fs::symlink_metadata(entry.path()).expect("a file");
        sum += if told.is_dir() { on_disk(&entry.path()) } else { told.blocks() * 512 };
    }
    sum
}

#[test]
fn each_category_goes_when_its_clock_has_run_out() {
    let dir = tempfile::tempdir().unwrap();
    spool(settings(dir.path()), 12);
    let all = segments(dir.path());
    assert!(all.len() >= 20, "{all:?}");
    let before = on_disk(dir.path());
    let limits = Limits { age: [Some(DAY), Some(HOUR), None], ..Limits::default() };
    let mut janitor = janitor(dir.path(), limits);
    assert!(tend(&mut janitor, START + HOUR).is_empty());
    // The first five minutes of media are older than an hour.
    let notices = tend(&mut janitor, START + HOUR + Nanos::from_secs(330));
    let [JanitorEvent::Deleted { reason: DeletionReason::Age, segments: gone, bytes, held: 0, .. }] =
        &notices[..]
    else {
        panic!("{notices:?}");
    };
    let left = segments(dir.path());
    assert_eq!(left.len() as u64 + gone, all.len() as u64);
    let missing: Vec<&Segment> = all.iter().filter(|segment| !left.contains(segment)).collect();
    assert!(missing.iter().all(|segment| segment.category() == Category::Media));
    assert!((4..=5).contains(&missing.len()), "{missing:?}");
    // New since then: the log with the space put aside for it, and the reserve.
    use std::os::unix::fs::MetadataExt;
    let ours =
        ["deletions.log", "reserve"].map(|name| fs::metadata(dir.path().join(name)).unwrap().blocks() * 512);
    assert_eq!(before - bytes, on_disk(dir.path()) - ours[0] - ours[1]);
    assert_eq!(janitor.status().freed, [*bytes, 0, 0]);
    let told: Vec<String> = LoggedDeletions::read(dir.path(), &[])
        .unwrap()
        .entries
        .into_iter()
        .map(|entry| entry.segment)
        .collect();
    assert_eq!(told, missing.iter().map(ToString::to_string).collect::<Vec<_>>());
    assert_eq!(packets(dir.path(), 0), 5);
    assert_eq!(packets(dir.path(), 11), 50);
    // In the end all segments are gone, and their directory.
    tend(&mut janitor, START + DAY + DAY);
    assert!(segments(dir.path()).is_empty());
    let tended = janitor.status();
    assert_eq!(tended.deleted, [all.len() as u64, 0, 0]);
    assert_eq!((tended.failures, tended.stopped), (0, false));
}

#[test]
fn a_size_is_kept_to_category_by_category() {
    let dir = tempfile::tempdir().unwrap();
    spool(settings(dir.path()), 10);
    let mut janitor =
        janitor(dir.path(), Limits { size: [None, Some(300 << 10), None], ..Limits::default() });
    tend(&mut janitor, START + HOUR);
    tend(&mut janitor, START + HOUR + MINUTE);
    let [signalling, media, _] = janitor.status().bytes[Location::Spool as usize];
    assert!(media <= 300 << 10 && media > 200 << 10, "{media}");
    assert!(signalling > 0);
    assert_eq!(packets(dir.path(), 0), 5, "signalling alone");
    assert_eq!(packets(dir.path(), 9), 50);
}

/// The log of deletions is no longer than it has to be, and proves what it proved before.
#[test]
fn a_log_that_has_grown_is_taken_together_and_the_chain_is_still_whole() {
    let dir = tempfile::tempdir().expect("done");
    let signer = Arc::new(Signer::of(&[3; 32]));
    let sealed = WriterSettings {
        seal: Some(MasterKey::of([7; 32])),
        sign: Some(Arc::clone(&signer)),
        span: MINUTE,
        ..settings(dir.path())
    };
    let mut spool = Calls::new(sealed);
    (0..40).for_each(|call| spool.call(call, 50));
    spool.writer.close(spool.now);
    let all = segments(dir.path()).len() as u64;
    // One call is erased in a segment that stays and one in a segment that goes; years of other entries come
    // before.
    let deletions = DeletionLog::of(dir.path(), Some(Arc::clone(&signer)));
    let long_ago = |number| {
        let segment = format!("2024-01-01/{number:06}.000-w7-m-{number}.pcap").parse().expect("a name");
        Deletion::segment(dir.path(), &segment, START, "older than media is kept").expect("done")
    };
    deletions.append(&(0..4_000).map(long_ago).collect::<Vec<_>>()).expect("done");
    let order = ForgetOrder { why: "request 9", at: START, product: false };
    for call in [2, 39] {
        let done =
            forget(&[dir.path()], None, &owners(call), START..START + DAY, &deletions, order).expect("done");
        assert!(done.keys > 0);
    }
    let log = dir.path().join("deletions.log");
    let before = fs::metadata(&log).expect("done").len();
    assert!(before > 1 << 20);
    let limits = Limits { age: [Some(HOUR), Some(HOUR), None], ..Limits::default() };
    let mut janitor = Janitor::new(dir.path().to_owned(), limits, deletions, Vec::new()).with_measure(roomy);
    let look = VerifyOptions { keys: vec![signer.public()], quick: false, ..VerifyOptions::default() };
    let verified = || verify(&[dir.path()], &look, &mut |_, _| ()).expect("done");
    for minutes in [25, 38] {
        let notices = tend(&mut janitor, START + HOUR + Nanos(MINUTE.0 * minutes));
        assert!(
            matches!(&notices[..], [JanitorEvent::Deleted { .. }, JanitorEvent::Deleted { .. }]),
            "{notices:?}"
        );
        let verdict = verified();
        assert_eq!(verdict.findings, []);
        assert_eq!((verdict.proven, verdict.deleted), (verdict.segments, all - verdict.segments));
        assert!(verdict.forgotten > 0 && fs::metadata(&log).expect("done").len() < before / 10);
    }
    let told = LoggedDeletions::read(dir.path(), &[signer.public()]).expect("done");
    let summary = told.entries[0].summary.as_ref().expect("a summary");
    assert!(summary.totals.iter().any(|total| total.entries >= 4_000), "{:?}", summary.totals);
    // A segment that was removed by hand is still missed.
    let left = segments(dir.path());
    let cut = &left[left.len() / 2];
    cut.files(dir.path()).iter().for_each(|path| fs::remove_file(path).expect("done"));
    assert_eq!(verified().findings.len(), 1, "{:?}", verified().findings);
}
