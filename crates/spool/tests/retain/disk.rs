//! Disks that are short of space, and the tier.

use super::*;

/// A disk of 4 MiB of which something else uses a part.
#[test]
fn a_short_disk_loses_the_oldest_then_recording_stops_and_goes_on_by_itself() {
    let dir = tempfile::tempdir().unwrap();
    let (path, others) = (dir.path().to_owned(), Arc::new(Mutex::new(0u64)));
    let taken = Arc::clone(&others);
    let measure = move |asked: &Path| {
        let total: u64 = 4 << 20;
        Ok(DiskSpace { total, free: total.saturating_sub(on_disk(asked) + *taken.lock().expect("a lock")) })
    };
    let marks = Watermarks { low: SpaceThreshold::Thousandths(250), high: SpaceThreshold::Thousandths(400) };
    let limits = Limits { free: marks, ..Limits::default() };
    let mut calls = Calls::new(settings(&path));
    let written = calls.writer.written();
    let mut janitor = Janitor::new(path.clone(), limits, DeletionLog::of(&path, None), vec![written.clone()])
        .with_measure(measure);
    let mut notices = Vec::new();
    hold(3, "court").save(&path).unwrap();
    for call in 0..40 {
        calls.call(call, 200);
        while janitor.step(calls.now, |notice| notices.push(notice)) {}
    }
    assert!(!notices.is_empty());
    assert!(
        notices
            .iter()
            .all(|notice| matches!(notice, JanitorEvent::Deleted { reason: DeletionReason::Space, .. })),
        "{notices:?}"
    );
    assert_eq!(calls.writer.counts().lost_stopped, 0);
    // The last calls are there, the first are not, and the held one is.
    await_packets(&path, 37, 200);
    assert_eq!((packets(&path, 0), packets(&path, 3)), (0, 200));
    // Something else fills the disk.
    *others.lock().unwrap() = 4 << 20;
    notices.clear();
    for _ in 0..5 {
        calls.now += Nanos::from_secs(1);
        while janitor.step(calls.now, |notice| notices.push(notice)) {}
    }
    assert!(matches!(notices.last(), Some(JanitorEvent::RecordingStopped(_))), "{notices:?}");
    assert!(janitor.status().stopped && written.is_stopped());
    calls.call(41, 100);
    assert_eq!(calls.writer.counts().lost_stopped, 100);
    assert_eq!(packets(&path, 3), 200, "what is held stays");
    // And frees it again.
    *others.lock().unwrap() = 0;
    notices.clear();
    calls.now += MINUTE;
    while janitor.step(calls.now, |notice| notices.push(notice)) {}
    assert!(matches!(notices[..], [JanitorEvent::RecordingResumed(_)]), "{notices:?}");
    calls.call(42, 100);
    assert_eq!(calls.writer.counts().lost_stopped, 100);
    calls.writer.close(calls.now);
    assert_eq!(packets(&path, 42), 100);
}

#[test]
fn older_segments_move_to_the_tier_and_are_read_there() {
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    spool(settings(dir.path()), 10);
    let limits = Limits { tier_after: Some(HOUR), age: [None, Some(DAY), None], ..Limits::default() };
    let mut janitor = janitor(dir.path(), limits);
    let tier = other.path().join("archive");
    janitor.set_tier(&tier).unwrap();
    janitor.set_tier(&tier).unwrap();
    let all = segments(dir.path());
    let notices = tend(&mut janitor, START + HOUR + Nanos::from_secs(300));
    assert!(
        notices.iter().all(|notice| matches!(notice, JanitorEvent::Moved(_))) && notices.len() > 6,
        "{notices:?}"
    );
    let moved: Vec<&Segment> = all.iter().filter(|segment| segment.path(&tier).exists()).collect();
    assert_eq!(moved.len(), notices.len());
    for segment in &moved {
        assert!(segment.files(dir.path()).iter().all(|path| !path.exists()));
        assert!(segment.index_path(&tier).exists());
    }
    // The oldest moved, nothing was lost, and no partial file is left.
    assert_eq!(moved[..], all.iter().take(moved.len()).collect::<Vec<_>>()[..]);
    (0..10).for_each(|call| assert_eq!(packets(dir.path(), call), 50));
    assert_eq!(janitor.status().segments[Location::Tier as usize].iter().sum::<u64>(), moved.len() as u64);
    // Segments expire there as well, and holds hold.
    hold(0, "a").save(dir.path()).unwrap();
    tend(&mut janitor, START + DAY + HOUR + HOUR);
    assert!(segments(dir.path()).iter().filter(|segment| segment.category() == Category::Media).count() <= 2);
    assert_eq!([0, 1].map(|call| packets(dir.path(), call)), [50, 5]);
    let half = |dir: &Path| {
        fs::read_dir(dir).unwrap().flatten().any(|day| {
            day.path().is_dir()
                && fs::read_dir(day.path())
                    .unwrap()
                    .flatten()
                    .any(|file| file.path().extension() == Some("part".as_ref()))
        })
    };
    assert!(!half(dir.path()) && !half(&tier));
}

/// A file system that is mounted while this value lives.
struct Mounted(tempfile::TempDir);

impl Mounted {
    /// None, and the test is skipped, where that is not allowed.
    fn new(mebibytes: u32) -> Option<Self> {
        let dir = tempfile::tempdir().expect("a directory");
        let size = format!("size={mebibytes}m");
        let mount =
            Command::new("mount").args(["-t", "tmpfs", "-o", &size, "ringtap-test"]).arg(dir.path()).output();
        let mount = mount.expect("mount runs");
        if !mount.status.success() {
            ringtap_testing::skip("mounting", String::from_utf8_lossy(&mount.stderr));
            return None;
        }
        Some(Self(dir))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

/// A real file system that something else fills to the last byte: writes fail, deletions work all the same.
#[test]
fn a_disk_filled_to_the_last_byte() {
    let Some(disk) = Mounted::new(32) else { return };
    let dir = disk.0.path().join("spool");
    let mut calls = Calls::new(settings(&dir));
    let written = calls.writer.written();
    let mut janitor =
        Janitor::new(dir.clone(), Limits::default(), DeletionLog::of(&dir, None), vec![written.clone()]);
    let mut notices = Vec::new();
    for call in 0..5 {
        calls.call(call, 1_000);
        while janitor.step(calls.now, |notice| notices.push(notice)) {}
    }
    assert!(notices.is_empty(), "{notices:?}");
    hold(2, "court").save(&dir).unwrap();
    let ballast = disk.0.path().join("ballast");
    let fill = |bytes: u64| {
        let _ = fs::write(&ballast, vec![1; bytes as usize]);
        space(disk.0.path()).expect("a file system").free
    };
    assert_eq!(fill(64 << 20), 0, "nothing is left");
    calls.call(5, 1_000);
    let wait = Instant::now();
    while written.full() == 0 && wait.elapsed().as_secs() < 10 {
        thread::yield_now();
    }
    assert!(written.full() > 0);
    while janitor.step(calls.now, |notice| notices.push(notice)) {}
    // The oldest segments were deleted; held chunks were copied out first, or their segments stayed.
    let deleted =
        |notice: &JanitorEvent| matches!(notice, JanitorEvent::Deleted { reason: DeletionReason::Space, .. });
    assert!(notices.iter().any(deleted), "{notices:?}");
    assert_eq!((packets(&dir, 0), packets(&dir, 2)), (0, 1_000));
    // Filled again and again until no segment may be deleted.
    for second in 1..20 {
        fill(64 << 20);
        calls.now += Nanos::from_secs(second);
        calls.writer.tick(calls.now);
        while janitor.step(calls.now, |notice| notices.push(notice)) {}
    }
    assert!(notices.iter().any(|notice| matches!(notice, JanitorEvent::RecordingStopped(_))), "{notices:?}");
    let lost = calls.writer.counts().lost_stopped;
    calls.call(6, 100);
    assert_eq!(calls.writer.counts().lost_stopped, lost + 100);
    fs::remove_file(&ballast).unwrap();
    calls.now += MINUTE;
    while janitor.step(calls.now, |notice| notices.push(notice)) {}
    assert!(matches!(notices.last(), Some(JanitorEvent::RecordingResumed(_))), "{notices:?}");
    calls.call(7, 100);
    calls.writer.close(calls.now);
    assert_eq!((packets(&dir, 2), packets(&dir, 7)), (1_000, 100));
    let log = LoggedDeletions::read(&dir, &[]).unwrap();
    assert!(log.flaws.is_empty() && !log.entries.is_empty());
}
