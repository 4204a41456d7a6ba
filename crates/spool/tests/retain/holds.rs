//! Calls on hold outlive their segments.

use super::*;

#[test]
fn a_held_call_outlives_its_segments_and_pins_nobody_elses() {
    held_call_outlives_its_segments(None);
}

#[test]
fn so_does_a_sealed_one_with_its_keys_alone() {
    held_call_outlives_its_segments(Some(MasterKey::of([7; 32])));
}

fn held_call_outlives_its_segments(seal: Option<MasterKey>) {
    let dir = tempfile::tempdir().expect("done");
    // Several calls in each segment.
    let packets = |dir: &Path, call| packets_with(dir, call, seal.as_ref());
    let mut spool = Calls::new(WriterSettings { span: HOUR, seal: seal.clone(), ..settings(dir.path()) });
    (0..9).for_each(|call| spool.call(call, 200));
    spool.writer.close(spool.now);
    for call in 0..9 {
        assert_eq!(packets(dir.path(), call), 200);
    }
    hold(4, "x-17").save(dir.path()).expect("done");
    hold(4, "x-18").save(dir.path()).expect("done");
    let order = ForgetOrder { why: "asked for", at: START, product: false };
    let erase = |call| {
        forget(
            &[dir.path()],
            None,
            &owners(call),
            START..START + DAY,
            &DeletionLog::of(dir.path(), None),
            order,
        )
    };
    let error = erase(4).expect_err("held").to_string();
    assert!(error.contains("4@example.org") && error.contains("x-17"), "{error}");
    let forgotten = erase(8).expect("done");
    assert_eq!((forgotten.packets, forgotten.keys), if seal.is_some() { (0, 2) } else { (200, 0) });
    let limits = Limits { age: [Some(HOUR), Some(HOUR), None], ..Limits::default() };
    let mut janitor = janitor(dir.path(), limits);
    let notices = tend(&mut janitor, START + DAY);
    let [JanitorEvent::Deleted { held: 1.., .. }, JanitorEvent::Deleted { held: 1.., .. }] = &notices[..]
    else {
        panic!("{notices:?}");
    };
    assert_eq!(janitor.status().bytes, [[0; 3]; 3]);
    assert_eq!(packets(dir.path(), 4), 200);
    for call in [0, 1, 3, 5, 8] {
        assert_eq!(packets(dir.path(), call), 0, "call {call}");
    }
    // The copy is a segment like any other, with and without its index.
    for segment in segments(dir.path()) {
        let held = dir.path().join("held");
        let scan = scan(&fs::read(segment.path(&held)).expect("done"));
        assert_eq!(scan.damages, []);
        assert!(scan.rows.iter().all(|row| owners(4).contains(&row.chunk.owner)));
        fs::remove_file(segment.index_path(&held)).expect("done");
        if seal.is_some() {
            // Of ten rows, the header among them, one holds a key.
            let keys = fs::read(segment.keys_path(&held)).expect("done");
            let kinds: Vec<u8> = keys.chunks_exact(96).skip(1).map(|row| row[16]).collect();
            assert_eq!((kinds.len(), kinds.iter().filter(|kind| **kind == 3).count()), (9, 1), "{kinds:?}");
        }
    }
    assert_eq!(packets(dir.path(), 4), 200);
    tend(&mut janitor, START + DAY + HOUR);
    assert_eq!((janitor.status().held, janitor.status().held_bytes > 200_000), (1, true));
    // The first case ends, then the second.
    assert_eq!(release(dir.path(), "x-18", None, false).expect("done").len(), 1);
    assert_eq!(packets(dir.path(), 4), 200);
    assert_eq!(release(dir.path(), "x-17", Some("4@example.org"), false).expect("done").len(), 1);
    assert_eq!(packets(dir.path(), 4), 0);
    assert!(segments(dir.path()).is_empty());
    tend(&mut janitor, START + DAY + HOUR + HOUR);
    assert_eq!((janitor.status().held, janitor.status().held_bytes), (0, 0));
}

#[test]
fn a_hold_taken_away_by_hand_is_pruned_and_one_that_cannot_be_read_stops_every_deletion() {
    let dir = tempfile::tempdir().unwrap();
    spool(settings(dir.path()), 3);
    for call in [0, 2] {
        hold(call, "a").save(dir.path()).unwrap();
    }
    let limits = Limits { age: [Some(HOUR), Some(HOUR), None], ..Limits::default() };
    let mut janitor = janitor(dir.path(), limits);
    let broken = dir.path().join("holds/a/broken.json");
    fs::write(&broken, "{").unwrap();
    let notices = tend(&mut janitor, START + DAY);
    assert!(
        matches!(&notices[..], [JanitorEvent::Failed(error)] if error.to_string().contains("broken.json"))
    );
    assert_eq!(packets(dir.path(), 1), 50);
    fs::remove_file(&broken).unwrap();
    let notices = tend(&mut janitor, START + DAY + HOUR);
    assert!(notices.iter().any(|notice| matches!(notice, JanitorEvent::Recovered)), "{notices:?}");
    assert_eq!([0, 1, 2].map(|call| packets(dir.path(), call)), [50, 0, 50]);
    fs::remove_file(dir.path().join("holds/a").join(format!("{:032x}.json", 0))).unwrap();
    tend(&mut janitor, START + DAY + HOUR + HOUR);
    assert_eq!([0, 1, 2].map(|call| packets(dir.path(), call)), [0, 0, 50]);
    assert_eq!(Holds::read(dir.path()).unwrap().calls(), 1);
}

/// A held copy is proven when its original segment is gone.
fn verified(dir: &Path, signer: &Signer, quick: bool) -> ringtap_spool::VerifyReport {
    let options = VerifyOptions { keys: vec![signer.public()], quick, ..VerifyOptions::default() };
    verify(&[dir], &options, &mut |_, _| ()).expect("done")
}

#[test]
fn a_held_copy_has_a_seal_of_its_own() {
    let dir = tempfile::tempdir().expect("done");
    let dir = dir.path();
    let signer = Arc::new(Signer::of(&[3; 32]));
    sealed_and_signed(dir, &signer);
    hold(4, "x").save(dir).expect("done");
    hold(5, "y").save(dir).expect("done");
    let limits = Limits { age: [Some(HOUR), Some(HOUR), None], ..Limits::default() };
    let deletions = DeletionLog::of(dir, Some(Arc::clone(&signer)));
    let mut janitor =
        Janitor::new(dir.to_owned(), limits.clone(), deletions.clone(), Vec::new()).with_measure(roomy);
    tend(&mut janitor, START + DAY);
    let verified = |quick| verified(dir, &signer, quick);
    for quick in [false, true] {
        let verdict = verified(quick);
        assert_eq!(verdict.findings, []);
        assert_eq!((verdict.segments, verdict.held, verdict.held_proven, verdict.recovered), (0, 2, 2, 0));
    }
    let copies = segments(dir);
    let held = dir.join("held");
    let path = copies[0].path(&held);
    let place = format!("held/{}", copies[0]);
    let whole = fs::read(&path).expect("done");
    let [keys, index, seal, _] = copies[0].files(&held).map(|path| fs::read(path).expect("done"));
    for at in (0..whole.len()).step_by(997) {
        let mut bad = whole.clone();
        bad[at] ^= 1;
        fs::write(&path, bad).expect("done");
        let verdict = verified(false);
        assert!(!verdict.findings.is_empty(), "byte {at}");
        assert!(verdict.findings.iter().all(|finding| finding.place == place), "{:?}", verdict.findings);
        assert_eq!(verdict.held_proven, 1);
    }
    // Packets of another call have every checksum, with an index of their own.
    let other = fs::read(copies[1].path(&held)).expect("done");
    fs::write(&path, &other).expect("done");
    fs::copy(copies[1].index_path(&held), copies[0].index_path(&held)).expect("done");
    assert!(verified(false).findings.iter().all(|finding| finding.place == place));
    assert!(!verified(false).findings.is_empty());
    // With all files beside it, it is the copy of another segment.
    for (from, to) in copies[1].files(&held).iter().zip(copies[0].files(&held)) {
        fs::copy(from, to).expect("done");
    }
    let misplaced = Fault::Misplaced(format!("held/{}", copies[1]));
    assert_eq!(
        verified(false).findings.iter().map(|finding| &finding.fault).collect::<Vec<_>>(),
        [&misplaced]
    );
    fs::write(&path, &whole).expect("done");
    fs::write(copies[0].index_path(&held), &index).expect("done");
    fs::write(copies[0].keys_path(&held), &keys).expect("done");
    fs::remove_file(copies[0].seal_path(&held)).expect("done");
    let faults = |quick: bool| -> Vec<Fault> {
        verified(quick).findings.into_iter().map(|finding| finding.fault).collect()
    };
    assert_eq!(faults(true), [Fault::UnsealedCopy]);

    // Without a key, a signed copy with other held chunks stays as it is.
    assert_eq!(release(dir, "y", None, false).expect("done").len(), 1);
    let key = MasterKey::of([7; 32]);
    let left = |call| packets_with(dir, call, Some(&key));
    // A tenth is signalling: what has no seal is not read.
    assert_eq!((left(4), left(5)), (180, 180));
    // With one, a copy that nothing proves gets no seal: it may have been put in.
    tend(&mut janitor, START + DAY + HOUR);
    assert_eq!((faults(false), verified(false).held_proven), (vec![Fault::UnsealedCopy], 1));
    fs::write(copies[0].seal_path(&held), &seal).expect("done");
    let mut bad = whole.clone();
    bad[whole.len() / 2] ^= 1;
    fs::write(&path, bad).expect("done");
    let restart = || restart(dir, &limits, &deletions);
    restart();
    assert_eq!((faults(false).is_empty(), verified(false).held_proven), (false, 1));
    fs::write(&path, &whole).expect("done");
    restart();
    assert_eq!((left(4), left(5)), (200, 0));
    assert_eq!((faults(false), verified(false).held_proven), (vec![], 2));
}

#[test]
fn a_copy_that_nothing_holds_and_nothing_proves_is_not_deleted_in_silence() {
    let dir = tempfile::tempdir().expect("done");
    let dir = dir.path();
    let signer = Arc::new(Signer::of(&[3; 32]));
    sealed_and_signed(dir, &signer);
    // A segment with all that is beside it, put in as a copy: its seal is not that of a copy.
    let put_in = segments(dir)[0].clone();
    let held = dir.join("held");
    fs::create_dir_all(put_in.path(&held).parent().expect("a day")).expect("done");
    for (from, to) in put_in.files(dir).iter().zip(put_in.files(&held)) {
        fs::copy(from, to).expect("done");
    }
    hold(100, "x").save(dir).expect("done");
    let deletions = DeletionLog::of(dir, Some(Arc::clone(&signer)));
    let mut janitor =
        Janitor::new(dir.to_owned(), Limits::default(), deletions, Vec::new()).with_measure(roomy);
    let told = tend(&mut janitor, START + HOUR);
    assert!(
        matches!(&told[..], [JanitorEvent::UnprovenCopyDeleted(copy)] if *copy == put_in),
        "{put_in}: {told:?}"
    );
    assert!(!put_in.path(&held).exists());
}

fn restart(dir: &Path, limits: &Limits, deletions: &DeletionLog) {
    let janitor = Janitor::new(dir.to_owned(), limits.clone(), deletions.clone(), Vec::new());
    tend(&mut janitor.with_measure(roomy), START + DAY + HOUR);
}

/// Nine calls, sealed and signed.
fn sealed_and_signed(dir: &Path, signer: &Arc<Signer>) {
    let (seal, sign) = (Some(MasterKey::of([7; 32])), Some(Arc::clone(signer)));
    let mut spool = Calls::new(WriterSettings { seal, sign, span: HOUR, ..settings(dir) });
    (0..9).for_each(|call| spool.call(call, 200));
    spool.writer.close(spool.now);
}
