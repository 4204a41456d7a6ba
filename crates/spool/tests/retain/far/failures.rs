//! Far storage that is away, full or wrong.

use super::*;

#[test]
fn a_place_that_is_away_stops_nothing_and_is_tried_again() {
    let dir = tempfile::tempdir().expect("a directory");
    spool(settings(dir.path()), 6);
    let all = pcaps(dir.path()) as u64;
    let storage = MemoryStorage::default();
    storage.state().away = true;
    let limits = Limits { age: [None, Some(DAY), None], ..moving() };
    let mut janitor = janitor(dir.path(), limits, &storage);
    let mut now = START + HOUR + HOUR;
    let told = until(&mut janitor, &mut now, |janitor| janitor.status().is_far_lost);
    assert!(
        matches!(&told[..], [JanitorEvent::FarLost(error)] if says(error, "the storage is away")),
        "{told:?}"
    );
    assert_eq!((at(&janitor, Location::Spool), packets(dir.path(), 1, None, None)), (all, 50));
    // The janitor tries again after longer and longer pauses, and does not report that again.
    now += MINUTE;
    let told = until(&mut janitor, &mut now, |janitor| janitor.status().far_failures == 2);
    assert!(told.is_empty(), "{told:?}");
    // Segments expire all the same.
    now = START + DAY + HOUR + HOUR;
    let told = until(&mut janitor, &mut now, |janitor| janitor.status().deleted[0] == 2);
    assert!(matches!(told[..], [JanitorEvent::Deleted { segments: 2, .. }]), "{told:?}");
    let left = at(&janitor, Location::Spool);
    storage.state().away = false;
    now += HOUR;
    let told = until(&mut janitor, &mut now, |janitor| {
        at(janitor, Location::Far) == left && janitor.status().loose == 0
    });
    assert!(told.iter().any(|notice| matches!(notice, JanitorEvent::FarRestored)), "{told:?}");
    assert!(!janitor.status().is_far_lost);
    // The storage has the listed objects alone; nothing is left of what was deleted meanwhile.
    assert_eq!(storage.state().objects.keys().filter(|name| name.ends_with(".pcap")).count() as u64, left);
}

/// Segments on a disk of 1 MiB that is too small for them.
#[test]
fn a_disk_that_fills_up_while_the_place_is_away_loses_the_oldest() {
    let dir = tempfile::tempdir().expect("a directory");
    spool(settings(dir.path()), 9);
    let storage = MemoryStorage::default();
    storage.state().away = true;
    let free = Limits {
        free: ringtap_spool::Watermarks {
            low: SpaceThreshold::Thousandths(100),
            high: SpaceThreshold::Thousandths(200),
        },
        ..Limits::default()
    };
    let left = Arc::new(Mutex::new(80u64));
    let room = Arc::clone(&left);
    let measure =
        move |_: &Path| Ok(DiskSpace { total: 1 << 20, free: (*room.lock().expect("a lock") << 20) / 1000 });
    let mut janitor =
        Janitor::new(dir.path().to_owned(), free, DeletionLog::of(dir.path(), None), Vec::new())
            .with_measure(measure);
    janitor.set_far(storage.far(), UploadRate::Unlimited);
    let mut now = START + HOUR;
    // Below the low watermark, with the storage away: the oldest segments are deleted.
    let told = until(&mut janitor, &mut now, |janitor| janitor.status().deleted[2] > 0);
    assert!(told.iter().any(|notice| matches!(notice, JanitorEvent::FarLost(_))), "{told:?}");
    assert!(!told.iter().any(|notice| matches!(notice, JanitorEvent::RecordingStopped(_))), "{told:?}");
    assert_eq!((packets(dir.path(), 0, None, None), packets(dir.path(), 8, None, None)), (0, 50));
    // The storage works again: segments move instead.
    storage.state().away = false;
    *left.lock().expect("a lock") = 1_000;
    now += HOUR;
    until(&mut janitor, &mut now, |janitor| janitor.status().loose == 0 && !janitor.status().is_far_lost);
    let gone = janitor.status().deleted[2];
    *left.lock().expect("a lock") = 80;
    until(&mut janitor, &mut now, |janitor| janitor.status().moved.0 > 0);
    assert_eq!(janitor.status().deleted[2], gone);
    // Near the end nobody waits for a network.
    *left.lock().expect("a lock") = 20;
    until(&mut janitor, &mut now, |janitor| janitor.status().deleted[2] > gone);
}

#[test]
fn what_is_not_there_as_it_was_sent_stays_here() {
    let dir = tempfile::tempdir().expect("a directory");
    spool(settings(dir.path()), 3);
    let all = pcaps(dir.path());
    let storage = MemoryStorage::default();
    (storage.state().unproven, storage.state().spoils) = (true, true);
    let mut janitor = janitor(dir.path(), moving(), &storage);
    let mut now = START + HOUR + HOUR;
    let told = until(&mut janitor, &mut now, |janitor| janitor.status().far_failures == 1);
    assert!(
        matches!(&told[..], [JanitorEvent::FarLost(error)] if says(error, "differs from what was uploaded")),
        "{told:?}"
    );
    assert_eq!((pcaps(dir.path()), packets(dir.path(), 1, None, None)), (all, 50));
    storage.state().spoils = false;
    now += HOUR;
    until(&mut janitor, &mut now, |janitor| at(janitor, Location::Spool) == 0);
    assert_eq!(packets(dir.path(), 1, Some(storage.far()), None), 50);
}

/// After a kill between any two steps, each file that may be left over is handled.
#[test]
fn what_was_killed_on_its_way_is_cleared_up() {
    let dir = tempfile::tempdir().expect("a directory");
    spool(settings(dir.path()), 3);
    let storage = MemoryStorage::default();
    let far = dir.path().join("far");
    let segment = Reader::open(dir.path())
        .and_then(|reader| reader.between(Nanos::ZERO, Nanos::MAX))
        .expect("a spool")
        .remove(0);
    // Objects of a segment whose upload was interrupted and that is gone here, and of one that is still here.
    let orphan = "2026-11-20/000000.000-w0-m-1.pcap";
    fs::create_dir_all(far.join("loose")).expect("a directory");
    for name in [orphan, segment.as_str()] {
        fs::write(far.join("loose").join(name.replace('/', "_")), "").expect("a file");
        storage.state().objects.insert(name.to_owned(), b"half".to_vec());
    }
    let (_, mut now) = {
        let mut janitor = janitor(dir.path(), Limits::default(), &storage);
        let mut now = START + HOUR;
        until(&mut janitor, &mut now, |_| !storage.state().objects.contains_key(orphan));
        (janitor, now)
    };
    assert_eq!(storage.state().objects.len(), 1);
    now += HOUR;
    let mut again = janitor(dir.path(), moving(), &storage);
    until(&mut again, &mut now, |janitor| at(janitor, Location::Spool) == 0 && janitor.status().loose == 0);
    assert_eq!(packets(dir.path(), 1, Some(storage.far()), None), 50);
    // A stub and a name in `loose/`: the stub counts.
    fs::write(far.join("loose").join(segment.as_str().replace('/', "_")), "").expect("a file");
    now += HOUR;
    until(&mut again, &mut now, |janitor| janitor.status().loose == 0);
    assert_eq!(packets(dir.path(), 1, Some(storage.far()), None), 50);
}

fn says(error: &ringtap_spool::Error, text: &str) -> bool {
    error.to_string().contains(text)
}
