//! Calls that are erased or changed in far storage.

use super::*;

const ORDER: ForgetOrder<'static> = ForgetOrder { why: "asked for", at: START, product: false };

#[test]
fn a_sealed_call_is_forgotten_far_away_by_its_keys() {
    let dir = tempfile::tempdir().expect("a directory");
    let (seal, sign) = (MasterKey::of([3; 32]), Arc::new(Signer::of(&[7; 32])));
    let sealed =
        WriterSettings { seal: Some(seal.clone()), sign: Some(Arc::clone(&sign)), ..settings(dir.path()) };
    spool(sealed, 6);
    let storage = MemoryStorage::default();
    let _ = moved(dir.path(), &storage);
    let deletions = DeletionLog::of(dir.path(), Some(sign));
    let order = |far: Option<&dyn FarStorage>| {
        forget(&[dir.path()], far, &owners(4), START..START + DAY, &deletions, ORDER)
    };
    let before = storage.state().objects.clone();
    // While the storage is away, the keys are erased here, the command fails, and the next one erases them
    // there.
    storage.state().away = true;
    let told = order(Some(&storage)).expect_err("away").to_string();
    assert!(told.contains("though it is overwritten here") && told.contains("the storage is away"), "{told}");
    storage.state().away = false;
    storage.state().versioned = true;
    let done = order(Some(&storage)).expect("done");
    assert_eq!((done.keys + done.already, done.missed, done.fetched), (2, 0, 0), "{done:?}");
    assert_eq!(done.versions, 2);
    assert_eq!(
        [3, 4, 5].map(|call| packets(dir.path(), call, Some(storage.far()), Some(&seal))),
        [50, 0, 50]
    );
    // Only the keys in the storage differ from before, and they equal those here.
    for (name, bytes) in &before {
        let now = storage.state().objects[name].clone();
        if name.ends_with(".keys") {
            assert!(now == fs::read(dir.path().join("far").join(name)).expect("keys"), "{name}");
        } else {
            assert!(now == *bytes, "{name}");
        }
    }
    let differ = before.iter().filter(|(name, bytes)| storage.state().objects[*name] != **bytes).count();
    assert_eq!(differ, 2);
    let look = VerifyOptions { far: Some(storage.far()), ..VerifyOptions::default() };
    let verified = verify(&[dir.path()], &look, &mut |_, _| ()).expect("readable");
    assert_eq!((verified.findings.len(), verified.forgotten), (0, 2), "{:?}", verified.findings);
}

#[test]
fn a_call_that_is_not_sealed_comes_back_to_be_forgotten() {
    let dir = tempfile::tempdir().expect("a directory");
    spool(settings(dir.path()), 6);
    let all = pcaps(dir.path());
    let storage = MemoryStorage::default();
    let (mut janitor, mut now) = moved(dir.path(), &storage);
    let deletions = DeletionLog::of(dir.path(), None);
    let order = |far: Option<&dyn FarStorage>| {
        forget(&[dir.path()], far, &owners(4), START..START + DAY, &deletions, ORDER)
    };
    assert!(order(None).expect_err("far").to_string().contains("far storage"));
    storage.state().away = true;
    assert!(order(Some(&storage)).is_err());
    storage.state().away = false;
    let done = order(Some(&storage)).expect("done");
    assert_eq!((done.packets, done.fetched, done.missed), (50, 2, 0), "{done:?}");
    // Nothing of it is in the storage any more; other calls are read from here and from there.
    assert_eq!((pcaps(dir.path()), at(&janitor, Location::Far)), (2, all as u64));
    let whole = |state: &StorageState| {
        state.objects.iter().filter(|(name, object)| name.ends_with(".pcap") && holds(object, 4)).count()
    };
    assert_eq!(whole(&storage.state()), 0);
    assert_eq!([1, 4, 5].map(|call| packets(dir.path(), call, Some(storage.far()), None)), [50, 0, 50]);
    // It moves again, as it is now.
    now += HOUR;
    until(&mut janitor, &mut now, |janitor| at(janitor, Location::Spool) == 0 && janitor.status().loose == 0);
    assert_eq!(pcaps(dir.path()), 0);
    assert_eq!(whole(&storage.state()), 0);
    assert_eq!([1, 4, 5].map(|call| packets(dir.path(), call, Some(storage.far()), None)), [50, 0, 50]);
    let look = VerifyOptions { far: Some(storage.far()), ..VerifyOptions::default() };
    let verified = verify(&[dir.path()], &look, &mut |_, _| ()).expect("readable");
    assert_eq!(verified.findings, []);
    assert!(verified.erased >= 2, "{verified:?}");
}

/// Whether the object has packets of a call.
fn holds(object: &[u8], call: u8) -> bool {
    object.windows(900).any(|window| window.iter().all(|byte| *byte == call))
}

#[test]
fn a_change_far_away_is_found() {
    for signed in [false, true] {
        let dir = tempfile::tempdir().expect("a directory");
        let mut settings = settings(dir.path());
        if signed {
            settings.seal = Some(MasterKey::of([3; 32]));
            settings.sign = Some(Arc::new(Signer::of(&[7; 32])));
        }
        spool(settings, 6);
        let storage = MemoryStorage::default();
        let (janitor, _) = moved(dir.path(), &storage);
        let look = |near, far: Option<Arc<dyn FarStorage>>| {
            let look = VerifyOptions { near, far, ..VerifyOptions::default() };
            let mut told = (0, 0);
            let verified = verify(&[dir.path()], &look, &mut |done, total| told = (done, total))?;
            Ok::<_, ringtap_spool::Error>((verified, told))
        };
        let all = at(&janitor, Location::Far);
        let (verified, told) = look(false, Some(storage.far())).expect("readable");
        assert_eq!(
            (verified.findings.len(), verified.segments, verified.far, verified.left_out),
            (0, all, all, 0)
        );
        assert!(told.0 == told.1 && told.0 > 300_000, "{told:?}");
        assert_eq!(verified.proven, if signed { all } else { 0 });
        // If it is skipped, no request is sent.
        storage.state().away = true;
        assert!(look(false, Some(storage.far())).is_err());
        let (verified, _) = look(true, None).expect("readable");
        assert_eq!((verified.findings.len(), verified.left_out, verified.proven), (0, all, 0));
        storage.state().away = false;
        // A byte, then the end, then all of it.
        let name = storage.state().objects.keys().find(|name| name.ends_with(".pcap")).expect("one").clone();
        let good = storage.state().objects[&name].clone();
        let put = |bytes: Vec<u8>| drop(storage.state().objects.insert(name.clone(), bytes));
        let finding = || {
            let (verified, _) = look(false, Some(storage.far())).expect("readable");
            assert_eq!(verified.findings.len(), 1, "{:?}", verified.findings);
            assert_eq!(verified.findings[0].place, name);
            verified.findings[0].fault.clone()
        };
        let mut bad = good.clone();
        bad[scan(&good).rows[0].offset as usize + 200] ^= 1;
        put(bad);
        let fault = finding();
        assert!(
            matches!(&fault, ringtap_spool::Fault::Changed(damage) if damage.what == Flaw::Changed),
            "{fault:?}"
        );
        put(good[..good.len() - 1].to_vec());
        assert!(finding().to_string().contains("bytes"));
        storage.state().objects.remove(&name);
        assert!(finding().to_string().contains("far storage, and is not"));
    }
}
