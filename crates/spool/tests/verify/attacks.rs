//! What somebody does who can write to the disk, has an older copy of it, and has no key.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixStream;
use std::process::Command;

use ringtap_spool::{KeyService, RemoteKeys};

use super::*;

/// Puts something at a path.
type Put = fn(&Path);

const END: Nanos = Nanos(START.0 + 60_000_000_000);

fn deletions(dir: &Path) -> DeletionLog {
    DeletionLog::of(dir, Some(signer()))
}

fn faults(report: &VerifyReport) -> Vec<(&str, &Fault)> {
    report.findings.iter().map(|finding| (finding.place.as_str(), &finding.fault)).collect()
}

#[test]
fn forgotten_keys_that_are_put_back_are_found_one_by_one() {
    let case = Case::new();
    let dir = case.copied();
    let done = forget(&[dir], None, &[4], START..END, &deletions(dir), ORDER).unwrap();
    assert_eq!((done.keys > 0, look(dir).findings), (true, vec![]));
    for segment in of(dir, Category::Media) {
        fs::copy(segment.keys_path(&case.dir), segment.keys_path(dir)).unwrap();
    }
    let report = look(dir);
    assert_eq!(report.findings.len() as u64, done.keys);
    assert!(report.findings.iter().all(|finding| matches!(finding.fault, Fault::KeyRestored(_))));
    assert_eq!((report.forgotten, report.proven), (0, report.segments - done.keys));
    // As after a kill between the log and the disk: the order is repeated, and all is well.
    let again = forget(&[dir], None, &[4], START..END, &deletions(dir), ORDER).unwrap();
    assert_eq!((again.keys, look(dir).findings), (done.keys, vec![]));
}

#[test]
fn erased_chunks_that_are_put_back_are_found_one_by_one() {
    let case = Case::with(|settings| WriterSettings { seal: None, ..settings });
    let dir = case.copied();
    let done = forget(&[dir], None, &[4], START..END, &deletions(dir), ORDER).unwrap();
    // The whole segments, as they were sealed.
    for segment in of(dir, Category::Media) {
        fs::copy(segment.path(&case.dir), segment.path(dir)).unwrap();
    }
    let report = look(dir);
    assert_eq!(report.findings.len() as u64, done.chunks);
    assert!(report.findings.iter().all(|finding| matches!(finding.fault, Fault::Restored(_))));
    assert_eq!(report.erased, 0);
}

#[test]
fn a_deleted_segment_that_is_put_back_is_found() {
    let case = Case::new();
    let dir = case.copied();
    let gone = &of(dir, Category::Media)[0];
    deletions(dir).append(&[Deletion::segment(dir, gone, START, "older than 90d").unwrap()]).unwrap();
    let report = look(dir);
    assert_eq!(faults(&report), [(gone.as_str(), &Fault::Returned)]);
    for path in gone.files(dir) {
        fs::remove_file(path).unwrap();
    }
    assert_eq!(look(dir).findings, []);
}

/// A pipe would stop whoever opens it, a link lead elsewhere; a directory cannot be read.
#[test]
fn what_is_no_file_is_a_finding_and_stops_nobody() {
    let case = Case::new();
    let puts: [(&str, Put); 3] = [
        ("a pipe", |path| assert!(Command::new("mkfifo").arg(path).status().unwrap().success())),
        ("a directory", |path| fs::create_dir(path).unwrap()),
        ("a link", |path| symlink("/etc/passwd", path).unwrap()),
    ];
    for (what, put) in puts {
        for extension in ["pcap", "idx", "keys", "seal"] {
            // In place of a file, and beside all of them.
            for name in ["", "2026-11-21/030000.000-w0-m-99.x"] {
                let dir = case.copied();
                let segment = &of(dir, Category::Media)[1];
                let path = match name {
                    "" => segment.path(dir).with_extension(extension),
                    name => dir.join(name).with_extension(extension),
                };
                let _ = fs::remove_file(&path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                put(&path);
                let report = look(dir);
                let fault = Fault::Irregular(extension.to_owned());
                let found = report.findings.iter().any(|finding| finding.fault == fault);
                assert!(found, "{what} as {}: {:?}", path.display(), report.findings);
                let mut reader = Reader::open(dir).unwrap();
                let segments = reader.between(Nanos::ZERO, Nanos::MAX).unwrap();
                let _ = reader.read(&[4], &segments).map(|found| found.gone);
            }
        }
    }
}

/// The heads that a verification finds, as somebody notes them elsewhere.
fn heads(dir: &Path) -> Vec<KnownHead> {
    look(dir).heads.iter().map(|head| head.noted().parse().expect("a head")).collect()
}

fn look_with(dir: &Path, heads: Vec<KnownHead>) -> VerifyReport {
    let options = VerifyOptions { keys: vec![signer().public()], heads, ..VerifyOptions::default() };
    verify(&[dir], &options, &mut |_, _| ()).expect("readable")
}

#[test]
fn a_head_that_is_gone_or_changed_or_older_is_a_finding() {
    let case = Case::new();
    let all = of(&case.dir, Category::Media);
    let head = fs::read(case.dir.join("w0-m.head")).unwrap();
    for at in (0..head.len()).step_by(7) {
        let dir = case.copied();
        let mut bad = head.clone();
        bad[at] ^= 1;
        fs::write(dir.join("w0-m.head"), &bad).unwrap();
        assert_eq!(faults(&look(dir)), [("w0-m.head", &Fault::BadHead)], "byte {at}");
    }
    for end in [0, 1, head.len() / 2, head.len() - 1] {
        let dir = case.copied();
        fs::write(dir.join("w0-m.head"), &head[..end]).unwrap();
        assert_eq!(faults(&look(dir)), [("w0-m.head", &Fault::BadHead)], "{end} bytes");
    }
    let dir = case.copied();
    fs::remove_file(dir.join("w0-m.head")).unwrap();
    assert_eq!(faults(&look(dir)), [("w0-m.head", &Fault::NoHead)]);
    let newest = all.len() as u64 - 1;
    fs::copy(all[0].seal_path(&case.dir), dir.join("w0-m.head")).unwrap();
    assert_eq!(faults(&look(dir)), [("w0-m.head", &Fault::OldHead { head: 0, newest })]);
}

#[test]
fn an_older_state_does_not_pass_for_the_present_one_with_a_head_that_was_noted() {
    let case = Case::new();
    let noted = heads(&case.dir);
    let all = of(&case.dir, Category::Media);
    let newest = all.len() as u64 - 1;
    assert_eq!(look_with(&case.dir, noted.clone()).findings, []);
    // The newest segments go, and the head of their time comes back.
    for gone in 1..=all.len() {
        let dir = case.copied();
        let left = all.len() - gone;
        for path in all[left..].iter().flat_map(|segment| segment.files(dir)) {
            fs::remove_file(path).unwrap();
        }
        match left.checked_sub(1) {
            Some(last) => drop(fs::copy(all[last].seal_path(dir), dir.join("w0-m.head")).unwrap()),
            None => fs::remove_file(dir.join("w0-m.head")).unwrap(),
        }
        assert_eq!(look(dir).findings, [], "a head beside the spool proves nothing against this");
        let ends = Fault::CutBack { newest: left.checked_sub(1).map(|last| last as u64), number: newest };
        assert_eq!(faults(&look_with(dir, noted.clone())), [("w0-m.head", &ends)], "{gone} gone");
    }
    // Nothing is left.
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(look_with(empty.path(), noted.clone()).findings.len(), noted.len());
    // Another history with the same signer.
    let other = Case::with(|settings| WriterSettings { seal: Some(MasterKey::of([8; 32])), ..settings });
    let report = look_with(&other.dir, noted.clone());
    assert!(report.findings.iter().all(|finding| matches!(finding.fault, Fault::OtherSeal(_))));
    assert_eq!(report.findings.len(), noted.len());
    // What was deleted by order is no loss, and the chain goes on.
    let dir = case.copied();
    for segment in &all {
        deletions(dir).append(&[Deletion::segment(dir, segment, START, "older than 90d").unwrap()]).unwrap();
        segment.files(dir).iter().for_each(|path| fs::remove_file(path).unwrap());
    }
    assert_eq!(look_with(dir, noted.clone()).findings, []);
    write(settings(dir), START + Nanos::from_secs(100), 3);
    assert_eq!(look_with(dir, noted).findings, []);
}

/// A segment of another spool under a new name, without its seal: packets that nobody captured here.
fn plant(foreign: &Path, dir: &Path, worker: u16) -> Segment {
    let segment = &of(foreign, Category::Media)[1];
    let name = segment.as_str().replace("-w0-", &format!("-w{worker}-")).replace("-m-1", "-m-99");
    let forged: Segment = name.parse().expect("a segment");
    for (from, to) in
        [(segment.path(foreign), forged.path(dir)), (segment.index_path(foreign), forged.index_path(dir))]
    {
        fs::copy(from, to).expect("a copy");
    }
    forged
}

fn packets(dir: &Path) -> (usize, Vec<Segment>) {
    let mut reader = Reader::open(dir).expect("a directory");
    reader.add_key(MasterKey::of([7; 32]));
    let segments = reader.between(Nanos::ZERO, Nanos::MAX).expect("segments");
    let found = reader.read(&[1, 4, 7], &segments).expect("readable");
    (found.len(), reader.foreign().cloned().collect())
}

#[test]
fn forged_segments_are_findings_and_their_packets_are_left_out() {
    let case = Case::new();
    let foreign = Case::with(|settings| WriterSettings { sign: None, seal: None, ..settings });
    let whole = packets(&case.dir).0;
    // Under a worker that there is, and under one that never was; open, and as if it had been closed.
    for worker in [0, 9] {
        for index in [true, false] {
            let dir = case.copied();
            let forged = plant(&foreign.dir, dir, worker);
            if !index {
                fs::remove_file(forged.index_path(dir)).unwrap();
            }
            let report = look(dir);
            assert!(faults(&report).contains(&(forged.as_str(), &Fault::Unsealed)), "{:?}", report.findings);
            assert_eq!(packets(dir), (whole, vec![forged.clone()]));
            // A restart does not make it evidence.
            write(settings(dir), START + Nanos::from_secs(100), 3);
            let report = look(dir);
            let still_there = worker == 9;
            assert_eq!(report.findings.iter().any(|finding| finding.place == forged.as_str()), still_there);
            assert_eq!(dir.join("quarantine").join(forged.as_str()).exists(), !still_there);
            assert_eq!(report.recovered, 0);
        }
    }
}

/// Chunks that are added to a segment which a kill left open are no evidence; the others are.
#[test]
fn of_a_segment_left_open_those_chunks_are_sealed_that_were_written_here() {
    let case = Case::new();
    let all = of(&case.dir, Category::Media);
    let (before, last) = (&all[all.len() - 2], &all[all.len() - 1]);
    let killed = |dir: &Path| {
        fs::copy(before.seal_path(dir), dir.join("w0-m.head")).unwrap();
        fs::remove_file(last.index_path(dir)).unwrap();
        fs::remove_file(last.seal_path(dir)).unwrap();
    };
    let foreign = Case::with(|settings| WriterSettings { sign: None, seal: None, ..settings });
    let other_key = Case::with(|settings| WriterSettings { seal: Some(MasterKey::of([8; 32])), ..settings });
    for (what, from) in
        [("nothing", None), ("plain chunks", Some(&foreign)), ("another spool's chunks", Some(&other_key))]
    {
        let dir = case.copied();
        killed(dir);
        let mut own = scan(&fs::read(last.path(dir)).unwrap()).rows.len();
        if let Some(from) = from {
            // In place of the end of the segment.
            let mut bytes = fs::read(last.path(dir)).unwrap();
            let rows = scan(&bytes).rows;
            own = rows.len() / 2;
            assert!(own > 0);
            bytes.truncate(rows[own].offset as usize);
            let other = fs::read(of(&from.dir, Category::Media)[0].path(&from.dir)).unwrap();
            let first = scan(&other).rows[0];
            bytes.extend_from_slice(&other[first.offset as usize..]);
            fs::write(last.path(dir), bytes).unwrap();
            // An index of all chunks.
            fs::copy(last.index_path(&case.dir), last.index_path(dir)).unwrap();
        }
        let before = fs::read(last.path(dir)).unwrap();
        write(settings(dir), START + Nanos::from_secs(100), 3);
        let aside = dir.join("quarantine").join(last.as_str());
        assert_eq!(fs::read(&aside).ok(), from.map(|_| before), "{what}");
        let report = look(dir);
        assert_eq!((report.recovered, report.findings), (1, vec![]), "{what}");
        assert_eq!(scan(&fs::read(last.path(dir)).unwrap()).rows.len(), own, "{what}");
        let seal = fs::read_to_string(last.seal_path(dir)).unwrap();
        assert_eq!(seal.contains("not sealed here are in quarantine"), from.is_some(), "{seal}");
    }
}

/// Its chunks may be anybody's: a start that can check them decides.
#[test]
fn while_no_key_can_be_opened_no_segment_left_open_is_sealed() {
    let case = Case::new();
    let dir = case.copied();
    let all = of(dir, Category::Media);
    let (before, last) = (&all[all.len() - 2], &all[all.len() - 1]);
    fs::copy(before.seal_path(dir), dir.join("w0-m.head")).unwrap();
    fs::remove_file(last.seal_path(dir)).unwrap();
    let service = Arc::new(KeyService::new(Some(MasterKey::of([7; 32])), None));
    let keys = RemoteKeys::open(move || {
        let (ours, theirs) = UnixStream::pair()?;
        let service = Arc::clone(&service);
        std::thread::spawn(move || service.serve(theirs));
        Ok(ours)
    });
    let keys = keys.unwrap();
    keys.end_recovery().unwrap();
    let refused = SpoolWriter::open(WriterSettings { seal: MasterKey::of_process(&keys), ..settings(dir) });
    let error = refused.map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("keys are opened only while ringtap starts"), "{error}");
    assert!(!last.seal_path(dir).exists());
}

/// The list that named a segment while it was written is no proof once its chain has gone on.
#[test]
fn an_older_list_of_open_segments_proves_nothing() {
    let case = Case::with(|settings| WriterSettings { span: Nanos::from_secs(60), ..settings });
    let dir = case.copied();
    let old = fs::read(dir.join("w0-m.open")).unwrap();
    write(settings(dir), START + Nanos::from_secs(100), 6);
    assert_eq!(look(dir).findings, []);
    let first = &of(dir, Category::Media)[0];
    fs::remove_file(first.seal_path(dir)).unwrap();
    fs::write(dir.join("w0-m.open"), &old).unwrap();
    assert!(faults(&look(dir)).contains(&(first.as_str(), &Fault::Unsealed)));
    // A list that was changed names nothing.
    let mut bad = old;
    bad[20] ^= 1;
    fs::write(dir.join("w0-m.open"), &bad).unwrap();
    assert!(faults(&look(dir)).contains(&("w0-m.open", &Fault::BadOpenList)));
}

/// Who changes the signing key, or begins to sign, loses nothing that was recorded before.
#[test]
fn another_key_and_a_first_key_take_nothing_away() {
    let case = Case::new();
    let dir = case.copied();
    let sealed = packets(dir).0;
    for round in 1..4 {
        let sign = Some(Arc::new(Signer::of(&[4; 32])));
        write(WriterSettings { sign, ..settings(dir) }, START + Nanos::from_secs(100 * round), 3);
        let (found, unproven) = packets(dir);
        assert!(found > sealed && unproven.is_empty(), "{found} of more than {sealed}, {unproven:?}");
    }
    let plain = Case::with(|settings| WriterSettings { sign: None, ..settings });
    let dir = plain.copied();
    let before = segments(dir);
    for round in 1..4 {
        write(settings(dir), START + Nanos::from_secs(100 * round), 3);
        assert!(before.iter().all(|segment| segment.path(dir).exists()) && !dir.join("quarantine").exists());
    }
}
